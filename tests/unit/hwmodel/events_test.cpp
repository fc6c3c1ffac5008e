// SPDX-License-Identifier: BSD-3-Clause
#include "hwmodel/events.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <random>
#include <tuple>

using namespace awing::hw;

namespace {
std::vector<Event> random_events(uint64_t seed, size_t count) {
  std::mt19937_64 draw(seed);
  std::vector<Event> events;
  for (size_t i = 0; i < count; ++i)
    events.push_back({static_cast<Ps>(draw() % 1000), static_cast<Block>(draw() % 4),
                      static_cast<EventType>(draw() % 10), static_cast<uint16_t>(i), static_cast<uint32_t>(i), draw()});
  return events;
}
}  // namespace

TEST_CASE("events come out in order of time, block, type, and of their making where these agree") {
  auto expected = random_events(1, 5000);
  EventLog log;
  std::vector<Event> seen;
  log.set_sink([&](std::span<const Event> events) { seen.insert(seen.end(), events.begin(), events.end()); });
  for (const Event& e : expected) log.add(e);
  for (Ps t : {-1, 0, 3, 3, 400, 401, 2000}) {
    log.flush(t);
    REQUIRE(std::all_of(seen.begin(), seen.end(), [=](const Event& e) { return e.t <= t; }));
  }
  std::stable_sort(expected.begin(), expected.end(), [](const Event& a, const Event& b) {
    return std::tie(a.t, a.block, a.type) < std::tie(b.t, b.block, b.type);
  });
  CHECK(seen == expected);
  CHECK(log.count() == expected.size());
}

TEST_CASE("the hash does not depend on how flushes are cut") {
  const auto events = random_events(2, 1000);
  EventLog once, often;
  for (const Event& e : events) once.add(e), often.add(e);
  once.flush(1000);
  for (Ps t = 0; t < 1000; t += 7) often.flush(t);
  often.flush(1000);
  CHECK(once.hash() == often.hash());
  CHECK(once.count() == often.count());
}

TEST_CASE("the hash is FNV-1a over the fields, low octet first") {
  EventLog log;
  CHECK(log.hash() == 0xcbf29ce484222325);  // the offset basis: nothing passed on yet
  log.add({0x0807060504030201, Block::kRegs, EventType::kRegWrite, 0x0A09, 0x0E0D0C0B, 0x1615141312111000});
  log.flush(INT64_MAX);
  const uint8_t octets[] = {1,    2,    3,    4,    5,    6,    7,    8,      // t
                            3,    2,                                          // block, type
                            0x09, 0x0A, 0x0B, 0x0C, 0x0D, 0x0E,               // a, b
                            0x00, 0x10, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16};  // c
  uint64_t h = 0xcbf29ce484222325;
  for (uint8_t o : octets) h = (h ^ o) * 0x100000001b3;
  CHECK(log.hash() == h);
}
