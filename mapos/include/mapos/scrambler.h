// SPDX-License-Identifier: BSD-3-Clause
// The self-synchronous x^43 + 1 scrambler of packet over SONET (RFC 2615 sections 2 and 4), which RFC 3186
// section 2.2.2 recommends for MAPOS too. It runs over all payload octets of the line, flags and fill included, most
// significant bit first, and is never reset between frames. It is not the x^7 + x^6 + 1 scrambler of the SONET section
// layer. Each object belongs to one thread at a time. No errors.
#pragma once

#include <cstdint>
#include <span>

#include "mapos/simd.h"

namespace mapos {

constexpr uint64_t kScramblerMask = (uint64_t{1} << 43) - 1;

class Scrambler {
 public:
  /// seed: the 43 line bits taken as sent before the first, the latest in bit 0. RFC 2615 section 4 wants it random.
  explicit Scrambler(uint64_t seed = 0, Simd level = best_simd()) : k_(&kernels(level)), last_(seed & kScramblerMask) {}
  /// Scrambles `in` to `out`, which has room for as many octets and is either the same memory or apart. Input may be
  /// cut anywhere.
  void run(std::span<const uint8_t> in, uint8_t* out);
  void run(std::span<uint8_t> in_place) { run(in_place, in_place.data()); }
  /// The last 43 line bits, the latest in bit 0.
  uint64_t state() const { return last_; }

 private:
  const Kernels* k_;
  uint64_t last_;
};

class Descrambler {
 public:
  /// seed: as above. A wrong one, and every reframe, spoils the first 43 bits and nothing after them.
  explicit Descrambler(uint64_t seed = 0, Simd level = best_simd())
      : k_(&kernels(level)), last_(seed & kScramblerMask) {}
  /// As Scrambler::run. A line bit in error spoils two payload bits, 43 bits apart.
  void run(std::span<const uint8_t> in, uint8_t* out);
  void run(std::span<uint8_t> in_place) { run(in_place, in_place.data()); }
  uint64_t state() const { return last_; }

 private:
  const Kernels* k_;
  uint64_t last_;
};

}  // namespace mapos
