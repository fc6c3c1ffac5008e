// SPDX-License-Identifier: BSD-3-Clause
// Model time and clock domains: signed 64-bit picoseconds, exact rational periods, no floating point.
#pragma once

#include <cstdint>

namespace awing::hw {

__extension__ typedef unsigned __int128 U128;
__extension__ typedef __int128 I128;

/// Model time in picoseconds since the model was made. 2^63 ps is 106 days.
using Ps = int64_t;

constexpr Ps kPsPerNs = 1'000;
constexpr Ps kPsPerUs = 1'000'000;
constexpr Ps kPsPerMs = 1'000'000'000;
constexpr Ps kPsPerSec = 1'000'000'000'000;
/// Later than every event; leaves room to add a delay without overflow.
constexpr Ps kForever = INT64_MAX / 4;

/// A clock whose tick n (n >= 0) falls at floor(n * num / den) picoseconds: the period is num/den ps exactly.
/// num must be at least den (no period under 1 ps) and below 2^42, den below 2^31. Thread-safe (immutable).
class Clock {
 public:
  constexpr Clock(uint64_t num, uint64_t den)
      : num_(num), den_(den), inv_(reciprocal(num, den)), narrow_(UINT64_MAX / num) {}

  /// Picosecond at which tick n falls.
  constexpr Ps at(int64_t n) const {
    if (den_ == 1) return n * static_cast<int64_t>(num_);
    if (static_cast<uint64_t>(n) < narrow_) return static_cast<Ps>(static_cast<uint64_t>(n) * num_ / den_);
    return static_cast<Ps>(static_cast<U128>(n) * num_ / den_);
  }

  /// The first tick at or after time t (t >= 0).
  constexpr int64_t at_or_after(Ps t) const {
    // A product with the reciprocal is at most a few ticks low; the loop makes it exact.
    auto n = static_cast<int64_t>((static_cast<U128>(static_cast<uint64_t>(t)) * inv_) >> 64);
    if (den_ == 1) {
      const auto period = static_cast<int64_t>(num_);
      for (int64_t late = t - n * period; late > 0; late -= period) ++n;
      return n;
    }
    while (at(n) < t) ++n;
    return n;
  }

  /// The first tick strictly after time t.
  constexpr int64_t after(Ps t) const { return t < 0 ? 0 : at_or_after(t + 1); }

  /// The last tick strictly before time t, or -1.
  constexpr int64_t before(Ps t) const { return t <= 0 ? -1 : at_or_after(t) - 1; }

  constexpr uint64_t num() const { return num_; }
  constexpr uint64_t den() const { return den_; }

 private:
  static constexpr uint64_t reciprocal(uint64_t num, uint64_t den) {
    // floor(2^64 * den / num), one less when that would not fit (num == den).
    const U128 r = (static_cast<U128>(den) << 64) / num;
    return r > UINT64_MAX ? UINT64_MAX : static_cast<uint64_t>(r);
  }
  uint64_t num_, den_, inv_;
  uint64_t narrow_;  // ticks below this need no more than 64 bits
};

}  // namespace awing::hw
