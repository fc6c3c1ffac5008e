// SPDX-License-Identifier: BSD-3-Clause
// Addresses of MAPOS version 1 (8 bits, RFC 2171 section 3.1, RFC 2173 section 2.1) and MAPOS 16 (16 bits, RFC 2175
// section 2) as a type. Plain data, thread-safe.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>

namespace mapos {

/// Which framing a port speaks. The RFCs define no mixed operation, so it is a setting of the port.
enum class Version : uint8_t {
  kV1,  ///< RFC 2171: address 8 bits, control 0x03, protocol 16 bits
  k16,  ///< RFC 2175: address 16 bits, protocol 16 bits
};

/// A destination address as it stands in the frame, so 0x23 in version 1, 0x2003 in MAPOS 16. An Address always has
/// valid EA bits. Order and equality are those of the version, then the value.
class Address {
 public:
  /// The address of these wire bits; none if the EA bits are wrong (version 1: bit 0 set; MAPOS 16: bit 8 clear, bit 0
  /// set) or a version 1 value is wider than 8 bits.
  static constexpr std::optional<Address> from_wire(Version v, uint16_t bits) {
    const bool valid = v == Version::kV1 ? (bits & 0xFF01) == 1 : (bits & 0x0101) == 1;
    return valid ? std::optional(Address(v, bits)) : std::nullopt;
  }
  /// 0x01 or 0x0001: the control processor of the switch at the other end of the line.
  static constexpr Address control_processor(Version v) { return {v, 1}; }
  /// 0xFF or 0xFEFF.
  static constexpr Address broadcast(Version v) { return {v, address_bits(v)}; }
  /// 0x03 or 0x0003: a node that is wired to another node without a switch (RFC 2173 section 4.3.1, RFC 3572 section
  /// 3).
  static constexpr Address point_to_point(Version v) { return {v, 3}; }
  /// The group with this number: 6 bits in version 1, 13 in MAPOS 16; none if it is larger. All ones is broadcast.
  static constexpr std::optional<Address> group(Version v, uint16_t number) {
    if (number > most(v)) return std::nullopt;
    return Address(v, static_cast<uint16_t>(group_bit(v) | spread(v, number)));
  }
  /// The unicast address with this number: 6 bits in version 1, 13 in MAPOS 16 (switch and port bits together, without
  /// EA bits); none if it is larger. Number 0 is the control processor.
  static constexpr std::optional<Address> unicast(Version v, uint16_t number) {
    if (number > most(v)) return std::nullopt;
    return Address(v, spread(v, number));
  }

  constexpr Version version() const { return version_; }
  /// The bits as they stand in the frame; 8 of them in version 1.
  constexpr uint16_t wire() const { return bits_; }
  /// The number without group and EA bits: 0..63 in version 1, 0..8191 in MAPOS 16.
  constexpr uint16_t number() const {
    return version_ == Version::kV1 ? bits_ >> 1 & 0x3F
                                    : static_cast<uint16_t>((bits_ >> 9 & 0x3F) << 7 | (bits_ >> 1 & 0x7F));
  }

  constexpr bool is_broadcast() const { return *this == broadcast(version_); }
  /// Group or broadcast: the most significant bit.
  constexpr bool is_group() const { return (bits_ & group_bit(version_)) != 0; }
  constexpr bool is_unicast() const { return !is_group(); }
  /// The control processor of the local switch. That of another switch depends on the mask; see port_part().
  constexpr bool is_control_processor() const { return bits_ == 1; }

  /// Switch part of a unicast address in a cluster: the bits under the mask, as on the wire. The mask is the one SSP
  /// carries, for example 0xE0 or 0xFF00; it covers the most significant bit (RFC 2173 section 2.2, RFC 2174 table 1).
  constexpr uint16_t switch_part(uint16_t mask) const { return bits_ & mask & address_bits(version_); }
  /// Port part: the bits not under the mask, EA bits included, so 0x03 for 0x23 under 0xE0. The value 1 is the control
  /// processor of that switch (RFC 2173 section 2.2).
  constexpr uint16_t port_part(uint16_t mask) const { return bits_ & static_cast<uint16_t>(~mask); }
  /// Same port, another switch: switch_bits as switch_part() gives them; none if they are not all under the mask, or
  /// would make the address a group or its EA bits wrong.
  constexpr std::optional<Address> on_switch(uint16_t switch_bits, uint16_t mask) const {
    const auto bits = static_cast<uint16_t>(switch_bits | port_part(mask));
    if ((switch_bits & ~mask) != 0 || (bits & group_bit(version_)) != 0) return std::nullopt;
    return from_wire(version_, bits);
  }

  constexpr auto operator<=>(const Address&) const = default;

 private:
  constexpr Address(Version v, uint16_t bits) : version_(v), bits_(bits) {}
  static constexpr uint16_t group_bit(Version v) { return v == Version::kV1 ? 0x80 : 0x8000; }
  static constexpr uint16_t address_bits(Version v) { return v == Version::kV1 ? 0xFF : 0xFEFF; }
  static constexpr uint16_t most(Version v) { return v == Version::kV1 ? 0x3F : 0x1FFF; }
  static constexpr uint16_t spread(Version v, uint16_t number) {
    return v == Version::kV1 ? static_cast<uint16_t>(number << 1 | 1)
                             : static_cast<uint16_t>((number >> 7) << 9 | (number & 0x7F) << 1 | 1);
  }

  Version version_;
  uint16_t bits_;
};

}  // namespace mapos
