// SPDX-License-Identifier: BSD-3-Clause
// The interrupt moderator of a card: when each cause asserts its line. Pure: bus edges in, levels out; it knows nothing
// of buses, rings or engines. The rules are those of docs/datasheet.md, section 8.
//
// A cause counts what the host has been told of. The host says by Seen how far it has looked, so a write that is long
// on its way can never acknowledge what the host has not seen: no wake-up is lost, whatever the order.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "hwmodel/datasheet.h"

namespace awing::hw {

class Moderator {
 public:
  static constexpr int64_t kNever = INT64_MAX / 4;

  // --- what happens, each at a bus edge e; edges never go back. It counts from edge e + 1 on. -----------------------
  /// The host has been told of `total` events since the reset, modulo 2^32.
  void tell(Cause c, uint32_t total, int64_t e) {
    State& s = states_[c];
    const bool none = unseen(s) == 0;
    s.told = total;
    if (none) s.since = e + 1;
    changed_ = e + 1;
  }
  void enable(Cause c, bool on, int64_t e) { write(c, e).enabled = on; }
  /// Fewer than one counts as one.
  void set_count(Cause c, uint32_t count, int64_t e) { write(c, e).count = count; }
  /// Bus clocks.
  void set_timeout(Cause c, uint32_t clocks, int64_t e) { write(c, e).timeout = clocks; }
  /// The host has looked at the events up to `total`; the time of what it has not seen begins anew.
  void set_seen(Cause c, uint32_t total, int64_t e) {
    State& s = write(c, e);
    s.seen = total;
    s.since = e + 1;
  }
  /// Counts go to zero, settings stay.
  void reset(int64_t e) {
    for (uint32_t c = 0; c < kCauses; ++c) {
      State& s = write(static_cast<Cause>(c), e);
      s.told = s.seen = 0;
    }
  }

  // --- what follows -------------------------------------------------------------------------------------------------
  uint32_t told(Cause c) const { return states_[c].told; }
  /// Which lines are asserted at edge e, if nothing more happens before it. e lies after the last happening.
  uint32_t lines(int64_t e) const {
    uint32_t on = 0;
    for (uint32_t c = 0; c < kCauses; ++c)
      if (due(states_[c]) <= e) on |= 1u << c;
    return on;
  }
  /// Lines as last taken by take().
  uint32_t taken() const { return taken_; }
  /// First edge at which the lines differ from those last taken, if nothing more happens; kNever: they stay.
  int64_t next_change() const {
    if (idle()) return kNever;
    int64_t at = kNever;
    for (uint32_t c = 0; c < kCauses; ++c) {
      const int64_t up = due(states_[c]);
      if (!(taken_ & 1u << c))
        at = std::min(at, std::max(up, changed_));
      else if (up > changed_)  // a line falls through a happening alone
        at = std::min(at, changed_);
    }
    return at;
  }
  /// The lines at edge e; the next change counts from these.
  uint32_t take(int64_t e) {
    changed_ = e;
    return taken_ = lines(e);
  }
  /// No line is up and none may rise.
  bool idle() const { return taken_ == 0 && !states_[kCauseReceive].enabled && !states_[kCauseSend].enabled; }

 private:
  struct State {
    uint32_t told = 0, seen = 0, count = 1, timeout = 0;
    int64_t since = 0;  // edge from which the time of what is unseen counts
    int64_t from = 0;   // edge before which a write holds the line down
    bool enabled = false;
  };
  static uint32_t unseen(const State& s) {
    const auto n = static_cast<int32_t>(s.told - s.seen);
    return n > 0 ? static_cast<uint32_t>(n) : 0;
  }
  /// First edge at which the line is up, if nothing more happens.
  static int64_t due(const State& s) {
    const uint32_t n = unseen(s);
    if (!s.enabled || n == 0) return kNever;
    return n >= s.count ? s.from : std::max(s.from, s.since + s.timeout);
  }
  /// A write to a register of the cause holds its line down for one clock, so that what is still due is seen to rise.
  State& write(Cause c, int64_t e) {
    states_[c].from = e + 2;
    changed_ = e + 1;
    return states_[c];
  }

  std::array<State, kCauses> states_;
  uint32_t taken_ = 0;
  int64_t changed_ = 0;  // edge from which the states hold that the next change is worked out from
};

}  // namespace awing::hw
