// SPDX-License-Identifier: BSD-3-Clause
#include "mapos/address.h"

#include <catch2/catch.hpp>

#include "mapos/frame.h"
#include "octets.h"

using namespace mapos;

TEST_CASE("version 1 has 63 nodes, 63 groups, a control processor, broadcast; all with bit 0 set") {
  unsigned nodes = 0, groups = 0, control = 0, broadcast = 0;
  for (uint16_t bits = 0; bits < 256; ++bits) {
    const auto a = Address::from_wire(Version::kV1, bits);
    REQUIRE(a.has_value() == (bits % 2 == 1));
    if (!a) continue;
    REQUIRE(a->wire() == bits);
    control += a->is_control_processor() ? 1 : 0;
    broadcast += a->is_broadcast() ? 1 : 0;
    nodes += a->is_unicast() && !a->is_control_processor() ? 1 : 0;
    groups += a->is_group() && !a->is_broadcast() ? 1 : 0;
    REQUIRE(a ==
            (a->is_group() ? Address::group(Version::kV1, a->number()) : Address::unicast(Version::kV1, a->number())));
  }
  REQUIRE((nodes == 63 && groups == 63 && control == 1 && broadcast == 1));
  REQUIRE_FALSE(Address::from_wire(Version::kV1, 0x0101));
  REQUIRE_FALSE(Address::unicast(Version::kV1, 64));
  REQUIRE(Address::control_processor(Version::kV1).wire() == 0x01);
  REQUIRE(Address::broadcast(Version::kV1).wire() == 0xFF);
  REQUIRE(Address::point_to_point(Version::kV1).wire() == 0x03);
}

TEST_CASE("MAPOS 16 has 13 bits: bit 8 clear, bit 0 set, all others free") {
  unsigned unicast = 0, groups = 0;
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto a = Address::from_wire(Version::k16, static_cast<uint16_t>(bits));
    REQUIRE(a.has_value() == ((bits & 0x100) == 0 && (bits & 1) == 1));
    if (!a) continue;
    ++(a->is_group() ? groups : unicast);
    REQUIRE(a ==
            (a->is_group() ? Address::group(Version::k16, a->number()) : Address::unicast(Version::k16, a->number())));
  }
  REQUIRE((unicast == 8192 && groups == 8192));
  REQUIRE_FALSE(Address::group(Version::k16, 8192));
  // RFC 2175 sections 2 and 5.
  REQUIRE(Address::control_processor(Version::k16).wire() == 0x0001);
  REQUIRE(Address::broadcast(Version::k16).wire() == 0xFEFF);
  REQUIRE(Address::group(Version::k16, 0x1FFF)->is_broadcast());
  REQUIRE(Address::group(Version::k16, 0x1FFE)->wire() == 0xFEFD);
}

TEST_CASE("the switches and ports of RFC 2173 figure 2 and RFC 2174 figure 2, mask E0") {
  struct {
    uint16_t address, on, port;
  } known[] = {{0x23, 0x20, 0x03}, {0x25, 0x20, 0x05}, {0x49, 0x40, 0x09}, {0x43, 0x40, 0x03},
               {0x45, 0x40, 0x05}, {0x29, 0x20, 0x09}, {0x69, 0x60, 0x09}, {0x21, 0x20, 0x01}};
  for (const auto& k : known) {
    const Address a = *Address::from_wire(Version::kV1, k.address);
    CHECK(a.switch_part(0xE0) == k.on);
    CHECK(a.port_part(0xE0) == k.port);
    CHECK(Address::from_wire(Version::kV1, k.port)->on_switch(k.on, 0xE0) == a);
  }
  const Address port = *Address::from_wire(Version::kV1, 0x03);
  CHECK_FALSE(port.on_switch(0x80, 0xE0));  // would be a group
  CHECK_FALSE(port.on_switch(0x10, 0xE0));  // not under the mask
}

TEST_CASE("the subnet of RFC 3186 figure 6: 2003 and 2005 on switch 2000, mask FF00") {
  for (const uint16_t bits : {0x2003, 0x2005}) {
    const Address a = *Address::from_wire(Version::k16, bits);
    CHECK(a.switch_part(0xFF00) == 0x2000);
    CHECK(a.port_part(0xFF00) == (bits & 0xFF));
    CHECK(Address::from_wire(Version::k16, bits & 0xFF)->on_switch(0x2000, 0xFF00) == a);
  }
  CHECK_FALSE(Address::point_to_point(Version::k16).on_switch(0x2100, 0xFF00));  // EA bit
}

TEST_CASE("a header is written as it is read, and its errors are told apart") {
  uint8_t v1[4], m16[4];
  put_header(v1, {*Address::from_wire(Version::kV1, 0x23), kIpv6});
  put_header(m16, {*Address::from_wire(Version::k16, 0x2003), kNsp});
  CHECK(test::Octets(v1, v1 + 4) == test::hex("23030057"));
  CHECK(test::Octets(m16, m16 + 4) == test::hex("2003FE03"));
  CHECK(parse_header(Version::kV1, v1) == Header{*Address::from_wire(Version::kV1, 0x23), kIpv6});
  CHECK(parse_header(Version::k16, m16) == Header{*Address::from_wire(Version::k16, 0x2003), kNsp});
  CHECK(parse_header(Version::kV1, std::span(v1, 3)).error() == HeaderError::kShort);
  CHECK(parse_header(Version::kV1, test::hex("23130057")).error() == HeaderError::kControl);
  CHECK(parse_header(Version::kV1, test::hex("02030057")).error() == HeaderError::kAddress);
  CHECK(parse_header(Version::k16, test::hex("2103FE03")).error() == HeaderError::kAddress);
  CHECK(parse_header(Version::k16, test::hex("2002FE03")).error() == HeaderError::kAddress);
  for (const uint16_t p : {kIpv4, kIpv6, kArp, kNsp, kSsp, kBridge}) CHECK(valid_protocol(p));
  for (const uint16_t p : {0x0020, 0x0121, 0xFFFF}) CHECK_FALSE(valid_protocol(p));
}
