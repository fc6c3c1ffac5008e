// SPDX-License-Identifier: BSD-3-Clause
// Time stamps of packets: 32.32 fixed-point seconds, and how wrong they may be.
#pragma once

#include <algorithm>
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

// Everything in this file is a pure function of its arguments: thread-safe, no errors but those named.

/// Nanoseconds since the epoch, rounded to the nearest; a fraction that rounds up to a second carries into the seconds.
constexpr uint64_t to_ns(Stamp s) {
  return (s.v >> 32) * 1'000'000'000 + (((s.v & 0xFFFFFFFF) * 1'000'000'000 + (uint64_t{1} << 31)) >> 32);
}
/// From nanoseconds since the epoch, rounded to the nearest 2^-32 s; the seconds wrap at 2^32. to_ns() gives the same
/// nanoseconds back below that.
constexpr Stamp from_ns(uint64_t ns) {
  const uint64_t fraction = (((ns % 1'000'000'000) << 32) + 500'000'000) / 1'000'000'000;
  return {((ns / 1'000'000'000) << 32) + fraction};
}
/// The PTPv2 truncated format (RFC 8186 section 2.3): seconds in the high, nanoseconds in the low 32 bits. Nanoseconds
/// beyond 10^9, which no clock sends, carry into the seconds.
constexpr Stamp from_ptp(uint64_t ptp) { return {(ptp & 0xFFFFFFFF'00000000) + from_ns(ptp & 0xFFFFFFFF).v}; }
constexpr uint64_t to_ptp(Stamp s) {
  const uint64_t ns = to_ns(s);
  return (ns / 1'000'000'000) << 32 | ns % 1'000'000'000;
}
/// later - earlier in picoseconds, rounded down, right across the wrap of the seconds. Beyond +-(2^63 - 1) ps, 106
/// days, which means that the clocks have different epochs, it is that bound: large and of the right sign, never
/// wrapped into a number that looks like a delay.
constexpr int64_t difference_ps(Stamp later, Stamp earlier) {
  const auto ticks = static_cast<int64_t>(later.v - earlier.v);
  const Int128 ps = (static_cast<Int128>(ticks) * 1'000'000'000'000) >> 32;
  return static_cast<int64_t>(std::clamp<Int128>(ps, -INT64_MAX, INT64_MAX));
}

/// Error estimate of RFC 8762 section 4.2.1 (S, scale and multiplier: RFC 4656 section 4.1.2; Z: RFC 8186 section 2.3):
/// the error is multiplier * 2^scale * 2^-32 s.
struct ErrorEstimate {
  /// What ns() says when nothing is known of the error or it is larger than that.
  static constexpr uint64_t kUnknownNs = INT64_MAX;

  bool synchronised = false;  ///< S: the clock follows UTC by an outside source
  bool ptp_format = false;    ///< Z: the stamp on the wire is a PTP one; ours are NTP-shaped
  uint8_t scale = 0;          ///< 0..63
  uint8_t multiplier = 1;     ///< 0 makes the estimate invalid (RFC 4656): the error is unknown, not none

  friend bool operator==(const ErrorEstimate&, const ErrorEstimate&) = default;

  constexpr bool valid() const { return multiplier != 0; }
  /// The smallest estimate that is no less than `ns` nanoseconds.
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
  /// Nanoseconds, rounded up; kUnknownNs when larger or not valid.
  constexpr uint64_t ns() const {
    if (!valid()) return kUnknownNs;
    const Uint128 ns = (static_cast<Uint128>(multiplier) << (scale & 63)) * 1'000'000'000;
    return static_cast<uint64_t>(std::min<Uint128>((ns + 0xFFFFFFFF) >> 32, kUnknownNs));
  }
  /// As the 16 bits S | Z | scale 6 | multiplier 8.
  constexpr uint16_t encode() const {
    return static_cast<uint16_t>(synchronised << 15 | ptp_format << 14 | (scale & 63) << 8 | multiplier);
  }
  /// Takes any 16 bits; look at valid().
  static constexpr ErrorEstimate decode(uint16_t v) {
    return {(v & 0x8000) != 0, (v & 0x4000) != 0, static_cast<uint8_t>(v >> 8 & 63), static_cast<uint8_t>(v)};
  }
};

}  // namespace apcm
