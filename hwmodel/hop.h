// SPDX-License-Identifier: BSD-3-Clause
// A node of a network: store and forward, one finite queue, one line out, shared with the traffic of others.
#pragma once

#include <bit>
#include <cstdint>

#include "hwmodel/link.h"
#include "hwmodel/ring.h"
#include "hwmodel/time.h"
#include "mac.h"

namespace awing::hw {

constexpr uint64_t kTenGigabit = 10'000'000'000;

/// xoshiro256** of Blackman and Vigna, its state filled by splitmix64: small, fast, and the same everywhere.
class Random {
 public:
  explicit constexpr Random(uint64_t seed) : s_{} {
    for (uint64_t& word : s_) {
      seed += 0x9E3779B97F4A7C15;
      uint64_t z = (seed ^ (seed >> 30)) * 0xBF58476D1CE4E5B9;
      z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
      word = z ^ (z >> 31);
    }
  }
  constexpr Random(uint64_t a, uint64_t b, uint64_t c, uint64_t d) : s_{a, b, c, d} {}
  constexpr uint64_t operator()() {
    const uint64_t result = std::rotl(s_[1] * 5, 7) * 9, t = s_[1] << 17;
    s_[2] ^= s_[0], s_[3] ^= s_[1], s_[1] ^= s_[2], s_[0] ^= s_[3];
    s_[2] ^= t;
    s_[3] = std::rotl(s_[3], 45);
    return result;
  }

 private:
  uint64_t s_[4];
};

/// Traffic of others. A frame of it arrives when its last octet does; many lines bring it, so frames may coincide.
struct CrossTraffic {
  enum class Pattern : uint8_t {
    kPoisson,  ///< gaps drawn from the exponential distribution
    kCbr,      ///< one frame each mean distance exactly, from a random phase on
    kBurst,    ///< `burst` frames back to back at the hop's own rate, then a silence drawn as in kPoisson
  };
  uint64_t rate_bps =
      0;  ///< frames with FCS, preamble and the mean gap of 12 octets, so that 10^10 fills a line; 0 = none
  uint32_t len = 1514;  ///< octets of a frame without FCS
  Pattern pattern = Pattern::kPoisson;
  uint32_t burst = 32;
};

struct HopConfig {
  uint64_t rate_bps = kTenGigabit;
  /// Octets (with FCS) of frames that wait: from the arrival of the last octet until the start on the line out. A frame
  /// that would go beyond it is dropped (tail drop).
  uint64_t queue_bytes = 512 * 1024;
  CrossTraffic cross;
};

/// -ln(u / 2^64) in units of 2^-32, for u > 0: an exponentially distributed number from an evenly distributed one.
/// Whole-number arithmetic alone, so the same on every machine. Off by less than 2^-31.
uint64_t exponential(uint64_t u);

/// The line out of a hop. At 10 Gb/s it is a 10GBASE-R line: starts lie on columns of 3.2 ns, the gap follows the
/// deficit idle count. At other rates the gap is 12 octets and times are exact rationals, rounded when reported.
class OutputLine {
 public:
  struct Sent {
    Ps start;  ///< of the Start octet, rounded down
    Ps end;    ///< when the last octet of the FCS has left, rounded up
  };
  explicit OutputLine(uint64_t rate_bps) : rate_(rate_bps) {}
  /// Sends a frame of `len` octets (without FCS) that is ready at time `ready`, as soon as the line is free.
  Sent send(Ps ready, uint32_t len);
  /// Time that `octets` take, rounded down.
  Ps duration(uint32_t octets) const;

 private:
  uint64_t rate_;
  int64_t earliest_ = 0;    // 10 Gb/s: column of the earliest next start
  IdleDeficit idle_;        // 10 Gb/s
  Ps free_ = 0;             // other rates: earliest next start, whole picoseconds
  uint64_t free_part_ = 0;  // and the rest in 1/rate_ ps
};

/// Frames must arrive in order of time. Not thread-safe.
class Hop {
 public:
  Hop(const HopConfig& config, uint64_t seed);

  /// A frame of `len` octets (without FCS) has wholly arrived at time t. False: no room, dropped and counted.
  bool forward(Ps t, uint32_t len, OutputLine::Sent& sent);
  /// Lets cross traffic that arrives before t pass, at most `budget` frames. Needed only to spread the work: forward()
  /// does what is missing.
  void run_cross(Ps t, uint64_t budget);

  const HopConfig& config() const { return config_; }
  /// The least time from a start on the line out to the arrival of that frame at the next hop.
  Ps least_duration() const;
  uint64_t drops() const { return drops_; }
  uint64_t cross_offered() const { return cross_offered_; }
  uint64_t cross_drops() const { return cross_drops_; }

 private:
  struct Waiting {
    Ps start;
    uint64_t octets;
  };
  bool enqueue(Ps t, uint32_t len, OutputLine::Sent& sent);
  void next_cross();
  Ps exponential_gap();
  void step(uint64_t octets, uint64_t rate_bps);

  HopConfig config_;
  OutputLine line_;
  GrowingRing<Waiting> queue_;
  uint64_t queued_ = 0;
  uint64_t drops_ = 0, cross_offered_ = 0, cross_drops_ = 0;

  Random random_;
  uint64_t mean_gap_ = 0;    // of kPoisson, and of the silences of kBurst: 2^-12 ps
  Ps cross_at_ = kForever;   // next arrival
  uint64_t cross_part_ = 0;  // and the rest in 1/rate ps (kCbr)
  uint32_t cross_left_ = 0;  // frames left of this burst
};

}  // namespace awing::hw
