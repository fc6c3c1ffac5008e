// SPDX-License-Identifier: BSD-3-Clause
// Frame check sequences of MAPOS, as in PPP (RFC 1662 appendix C): x^16 + x^12 + x^5 + 1, and the polynomial of
// IEEE 802.3. Both shift the least significant bit of each octet first and are sent complemented, least significant
// octet first. The 32-bit one is also the FCS of Ethernet. Plain functions, no errors, thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "mapos/simd.h"

namespace mapos {

/// Size of the FCS: a setting at both ends of a line, nothing in the frame tells (RFC 2171 section 3.1).
enum class Fcs : uint8_t {
  k16 = 2,  ///< the default of RFC 2171
  k32 = 4,  ///< what RFC 2615 section 5 and RFC 3186 section 2.2.2 ask for from STS-12c on
};
constexpr size_t octets(Fcs f) { return static_cast<size_t>(f); }

/// Value to send for these octets. Empty input gives 0.
uint16_t fcs16(std::span<const uint8_t> octets);
uint32_t fcs32(std::span<const uint8_t> octets);

/// True if the octets end in their own FCS: the register then holds 0xF0B8 or 0xDEBB20E3.
bool fcs16_good(std::span<const uint8_t> octets);
bool fcs32_good(std::span<const uint8_t> octets);

/// The same in pieces and for either size: start from fcs_begin(), add pieces cut anywhere, end with fcs_value() or
/// fcs_good(). The register of the 16-bit FCS lies in the low 16 bits.
constexpr uint32_t fcs_begin(Fcs f) { return f == Fcs::k16 ? 0xFFFF : 0xFFFF'FFFF; }
uint32_t fcs_add(Fcs f, uint32_t reg, std::span<const uint8_t> octets, Simd level = best_simd());
/// Value to send; its octets go out least significant first.
constexpr uint32_t fcs_value(Fcs f, uint32_t reg) { return ~reg & fcs_begin(f); }
constexpr bool fcs_good(Fcs f, uint32_t reg) { return reg == (f == Fcs::k16 ? 0xF0B8 : 0xDEBB'20E3); }

}  // namespace mapos
