// SPDX-License-Identifier: BSD-3-Clause
// What the packets of a stream tell: delay, gaps, bursts, loss. One pass, per packet, no sampling, no allocation.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

#include "apcm/histogram.h"
#include "apcm/stamp.h"

namespace apcm {

/// Octets of the line a frame takes besides its own (with FCS): preamble and SFD 8, inter-frame gap 12.
constexpr uint32_t kLineOverhead = 20;

/// Gaps between frames that follow each other on one wire, in the order of their starts. No allocation after
/// construction, no errors. Not thread-safe.
class GapMeter {
 public:
  /// line_bps: rate of the line, bit/s; 0 when it is not known, then idle gaps and bursts are not measured.
  /// stamp_step_ps: by how much the difference of two stamps may be wrong from rounding, picoseconds; the default is
  /// for whole nanoseconds.
  explicit GapMeter(uint64_t line_bps = 10'000'000'000, uint32_t stamp_step_ps = 1000);

  /// A frame of frame_octets (with FCS) started at `start`.
  void on_frame(Stamp start, uint32_t frame_octets);
  /// Closes the burst that is open; call before reading bursts.
  void finish() { end_burst(); }
  /// The next gap is not measured: after a pause or a reset it would say nothing of the wire.
  void forget_last() {
    end_burst();
    late_ = 0;
    last_.reset();
  }

  const Histogram& start_to_start() const { return start_to_start_; }  ///< picoseconds
  /// End of a frame (FCS) to the next start: start-to-start less (octets + 8) * 8 / line rate, picoseconds.
  const Histogram& idle() const { return idle_; }
  /// Frames that seem to start before the one before has ended: the stamps are not the wire's. They have no idle gap.
  uint64_t overlaps() const { return overlaps_; }
  uint64_t out_of_order() const { return out_of_order_; }  ///< frames whose stamp lies before the one before; no gap
  /// Lengths of bursts: maximal runs of at least two frames that follow each other at 99 % of the line rate or more, as
  /// far as stamps can tell. A single gap may look longer for two reasons: a start waits for its column, by up to three
  /// octets (deficit idle count, IEEE 802.3 clause 46.3.1.4), and stamps are rounded. So the run ends when it has
  /// fallen behind 99 % of the line rate by more than both together, not when one gap has.
  const Histogram& burst_frames() const { return burst_frames_; }
  const Histogram& burst_octets() const { return burst_octets_; }
  /// The smallest gap and the size (with FCS) of the frame before it.
  std::optional<int64_t> smallest_ps() const { return smallest_; }
  uint32_t smallest_frame() const { return smallest_frame_; }
  bool line_known() const { return octet_ps_ != 0; }
  /// Start-to-start time of back-to-back frames of this size, (octets + 20) * 8 / line rate: picoseconds, the mean over
  /// a long run. 0 when the line is not known.
  int64_t wire_gap_ps(uint32_t frame_octets) const { return octets_ps(uint64_t{frame_octets} + kLineOverhead); }
  uint64_t frames() const { return frames_; }
  uint64_t octets() const { return octets_; }
  std::optional<Stamp> first() const { return first_; }
  std::optional<Stamp> last() const { return frames_ ? std::optional(last_seen_) : std::nullopt; }
  /// Line rate taken from first to last start, preamble and gap counted, bit/s.
  std::optional<uint64_t> line_rate_bps() const;

 private:
  /// Time of that many octets on the line, picoseconds, rounded; at most 2^62.
  int64_t octets_ps(uint64_t octets) const {
    return static_cast<int64_t>(std::min<Uint128>((octets * octet_ps_ + (uint64_t{1} << 31)) >> 32, uint64_t{1} << 62));
  }
  void follow_burst(int64_t gap, uint32_t frame_octets);
  void end_burst();
  Uint128 octet_ps_;  // of one octet, 2^-32 ps
  int64_t slack_;     // how late a frame of a burst may be, picoseconds
  int64_t late_ = 0;  // how late the last one was
  std::optional<Stamp> last_, first_;
  Stamp last_seen_;
  uint32_t last_octets_ = 0;
  Histogram start_to_start_, idle_, burst_frames_, burst_octets_;
  std::optional<int64_t> smallest_;
  uint32_t smallest_frame_ = 0;
  uint64_t run_frames_ = 1, run_octets_ = 0;
  uint64_t frames_ = 0, octets_ = 0, line_octets_before_last_ = 0, out_of_order_ = 0, overlaps_ = 0;
};

/// One-way delay, start of frame to start of frame, picoseconds. (RFC 7679 counts to the last bit: add the frame's own
/// time on the receiving line.) Negative delays are kept and counted, not clamped: they tell that the clocks disagree.
/// No errors. Not thread-safe.
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
  // Nothing when nothing was measured; minimum and maximum exact, percentiles (0..100) within 0.1 %.
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

  /// The next packet that arrived; any number. Looks at no more than kWindow numbers.
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

/// All of it for one stream. No allocation after construction, no errors. Not thread-safe.
class FlowMeter {
 public:
  explicit FlowMeter(uint64_t line_bps = 10'000'000'000) : arrivals(line_bps) {}

  /// A packet with an in-band block arrived: its number, both stamps (same epoch), the block's error estimate, its
  /// frame's octets with FCS.
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
  uint64_t worst_send_error_ns = 0;  ///< ErrorEstimate::kUnknownNs when a packet's estimate was not valid
  uint64_t unsynchronised = 0;       ///< packets whose clock did not follow an outside source (S = 0)
};

}  // namespace apcm
