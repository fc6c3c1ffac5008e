// SPDX-License-Identifier: BSD-3-Clause
// The moderator alone, edge by edge. Expected edges are those of docs/datasheet.md, section 8.
#include "moderator.h"

#include <catch2/catch.hpp>

using namespace awing::hw;

namespace {
constexpr uint32_t kRx = 1u << kCauseReceive, kTx = 1u << kCauseSend;

Moderator enabled(uint32_t count, uint32_t timeout) {
  Moderator m;
  m.set_count(kCauseReceive, count, 0);
  m.set_timeout(kCauseReceive, timeout, 0);
  m.enable(kCauseReceive, true, 0);
  return m;
}
}  // namespace

TEST_CASE("the count raises the line at the edge after the event that fills it") {
  Moderator m = enabled(3, 1'000'000);
  m.tell(kCauseReceive, 1, 10);
  m.tell(kCauseReceive, 2, 20);
  CHECK(m.lines(29) == 0);
  m.tell(kCauseReceive, 3, 30);
  CHECK(m.lines(31) == kRx);
  CHECK(m.next_change() == 31);
}

TEST_CASE("the time runs from the edge after the first event and is not put off by further ones") {
  Moderator m = enabled(100, 50);
  m.tell(kCauseReceive, 1, 10);
  CHECK(m.next_change() == 11 + 50);
  m.tell(kCauseReceive, 2, 40);
  CHECK(m.next_change() == 11 + 50);
  CHECK(m.lines(60) == 0);
  CHECK(m.lines(61) == kRx);
}

TEST_CASE("time-out 0 raises the line at once, whatever the count; count 0 is 1") {
  CHECK([] {
    Moderator m = enabled(100, 0);
    m.tell(kCauseReceive, 1, 10);
    return m.next_change();
  }() == 11);
  CHECK([] {
    Moderator m = enabled(0, 1000);
    m.tell(kCauseReceive, 1, 10);
    return m.next_change();
  }() == 11);
}

TEST_CASE("a masked cause counts and its time runs, and it rises two edges after it is unmasked") {
  Moderator m = enabled(4, 50);
  m.enable(kCauseReceive, false, 5);
  m.tell(kCauseReceive, 1, 10);
  CHECK(m.lines(1000) == 0);
  CHECK(m.idle());
  m.enable(kCauseReceive, true, 1000);
  CHECK(m.lines(1001) == 0);
  CHECK(m.lines(1002) == kRx);
}

TEST_CASE("Seen acknowledges what it names and no more; the rest waits its time anew") {
  Moderator m = enabled(2, 50);
  m.tell(kCauseReceive, 3, 10);
  CHECK(m.take(11) == kRx);
  m.set_seen(kCauseReceive, 2, 100);
  CHECK(m.next_change() == 101);
  CHECK(m.take(101) == 0);
  CHECK(m.next_change() == 101 + 50);
  m.set_seen(kCauseReceive, 3, 120);
  CHECK(m.next_change() == Moderator::kNever);
}

TEST_CASE("a write while something is still due shows as a fall and a rise") {
  Moderator m = enabled(1, 0);
  m.tell(kCauseReceive, 5, 10);
  CHECK(m.take(11) == kRx);
  m.set_seen(kCauseReceive, 4, 20);
  CHECK(m.next_change() == 21);
  CHECK(m.take(21) == 0);
  CHECK(m.next_change() == 22);
  CHECK(m.take(22) == kRx);
  CHECK(m.next_change() == Moderator::kNever);
}

TEST_CASE("counts are modulo 2^32, and a host that claims to have seen more than it was told hears nothing") {
  Moderator m = enabled(2, 1'000'000);
  m.set_seen(kCauseReceive, 0xFFFFFFFF, 1);
  m.tell(kCauseReceive, 0xFFFFFFFF, 2);
  CHECK(m.next_change() == Moderator::kNever);
  m.tell(kCauseReceive, 1, 10);
  CHECK(m.next_change() == 11);
  m.set_seen(kCauseReceive, 100, 20);
  CHECK(m.take(21) == 0);
  m.tell(kCauseReceive, 50, 30);
  CHECK(m.next_change() == Moderator::kNever);
}

TEST_CASE("the causes do not touch each other") {
  Moderator m = enabled(1, 0);
  m.set_count(kCauseSend, 10, 0);
  m.set_timeout(kCauseSend, 1000, 0);
  m.enable(kCauseSend, true, 0);
  m.tell(kCauseReceive, 1, 10);
  CHECK(m.take(11) == kRx);
  m.tell(kCauseSend, 10, 20);
  CHECK(m.next_change() == 21);
  CHECK(m.take(21) == (kRx | kTx));
  m.set_seen(kCauseSend, 10, 30);
  CHECK(m.take(31) == kRx);
  m.reset(40);
  CHECK(m.take(41) == 0);
  CHECK(m.told(kCauseSend) == 0);
}
