// SPDX-License-Identifier: BSD-3-Clause
#include "apcm/flow_meter.h"

#include <cmath>

namespace apcm {

// --- gaps ---------------------------------------------------------------------------------------------------------

GapMeter::GapMeter(uint64_t line_bps, uint32_t stamp_step_ps)
    : octet_ps_(line_bps == 0 ? 0 : (static_cast<Uint128>(8'000'000'000'000) << 32) / line_bps),
      slack_(octets_ps(3) + stamp_step_ps) {}

void GapMeter::on_frame(Stamp start, uint32_t frame_octets) {
  if (!first_) first_ = start;
  if (last_) {
    const int64_t gap = difference_ps(start, *last_);
    if (gap < 0) {
      ++out_of_order_;
      end_burst();
      late_ = 0;
    } else {
      start_to_start_.record(static_cast<uint64_t>(gap));
      if (!smallest_ || gap < *smallest_) {
        smallest_ = gap;
        smallest_frame_ = last_octets_;
      }
      if (line_known()) follow_burst(gap, frame_octets);
    }
    line_octets_before_last_ += uint64_t{last_octets_} + kLineOverhead;
  }
  last_ = start;
  last_seen_ = start;
  last_octets_ = frame_octets;
  ++frames_;
  octets_ += frame_octets;
}

void GapMeter::follow_burst(int64_t gap, uint32_t frame_octets) {
  const int64_t idle = gap - octets_ps(uint64_t{last_octets_} + 8);
  if (idle < 0)
    ++overlaps_;
  else
    idle_.record(static_cast<uint64_t>(idle));

  const int64_t wire = wire_gap_ps(last_octets_);
  const int64_t over = gap - wire - wire / 99;  // wire / 99 % = wire + wire / 99
  if (over > slack_) {                          // a pause: what follows it starts afresh
    end_burst();
    late_ = 0;
    return;
  }
  late_ = std::max<int64_t>(0, late_ + over);
  if (late_ > slack_) {  // too slow all along; until it catches up no new run starts
    end_burst();
    late_ = slack_;
    return;
  }
  if (run_frames_ == 1) run_octets_ = last_octets_;
  ++run_frames_;
  run_octets_ += frame_octets;
}

void GapMeter::end_burst() {
  if (run_frames_ > 1) {
    burst_frames_.record(run_frames_);
    burst_octets_.record(run_octets_);
  }
  run_frames_ = 1;
}

std::optional<uint64_t> GapMeter::line_rate_bps() const {
  if (frames_ < 2) return std::nullopt;
  const int64_t span = difference_ps(last_seen_, *first_);
  if (span <= 0) return std::nullopt;
  return static_cast<uint64_t>(static_cast<Uint128>(line_octets_before_last_) * 8 * 1'000'000'000'000 /
                               static_cast<uint64_t>(span));
}

// --- delay --------------------------------------------------------------------------------------------------------

std::optional<int64_t> DelayMeter::min() const {
  if (negative_.count()) return -static_cast<int64_t>(*negative_.max());
  const auto v = positive_.min();
  return v ? std::optional(static_cast<int64_t>(*v)) : std::nullopt;
}

std::optional<int64_t> DelayMeter::max() const {
  if (positive_.count()) return static_cast<int64_t>(*positive_.max());
  const auto v = negative_.min();
  return v ? std::optional(-static_cast<int64_t>(*v)) : std::nullopt;
}

std::optional<int64_t> DelayMeter::mean() const {
  if (count() == 0) return std::nullopt;
  const auto sum = static_cast<Int128>(positive_.mean().value_or(0)) * positive_.count() -
                   static_cast<Int128>(negative_.mean().value_or(0)) * negative_.count();
  return static_cast<int64_t>(sum / static_cast<Int128>(count()));
}

std::optional<int64_t> DelayMeter::percentile(double percent) const {
  if (count() == 0) return std::nullopt;
  // Ranks count from the most negative delay upwards; magnitudes of negative ones run the other way.
  const double below = static_cast<double>(negative_.count());
  const double rank = std::max(1.0, std::ceil(percent / 100 * static_cast<double>(count())));
  if (rank <= below) return -static_cast<int64_t>(*negative_.percentile(100 * (below - rank + 1) / below));
  return static_cast<int64_t>(*positive_.percentile(100 * (rank - below) / static_cast<double>(positive_.count())));
}

// --- sequence -----------------------------------------------------------------------------------------------------

void SequenceMeter::mark(int64_t n, bool on) {
  uint64_t& word = window_[static_cast<uint64_t>(n) % kWindow / 64];
  const uint64_t bit = uint64_t{1} << (static_cast<uint64_t>(n) % 64);
  word = on ? word | bit : word & ~bit;
}

/// A number leaves the window: whether it is missing is now settled.
void SequenceMeter::leave(int64_t n) {
  const bool missing = n >= lowest_ && !seen(n);
  if (missing && !missing_before_) ++episodes_;
  missing_before_ = missing;
}

void SequenceMeter::on_packet(uint32_t sequence) {
  ++received_;
  if (received_ == 1) {
    highest_ = lowest_ = (int64_t{1} << 32) + sequence;  // room below for packets that come late
    left_ = highest_ - kWindow + 1;
    mark(highest_, true);
    ++unique_;
    return;
  }
  const int64_t n = highest_ + static_cast<int32_t>(sequence - static_cast<uint32_t>(highest_));
  if (n > highest_) {
    const int64_t leaving = n - kWindow + 1;
    if (n - highest_ >= kWindow) {  // a jump over the whole window: all of it is settled, then all is missing
      for (; left_ <= highest_; ++left_) leave(left_);
      if (leaving > left_ && !missing_before_) ++episodes_;
      if (leaving > left_) missing_before_ = true;
      left_ = leaving;
      window_.fill(0);
    } else {
      for (; left_ < leaving; ++left_) {
        leave(left_);
      }
      for (int64_t m = highest_ + 1; m < n; ++m) mark(m, false);
    }
    highest_ = n;
    mark(n, true);
    ++unique_;
    return;
  }
  if (n < left_) {
    ++too_old_;
    return;
  }
  if (seen(n)) {
    ++duplicates_;
    return;
  }
  mark(n, true);
  ++unique_;
  ++reordered_;
  extent_ = std::max(extent_, static_cast<uint64_t>(highest_ - n));
  lowest_ = std::min(lowest_, n);
}

uint64_t SequenceMeter::loss_episodes() const {
  uint64_t episodes = episodes_;
  bool missing_before = missing_before_;
  for (int64_t n = std::max(left_, lowest_); received_ && n <= highest_; ++n) {
    const bool missing = !seen(n);
    episodes += missing && !missing_before;
    missing_before = missing;
  }
  return episodes;
}

}  // namespace apcm
