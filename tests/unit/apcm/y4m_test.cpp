// SPDX-License-Identifier: BSD-3-Clause
#include "apcm/y4m.h"

#include <catch2/catch.hpp>
#include <cstring>
#include <vector>

using namespace apcm;
using Catch::Matchers::Contains;

namespace {
FILE* stream_of(const std::string& text) {
  FILE* f = std::tmpfile();
  std::fwrite(text.data(), 1, text.size(), f);
  std::rewind(f);
  return f;
}
std::string error_of(const std::string& header) {
  const auto r = parse_y4m_header(header);
  return r ? "no error" : r.error();
}
}  // namespace

TEST_CASE("the header that ffmpeg writes for 10-bit 4:2:2 is understood") {
  // ffmpeg 5.1: -pix_fmt yuv422p10le -strict -1
  const auto f = parse_y4m_header("YUV4MPEG2 W320 H180 F30000:1001 Ip A1:1 C422p10 XYSCSS=422P10");
  REQUIRE(f);
  CHECK(*f == VideoFormat{320, 180, Chroma::k422, 10, 30000, 1001});
}

TEST_CASE("a header without a colour space means 8-bit 4:2:0") {
  const auto f = parse_y4m_header("YUV4MPEG2 W4 H2 F25:1");
  REQUIRE(f);
  CHECK(f->chroma == Chroma::k420);
  CHECK(f->depth == 8);
  CHECK(f->planar_bytes() == 8 + 2 + 2);
}

TEST_CASE("every variant of 8-bit 4:2:0 has the same planes") {
  for (const char* tag : {"420", "420jpeg", "420mpeg2", "420paldv"}) {
    const auto f = parse_y4m_header(std::string("YUV4MPEG2 W4 H2 F25:1 C") + tag);
    REQUIRE(f);
    CHECK(f->chroma == Chroma::k420);
  }
}

TEST_CASE("bad headers are refused with a line that says what to do") {
  CHECK_THAT(error_of("RIFF....AVI LIST"), Contains("RIFF") && Contains("not Y4M") && Contains("yuv4mpegpipe"));
  CHECK_THAT(error_of("YUV4MPEG2X W4 H2 F25:1"), Contains("not Y4M"));
  CHECK_THAT(error_of("YUV4MPEG2 W0 H2 F25:1"), Contains("W0") && Contains("1..32767"));
  CHECK_THAT(error_of("YUV4MPEG2 W40000 H2 F25:1"), Contains("W40000"));
  CHECK_THAT(error_of("YUV4MPEG2 W-4 H2 F25:1"), Contains("W-4"));
  CHECK_THAT(error_of("YUV4MPEG2 W99999999999999999999 H2 F25:1"), Contains("1..32767"));
  CHECK_THAT(error_of("YUV4MPEG2 W30000 H30000 F25:1 C422"), Contains("256 MiB"));
  CHECK_THAT(error_of("YUV4MPEG2 H2 F25:1"), Contains("no width"));
  CHECK_THAT(error_of("YUV4MPEG2 W4 H2"), Contains("no frame rate"));
  CHECK_THAT(error_of("YUV4MPEG2 W4 H2 F0:0"), Contains("frame rate") && Contains("ffmpeg -r"));
  CHECK_THAT(error_of("YUV4MPEG2 W4 H2 F25"), Contains("frame rate"));
  CHECK_THAT(error_of("YUV4MPEG2 W4 H2 F25:1 C444"), Contains("444") && Contains("-pix_fmt"));
  CHECK_THAT(error_of("YUV4MPEG2 W4 H2 F25:1 It"), Contains("interlaced") && Contains("yadif"));
  CHECK_THAT(error_of("YUV4MPEG2 W4 H2 F25:1 A4"), Contains("A4") && Contains("aspect"));
  CHECK(error_of(std::string("\x00\xff\x1b[2J", 6)).find('\x1b') == std::string::npos);
}

TEST_CASE("frames are read until the stream ends between two frames") {
  auto r = Y4mReader::from_stream(stream_of("YUV4MPEG2 W2 H1 F25:1 C422\nFRAME\nabcdFRAME Xnote\nefgh"), "clip");
  REQUIRE(r);
  std::vector<uint8_t> frame(4);
  REQUIRE(r->read(frame).value());
  CHECK(std::memcmp(frame.data(), "abcd", 4) == 0);
  REQUIRE(r->read(frame).value());
  CHECK(std::memcmp(frame.data(), "efgh", 4) == 0);
  CHECK_FALSE(r->read(frame).value());
  REQUIRE(r->rewind());
  REQUIRE(r->read(frame).value());
  CHECK(std::memcmp(frame.data(), "abcd", 4) == 0);
}

TEST_CASE("a cut-off frame is an error that names the frame and the octets") {
  auto r = Y4mReader::from_stream(stream_of("YUV4MPEG2 W2 H1 F25:1 C422\nFRAME\nabcdFRAME\nef"), "clip");
  REQUIRE(r);
  std::vector<uint8_t> frame(4);
  REQUIRE(r->read(frame).value());
  const auto bad = r->read(frame);
  REQUIRE_FALSE(bad);
  CHECK_THAT(bad.error(), Contains("clip") && Contains("frame 1") && Contains("2 of 4"));
}

TEST_CASE("something else than a FRAME line is an error, not a frame") {
  auto r = Y4mReader::from_stream(stream_of("YUV4MPEG2 W2 H1 F25:1 C422\nFRAMEabcd\n"), "clip");
  REQUIRE(r);
  std::vector<uint8_t> frame(4);
  const auto bad = r->read(frame);
  REQUIRE_FALSE(bad);
  CHECK_THAT(bad.error(), Contains("FRAME line"));
}

TEST_CASE("an empty stream and a missing file are errors") {
  CHECK_THAT(Y4mReader::from_stream(stream_of(""), "clip").error(), Contains("clip: empty"));
  CHECK_THAT(Y4mReader::open("/no/such/clip.y4m").error(), Contains("/no/such/clip.y4m") && Contains("No such file"));
}

TEST_CASE("what the writer writes the reader reads, for each format") {
  for (const Chroma chroma : {Chroma::k420, Chroma::k422})
    for (const uint8_t depth : {uint8_t{8}, uint8_t{10}}) {
      const VideoFormat f{6, 4, chroma, depth, 30000, 1001, 12, 11};
      const auto parsed = parse_y4m_header(y4m_header(f));
      REQUIRE(parsed);
      CHECK(*parsed == f);
    }
}

TEST_CASE("a full disk is reported") {
  auto w = Y4mWriter::open("/dev/full", VideoFormat{2, 1, Chroma::k422, 8, 25, 1});
  REQUIRE(w);
  const std::vector<uint8_t> frame(4);
  (void)w->write(frame);
  const auto closed = w->close();
  REQUIRE_FALSE(closed);
  CHECK_THAT(closed.error(), Contains("/dev/full") && Contains("No space left"));
}

TEST_CASE("a header line of 1024 octets is read, a longer one is called too long") {
  const std::string short_header = "YUV4MPEG2 W2 H1 F25:1 C422 X";
  const std::string longest = short_header + std::string(1024 - short_header.size(), 'x');
  auto r = Y4mReader::from_stream(stream_of(longest + "\nFRAME\nabcd"), "clip");
  REQUIRE(r);
  std::vector<uint8_t> planar(4);
  const auto got = r->read(planar);
  REQUIRE(got);
  CHECK(*got);
  const auto bad = Y4mReader::from_stream(stream_of(longest + "x\nFRAME\nabcd"), "clip");
  REQUIRE_FALSE(bad);
  CHECK_THAT(bad.error(), Contains("header line is longer than 1024 octets"));
}

TEST_CASE("a FRAME line that is too long is called that, not damaged") {
  auto r = Y4mReader::from_stream(stream_of("YUV4MPEG2 W2 H1 F25:1 C422\nFRAME X" + std::string(1024, 'x') + "\nabcd"),
                                  "clip");
  REQUIRE(r);
  std::vector<uint8_t> planar(4);
  const auto bad = r->read(planar);
  REQUIRE_FALSE(bad);
  CHECK_THAT(bad.error(), Contains("frame 0: the FRAME line is longer than 1024 octets"));
}
