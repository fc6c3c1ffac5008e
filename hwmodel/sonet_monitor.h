// SPDX-License-Identifier: BSD-3-Clause
// What a receiver makes of the overhead of one SONET frame after the other: alarms that appear and clear after so many
// frames, and counts of parity violations. GR-253-CORE section 6.2 and ITU-T G.783 give the rules; the numbers are
// named here.
#pragma once

#include <cstdint>
#include <optional>

#include "hwmodel/datasheet_oc48.h"
#include "hwmodel/link.h"

namespace awing::hw {

/// Frames in a row. A frame is 125 us.
struct SonetRules {
  static constexpr uint32_t kLosClear = 2;  ///< with light and good framing; LOS appears after one dark frame
  static constexpr uint32_t kOofSet = 4, kOofClear = 2;
  static constexpr uint32_t kLofSet = 24, kLofClear = 24;  ///< out of frame, in frame: 3 ms
  static constexpr uint32_t kAisSet = 3, kAisClear = 3;
  static constexpr uint32_t kRdiSet = 10, kRdiClear = 10;
  static constexpr uint32_t kLabelSet = 5, kLabelClear = 5;
};
/// The payload does not get through while one of these stands.
constexpr uint32_t kAlarmsDown = kAlarmLos | kAlarmOof | kAlarmLof | kAlarmAisP;
/// RDI-P is sent back while one of these stands.
constexpr uint32_t kAlarmsReturned = kAlarmLos | kAlarmLof | kAlarmAisP | kAlarmPlmP | kAlarmUneqP;

/// Plain data; one thread at a time.
class SonetMonitor {
 public:
  struct Counts {
    uint64_t b1 = 0, b2 = 0, b3 = 0, rei_l = 0, rei_p = 0;
    bool operator==(const Counts&) const = default;
  };
  /// Takes the next frame; none: nothing came. `c2`: the label expected.
  void step(const std::optional<SonetFrame>& frame, uint32_t c2);

  uint32_t alarms() const { return alarms_; }  ///< SonetAlarm
  bool down() const { return (alarms_ & kAlarmsDown) != 0; }
  const Counts& counts() const { return counts_; }

 private:
  /// Frames in a row that speak for the alarm being otherwise than it is. True: it changes now.
  struct Persistence {
    uint32_t run = 0;
    bool turns(bool differs, uint32_t after) {
      run = differs ? run + 1 : 0;
      if (run < after) return false;
      run = 0;
      return true;
    }
  };
  void judge(uint32_t alarm, Persistence& p, bool now, uint32_t set, uint32_t clear) {
    const bool stands = (alarms_ & alarm) != 0;
    if (p.turns(now != stands, stands ? clear : set)) alarms_ ^= alarm;
  }

  // As at power-up: nothing is known to be wrong, and no frame has come yet.
  uint32_t alarms_ = 0;
  Counts counts_;
  Persistence los_, oof_, lof_, ais_, rdi_, plm_, uneq_;
};

}  // namespace awing::hw
