// SPDX-License-Identifier: BSD-3-Clause
// What a MAPOS frame is between address and last information octet: sizes, protocol numbers, and the header in a raw
// buffer. Flags, stuffing and FCS are the encoder's and the decoder's. Plain functions, thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <tl/expected.hpp>

#include "mapos/address.h"

namespace mapos {

constexpr uint8_t kFlag = 0x7E;       ///< RFC 2171 section 3.1
constexpr uint8_t kEscape = 0x7D;     ///< RFC 2171 section 3.2
constexpr uint8_t kEscapeXor = 0x20;  ///< RFC 1662 section 4.2
constexpr uint8_t kControl = 0x03;    ///< control field of version 1: unnumbered information, P/F 0

constexpr size_t kHeaderOctets = 4;          ///< address, control, protocol; in MAPOS 16 address, protocol
constexpr size_t kMostInformation = 65'280;  ///< octets (RFC 2171 section 3.1); the MTU too (RFC 2176 section 2)
/// Octets from address to the last information octet, without FCS.
constexpr size_t kMostFrame = kHeaderOctets + kMostInformation;

/// Protocol numbers (RFC 2172 section 2; IPv6: RFC 3572 section 2.1; bridging: RFC 3422 section 2.2).
enum Protocol : uint16_t {
  kIpv4 = 0x0021,
  kIpv6 = 0x0057,
  kArp = 0xFE01,
  kNsp = 0xFE03,
  kSsp = 0xFE05,
  kBridge = 0xFE31,
};

/// The rule of ISO 3309: first octet even, second odd (RFC 2172 section 2). The decoder delivers frames that break it:
/// RFC 1661 section 2 has them treated like a protocol nobody knows, which is not the framer's to judge.
constexpr bool valid_protocol(uint16_t p) { return (p & 0x0101) == 0x0001; }

struct Header {
  Address address;
  uint16_t protocol;
  bool operator==(const Header&) const = default;
};

enum class HeaderError : uint8_t { kShort, kControl, kAddress };

/// Writes the kHeaderOctets octets of the header at `out`; the version is the address's.
constexpr void put_header(uint8_t* out, const Header& h) {
  const uint16_t a = h.address.wire();
  const bool v1 = h.address.version() == Version::kV1;
  out[0] = static_cast<uint8_t>(v1 ? a : a >> 8);
  out[1] = static_cast<uint8_t>(v1 ? kControl : a);
  out[2] = static_cast<uint8_t>(h.protocol >> 8);
  out[3] = static_cast<uint8_t>(h.protocol);
}

/// Reads the header of an unstuffed frame. Errors, in the order they are looked for: fewer than kHeaderOctets octets; a
/// control field other than 0x03 (version 1); wrong EA bits. The last two have a frame discarded silently
/// (RFC 2171 section 3.1, RFC 2175 section 2).
constexpr tl::expected<Header, HeaderError> parse_header(Version v, std::span<const uint8_t> frame) {
  if (frame.size() < kHeaderOctets) return tl::unexpected(HeaderError::kShort);
  if (v == Version::kV1 && frame[1] != kControl) return tl::unexpected(HeaderError::kControl);
  const auto bits = static_cast<uint16_t>(v == Version::kV1 ? frame[0] : frame[0] << 8 | frame[1]);
  const auto address = Address::from_wire(v, bits);
  if (!address) return tl::unexpected(HeaderError::kAddress);
  return Header{*address, static_cast<uint16_t>(frame[2] << 8 | frame[3])};
}

}  // namespace mapos
