// SPDX-License-Identifier: BSD-3-Clause
#include "apcm/stamp.h"

#include <catch2/catch.hpp>
#include <random>

#include "apcm/block.h"

using namespace apcm;

namespace {
constexpr Stamp seconds(uint64_t s, uint32_t fraction = 0) { return {s << 32 | fraction}; }
}  // namespace

TEST_CASE("half a second is half of 2^32, both ways") {
  CHECK(to_ns(seconds(5, 0x80000000)) == 5'500'000'000);
  CHECK(from_ns(5'500'000'000) == seconds(5, 0x80000000));
}

TEST_CASE("the last fraction of a second rounds up into the next second") {
  // (2^32 - 1) / 2^32 s = 999,999,999.77 ns
  CHECK(to_ns(seconds(7, 0xFFFFFFFF)) == 8'000'000'000);
  // 999,999,999 ns = 2^32 - 4.29 units: no carry.
  CHECK(from_ns(999'999'999) == seconds(0, 0xFFFFFFFC));
}

TEST_CASE("nanoseconds survive the way through a stamp") {
  std::mt19937_64 random(1);
  for (int i = 0; i < 100'000; ++i) {
    const uint64_t ns = random() % 4'294'967'296'000'000'000;  // 2^32 s
    REQUIRE(to_ns(from_ns(ns)) == ns);
    REQUIRE(to_ns(from_ptp(to_ptp(from_ns(ns)))) == ns);
  }
}

TEST_CASE("a difference is exact to the picosecond and signed") {
  CHECK(difference_ps({1}, {0}) == 232);  // 10^12 / 2^32 = 232.83, rounded down
  CHECK(difference_ps({0}, {1}) == -233);
  CHECK(difference_ps(seconds(1), seconds(0)) == 1'000'000'000'000);
  CHECK(difference_ps(seconds(9'000'000), seconds(0)) == 9'000'000'000'000'000'000);  // 104 days
}

TEST_CASE("a difference is right across the wrap of the seconds") {
  const Stamp late{uint64_t{1} << 30}, early{UINT64_MAX - (uint64_t{1} << 30) + 1};
  CHECK(difference_ps(late, early) == 500'000'000'000);  // 2^31 units
  CHECK(difference_ps(early, late) == -500'000'000'000);
}

TEST_CASE("a difference that does not fit 63 bits stays at the bound with its sign, it does not wrap") {
  // A sender that counts from its start, a receiver that counts from 1970.
  CHECK(difference_ps(seconds(1'800'000'000), seconds(10)) == INT64_MAX);
  CHECK(difference_ps(seconds(10), seconds(1'800'000'000)) == -INT64_MAX);
  CHECK(difference_ps(seconds(0x80000000), seconds(0)) == -INT64_MAX);  // 2^31 s: ahead or behind, nobody knows
}

TEST_CASE("an error estimate of 100 ns is 215 * 2^1 units") {
  // 100 ns are 429.5 units of 2^-32 s; rounded up twice: 430, 215 * 2.
  const ErrorEstimate e = ErrorEstimate::from_ns(100, true);
  CHECK(e.scale == 1);
  CHECK(e.multiplier == 215);
  CHECK(e.encode() == (0x8000 | 1 << 8 | 215));
}

TEST_CASE("an error estimate is never smaller than asked, nor larger by more than a part in 127") {
  std::mt19937_64 random(2);
  for (int i = 0; i < 100'000; ++i) {
    const uint64_t ns = random() >> (1 + random() % 63);
    const ErrorEstimate back = ErrorEstimate::decode(ErrorEstimate::from_ns(ns, false).encode());
    REQUIRE(back.valid());
    REQUIRE(back.ns() >= ns);
    // The multiplier is at least 128 when there is a scale, so a step of it is at most 1/128.
    REQUIRE(static_cast<double>(back.ns()) <= static_cast<double>(ns) * (1 + 1.0 / 127) + 1);
  }
}

TEST_CASE("a large estimate is told, one that fits no 63 bits of nanoseconds is unknown") {
  CHECK(ErrorEstimate{false, false, 52, 1}.ns() == 1'048'576'000'000'000);  // 2^20 s
  CHECK(ErrorEstimate{false, false, 63, 255}.ns() == ErrorEstimate::kUnknownNs);
}

TEST_CASE("multiplier zero is an invalid estimate (RFC 4656 section 4.1.2) and never reads as no error") {
  const ErrorEstimate e = ErrorEstimate::decode(0x8000);
  CHECK_FALSE(e.valid());
  CHECK(e.ns() == ErrorEstimate::kUnknownNs);
}

TEST_CASE("every 16 bits come back from an error estimate") {
  for (uint32_t v = 0; v < 0x10000; ++v) REQUIRE(ErrorEstimate::decode(static_cast<uint16_t>(v)).encode() == v);
}

TEST_CASE("the block has the first 16 octets of a STAMP sender packet (RFC 8762 figure 2, RFC 8972 figure 1)") {
  const Block block{0x01020304, {0x1122334455667788}, {true, false, 1, 215}, 0xBEEF};
  uint8_t octets[16];
  block.encode(octets);
  const uint8_t expected[16] = {1, 2, 3, 4, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0x81, 215, 0xBE, 0xEF};
  CHECK(std::equal(octets, octets + 16, expected));
  const Block back = Block::decode(octets);
  CHECK(back.sequence == block.sequence);
  CHECK(back.sent == block.sent);
  CHECK(back.error == block.error);
  CHECK(back.session == block.session);
}

TEST_CASE("a block with the Z bit carries seconds and nanoseconds, and its stamp is read as such") {
  // 3 s and 500,000,000 ns (0x1DCD6500); Z is bit 14.
  const uint8_t octets[16] = {0, 0, 0, 1, 0, 0, 0, 3, 0x1D, 0xCD, 0x65, 0x00, 0x40, 1, 0, 9};
  const Block block = Block::decode(octets);
  CHECK(block.sent == seconds(3, 0x80000000));
  uint8_t back[16];
  block.encode(back);
  CHECK(std::equal(back, back + 16, octets));
}
