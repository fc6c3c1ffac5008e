// SPDX-License-Identifier: BSD-3-Clause
#include "apcm/sdp.h"

#include <charconv>
#include <string_view>

namespace apcm {
namespace {

tl::unexpected<std::string> fail(std::string text) { return tl::unexpected<std::string>(std::move(text)); }

template <class T>
bool to_number(std::string_view text, T& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return !text.empty() && error == std::errc{} && end == text.data() + text.size();
}

std::string_view next_field(std::string_view& rest, char separator) {
  const size_t end = rest.find(separator);
  const std::string_view field = rest.substr(0, end);
  rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  return field;
}

std::string_view trimmed(std::string_view s) {
  while (!s.empty() && (s.front() == ' ' || s.front() == '\t')) s.remove_prefix(1);
  while (!s.empty() && (s.back() == ' ' || s.back() == '\t' || s.back() == '\r')) s.remove_suffix(1);
  return s;
}

/// One "key=value" of a=fmtp. Empty when it was understood or is of no concern to us, else what is wrong.
std::string take_parameter(std::string_view key, std::string_view value, VideoFormat& f) {
  uint32_t number = 0;
  if (key == "sampling") {
    if (value != "YCbCr-4:2:2") return "only sampling=YCbCr-4:2:2 is carried";
  } else if (key == "width" || key == "height") {
    if (!to_number(value, number) || number == 0 || number > kMaxVideoSide) return "width and height must be 1..32767";
    (key == "width" ? f.width : f.height) = number;
  } else if (key == "depth") {
    if (value != "8" && value != "10") return "only depth=8 and depth=10 are carried";
    f.depth = value == "8" ? 8 : 10;
  } else if (key == "exactframerate") {
    std::string_view rest = value;
    const std::string_view num = next_field(rest, '/');
    f.fps_den = 1;
    if (!to_number(num, f.fps_num) || f.fps_num == 0 ||
        (!rest.empty() && (!to_number(rest, f.fps_den) || f.fps_den == 0)))
      return "exactframerate must be a whole number or a fraction";
  } else if (key == "PAR") {
    std::string_view rest = value;
    const std::string_view num = next_field(rest, ':');
    if (!to_number(num, f.par_num) || !to_number(rest, f.par_den) || f.par_num == 0 || f.par_den == 0)
      return "PAR must be two numbers with a colon";
  } else if (key == "interlace") {
    return "interlaced video is not carried";
  } else if (key == "x-awing-source" && value == "420") {
    f.chroma = Chroma::k420;
  }
  return {};
}

}  // namespace

std::string ipv4_text(uint32_t a) {
  return std::to_string(a >> 24) + "." + std::to_string(a >> 16 & 255) + "." + std::to_string(a >> 8 & 255) + "." +
         std::to_string(a & 255);
}

tl::expected<uint32_t, std::string> parse_ipv4(const std::string& text) {
  std::string_view rest = text;
  uint32_t address = 0;
  for (int i = 0; i < 4; ++i) {
    const bool last_full = i == 3 || rest.find('.') != std::string_view::npos;
    uint32_t octet = 256;
    if (!last_full || !to_number(next_field(rest, '.'), octet) || octet > 255)
      return fail("\"" + text + "\" is no IPv4 address (four numbers 0..255 with dots)");
    address = address << 8 | octet;
  }
  if (!rest.empty() || text.back() == '.')
    return fail("\"" + text + "\" is no IPv4 address (four numbers 0..255 with dots)");
  return address;
}

std::string write_sdp(const std::string& session, uint64_t origin_id, const std::vector<SdpStream>& streams) {
  std::string out = "v=0\r\n";
  const uint32_t origin = streams.empty() ? 0 : streams.front().source;
  out += "o=- " + std::to_string(origin_id) + " 1 IN IP4 " + ipv4_text(origin) + "\r\n";
  out += "s=" + session + "\r\nt=0 0\r\n";
  for (const SdpStream& s : streams) {
    const std::string pt = std::to_string(s.payload_type);
    const bool multicast = s.destination >> 28 == 0xe;
    const VideoFormat& f = s.format;
    std::string denominator, pixel;
    if (f.par_num != f.par_den && f.par_num != 0 && f.par_den != 0)  // 1:1 is what no PAR means
      pixel.append("; PAR=").append(std::to_string(f.par_num)).append(":").append(std::to_string(f.par_den));
    if (f.fps_den != 1) denominator.append("/").append(std::to_string(f.fps_den));
    out += "m=video " + std::to_string(s.port) + " RTP/AVP " + pt + "\r\n";
    out += "c=IN IP4 " + ipv4_text(s.destination) + (multicast ? "/64" : "") + "\r\n";
    if (multicast)
      out += "a=source-filter: incl IN IP4 " + ipv4_text(s.destination) + " " + ipv4_text(s.source) + "\r\n";
    out += "a=rtpmap:" + pt + " raw/90000\r\n";
    out += "a=fmtp:" + pt + " sampling=YCbCr-4:2:2; width=" + std::to_string(f.width) +
           "; height=" + std::to_string(f.height) + "; exactframerate=" + std::to_string(f.fps_num) + denominator +
           "; depth=" + std::to_string(f.depth) +
           "; TCS=SDR; colorimetry=BT709; PM=2110GPM; SSN=ST2110-20:2017; TP=2110TPNL" + pixel +
           (f.chroma == Chroma::k420 ? "; x-awing-source=420" : "") + "\r\n";
    out += "a=mediaclk:direct=0\r\n";
  }
  return out;
}

tl::expected<std::vector<SdpStream>, std::string> parse_sdp(const std::string& text) {
  std::vector<SdpStream> streams;
  uint32_t session_destination = 0;
  bool in_media = false, in_video = false;
  std::string_view rest = text;
  int line_number = 0;
  while (!rest.empty()) {
    const std::string_view line = trimmed(next_field(rest, '\n'));
    ++line_number;
    const auto wrong = [&](const std::string& why) { return fail("line " + std::to_string(line_number) + ": " + why); };
    if (line_number == 1 && line != "v=0") return wrong("an SDP begins with v=0");
    if (line.starts_with("m=")) {
      std::string_view fields = line.substr(2);
      in_media = true;
      in_video = next_field(fields, ' ') == "video";
      if (!in_video) continue;
      SdpStream s;
      s.destination = session_destination;
      std::string_view port = next_field(fields, ' ');
      port = port.substr(0, port.find('/'));
      if (!to_number(port, s.port) || s.port == 0) return wrong("no usable port in m=video");
      if (next_field(fields, ' ') != "RTP/AVP") return wrong("only RTP/AVP is carried");
      if (!to_number(next_field(fields, ' '), s.payload_type) || s.payload_type > 127)
        return wrong("no usable payload type in m=video");
      streams.push_back(s);
    } else if (line.starts_with("c=IN IP4 ")) {
      std::string_view address = line.substr(9);
      const auto parsed = parse_ipv4(std::string(address.substr(0, address.find('/'))));
      if (!parsed) return wrong(parsed.error());
      if (!in_media) session_destination = *parsed;
      if (in_video) streams.back().destination = *parsed;
    } else if (in_video && line.starts_with("a=source-filter:")) {
      const size_t last = line.rfind(' ');
      if (const auto parsed = parse_ipv4(std::string(line.substr(last + 1))); parsed) streams.back().source = *parsed;
    } else if (in_video && line.starts_with("a=rtpmap:")) {
      const size_t blank = line.find(' ');
      if (blank == std::string_view::npos || line.substr(blank + 1) != "raw/90000")
        return wrong("only raw/90000 video is carried");
    } else if (in_video && line.starts_with("a=fmtp:")) {
      const size_t blank = line.find(' ');
      std::string_view parameters = blank == std::string_view::npos ? std::string_view{} : line.substr(blank + 1);
      while (!parameters.empty()) {
        std::string_view value = trimmed(next_field(parameters, ';'));
        const std::string_view key = trimmed(next_field(value, '='));
        if (const std::string why = take_parameter(key, trimmed(value), streams.back().format); !why.empty())
          return wrong(why);
      }
    }
  }
  if (streams.empty()) return fail("no m=video in the SDP");
  for (const SdpStream& s : streams) {
    if (s.format.width == 0 || s.format.height == 0) return fail("m=video without width and height in a=fmtp");
    if (s.format.fps_num == 0) return fail("m=video without exactframerate in a=fmtp");
    if (s.format.packed_bytes() > kMaxFrameBytes || s.format.planar_bytes() > kMaxFrameBytes)
      return fail("video of " + describe(s.format) + " is larger than we carry");
  }
  return streams;
}

}  // namespace apcm
