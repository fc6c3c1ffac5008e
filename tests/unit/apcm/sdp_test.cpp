// SPDX-License-Identifier: BSD-3-Clause
#include "apcm/sdp.h"

#include <catch2/catch.hpp>

using namespace apcm;
using Catch::Matchers::Contains;

namespace {
const SdpStream kStream{0xc0000201, 0xefc00001, 5004, 96, {1920, 1080, Chroma::k422, 10, 30000, 1001}};
}

TEST_CASE("the SDP has the lines that ST 2110-20 section 7 asks for") {
  const std::string text = write_sdp("clip", 7, {kStream});
  for (const char* line : {"v=0\r\n", "o=- 7 1 IN IP4 192.0.2.1\r\n", "s=clip\r\n", "t=0 0\r\n",
                           "m=video 5004 RTP/AVP 96\r\n", "c=IN IP4 239.192.0.1/64\r\n",
                           "a=source-filter: incl IN IP4 239.192.0.1 192.0.2.1\r\n", "a=rtpmap:96 raw/90000\r\n",
                           "sampling=YCbCr-4:2:2; width=1920; height=1080; exactframerate=30000/1001; depth=10;",
                           "PM=2110GPM; SSN=ST2110-20:2017;", "a=mediaclk:direct=0\r\n"})
    CHECK_THAT(text, Contains(line));
}

TEST_CASE("a whole frame rate is written without a denominator, a unicast address without a TTL") {
  SdpStream s = kStream;
  s.destination = 0xc0000202;
  s.format.fps_num = 25;
  s.format.fps_den = 1;
  const std::string text = write_sdp("clip", 7, {s});
  CHECK_THAT(text, Contains("exactframerate=25;") && Contains("c=IN IP4 192.0.2.2\r\n") && !Contains("source-filter"));
}

TEST_CASE("parsing gives back every stream of a session, and that it was 4:2:0 at home") {
  SdpStream second = kStream;
  second.port = 5006;
  second.format.chroma = Chroma::k420;
  second.format.par_num = 4;
  second.format.par_den = 3;
  const auto streams = parse_sdp(write_sdp("clip", 7, {kStream, second}));
  REQUIRE(streams);
  REQUIRE(streams->size() == 2);
  CHECK((*streams)[0].format == kStream.format);
  CHECK((*streams)[0].destination == kStream.destination);
  CHECK((*streams)[0].source == kStream.source);
  CHECK((*streams)[1].port == 5006);
  CHECK((*streams)[1].format == second.format);
}

TEST_CASE("audio beside the video is passed over, bare newlines are accepted") {
  const auto streams = parse_sdp(
      "v=0\no=- 1 1 IN IP4 192.0.2.1\ns=x\nc=IN IP4 192.0.2.9\nt=0 0\nm=audio 5000 RTP/AVP 97\na=rtpmap:97 "
      "L24/48000/2\n"
      "m=video 5002 RTP/AVP 112\na=rtpmap:112 raw/90000\n"
      "a=fmtp:112 sampling=YCbCr-4:2:2; width=64; height=32; exactframerate=25; depth=8\n");
  REQUIRE(streams);
  REQUIRE(streams->size() == 1);
  CHECK(streams->front().port == 5002);
  CHECK(streams->front().payload_type == 112);
  CHECK(streams->front().destination == 0xc0000209);
}

TEST_CASE("what cannot be received is refused with the line and the reason") {
  const auto error = [](const std::string& fmtp) {
    const auto r = parse_sdp("v=0\nm=video 5002 RTP/AVP 96\na=fmtp:96 " + fmtp + "\n");
    return r ? std::string("no error") : r.error();
  };
  CHECK_THAT(error("sampling=RGB; width=2"), Contains("line 3") && Contains("YCbCr-4:2:2"));
  CHECK_THAT(error("depth=12"), Contains("depth=10"));
  CHECK_THAT(error("width=0"), Contains("1..32767"));
  CHECK_THAT(error("PAR=4"), Contains("PAR"));
  CHECK_THAT(error("exactframerate=25/0"), Contains("exactframerate"));
  CHECK_THAT(error("width=4; height=4; interlace"), Contains("interlaced"));
  CHECK_THAT(error("width=4; height=4"), Contains("without exactframerate"));
  CHECK_THAT(error("width=32767; height=32767; exactframerate=25"), Contains("larger"));
  CHECK_THAT(parse_sdp("hello").error(), Contains("v=0"));
  CHECK_THAT(parse_sdp("v=0\n").error(), Contains("no m=video"));
  CHECK_THAT(parse_sdp("v=0\nm=video 0 RTP/AVP 96\n").error(), Contains("port"));
}

TEST_CASE("dotted quads are read strictly") {
  CHECK(parse_ipv4("192.0.2.1").value() == 0xc0000201);
  for (const char* bad : {"", "1.2.3", "1.2.3.4.5", "1.2.3.256", "1.2.3.", "1..2.3", "a.b.c.d", "1.2.3.4 "}) {
    INFO(bad);
    CHECK_FALSE(parse_ipv4(bad));
  }
}
