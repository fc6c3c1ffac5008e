// SPDX-License-Identifier: BSD-3-Clause
// Which addresses belong to which switch of a cluster (RFC 2173 section 2.2, RFC 2174 sections 3.1 and 5.1.3). Plain
// data, thread-safe.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>

#include "mapos/address.h"
#include "mapos/port_set.h"

namespace mapos {

/// All the addresses of a switch: those whose bits under the mask are these. Order: the switch number first, which is
/// what elects the virtual source switch.
struct Prefix {
  uint16_t bits;  ///< 0x40 for switch 2 of RFC 2174 figure 2: no port, EA bit clear
  uint16_t mask;  ///< 0xE0 there; covers the group bit

  constexpr bool contains(Address a) const { return (a.wire() & mask) == bits; }
  constexpr auto operator<=>(const Prefix&) const = default;

  /// The prefix of an address and a mask as SSP carries them, 32 bits each. None if the mask does not start at the
  /// group bit, has a hole or covers the last EA bit, if the address is a group, has EA bits that no address has, or
  /// has bits to the left of the version's; or if no switch bit is set: 0 cannot be a switch number, since its control
  /// processor would have the address that means "the local switch".
  static constexpr std::optional<Prefix> of(Version v, uint32_t address, uint32_t mask) {
    const uint32_t all = v == Version::kV1 ? 0xFF : 0xFFFF;
    const uint32_t group = v == Version::kV1 ? 0x80 : 0x8000;
    const uint32_t rest = ~mask & all;
    if ((mask & ~all) != 0 || (mask & group) == 0 || (rest & (rest + 1)) != 0 || (rest & 1) == 0) return std::nullopt;
    if ((address & ~all) != 0 || (address & group) != 0) return std::nullopt;
    if (v == Version::k16) {
      if ((address & 0x0100) != 0) return std::nullopt;
      if (mask == 0xFE00) mask = 0xFF00;  // the same switches: bit 8 is an EA bit
    }
    if ((address & mask) == 0) return std::nullopt;
    return Prefix{static_cast<uint16_t>(address & mask), static_cast<uint16_t>(mask)};
  }
};

/// A switch's own place. Without cluster all unicast addresses are its own.
struct SwitchId {
  Version version;
  Prefix prefix;

  static constexpr std::optional<SwitchId> in_cluster(Version v, uint16_t bits, uint16_t mask) {
    const auto p = Prefix::of(v, bits, mask);
    return p ? std::optional(SwitchId{v, *p}) : std::nullopt;
  }
  /// A star around one switch: node address = port number (RFC 2171 section 1.2).
  static constexpr SwitchId alone(Version v) {
    return {v, {0, static_cast<uint16_t>(v == Version::kV1 ? 0x80 : 0x8000)}};
  }
  constexpr bool clustered() const { return prefix.bits != 0; }

  /// Address of the node on this port; none if the port number does not fit beside the switch number.
  constexpr std::optional<Address> port_address(Port p) const {
    if (p == kNoPort || (port_wire(p) & prefix.mask) != 0) return std::nullopt;
    const auto a = Address::from_wire(version, static_cast<uint16_t>(prefix.bits | port_wire(p)));
    return a && a->is_unicast() ? a : std::nullopt;
  }
  /// The port of one of the switch's own unicast addresses; kNoPort for its control processor, and for a number above
  /// kMostPort.
  constexpr Port port_of(Address a) const {
    const unsigned part = a.port_part(prefix.mask);
    return part <= port_wire(kMostPort) ? static_cast<Port>(part >> 1) : kNoPort;
  }
};

}  // namespace mapos
