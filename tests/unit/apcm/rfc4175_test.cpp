// SPDX-License-Identifier: BSD-3-Clause
#include "apcm/rfc4175.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <numeric>
#include <random>

using namespace apcm;

namespace {

using Packet = std::vector<uint8_t>;
const VideoFormat kSmall{32, 6, Chroma::k422, 8, 25, 1};  // 64 octets a line

std::vector<uint8_t> noise(const VideoFormat& f, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<uint8_t> packed(f.packed_bytes());
  for (auto& octet : packed) octet = static_cast<uint8_t>(random());
  return packed;
}

std::vector<Packet> packets_of(Packetiser& p, const std::vector<uint8_t>& frame, uint32_t timestamp) {
  std::vector<Packet> out;
  p.begin_frame(frame, timestamp);
  while (const size_t n = p.next_bytes()) {
    out.emplace_back(n);
    CHECK(p.next(out.back().data()) == n);
  }
  return out;
}

std::vector<uint8_t> copy_of(const RebuiltFrame& f) { return {f.packed.begin(), f.packed.end()}; }

}  // namespace

TEST_CASE("a packet has the RTP header, extended sequence number and line header of RFC 4175 figure 1") {
  const VideoFormat f{4, 2, Chroma::k422, 8, 25, 1};  // 8 octets a line
  Packetiser p(f, 12 + 2 + 6 + 4, 0xdeadbeef, 112, 0x1234fffe);
  REQUIRE(p.packets_per_frame() == 4);
  const std::vector<uint8_t> frame{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  const auto packets = packets_of(p, frame, 0x01020304);
  // second packet: second half of line 0: pixel offset 2; sequence 0x1234ffff
  CHECK(packets[1] == Packet{0x80, 112,  0xff, 0xff, 1, 2, 3, 4, 0xde, 0xad, 0xbe, 0xef,  //
                             0x12, 0x34,                                                  //
                             0,    4,    0,    0,    0, 2,                                //
                             4,    5,    6,    7});
  // last packet: marker set, sequence wrapped into the extension: 0x12350001
  CHECK(packets[3] == Packet{0x80, 0x80 | 112, 0x00, 0x01, 1, 2, 3, 4, 0xde, 0xad, 0xbe, 0xef,  //
                             0x12, 0x35,                                                        //
                             0,    4,          0,    1,    0, 2,                                //
                             12,   13,         14,   15});
}

TEST_CASE("short lines share a packet, with the continuation bit on all headers but the last") {
  const VideoFormat f{2, 4, Chroma::k422, 8, 25, 1};  // 4 octets a line
  Packetiser p(f, 1400, 1);
  REQUIRE(p.packets_per_frame() == 2);  // three lines, then one
  std::vector<uint8_t> frame(16);
  std::iota(frame.begin(), frame.end(), uint8_t{0});
  const auto packets = packets_of(p, frame, 0);
  const Packet payload(packets[0].begin() + 12, packets[0].end());
  CHECK(payload == Packet{0, 0, 0, 4, 0, 0, 0x80, 0, 0, 4, 0,  1, 0x80, 0, 0, 4, 0, 2, 0, 0,  //
                          0, 1, 2, 3, 4, 5, 6,    7, 8, 9, 10, 11});
}

TEST_CASE("a 1080-line 10-bit frame in 1500-octet packets is cut into four equal quarters of each line") {
  const VideoFormat f{1920, 1080, Chroma::k422, 10, 25, 1};  // 4800 octets a line
  Packetiser p(f, 1440, 1);
  CHECK(p.packets_per_frame() == 4320);
  for (uint32_t i = 0; i < 8; ++i) CHECK(p.packet_bytes(i) == 12 + 2 + 6 + 1200);
}

TEST_CASE("fragments of a line that does not divide differ by one pgroup at most and never exceed the limit") {
  for (const size_t limit : {25u, 50u, 77u, 100u, 500u}) {
    const VideoFormat f{162, 3, Chroma::k422, 10, 25, 1};  // 81 pgroups of 5
    Packetiser p(f, limit, 1);
    if (!p.fits()) continue;
    size_t least = 1 << 20, most = 0, video = 0;
    for (uint32_t i = 0; i < p.packets_per_frame(); ++i) {
      least = std::min(least, p.packet_bytes(i));
      most = std::max(most, p.packet_bytes(i));
      video += p.packet_bytes(i) - kRfc4175MinHeader;
    }
    CHECK(most <= limit);
    CHECK(most == p.max_packet_bytes());
    CHECK(most - least <= 5);
    CHECK(video == f.packed_bytes());
  }
}

TEST_CASE("a packet size without room for one pgroup is refused") {
  CHECK_FALSE(Packetiser(kSmall, kRfc4175MinHeader + 3, 1).fits());
  CHECK(Packetiser(kSmall, kRfc4175MinHeader + 4, 1).fits());
}

TEST_CASE("every frame comes back, whatever the size of the packets") {
  for (const uint8_t depth : {uint8_t{8}, uint8_t{10}})
    for (const uint32_t width : {1u, 2u, 33u, 320u, 1000u})
      for (const size_t limit : {30u, 64u, 200u, 1440u, 8900u}) {
        const VideoFormat f{width, 7, Chroma::k422, depth, 25, 1};
        Packetiser p(f, limit, 5);
        Depacketiser d(f);
        const auto frame = noise(f, width);
        for (const auto& packet : packets_of(p, frame, 99)) CHECK(d.push(packet) == RtpVerdict::kPlaced);
        const auto out = d.take();
        REQUIRE(out);
        CHECK(copy_of(*out) == frame);
        CHECK(out->missing_octets == 0);
        CHECK(out->rtp_timestamp == 99);
        CHECK_FALSE(d.take());
      }
}

TEST_CASE("reordering within and between neighbouring frames, and duplicates, change nothing") {
  std::mt19937 random(1);
  for (int round = 0; round < 50; ++round) {
    Packetiser p(kSmall, 40, 5, 96, 0xfffffff0);
    Depacketiser d(kSmall);
    const auto a = noise(kSmall, 1), b = noise(kSmall, 2);
    const uint32_t t = 0xfffffff0;  // the second timestamp wraps
    auto packets = packets_of(p, a, t);
    const auto second = packets_of(p, b, t + 3600);
    packets.insert(packets.end(), second.begin(), second.end());
    const auto copy = packets;
    packets.insert(packets.end(), copy.begin(), copy.begin() + 5);
    std::shuffle(packets.begin(), packets.end(), random);
    std::vector<std::vector<uint8_t>> frames;
    for (const auto& packet : packets) {
      d.push(packet);
      while (const auto f = d.take()) frames.push_back(copy_of(*f));
    }
    // A frame is given out once complete, so duplicates that come later are late.
    REQUIRE(frames.size() == 2);
    CHECK(frames[0] == a);
    CHECK(frames[1] == b);
    CHECK(d.counters().placed == copy.size());
    CHECK(d.counters().duplicate + d.counters().late == 5);
  }
}

TEST_CASE("a lost packet makes an incomplete frame: the missing octets are counted and black") {
  const VideoFormat f{4, 2, Chroma::k422, 10, 25, 1};  // 2 pgroups, 10 octets a line
  Packetiser p(f, kRfc4175MinHeader + 10, 5);
  Depacketiser d(f, 96, 5, 1);
  const auto a = noise(f, 1), b = noise(f, 2);
  auto packets = packets_of(p, a, 0);
  d.push(packets[0]);
  CHECK_FALSE(d.take());
  packets = packets_of(p, b, 3600);
  d.push(packets[0]);
  const auto out = d.take();
  REQUIRE(out);
  CHECK(out->missing_octets == 10);
  CHECK(std::equal(a.begin(), a.begin() + 10, out->packed.begin()));
  // Cb 512, Y 64, Cr 512, Y 64
  const std::vector<uint8_t> black{0x80, 0x04, 0x08, 0x00, 0x40, 0x80, 0x04, 0x08, 0x00, 0x40};
  CHECK(std::equal(black.begin(), black.end(), out->packed.begin() + 10));
  d.push(packets[1]);
  const auto next = d.take();
  REQUIRE(next);
  CHECK(copy_of(*next) == b);
  CHECK(d.counters().frames_complete == 1);
  CHECK(d.counters().frames_incomplete == 1);
  CHECK(d.counters().missing_octets == 10);
}

TEST_CASE("flush gives out what is there, and nothing is given twice") {
  Packetiser p(kSmall, 84, 5);
  Depacketiser d(kSmall);
  const auto frame = noise(kSmall, 1);
  const auto packets = packets_of(p, frame, 0);
  d.push(packets[0]);
  d.flush();
  const auto out = d.take();
  REQUIRE(out);
  CHECK(out->missing_octets == kSmall.packed_bytes() - 64);
  CHECK_FALSE(d.take());
  CHECK(d.push(packets[1]) == RtpVerdict::kLate);
}

TEST_CASE("closed frames that nobody takes are counted and never overrun the window") {
  Packetiser p(kSmall, 84, 5);
  Depacketiser d(kSmall, 96, 5, 2);
  const auto frame = noise(kSmall, 1);
  for (uint32_t t = 0; t < 10; ++t) d.push(packets_of(p, frame, t * 3600)[0]);
  d.flush();
  size_t taken = 0;
  while (d.take()) ++taken;
  CHECK(taken <= 3);
  CHECK(d.counters().frames_incomplete == 10);
}

TEST_CASE("headers that contradict themselves or the format are malformed and place nothing") {
  Packetiser p(kSmall, 84, 5);
  const auto good = packets_of(p, noise(kSmall, 1), 0)[0];
  Depacketiser d(kSmall);
  const auto with = [&](size_t at, uint8_t value) {
    Packet bad = good;
    bad[at] = value;
    return d.push(bad);
  };
  CHECK(with(0, 0x40) == RtpVerdict::kMalformed);   // version 1
  CHECK(with(0, 0x8f) == RtpVerdict::kMalformed);   // 15 CSRCs eat the line header
  CHECK(with(15, 63) == RtpVerdict::kMalformed);    // length no multiple of the pgroup
  CHECK(with(15, 68) == RtpVerdict::kMalformed);    // longer than line and packet
  CHECK(with(16, 0x80) == RtpVerdict::kMalformed);  // second field of an interlaced frame
  CHECK(with(17, 6) == RtpVerdict::kMalformed);     // below the last line
  CHECK(with(18, 0x80) == RtpVerdict::kMalformed);  // continuation into the video
  CHECK(with(19, 1) == RtpVerdict::kMalformed);     // odd offset
  CHECK(with(19, 2) == RtpVerdict::kMalformed);     // beyond the end of the line
  for (size_t n = 0; n < good.size(); ++n) CHECK(d.push(std::span(good).first(n)) == RtpVerdict::kMalformed);
  CHECK(with(1, 97) == RtpVerdict::kForeign);
  CHECK(d.push(good) == RtpVerdict::kPlaced);
  CHECK(with(11, 6) == RtpVerdict::kForeign);  // another SSRC than the first
  CHECK(d.push(good) == RtpVerdict::kDuplicate);
}

TEST_CASE("a sender that restarts with older timestamps is followed after 64 late packets") {
  Packetiser p(kSmall, 24, 5);  // 96 packets a frame
  Depacketiser d(kSmall);
  const auto frame = noise(kSmall, 1);
  for (const auto& packet : packets_of(p, frame, 1'000'000)) d.push(packet);
  REQUIRE(d.take());
  const auto again = packets_of(p, frame, 5);
  for (const auto& packet : again) d.push(packet);
  CHECK(d.counters().late == 63);
  for (const auto& packet : packets_of(p, frame, 3605)) d.push(packet);
  d.flush();
  REQUIRE(d.take());
  const auto out = d.take();
  REQUIRE(out);
  CHECK(copy_of(*out) == frame);
}

TEST_CASE("random octets and damaged packets end in exactly one counter and do no harm") {
  std::mt19937 random(3);
  Packetiser p(kSmall, 84, 5);
  Depacketiser d(kSmall, 96, 5);
  uint64_t pushed = 0;
  for (int round = 0; round < 2000; ++round) {
    for (auto packet : packets_of(p, noise(kSmall, 1), static_cast<uint32_t>(round) * 3600)) {
      for (int hits = static_cast<int>(random() % 3); hits > 0; --hits)
        packet[random() % packet.size()] = static_cast<uint8_t>(random());
      packet.resize(random() % 4 == 0 ? random() % packet.size() : packet.size());
      d.push(packet);
      ++pushed;
      if (random() % 2 == 0) d.take();
    }
  }
  const auto& c = d.counters();
  CHECK(c.placed + c.duplicate + c.late + c.foreign + c.malformed == pushed);
}

TEST_CASE("RTP time of frame k is k * 90000 / fps, rounded down, modulo 2^32") {
  CHECK(rtp_timestamp_90k(1, 25, 1) == 3600);
  CHECK(rtp_timestamp_90k(1, 30000, 1001) == 3003);
  CHECK(rtp_timestamp_90k(1, 24000, 1001) == 3753);  // 3753.75
  CHECK(rtp_timestamp_90k(4, 24000, 1001) == 15015);
  CHECK(rtp_timestamp_90k(1, 25, 1, 0xffffffff) == 3599);
}

TEST_CASE("RTP padding, CSRC list and header extension are stripped, impossible ones refused") {
  // P, X, one CSRC; extension of one word; payload "AB"; two octets of padding
  const std::vector<uint8_t> in{0xb1, 96, 0,    1,    0, 0, 0, 2, 0, 0, 0,   3,   9, 9,
                                9,    9,  0xbe, 0xde, 0, 1, 7, 7, 7, 7, 'A', 'B', 0, 2};
  const auto p = parse_rtp(in);
  REQUIRE(p);
  CHECK(std::vector<uint8_t>(p->payload.begin(), p->payload.end()) == std::vector<uint8_t>{'A', 'B'});
  auto bad = in;
  bad.back() = 5;  // padding reaches into the extension
  CHECK_FALSE(parse_rtp(bad));
  bad.back() = 0;
  CHECK_FALSE(parse_rtp(bad));
  bad = in;
  bad[19] = 4;  // extension longer than the packet
  CHECK_FALSE(parse_rtp(bad));
}
