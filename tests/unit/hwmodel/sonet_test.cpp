// SPDX-License-Identifier: BSD-3-Clause
#include "sonet.h"

#include <catch2/catch.hpp>

using namespace awing::hw;

TEST_CASE("payload octets lie where a walk through rows and columns finds them, three frames long") {
  // STS-48c: rows of 90 * 48 columns; 3 * 48 of transport overhead, one of path overhead, 48 / 3 - 1 of fixed stuff.
  int64_t octet = 0, payload = 0;
  for (int frame = 0; frame < 3; ++frame)
    for (int row = 0; row < 9; ++row)
      for (int column = 0; column < 90 * 48; ++column, ++octet) {
        const bool is_payload = column >= 3 * 48 + 1 + 48 / 3 - 1;
        const int64_t edge = octet / 4;
        const int lane = static_cast<int>(octet % 4);
        REQUIRE(sonet::is_payload(edge) == is_payload);
        if (lane == 0) REQUIRE(sonet::word_from(edge) == payload / 4);
        if (!is_payload) continue;
        REQUIRE(sonet::edge_of(payload) == edge);
        REQUIRE(sonet::lane_of(payload) == lane);
        REQUIRE(sonet::octet_at(edge, lane) == payload);
        REQUIRE(sonet::edge_of_word(payload / 4) == edge);
        ++payload;
      }
  CHECK(payload == 3 * 37'440);
  CHECK(octet == 3 * 38'880);
}

TEST_CASE("a SONET frame takes 125 us exactly and carries 37,440 payload octets: 2396.16 Mb/s") {
  const Clock clock = sonet::quantum_clock(0);
  for (int64_t frame : {1, 2, 8000, 80'000'000}) {
    CHECK(clock.at(frame * 38'880) == frame * 125'000'000);
    CHECK(sonet::word_from(frame * 9720) == frame * 37'440 / 4);
  }
  // An octet of the line at 2488.32 Mb/s is 8 / 2488.32 us = 3215.02 ps; a 64-bit count of picoseconds rounds down.
  CHECK(clock.at(1) == 3215);
  CHECK(clock.at(4) == 12'860);
}

TEST_CASE("a fast line is early by its parts per million") {
  // 100 ppm: a million octets take 10^18 / (311.04e6 * 1.0001) ps = 3214699106.22
  CHECK(sonet::quantum_clock(100).at(1'000'000) == 3'214'699'106);
  CHECK(sonet::quantum_clock(-200).at(311'040'000LL * 9998) == 10'000 * kPsPerSec);
}
