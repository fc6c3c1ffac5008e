// SPDX-License-Identifier: BSD-3-Clause
#include "apcm/y4m.h"

#include <cerrno>
#include <charconv>
#include <cstring>
#include <string_view>

namespace apcm {
namespace {

constexpr std::string_view kMagic = "YUV4MPEG2";
constexpr size_t kMaxLine = 1024;  ///< of a header or FRAME line; ffmpeg writes under 100 octets

bool to_number(std::string_view text, uint32_t& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size();
}

/// What was found, cut and with unprintable octets replaced, so that binary input cannot upset a terminal.
std::string shown(std::string_view text) {
  std::string out;
  for (const char c : text.substr(0, 40)) out += (c >= 0x20 && c < 0x7f) ? c : '?';
  return out;
}

tl::unexpected<std::string> fail(std::string text) { return tl::unexpected<std::string>(std::move(text)); }

/// Sets chroma and depth from a Y4M colour space tag; false when we cannot carry it.
bool parse_colour_space(std::string_view tag, VideoFormat& format) {
  if (tag == "420" || tag == "420jpeg" || tag == "420mpeg2" || tag == "420paldv") {
    format.chroma = Chroma::k420;
    format.depth = 8;
  } else if (tag == "422") {
    format.chroma = Chroma::k422;
    format.depth = 8;
  } else if (tag == "420p10") {
    format.chroma = Chroma::k420;
    format.depth = 10;
  } else if (tag == "422p10") {
    format.chroma = Chroma::k422;
    format.depth = 10;
  } else {
    return false;
  }
  return true;
}

}  // namespace

std::string describe(const VideoFormat& f) {
  return std::to_string(f.width) + "x" + std::to_string(f.height) + " " + std::to_string(f.depth) + "-bit " +
         (f.chroma == Chroma::k420 ? "4:2:0 " : "4:2:2 ") + std::to_string(f.fps_num) + "/" +
         std::to_string(f.fps_den) + " fps";
}

tl::expected<VideoFormat, std::string> parse_y4m_header(const std::string& line) {
  std::string_view rest = line;
  if (!rest.starts_with(kMagic) || (rest.size() > kMagic.size() && rest[kMagic.size()] != ' '))
    return fail("not Y4M: begins with \"" + shown(rest) +
                "\", not \"YUV4MPEG2 \"; make Y4M with: ffmpeg -i INPUT -f yuv4mpegpipe -");
  rest.remove_prefix(kMagic.size());
  VideoFormat format;
  format.par_num = format.par_den = 0;
  parse_colour_space("420", format);  // what mjpegtools says a header without C means
  while (!rest.empty()) {
    rest.remove_prefix(1);  // the blank
    const std::string_view field = rest.substr(0, rest.find(' '));
    rest.remove_prefix(field.size());
    if (field.empty()) continue;
    const std::string_view value = field.substr(1);
    switch (field[0]) {
      case 'W':
      case 'H': {
        uint32_t side = 0;
        if (!to_number(value, side) || side == 0 || side > kMaxVideoSide)
          return fail("Y4M header field \"" + shown(field) + "\": width and height must be 1.." +
                      std::to_string(kMaxVideoSide) + "; scale with: ffmpeg -vf scale=W:H");
        (field[0] == 'W' ? format.width : format.height) = side;
        break;
      }
      case 'F': {
        const size_t colon = value.find(':');
        if (colon == std::string_view::npos || !to_number(value.substr(0, colon), format.fps_num) ||
            !to_number(value.substr(colon + 1), format.fps_den) || format.fps_num == 0 || format.fps_den == 0 ||
            format.fps_num / format.fps_den > 10000 || format.fps_den / format.fps_num > 10000)
          return fail("Y4M header field \"" + shown(field) + "\": no usable frame rate; give one with: ffmpeg -r 25");
        break;
      }
      case 'I':
        if (value == "t" || value == "b" || value == "m")
          return fail("Y4M header field \"" + shown(field) +
                      "\": interlaced video is not carried; make it progressive with: ffmpeg -vf yadif");
        break;
      case 'C':
        if (!parse_colour_space(value, format))
          return fail("Y4M colour space \"" + shown(value) +
                      "\" is not carried (420*, 422, 420p10, 422p10 are); convert with: ffmpeg -pix_fmt yuv422p10le "
                      "-strict -1");
        break;
      case 'A': {
        const size_t colon = value.find(':');
        if (colon == std::string_view::npos || !to_number(value.substr(0, colon), format.par_num) ||
            !to_number(value.substr(colon + 1), format.par_den))
          return fail("Y4M header field \"" + shown(field) +
                      "\": no pixel aspect ratio; set one with: ffmpeg -vf setsar=1");
        break;
      }
      default:  // X (comment): nothing that a packet needs
        break;
    }
  }
  if (format.width == 0 || format.height == 0) return fail("Y4M header has no width (W) or height (H)");
  if (format.fps_num == 0) return fail("Y4M header has no frame rate (F); give one with: ffmpeg -r 25");
  if (format.planar_bytes() > kMaxFrameBytes || format.packed_bytes() > kMaxFrameBytes)
    return fail("Y4M frame of " + describe(format) + " is larger than " + std::to_string(kMaxFrameBytes >> 20) +
                " MiB; scale with: ffmpeg -vf scale=W:H");
  return format;
}

std::string y4m_header(const VideoFormat& f) {
  std::string tag = f.chroma == Chroma::k420 ? "420" : "422";
  if (f.depth == 10) tag += f.chroma == Chroma::k420 ? "p10 XYSCSS=420P10" : "p10 XYSCSS=422P10";
  return "YUV4MPEG2 W" + std::to_string(f.width) + " H" + std::to_string(f.height) + " F" + std::to_string(f.fps_num) +
         ":" + std::to_string(f.fps_den) + " Ip A" + std::to_string(f.par_num) + ":" + std::to_string(f.par_den) +
         " C" + tag;
}

tl::expected<Y4mReader, std::string> Y4mReader::open(const std::string& path) {
  if (path == "-") return from_stream(stdin, "standard input");
  FILE* stream = std::fopen(path.c_str(), "rb");
  if (stream == nullptr) return fail(path + ": " + std::strerror(errno));
  return from_stream(stream, path);
}

tl::expected<Y4mReader, std::string> Y4mReader::from_stream(FILE* stream, std::string name) {
  Y4mReader reader;
  reader.stream_.reset(stream);
  reader.name_ = std::move(name);
  std::string line;
  const auto got = reader.read_line(line);
  if (!got) return fail(got.error());
  if (!*got) return fail(reader.name_ + ": empty; expected Y4M");
  if (line.size() > kMaxLine && line.starts_with(kMagic))
    return fail(reader.name_ + ": the Y4M header line is longer than " + std::to_string(kMaxLine) +
                " octets; make the file again without long X fields, with: ffmpeg -f yuv4mpegpipe");
  auto format = parse_y4m_header(line);
  if (!format) return fail(reader.name_ + ": " + format.error());
  reader.format_ = *format;
  reader.first_frame_ = std::ftell(stream);
  return reader;
}

/// False at the end of the stream before any octet. Of a line that is too long kMaxLine + 1 octets are returned.
tl::expected<bool, std::string> Y4mReader::read_line(std::string& line) {
  line.clear();
  int c = 0;
  while (line.size() <= kMaxLine && (c = std::fgetc(stream_.get())) != EOF) {
    if (c == '\n') return true;
    line += static_cast<char>(c);
  }
  if (c == EOF && std::ferror(stream_.get())) return fail(name_ + ": " + std::strerror(errno));
  return !line.empty();
}

tl::expected<bool, std::string> Y4mReader::read(std::span<uint8_t> planar) {
  const std::string where = name_ + ": frame " + std::to_string(frames_);
  if (planar.size() != format_.planar_bytes()) return fail(where + ": buffer of the wrong size");
  std::string line;
  const auto got = read_line(line);
  if (!got) return fail(got.error());
  if (!*got) return false;
  if (line.size() > kMaxLine && line.starts_with("FRAME "))
    return fail(where + ": the FRAME line is longer than " + std::to_string(kMaxLine) + " octets; make the file again");
  if (line != "FRAME" && !line.starts_with("FRAME "))
    return fail(where + ": expected a FRAME line, found \"" + shown(line) + "\"; the file is damaged");
  const size_t count = std::fread(planar.data(), 1, planar.size(), stream_.get());
  if (count < planar.size()) {
    if (std::ferror(stream_.get())) return fail(where + ": " + std::strerror(errno));
    return fail(where + ": cut off after " + std::to_string(count) + " of " + std::to_string(planar.size()) +
                " octets; make the file again");
  }
  ++frames_;
  return true;
}

tl::expected<void, std::string> Y4mReader::rewind() {
  if (first_frame_ < 0 || std::fseek(stream_.get(), first_frame_, SEEK_SET) != 0)
    return fail(name_ + ": cannot be read again (a pipe?); write it to a file first");
  frames_ = 0;
  return {};
}

tl::expected<Y4mWriter, std::string> Y4mWriter::open(const std::string& path, const VideoFormat& format) {
  FILE* stream = path == "-" ? stdout : std::fopen(path.c_str(), "wb");
  if (stream == nullptr) return fail(path + ": " + std::strerror(errno));
  Y4mWriter writer;
  writer.stream_.reset(stream);
  writer.name_ = path == "-" ? "standard output" : path;
  writer.frame_bytes_ = format.planar_bytes();
  if (std::fprintf(stream, "%s\n", y4m_header(format).c_str()) < 0)
    return fail(writer.name_ + ": " + std::strerror(errno));
  return writer;
}

tl::expected<void, std::string> Y4mWriter::write(std::span<const uint8_t> planar) {
  if (planar.size() != frame_bytes_) return fail(name_ + ": frame of the wrong size");
  if (std::fputs("FRAME\n", stream_.get()) < 0 ||
      std::fwrite(planar.data(), 1, planar.size(), stream_.get()) != planar.size())
    return fail(name_ + ": frame " + std::to_string(frames_) + ": " + std::strerror(errno));
  ++frames_;
  return {};
}

tl::expected<void, std::string> Y4mWriter::close() {
  FILE* stream = stream_.release();
  if (stream == nullptr) return {};
  const bool bad = stream == stdout ? std::fflush(stream) != 0 : std::fclose(stream) != 0;
  if (bad) return fail(name_ + ": " + std::strerror(errno));
  return {};
}

}  // namespace apcm
