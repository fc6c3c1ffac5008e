// SPDX-License-Identifier: BSD-3-Clause
#include "apcm/pacing.h"

#include <catch2/catch.hpp>

using namespace apcm;

TEST_CASE("a frame below 60 octets takes 84 octets of the line, as the shortest Ethernet frame does") {
  // 64 with FCS + 8 preamble + 12 gap
  CHECK(l1_octets(1) == 84);
  CHECK(l1_octets(60) == 84);
  CHECK(l1_octets(1514) == 1538);
  CHECK(l2_octets(1514) == 1518);
}

TEST_CASE("packet k of a constant rate starts at k * bits / rate, without drift after a billion packets") {
  RateSchedule s(6'000'000'000);
  CHECK(s.next_ns() == 0);
  s.advance(1250);  // 10,000 bits at 6 Gb/s: 1666.67 ns
  CHECK(s.next_ns() == 1666);
  s.advance(1250);
  CHECK(s.next_ns() == 3333);
  s.advance(1250);
  CHECK(s.next_ns() == 5000);
  for (int i = 0; i < 300'000; ++i) {
    s.advance(1250 * 3);
  }
  CHECK(s.next_ns() == 5000 + 300'000ull * 5000);
}

TEST_CASE("a rate that does not divide a second has no rounding drift: 3 bits a second for 3 years") {
  RateSchedule s(3);
  const uint64_t seconds = 3ull * 365 * 86400;
  for (int i = 0; i < 3; ++i) s.advance(static_cast<uint32_t>(seconds / 8));  // 94,608,000 is a multiple of 8
  CHECK(s.next_ns() == seconds * 1'000'000'000ull);
}

TEST_CASE("four streams at one total rate start a quarter of a packet interval apart and then share the rate") {
  // 1250 octets at 4 Gb/s: 2500 ns between packets of any stream, 10,000 ns within one stream
  for (uint32_t i = 0; i < 4; ++i) {
    RateSchedule s(4'000'000'000, 4, i, 1250);
    CHECK(s.next_ns() == i * 2500);
    s.advance(1250);
    CHECK(s.next_ns() == i * 2500 + 10'000);
  }
}

TEST_CASE("the packets of a frame are spread evenly over the frame period") {
  FrameSchedule s(25, 1, 4);  // 40 ms / 4
  for (uint64_t k = 0; k < 9; ++k, s.advance()) CHECK(s.next_ns() == k * 10'000'000);
}

TEST_CASE("at 30000/1001 frames a second, 30000 frames take exactly 1001 s") {
  FrameSchedule s(30000, 1001, 1);
  for (int k = 0; k < 30000; ++k) s.advance();
  CHECK(s.next_ns() == 1001ull * 1'000'000'000);
}
