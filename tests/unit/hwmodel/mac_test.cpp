// SPDX-License-Identifier: BSD-3-Clause
#include "mac.h"

#include <catch2/catch.hpp>
#include <vector>

using awing::hw::IdleDeficit;

TEST_CASE("64-octet frames back to back are 67.2 ns apart, always") {
  // 8 + 64 + 12 = 84 octets = 21 quanta of 3.2 ns = 67.2 ns; a multiple of 4, so nothing is ever owed.
  IdleDeficit idle;
  for (int i = 0; i < 1000; ++i) {
    CHECK(idle.next(64) == 21);
    CHECK(idle.deficit == 0);
  }
}

TEST_CASE("1518-octet frames alternate between 1228.8 and 1232.0 ns") {
  // 8 + 1518 + 12 = 1538 = 4 * 384 + 2. Shortened: 384 quanta = 1228.8 ns, 2 octets owed; then lengthened: 385 =
  // 1232.0.
  IdleDeficit idle;
  for (int i = 0; i < 500; ++i) {
    CHECK(idle.next(1518) == 384);
    CHECK(idle.next(1518) == 385);
    CHECK(idle.deficit == 0);
  }
}

TEST_CASE("any size runs at the closed-form rate, and the gap is never below 9 octets") {
  // Four frames of any size take exactly 4 * (F + 20) octets = (F + 20) quanta: 10^10 / (8 (F + 20)) frames a second.
  for (uint32_t octets = 64; octets <= 16384; ++octets) {
    IdleDeficit idle;
    uint32_t quanta = 0;
    for (int i = 0; i < 4; ++i) {
      const uint32_t step = idle.next(octets);
      REQUIRE(4 * step >= 8 + octets + 9);
      REQUIRE(4 * step <= 8 + octets + 15);
      REQUIRE(idle.deficit <= 3);
      quanta += step;
    }
    REQUIRE(quanta == octets + 20);
    REQUIRE(idle.deficit == 0);
  }
}

TEST_CASE("mixed sizes never drift from the nominal gap by more than 3 octets") {
  IdleDeficit idle;
  uint64_t nominal = 0, real = 0;
  uint32_t octets = 64;
  for (int i = 0; i < 100'000; ++i) {
    octets = 64 + (octets * 1103515245u + 12345u) % 1455;
    nominal += octets + 20;
    real += uint64_t{4} * idle.next(octets);
    REQUIRE(nominal - real == idle.deficit);
  }
}
