// SPDX-License-Identifier: BSD-3-Clause
// Log-linear histogram (the scheme of HdrHistogram): fixed memory, every value within 0.1 % of its bucket's middle.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <optional>
#include <vector>

#include "apcm/wide.h"

namespace apcm {

/// Counts non-negative values, say picoseconds. Up to 1023 each value has its own bucket; above, each power of two is
/// parted in 512, up to the largest 64-bit value. 229 kB, whatever is recorded. Minimum, maximum, sum and count are
/// exact. No errors; record() does not allocate. Not thread-safe: one per thread, then merge().
class Histogram {
 public:
  static constexpr int kSubBits = 9;
  static constexpr uint32_t kSub = 1u << kSubBits;
  static constexpr uint32_t kBuckets = (64 - kSubBits + 1) * kSub;

  Histogram() : counts_(kBuckets) {}

  /// Counts the value `times` times.
  void record(uint64_t value, uint64_t times = 1) {
    counts_[index(value)] += times;
    count_ += times;
    sum_ += static_cast<Uint128>(value) * times;
    min_ = std::min(min_, value);
    max_ = std::max(max_, value);
  }
  /// As if all that `other` recorded had been recorded here.
  void merge(const Histogram& other) {
    for (uint32_t i = 0; i < kBuckets; ++i) counts_[i] += other.counts_[i];
    count_ += other.count_;
    sum_ += other.sum_;
    min_ = std::min(min_, other.min_);
    max_ = std::max(max_, other.max_);
  }

  uint64_t count() const { return count_; }
  /// Exact; nothing when empty.
  std::optional<uint64_t> min() const { return count_ ? std::optional(min_) : std::nullopt; }
  std::optional<uint64_t> max() const { return count_ ? std::optional(max_) : std::nullopt; }
  /// Rounded down; nothing when empty.
  std::optional<uint64_t> mean() const {
    return count_ ? std::optional(static_cast<uint64_t>(sum_ / count_)) : std::nullopt;
  }
  /// Smallest value that at least `percent` (0..100) of the values do not exceed, within 0.1 %; never outside min..max.
  std::optional<uint64_t> percentile(double percent) const {
    if (!count_) return std::nullopt;
    const double exact = percent / 100 * static_cast<double>(count_);
    auto rank = static_cast<uint64_t>(exact);
    if (static_cast<double>(rank) < exact) ++rank;
    rank = std::clamp<uint64_t>(rank, 1, count_);
    uint64_t seen = 0;
    for (uint32_t i = 0; i < kBuckets; ++i)
      if ((seen += counts_[i]) >= rank) return std::clamp(middle(i), min_, max_);
    return max_;
  }
  /// Calls f(low, high, count) for every bucket that is not empty, in order; it holds values low <= v < high (of the
  /// last bucket high is 2^64 - 1 and included).
  template <typename F>
  void each(F f) const {
    for (uint32_t i = 0; i < kBuckets; ++i)
      if (counts_[i]) f(low(i), i + 1 < kBuckets ? low(i + 1) : UINT64_MAX, counts_[i]);
  }

  /// The bucket of a value, 0..kBuckets - 1.
  static constexpr uint32_t index(uint64_t v) {
    if (v < 2 * kSub) return static_cast<uint32_t>(v);
    const int shift = std::bit_width(v) - kSubBits - 1;
    return static_cast<uint32_t>(shift) * kSub + static_cast<uint32_t>(v >> shift);
  }
  /// The smallest value of a bucket.
  static constexpr uint64_t low(uint32_t i) {
    if (i < 2 * kSub) return i;
    const uint32_t shift = i / kSub - 1;
    return static_cast<uint64_t>(i - shift * kSub) << shift;
  }

 private:
  static constexpr uint64_t middle(uint32_t i) {
    return i < 2 * kSub ? i : low(i) + (uint64_t{1} << (i / kSub - 1)) / 2;
  }
  std::vector<uint64_t> counts_;
  uint64_t count_ = 0, min_ = UINT64_MAX, max_ = 0;
  Uint128 sum_ = 0;
};

}  // namespace apcm
