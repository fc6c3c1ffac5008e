// SPDX-License-Identifier: BSD-3-Clause
// A network between two cards: what happens to the frames of one direction of a cable.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>
#include <vector>

#include "hop.h"
#include "hwmodel/link.h"

namespace awing::hw {

struct PathConfig {
  uint64_t seed = 1;
  Ps delay = 0;  ///< propagation of the whole path, after the last hop
  std::vector<HopConfig> hops;
  double loss = 0, duplicate = 0, corrupt = 0, reorder = 0;  ///< probabilities, 0..1
  Ps reorder_extra = 0;                                      ///< how much later a reordered frame gets to the first hop
};

/// Frames in order of time, and their octets. Allocates only when it grows beyond all it ever held.
class FrameStore {
 public:
  bool empty() const { return frames_.empty(); }
  uint64_t size() const { return frames_.size(); }
  const WireFrame& front() const { return frames_.front(); }
  const uint8_t* data() const { return &octets_[front().pos & (octets_.size() - 1)]; }
  void push(WireFrame frame, const uint8_t* data);
  void pop();

 private:
  GrowingRing<WireFrame> frames_;
  std::vector<uint8_t> octets_ = std::vector<uint8_t>(32768);  // size: a power of two
  uint64_t head_ = 0, tail_ = 0;
};

/// Each frame offered is, in this order, lost; doubled; and each copy damaged, held back, queued by every hop, delayed.
/// Damage is done on the last line, so no hop throws a frame away for it. Everything is drawn from the seed: the same
/// frames in give the same frames out, however the calls of advance() are cut.
///
/// Without hops frames keep their spacing; where two would overlap (doubled, reordered) the second waits for the line
/// and for 5 octets of idle, the least a 10GBASE-R receiver must bear (IEEE 802.3 table 4-2 note: 40 bit times).
///
/// Not thread-safe: used inside one domain.
class Path {
 public:
  explicit Path(const PathConfig& config);

  /// Reads a JSON description; the error is one line naming the file, the key and what is allowed.
  static tl::expected<std::unique_ptr<Path>, std::string> from_file(const std::string& file);
  /// The same from text; `name` stands for the file in errors.
  static tl::expected<std::unique_ptr<Path>, std::string> from_json(std::string_view text, const std::string& name);
  static tl::expected<PathConfig, std::string> parse(std::string_view text, const std::string& name);

  /// Takes every frame of `in` that is settled (start < known_until()), and puts on `out` what leaves the path, in
  /// order of start. Frames for which `out` has no room stay inside, and out.known_until() stays before them.
  /// Work is linear in the frames taken and in the model time passed (cross traffic).
  void advance(Link& in, Link& out);

  /// offered + duplicated = delivered + inside + lost + all queue_drops. Cross traffic has its own counters (as far as
  /// it has been computed), with cross_offered = cross_forwarded + cross_drops.
  std::vector<std::pair<std::string, uint64_t>> counters() const;

 private:
  /// Compares with a 64-bit draw.
  struct Chance {
    explicit Chance(double p);
    bool hit(uint64_t draw) const { return always || draw < below; }
    uint64_t below;
    bool always;
  };

  Ps ready(Ps start, uint32_t len) const;
  void take(const WireFrame& frame, const uint8_t* data, Ps arrival, Link& out);
  void run_late(Ps until, Link& out);
  void carry(Ps t, uint32_t len, uint32_t flags, const uint8_t* data, Link& out);
  bool place(const WireFrame& frame, const uint8_t* data, Link& out);

  PathConfig config_;
  Chance loss_, duplicate_, corrupt_, reorder_;
  Random random_;
  std::vector<Hop> hops_;
  Ps least_entry_, least_latency_;  // from the start at the entrance to the first hop; from there to the end
  Ps last_ready_ = 0;
  Ps line_free_ = 0;  // without hops
  FrameStore late_;   // held back; start is when they are ready for the first hop
  FrameStore held_;   // through, but no room on `out`
  uint64_t offered_ = 0, delivered_ = 0, lost_ = 0, duplicated_ = 0, corrupted_ = 0, reordered_ = 0;
};

}  // namespace awing::hw
