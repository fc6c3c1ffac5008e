// SPDX-License-Identifier: BSD-3-Clause
// A network between two cards: what happens to the frames of one direction of a cable.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <queue>
#include <random>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>
#include <vector>

#include "hwmodel/link.h"
#include "mac.h"

namespace awing::hw {

/// Traffic of others that shares a hop. Sizes are frames without FCS, as everywhere.
struct CrossTraffic {
  enum class Pattern { kCbr, kPoisson, kBurst };
  uint64_t rate_bps = 0;  ///< of the line, preamble and gap counted; 0 = none
  uint32_t len = 1514;
  Pattern pattern = Pattern::kPoisson;
  uint32_t burst = 32;    ///< frames that arrive together, for kBurst
};

struct HopConfig {
  uint64_t rate_bps = 10'000'000'000;
  uint64_t queue_bytes = 512 * 1024;
  CrossTraffic cross;
};

struct PathConfig {
  uint64_t seed = 1;
  Ps delay = 0;
  std::vector<HopConfig> hops;
  double loss = 0, duplicate = 0, corrupt = 0, reorder = 0;  ///< probabilities, 0..1
  Ps reorder_extra = 0;                                       ///< how much later a reordered frame arrives
};

/// Frames wait, are lost, doubled, damaged and overtaken here; all drawn from the seed, so the same frames in give the
/// same frames out however the calls are cut. Not thread-safe: used inside one domain.
class Path {
 public:
  explicit Path(const PathConfig& config);

  /// Reads a JSON description; the error names the file, the key and what is allowed.
  static tl::expected<std::unique_ptr<Path>, std::string> from_file(const std::string& file);
  static tl::expected<PathConfig, std::string> parse(std::string_view json, const std::string& name);

  /// Takes every frame of `in`, and puts on `out` those whose time is settled. Frames for which `out` has no room stay
  /// inside.
  void advance(Link& in, Link& out);

  /// offered + duplicated = delivered + inside + lost + queue drops of the hops. Cross traffic is counted by itself.
  std::vector<std::pair<std::string, uint64_t>> counters() const;

 private:
  /// The line out of a hop: when a frame that is ready at time t starts. 10 Gb/s lines keep the column grid.
  class Line {
   public:
    explicit Line(uint64_t rate_bps) : rate_(rate_bps) {}
    Ps start(Ps ready, uint32_t len);
    Ps duration(uint32_t octets) const;

   private:
    uint64_t rate_;
    Ps free_ = 0;
    int64_t earliest_ = 0;
    IdleDeficit idle_;
  };

  /// Store and forward: a finite queue before a line, shared with cross traffic.
  class Hop {
   public:
    Hop(const HopConfig& config, uint64_t seed);
    /// A frame of ours is wholly here at time t. Returns when it starts on the line out, or -1: no room, dropped.
    Ps forward(Ps t, uint32_t len);
    /// Lets the cross traffic up to time t (exclusive) pass.
    void run_cross(Ps t);
    Ps duration(uint32_t octets) const { return line_.duration(octets); }
    uint64_t drops = 0, cross_offered = 0, cross_drops = 0;

   private:
    Ps enqueue(Ps t, uint32_t len, uint64_t& dropped);
    void next_cross();
    HopConfig config_;
    Line line_;
    std::mt19937_64 random_;
    struct Waiting {
      Ps start;
      uint32_t len;
    };
    std::deque<Waiting> queue_;
    uint64_t queued_ = 0;
    Ps cross_at_ = 0, cross_clock_ = 0;
    uint32_t cross_left_ = 0;
  };

  struct Inside {
    Ps t;
    uint64_t order;
    uint32_t flags;
    std::vector<uint8_t> data;
    bool operator>(const Inside& o) const { return std::pair(t, order) > std::pair(o.t, o.order); }
  };

  bool draw(uint64_t threshold) { return threshold != 0 && random_() <= threshold - 1; }
  void take(const WireFrame& frame, const uint8_t* data, Ps t);
  void carry(Ps t, const uint8_t* data, uint32_t len, uint32_t flags);

  PathConfig config_;
  uint64_t loss_, duplicate_, corrupt_, reorder_;  // thresholds of a 64-bit draw, 0 = never
  std::mt19937_64 random_;
  std::vector<Hop> hops_;
  Line last_{10'000'000'000};
  std::priority_queue<Inside, std::vector<Inside>, std::greater<>> inside_;
  std::vector<std::vector<uint8_t>> spare_;
  uint64_t order_ = 0;
  Ps least_latency_ = 0;
  uint64_t offered_ = 0, delivered_ = 0, lost_ = 0, duplicated_ = 0, corrupted_ = 0, reordered_ = 0;
};

}  // namespace awing::hw
