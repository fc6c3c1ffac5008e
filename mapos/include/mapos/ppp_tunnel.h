// SPDX-License-Identifier: BSD-3-Clause
// MAPOS/PPP tunnelling (RFC 3186): a switch port with ordinary packet-over-SONET equipment behind it rewrites the first
// octets of each frame, FF 03, to the MAPOS address of the far port, and back. FCS, stuffing and scrambling are the
// line's on either side. Plain functions, thread-safe.
#pragma once

#include <cstdint>
#include <span>

#include "mapos/frame.h"

namespace mapos {

/// The C2 octet of the SONET path overhead (RFC 3186 section 2.3.1, RFC 2615 section 2).
enum class PathLabel : uint8_t { kMapos = 0x8D, kPppScrambled = 0x16, kPppUnscrambled = 0xCF };

/// From the equipment: FF 03 becomes the address of the far port. False, and nothing written, if the frame has fewer
/// than kHeaderOctets octets or does not begin with FF 03 (RFC 3186 section 2.1: "fixed").
constexpr bool to_mapos(std::span<uint8_t> frame, Address far) {
  if (frame.size() < kHeaderOctets || frame[0] != 0xFF || frame[1] != 0x03) return false;
  put_header(frame.data(), {far, static_cast<uint16_t>(frame[2] << 8 | frame[3])});
  return true;
}

/// To the equipment: the address, in MAPOS 16 both octets of it, becomes FF 03. The frame has a good header.
constexpr void to_ppp(std::span<uint8_t> frame) {
  frame[0] = 0xFF;
  frame[1] = 0x03;
}

}  // namespace mapos
