// SPDX-License-Identifier: BSD-3-Clause
#include "sonet.h"

#include <numeric>

namespace awing::hw::sonet {

Clock quantum_clock(int32_t ppm) {
  const uint64_t num = kQuantumNum * 1'000'000, den = kQuantumDen * static_cast<uint64_t>(1'000'000 + ppm);
  const uint64_t g = std::gcd(num, den);
  return Clock(num / g, den / g);
}

}  // namespace awing::hw::sonet
