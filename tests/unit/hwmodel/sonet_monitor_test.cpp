// SPDX-License-Identifier: BSD-3-Clause
#include "sonet_monitor.h"

#include <catch2/catch.hpp>

using namespace awing::hw;

namespace {

struct Line {
  SonetMonitor monitor;
  SonetFrame frame{0, true, true, false, false, 0x8D, 0, 0, 0, 0, 0};
  uint32_t expected = 0x8D;
  void step() { monitor.step(frame, expected); }
  /// After how many frames like this one the alarm has turned; 0: not within a hundred.
  int turns(uint32_t alarm) {
    const bool before = (monitor.alarms() & alarm) != 0;
    for (int n = 1; n <= 100; ++n) {
      step();
      if (((monitor.alarms() & alarm) != 0) != before) return n;
    }
    return 0;
  }
};

}  // namespace

TEST_CASE("alarms appear and clear after their number of frames") {
  struct {
    uint32_t alarm;
    void (*spoil)(SonetFrame&);
    int set, clear;
  } const rows[] = {
      {kAlarmLos, [](SonetFrame& f) { f.light = false; }, 1, 2},
      {kAlarmOof, [](SonetFrame& f) { f.framing = false; }, 4, 2},
      // 3 ms of OOF, which itself takes four frames to appear: the fourth is the first of the 24.
      {kAlarmLof, [](SonetFrame& f) { f.framing = false; }, 4 + 23, 2 + 23},
      {kAlarmAisP, [](SonetFrame& f) { f.ais = true; }, 3, 3},
      {kAlarmRdiP, [](SonetFrame& f) { f.rdi = true; }, 10, 10},
      {kAlarmPlmP, [](SonetFrame& f) { f.c2 = 0x16; }, 5, 5},
      {kAlarmUneqP, [](SonetFrame& f) { f.c2 = 0; }, 5, 5},
  };
  for (const auto& row : rows) {
    INFO("alarm " << row.alarm);
    Line line;
    line.step();
    CHECK(line.monitor.alarms() == 0);
    const SonetFrame good = line.frame;
    row.spoil(line.frame);
    const SonetFrame bad = line.frame;
    // One frame less than it takes, a good one, and it has not come.
    for (int i = 1; i < row.set; ++i) line.step();
    CHECK((line.monitor.alarms() & row.alarm) == 0);
    line.frame = good;
    for (int i = 0; i < 60; ++i) line.step();
    CHECK(line.monitor.alarms() == 0);
    line.frame = bad;
    CHECK(line.turns(row.alarm) == row.set);
    line.frame = good;
    CHECK(line.turns(row.alarm) == row.clear);
    for (int i = 0; i < 60; ++i) line.step();
    CHECK(line.monitor.alarms() == 0);
  }
}

TEST_CASE("no frame at all is darkness; the payload is down until light, framing and 3 ms of it are back") {
  Line line;
  line.step();
  for (int i = 0; i < 100; ++i) line.monitor.step(std::nullopt, 0x8D);
  CHECK(line.monitor.alarms() == (kAlarmLos | kAlarmOof | kAlarmLof));
  CHECK(line.monitor.down());
  CHECK(line.turns(kAlarmLof) == 25);
  CHECK_FALSE(line.monitor.down());
}

TEST_CASE("short darkness brings LOS without LOF, and goes in two frames") {
  Line line;
  line.step();
  line.monitor.step(std::nullopt, 0x8D);
  CHECK(line.monitor.alarms() == kAlarmLos);
  CHECK(line.turns(kAlarmLos) == 2);
  CHECK(line.monitor.alarms() == 0);
}

TEST_CASE("a label that says only that there is one matches; a wrong one is not an unequipped one") {
  Line line;
  line.frame.c2 = 1;
  CHECK(line.turns(kAlarmPlmP) == 0);
  line.frame.c2 = 0;
  CHECK(line.turns(kAlarmPlmP) == 0);
  CHECK(line.monitor.alarms() == kAlarmUneqP);
}

TEST_CASE("violations are counted while there is overhead to read") {
  Line line;
  line.frame.b1 = 1, line.frame.b2 = 20, line.frame.b3 = 3, line.frame.rei_l = 40, line.frame.rei_p = 5;
  line.step();
  line.step();
  CHECK(line.monitor.counts() == SonetMonitor::Counts{2, 40, 6, 80, 10});
  line.frame.ais = true;  // section and line are read, the path is all ones
  line.step();
  CHECK(line.monitor.counts() == SonetMonitor::Counts{3, 60, 6, 120, 10});
  line.frame.light = false;
  line.step();
  CHECK(line.monitor.counts() == SonetMonitor::Counts{3, 60, 6, 120, 10});
}
