// SPDX-License-Identifier: BSD-3-Clause
#include "mapos/fcs.h"

#include <catch2/catch.hpp>
#include <string_view>
#include <vector>

namespace {
std::vector<uint8_t> octets(std::string_view s) { return {s.begin(), s.end()}; }
}  // namespace

TEST_CASE("the check values of the catalogues: 0x906E and 0xCBF43926 for 123456789") {
  REQUIRE(mapos::fcs16(octets("123456789")) == 0x906E);
  REQUIRE(mapos::fcs32(octets("123456789")) == 0xCBF43926);
}

TEST_CASE("octets that end in their FCS, least significant octet first, leave the good final value") {
  auto v = octets("MAPOS");
  const uint16_t f16 = mapos::fcs16(v);
  v.push_back(static_cast<uint8_t>(f16));
  v.push_back(static_cast<uint8_t>(f16 >> 8));
  REQUIRE(mapos::fcs16_good(v));
  v[0] ^= 1;
  REQUIRE_FALSE(mapos::fcs16_good(v));

  auto w = octets("HDLC over SONET");
  const uint32_t f32 = mapos::fcs32(w);
  for (int i = 0; i < 4; ++i) w.push_back(static_cast<uint8_t>(f32 >> (8 * i)));
  REQUIRE(mapos::fcs32_good(w));
  w[3] ^= 0x80;
  REQUIRE_FALSE(mapos::fcs32_good(w));
}
