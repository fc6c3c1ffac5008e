// SPDX-License-Identifier: BSD-3-Clause
// When each packet of a stream is to start: linear schedules in exact rational arithmetic, so that neither an hour of
// packets nor a rate that does not divide 10^9 makes them drift. Times are nanoseconds of the sending port's clock.
#pragma once

#include <cstdint>

#include "apcm/wide.h"

namespace apcm {

/// Ethernet octets around a frame without FCS: FCS 4, preamble and SFD 8, inter-frame gap 12.
constexpr uint32_t kL1Overhead = 24;
constexpr uint32_t kMinFrameNoFcs = 60;
/// Layer 1 octets of a frame of `octets` (without FCS): what it takes of the line.
constexpr uint32_t l1_octets(uint32_t octets) {
  return (octets < kMinFrameNoFcs ? kMinFrameNoFcs : octets) + kL1Overhead;
}
/// Layer 2 octets: the frame with its FCS.
constexpr uint32_t l2_octets(uint32_t octets) { return (octets < kMinFrameNoFcs ? kMinFrameNoFcs : octets) + 4; }

/// Constant bit rate. `streams` equal schedules, told apart by `index`, share the rate: each has 1/streams of it, and
/// their first packets are spread evenly. Which octets count (L1 or L2) the caller decides by what it gives to
/// advance().
class RateSchedule {
 public:
  constexpr RateSchedule(uint64_t total_bps, uint32_t streams = 1, uint32_t index = 0, uint32_t first_octets = 0)
      : rate_bps_(total_bps), streams_(streams), phase_bits_(uint64_t{index} * first_octets * 8) {}

  /// Start of the next packet, nanoseconds after the schedule's start, rounded down.
  constexpr uint64_t next_ns() const {
    const auto bits = static_cast<Uint128>(bits_) * streams_ + phase_bits_;
    return static_cast<uint64_t>(bits * 1'000'000'000u / rate_bps_);
  }
  /// The next packet occupies `octets`.
  constexpr void advance(uint32_t octets) { bits_ += uint64_t{octets} * 8; }

 private:
  uint64_t rate_bps_;
  uint32_t streams_;
  uint64_t phase_bits_;
  uint64_t bits_ = 0;
};

/// The video's own rate: the packets of each frame spread evenly over the frame period (ST 2110-21 type NL, linear).
class FrameSchedule {
 public:
  constexpr FrameSchedule(uint32_t fps_num, uint32_t fps_den, uint32_t packets_per_frame, uint32_t streams = 1,
                          uint32_t index = 0)
      : num_(uint64_t{fps_num} * packets_per_frame * streams), den_(fps_den), streams_(streams), index_(index) {}

  /// Start of the next packet, nanoseconds after the schedule's start, rounded down.
  constexpr uint64_t next_ns() const {
    const auto slot = static_cast<Uint128>(packets_) * streams_ + index_;
    return static_cast<uint64_t>(slot * den_ * 1'000'000'000u / num_);
  }
  constexpr void advance() { ++packets_; }

 private:
  uint64_t num_;  ///< slots in fps_den seconds
  uint64_t den_;
  uint32_t streams_, index_;
  uint64_t packets_ = 0;
};

}  // namespace apcm
