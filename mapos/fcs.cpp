// SPDX-License-Identifier: BSD-3-Clause
#include "mapos/fcs.h"

#include "kernels.h"

namespace mapos {

namespace {
uint32_t run(Fcs f, std::span<const uint8_t> octets) { return fcs_add(f, fcs_begin(f), octets); }
}  // namespace

uint32_t fcs_add(Fcs f, uint32_t reg, std::span<const uint8_t> octets, Simd level) {
  return kernels(level).fcs(f, reg, octets.data(), octets.size());
}

uint16_t fcs16(std::span<const uint8_t> octets) {
  return static_cast<uint16_t>(fcs_value(Fcs::k16, run(Fcs::k16, octets)));
}
uint32_t fcs32(std::span<const uint8_t> octets) { return fcs_value(Fcs::k32, run(Fcs::k32, octets)); }
bool fcs16_good(std::span<const uint8_t> octets) { return fcs_good(Fcs::k16, run(Fcs::k16, octets)); }
bool fcs32_good(std::span<const uint8_t> octets) { return fcs_good(Fcs::k32, run(Fcs::k32, octets)); }

}  // namespace mapos
