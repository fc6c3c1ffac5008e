// SPDX-License-Identifier: BSD-3-Clause
// What the packets of a stream tell: delay, gaps, bursts, loss. One pass, per packet, no sampling, no allocation.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "apcm/histogram.h"
#include "apcm/stamp.h"

namespace apcm {

/// Octets of the line a frame takes besides its own (with FCS): preamble and SFD 8, inter-frame gap 12.
constexpr uint32_t kLineOverhead = 20;

/// Gaps between frames that follow each other on one wire, in the order of their starts. Not thread-safe.
class GapMeter {
 public:
  /// line_bps: rate of the line, bit/s.
  explicit GapMeter(uint64_t line_bps = 10'000'000'000) : line_bps_(line_bps) {}

  /// A frame of frame_octets (with FCS) started at `start`.
  void on_frame(Stamp start, uint32_t frame_octets);
  /// Closes the burst that is open; call before reading bursts.
  void finish() { end_burst(); }
  /// The next gap is not measured: after a pause or a reset it would say nothing of the wire.
  void forget_last() {
    end_burst();
    last_.reset();
  }

  const Histogram& start_to_start() const { return start_to_start_; }  ///< picoseconds
  const Histogram& idle() const { return idle_; }          ///< end of a frame (FCS) to the next start, picoseconds
  uint64_t out_of_order() const { return out_of_order_; }  ///< frames whose stamp lies before the one before; no gap
  /// Runs of at least two frames at 99 % of the line rate or more: lengths.
  const Histogram& burst_frames() const { return burst_frames_; }
  const Histogram& burst_octets() const { return burst_octets_; }
  /// The smallest gap and the size (with FCS) of the frame before it.
  std::optional<int64_t> smallest_ps() const { return smallest_; }
  uint32_t smallest_frame() const { return smallest_frame_; }
  /// Start-to-start time of back-to-back frames of this size, picoseconds, the mean over a long run.
  int64_t wire_gap_ps(uint32_t frame_octets) const {
    return static_cast<int64_t>(static_cast<Uint128>(frame_octets + kLineOverhead) * 8 * 1'000'000'000'000 / line_bps_);
  }
  uint64_t frames() const { return frames_; }
  uint64_t octets() const { return octets_; }
  std::optional<Stamp> first() const { return first_; }
  std::optional<Stamp> last() const { return frames_ ? std::optional(last_seen_) : std::nullopt; }
  /// Line rate taken from first to last start, preamble and gap counted, bit/s.
  std::optional<uint64_t> line_rate_bps() const;

 private:
  void end_burst();
  uint64_t line_bps_;
  std::optional<Stamp> last_, first_;
  Stamp last_seen_;
  uint32_t last_octets_ = 0;
  Histogram start_to_start_, idle_, burst_frames_, burst_octets_;
  std::optional<int64_t> smallest_;
  uint32_t smallest_frame_ = 0;
  uint64_t run_frames_ = 1, run_octets_ = 0;
  uint64_t frames_ = 0, octets_ = 0, line_octets_before_last_ = 0, out_of_order_ = 0;
};

/// One-way delay, start of frame to start of frame. Negative delays are kept and counted. Not thread-safe.
class DelayMeter {
 public:
  void on_packet(Stamp sent, Stamp received) {
    const int64_t d = difference_ps(received, sent);
    if (d < 0)
      negative_.record(static_cast<uint64_t>(-d));
    else
      positive_.record(static_cast<uint64_t>(d));
  }
  uint64_t count() const { return positive_.count() + negative_.count(); }
  uint64_t negative() const { return negative_.count(); }
  std::optional<int64_t> min() const;
  std::optional<int64_t> max() const;
  std::optional<int64_t> mean() const;
  std::optional<int64_t> percentile(double percent) const;
  const Histogram& histogram() const { return positive_; }  ///< of the delays that are not negative, picoseconds

 private:
  Histogram positive_, negative_;
};

/// Loss, duplication and reordering by 32-bit sequence numbers that wrap. A window of kWindow numbers behind the
/// highest one tells a late packet from a double one; packets older than that are counted apart. Not thread-safe.
/// received = unique + duplicates + too_old; lost = expected - unique.
class SequenceMeter {
 public:
  static constexpr uint32_t kWindow = 1u << 16;

  void on_packet(uint32_t sequence);
  uint64_t received() const { return received_; }
  uint64_t unique() const { return unique_; }
  uint64_t duplicates() const { return duplicates_; }
  uint64_t too_old() const { return too_old_; }
  /// Numbers from the lowest to the highest one seen.
  uint64_t expected() const { return received_ ? static_cast<uint64_t>(highest_ - lowest_ + 1) : 0; }
  uint64_t lost() const { return expected() - unique_; }
  /// Packets that came after one with a higher number (RFC 4737 section 3.3), and the largest such distance in numbers.
  uint64_t reordered() const { return reordered_; }
  uint64_t reorder_extent() const { return extent_; }
  /// Runs of numbers that are missing, whatever their length (RFC 6534); those still in the window included.
  uint64_t loss_episodes() const;

 private:
  bool seen(int64_t n) const {
    return window_[static_cast<uint64_t>(n) % kWindow / 64] >> (static_cast<uint64_t>(n) % 64) & 1;
  }
  void mark(int64_t n, bool on);
  void leave(int64_t n);
  int64_t highest_ = 0, lowest_ = 0, left_ = 0;  // left_: numbers below have left the window
  bool missing_before_ = false;
  uint64_t received_ = 0, unique_ = 0, duplicates_ = 0, too_old_ = 0, reordered_ = 0, extent_ = 0, episodes_ = 0;
  std::array<uint64_t, kWindow / 64> window_{};
};

/// All of it for one stream.
class FlowMeter {
 public:
  explicit FlowMeter(uint64_t line_bps = 10'000'000'000) : arrivals(line_bps) {}

  /// A packet with an in-band block arrived: its number, both stamps, its frame's octets with FCS.
  void on_packet(uint32_t sequence_number, Stamp sent, ErrorEstimate send_error, Stamp received,
                 uint32_t frame_octets) {
    sequence.on_packet(sequence_number);
    delay.on_packet(sent, received);
    arrivals.on_frame(received, frame_octets);
    worst_send_error_ns = std::max(worst_send_error_ns, send_error.ns());
    unsynchronised += !send_error.synchronised;
  }

  SequenceMeter sequence;
  DelayMeter delay;
  GapMeter arrivals;
  uint64_t worst_send_error_ns = 0, unsynchronised = 0;
};

}  // namespace apcm
