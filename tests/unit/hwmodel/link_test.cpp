// SPDX-License-Identifier: BSD-3-Clause
#include "hwmodel/link.h"

#include <catch2/catch.hpp>
#include <numeric>

using namespace awing::hw;

TEST_CASE("a mirror ring shows the same octets in both halves") {
  const MirrorRing ring(10'000);  // rounded up to 16384
  REQUIRE(ring.size() == 16'384);
  uint8_t* base = ring.at(0);
  for (size_t i = 0; i < ring.size(); ++i) base[i] = static_cast<uint8_t>(i * 7 + i / 256);
  for (size_t i = 0; i < ring.size(); ++i) REQUIRE(base[ring.size() + i] == static_cast<uint8_t>(i * 7 + i / 256));
  base[ring.size() + 5] = 0xA5;
  CHECK(base[5] == 0xA5);
}

TEST_CASE("octets from any position are contiguous across the seam") {
  const MirrorRing ring(4096);
  const uint64_t pos = 3 * 4096 + 4000;  // 96 octets before the seam
  std::vector<uint8_t> data(1500);
  std::iota(data.begin(), data.end(), uint8_t{1});
  std::memcpy(ring.at(pos), data.data(), data.size());
  CHECK(std::memcmp(ring.at(pos + 96), data.data() + 96, data.size() - 96) == 0);
  CHECK(ring.at(pos + 96) == ring.at(0));
}

TEST_CASE("a link keeps order, counts room and grows without losing octets") {
  Link link(4096, 5'000);
  CHECK(link.delay() == 5'000);
  CHECK(link.room(0) == 4096);
  uint64_t pos = 0;
  const auto send = [&](Ps start, uint8_t fill, uint32_t len) {
    std::memset(link.bytes(pos), fill, len);
    link.push({start, pos, len, 0});
    pos += len;
  };
  send(100, 0x11, 3000);
  CHECK(link.room(pos) == 1096);
  link.grow(20'000);
  CHECK(link.room(pos) == 32'768 - 3000);
  send(200, 0x22, 20'000);
  REQUIRE(link.size() == 2);
  CHECK(link.front().start == 100);
  CHECK(link.bytes(link.front().pos)[2999] == 0x11);
  CHECK(link.peek(1).start == 200);
  link.pop();
  link.release(3000);
  CHECK(link.bytes(link.front().pos)[19'999] == 0x22);
  CHECK(link.room(pos) == 32'768 - 20'000);
  link.set_known_until(500);
  link.set_known_until(400);
  CHECK(link.known_until() == 500);
}

TEST_CASE("a sender short of room has the receiver move its frames away") {
  Link link(4096, 0);
  link.push({1, 0, 4000, 0});
  link.pop();  // taken, but still needed by the receiver: not released
  CHECK(link.room(4000) == 96);
  int calls = 0;
  link.set_evacuate([&] { ++calls; });
  link.evacuate(4000);
  CHECK(calls == 1);
  CHECK(link.room(4000) == 4096);
}
