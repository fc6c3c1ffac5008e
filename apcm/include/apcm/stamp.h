// SPDX-License-Identifier: BSD-3-Clause
// Time stamps of packets: 32.32 fixed-point seconds, and how wrong they may be.
#pragma once

#include <bit>
#include <cstdint>

#include "apcm/wide.h"

namespace apcm {

/// Seconds in the high 32 bits, fraction in 2^-32 s (233 ps) in the low ones, since the epoch of the clock that made
/// it: the port's PHC. Differences are right across the wrap of the seconds. The shape is NTP's (RFC 5905 section 6);
/// to make an NTP time of a Unix one, add kNtpEpoch seconds.
struct Stamp {
  uint64_t v = 0;
  friend bool operator==(Stamp, Stamp) = default;
};

constexpr uint64_t kNtpEpoch = 2'208'988'800;  ///< seconds from 1900-01-01 to 1970-01-01 (RFC 868)

/// Rounded to the nearest nanosecond.
constexpr uint64_t to_ns(Stamp s) {
  return (s.v >> 32) * 1'000'000'000 + (((s.v & 0xFFFFFFFF) * 1'000'000'000 + (uint64_t{1} << 31)) >> 32);
}
/// Rounded to the nearest 2^-32 s; the seconds wrap at 2^32.
constexpr Stamp from_ns(uint64_t ns) {
  const uint64_t fraction = (((ns % 1'000'000'000) << 32) + 500'000'000) / 1'000'000'000;
  return {((ns / 1'000'000'000) << 32) + fraction};
}
/// later - earlier, picoseconds, rounded down; exact within +-2^31 s.
constexpr int64_t difference_ps(Stamp later, Stamp earlier) {
  const auto ticks = static_cast<int64_t>(later.v - earlier.v);
  return static_cast<int64_t>((static_cast<Int128>(ticks) * 1'000'000'000'000) >> 32);
}

/// Error estimate of RFC 8762 section 4.2.1 (RFC 4656 section 4.1.2): multiplier * 2^scale * 2^-32 s.
struct ErrorEstimate {
  bool synchronised = false;  ///< S: the clock follows UTC by an outside source
  bool ptp_format = false;    ///< Z: the stamp is a PTP one; ours are NTP-shaped
  uint8_t scale = 0;          ///< 0..63
  uint8_t multiplier = 1;     ///< never 0 in a valid estimate

  /// The smallest estimate that is no less than `ns`.
  static constexpr ErrorEstimate from_ns(uint64_t ns, bool synchronised) {
    auto ticks = static_cast<Uint128>(ns) << 32;
    ticks = (ticks + 999'999'999) / 1'000'000'000;
    ErrorEstimate e{synchronised, false, 0, 1};
    while (ticks > 255) {
      ticks = (ticks + 1) / 2;
      ++e.scale;
    }
    e.multiplier = static_cast<uint8_t>(ticks == 0 ? 1 : ticks);
    return e;
  }
  /// Nanoseconds, rounded up; 2^63 - 1 when larger.
  constexpr uint64_t ns() const {
    if (scale > 50) return INT64_MAX;
    const auto ns = (static_cast<Uint128>(multiplier) << scale) * 1'000'000'000;
    return static_cast<uint64_t>((ns + 0xFFFFFFFF) >> 32);
  }
  constexpr uint16_t encode() const {
    return static_cast<uint16_t>(synchronised << 15 | ptp_format << 14 | (scale & 63) << 8 | multiplier);
  }
  static constexpr ErrorEstimate decode(uint16_t v) {
    return {(v & 0x8000) != 0, (v & 0x4000) != 0, static_cast<uint8_t>(v >> 8 & 63), static_cast<uint8_t>(v)};
  }
};

}  // namespace apcm
