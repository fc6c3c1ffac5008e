// SPDX-License-Identifier: BSD-3-Clause
#include "mapos/scrambler.h"

#include <catch2/catch.hpp>
#include <deque>

#include "octets.h"

using namespace mapos;
using test::hex;
using test::Octets;

namespace {

/// RFC 2615 section 4 bit by bit: a shift register of 43 bits, most significant bit of each octet first.
Octets by_bits(const Octets& in, uint64_t seed, bool send) {
  std::deque<bool> before;  // the oldest first
  for (int i = 42; i >= 0; --i) before.push_back((seed >> i & 1) != 0);
  Octets out;
  for (const uint8_t o : in) {
    unsigned v = 0;
    for (int i = 7; i >= 0; --i) {
      const bool bit = (o >> i & 1) != 0, made = bit != before.front();
      before.pop_front();
      before.push_back(send ? made : bit);
      v = v << 1 | (made ? 1 : 0);
    }
    out.push_back(static_cast<uint8_t>(v));
  }
  return out;
}

Octets scrambled(Octets v, uint64_t seed, Simd level) {
  Scrambler(seed, level).run(v);
  return v;
}
Octets descrambled(Octets v, uint64_t seed, Simd level) {
  Descrambler(seed, level).run(v);
  return v;
}

}  // namespace

TEST_CASE("known scrambled octets, computed bit by bit elsewhere") {
  const Octets flags(16, 0x7E);
  for (const auto level : test::kLevels) {
    CHECK(scrambled(flags, 0, level) == hex("7E7E7E7E7E71B1B1B1B1B04848484848"));
    CHECK(scrambled(flags, ~uint64_t{0}, level) == hex("81818181818E4E4E4E4E4FB7B7B7B7B7"));
    // One bit comes again every 43 bits: 0, 43, 86.
    CHECK(scrambled(hex("80000000000000000000000000000000"), 0, level) == hex("80000000001000000000020000000000"));
    CHECK(scrambled(hex("7E7E0103FE03000000010000 00005E45FA737E7E"), 0, level) ==
          hex("7E7E0103FE0CCFC0207EC199F804519DC94C7EF4"));
  }
}

TEST_CASE("every level scrambles and descrambles as the shift register does, at every length") {
  std::mt19937 random(1);
  for (const auto level : test::kLevels)
    for (size_t n = 0; n < 400; ++n) {
      const Octets in = test::payload(random, n);
      const uint64_t seed = (uint64_t{random()} << 32 | random()) & kScramblerMask;
      const Octets line = by_bits(in, seed, true);
      REQUIRE(scrambled(in, seed, level) == line);
      REQUIRE(descrambled(line, seed, level) == in);
      REQUIRE(descrambled(in, seed, level) == by_bits(in, seed, false));
    }
}

TEST_CASE("input cut in two anywhere gives the same octets and state, in place and apart") {
  std::mt19937 random(2);
  const Octets in = test::payload(random, 300);
  const Octets line = by_bits(in, 5, true);
  for (const auto level : test::kLevels) {
    Scrambler whole(5, level);
    Octets out(in.size());
    whole.run(in, out.data());
    REQUIRE(out == line);
    for (size_t cut = 0; cut <= in.size(); ++cut) {
      Scrambler s(5, level);
      Octets v = in;
      s.run(std::span(v).first(cut));
      s.run(std::span(v).subspan(cut));
      REQUIRE(v == line);
      REQUIRE(s.state() == whole.state());
      Descrambler d(5, level);
      Octets back(v.size());
      d.run(std::span(v).first(cut), back.data());
      d.run(std::span(v).subspan(cut), back.data() + cut);
      REQUIRE(back == in);
      REQUIRE(d.state() == s.state());
    }
  }
}

TEST_CASE("a wrong seed spoils the first 43 bits at most, a line bit in error two bits") {
  std::mt19937 random(3);
  const Octets in = test::payload(random, 100);
  for (const auto level : test::kLevels) {
    const Octets line = scrambled(in, 0, level);
    const Octets wrong = descrambled(line, ~uint64_t{0}, level);
    CHECK((wrong[5] ^ in[5]) == 0xE0);  // 43 bits: five octets and three bits
    CHECK(std::equal(wrong.begin() + 6, wrong.end(), in.begin() + 6));
    Octets hit = line;
    hit[3] ^= 0x10;
    Octets errors = descrambled(hit, 0, level);
    for (size_t i = 0; i < errors.size(); ++i) errors[i] ^= in[i];
    // Bit 3 * 8 + 3 and the one 43 later: 70 = 8 * 8 + 6.
    Octets expected(in.size());
    expected[3] = 0x10;
    expected[8] = 0x02;
    CHECK(errors == expected);
  }
}
