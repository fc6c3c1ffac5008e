// SPDX-License-Identifier: BSD-3-Clause
// IPv4 and IPv6 over MAPOS: which HDLC address broadcasts and groups go to, link-layer address options of neighbour
// discovery, interface identifiers, MTU (RFC 2176, RFC 2175 section 5, RFC 3572). Plain functions, no errors but those
// named, thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "mapos/frame.h"

namespace mapos {

/// Octets (RFC 2176 section 2, RFC 3572 section 2.2).
constexpr size_t kIpMtu = kMostInformation;

using Ipv4Address = uint32_t;  ///< 192.0.2.1 is 0xC0000201
using Ipv6Address = std::array<uint8_t, 16>;

constexpr bool is_multicast(Ipv4Address a) { return a >> 28 == 0xE; }
constexpr bool is_multicast(const Ipv6Address& a) { return a[0] == 0xFF; }
/// ff02::1:ffXX:XXXX (RFC 4291 section 2.7.1), and so a MAPOS group.
constexpr Ipv6Address solicited_node(const Ipv6Address& a) {
  return {0xFF, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0xFF, a[13], a[14], a[15]};
}
constexpr Ipv6Address kAllNodes{0xFF, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};

/// Group address from the lowest bits of an IP group: 6 of them in version 1 (RFC 2176 section 3.5), 13 in MAPOS 16
/// (RFC 2175 section 5). All zeros and all ones become all ones but the last: 0xFD, 0xFEFD.
constexpr Address group_of_low_bits(Version v, uint32_t low) {
  const uint16_t ones = v == Version::kV1 ? 0x3F : 0x1FFF;
  auto number = static_cast<uint16_t>(low & ones);
  if (number == 0 || number == ones) number = ones - 1;
  return *Address::group(v, number);
}
/// Where datagrams to this group go. Precondition: is_multicast(group).
constexpr Address group_address(Version v, Ipv4Address group) { return group_of_low_bits(v, group); }
/// RFC 3572 section 2.3.2.
constexpr Address group_address(Version v, const Ipv6Address& group) {
  return group_of_low_bits(v, static_cast<uint32_t>(group[14] << 8 | group[15]));
}

/// Source or target link-layer address option of neighbour discovery (RFC 3572 section 5): 8 octets, the address
/// right-aligned in the fifth and sixth.
constexpr size_t kLinkOptionOctets = 8;
enum class LinkOption : uint8_t { kSource = 1, kTarget = 2 };
constexpr std::array<uint8_t, kLinkOptionOctets> link_option(LinkOption type, Address a) {
  return {static_cast<uint8_t>(type),     1, 0, 0, static_cast<uint8_t>(a.wire() >> 8),
          static_cast<uint8_t>(a.wire()), 0, 0};
}
/// The unicast address in the first option of this type among the options of a message. None if there is no such
/// option, its length is not 1, the address is a group or a control processor or has wrong EA bits, or an option has
/// length 0 or goes past the end: RFC 4861 section 4.6 has such messages discarded.
std::optional<Address> find_link_option(Version v, LinkOption type, std::span<const uint8_t> options);

/// Interface identifiers (RFC 3572 section 3): never from the MAPOS address.
using InterfaceId = std::array<uint8_t, 8>;
/// From an IEEE EUI-64: the u bit inverted.
constexpr InterfaceId interface_id(std::array<uint8_t, 8> eui64) {
  eui64[0] ^= 0x02;
  return eui64;
}
/// From an IEEE EUI-48: FF FE in the middle, the u bit inverted.
constexpr InterfaceId interface_id(const std::array<uint8_t, 6>& e) {
  return interface_id(std::array<uint8_t, 8>{e[0], e[1], e[2], 0xFF, 0xFE, e[3], e[4], e[5]});
}
/// From another source of uniqueness, or a random number: the u bit cleared.
constexpr InterfaceId local_interface_id(std::array<uint8_t, 8> unique) {
  unique[0] &= 0xFD;
  return unique;
}

/// The MTU after a router advertised `advertised` octets: larger than kIpMtu or than the one set by hand is ignored
/// (RFC 3572 section 2.2), and so is less than 1280, which IPv6 does not allow (RFC 8200 section 5).
constexpr size_t mtu_after_advertisement(size_t current, size_t by_hand, size_t advertised) {
  return advertised < 1280 || advertised > kIpMtu || advertised > by_hand ? current : advertised;
}

}  // namespace mapos
