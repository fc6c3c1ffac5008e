// SPDX-License-Identifier: BSD-3-Clause
// Frame check sequences of HDLC-like framing (RFC 1662 appendix C), as MAPOS uses them. Octet by octet: the oracle for
// anything faster.
#pragma once

#include <cstdint>
#include <span>

namespace mapos {

/// FCS-16 of n octets, as transmitted: least significant octet first. Thread-safe.
uint16_t fcs16(std::span<const uint8_t> octets);
/// FCS-32 likewise.
uint32_t fcs32(std::span<const uint8_t> octets);
/// True when the octets end in their own FCS (RFC 1662 C.1: good final value 0xf0b8; C.3: 0xdebb20e3).
bool fcs16_good(std::span<const uint8_t> octets_with_fcs);
bool fcs32_good(std::span<const uint8_t> octets_with_fcs);

}  // namespace mapos
