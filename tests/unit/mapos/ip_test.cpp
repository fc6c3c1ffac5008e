// SPDX-License-Identifier: BSD-3-Clause
// Mapping of IP addresses and what IPv6 needs of the link: RFC 2176 section 3.5, RFC 2175 section 5, RFC 3572.
#include <catch2/catch.hpp>

#include "mapos/ip.h"
#include "octets.h"

using namespace mapos;
using test::hex;

namespace {

Ipv6Address ipv6(const char* digits) {
  Ipv6Address a{};
  std::ranges::copy(hex(digits), a.begin());
  return a;
}

}  // namespace

TEST_CASE("IPv4 groups map by their low 6 or 13 bits; all zeros and all ones to 111110") {
  // Low bits by hand: 239.1.2.3 has ..0000001 00000011 and so low 6 bits 000011, low 13 bits 000100 0000011.
  struct {
    Ipv4Address group;
    uint16_t v1, v16;
  } const cases[] = {
      {0xE0000001, 0x83, 0x8003},  // 224.0.0.1
      {0xE0000005, 0x8B, 0x800B},  // 224.0.0.5
      {0xE000003F, 0xFD, 0x807F},  // 224.0.0.63: low 6 bits all ones
      {0xE0000040, 0xFD, 0x8081},  // 224.0.0.64: low 6 bits all zeros
      {0xEF010203, 0x87, 0x8807},  // 239.1.2.3: 1 000011 1; 1 000100 0, 0000011 1
      {0xE0012000, 0xFD, 0xFEFD},  // 224.1.32.0: low 13 bits all zeros
      {0xEFFFFFFF, 0xFD, 0xFEFD},  // 239.255.255.255: all ones
  };
  for (const auto& c : cases) {
    CAPTURE(c.group);
    CHECK(is_multicast(c.group));
    CHECK(group_address(Version::kV1, c.group).wire() == c.v1);
    CHECK(group_address(Version::k16, c.group).wire() == c.v16);
  }
}

TEST_CASE("IPv6 groups map alike (RFC 3572 section 2.3.2)") {
  CHECK(group_address(Version::kV1, kAllNodes).wire() == 0x83);
  CHECK(group_address(Version::k16, kAllNodes).wire() == 0x8003);
  // ff02::1:ff12:3456 ends in 0011 0100 0101 0110: low 6 bits 010110, low 13 bits 101000 1010110.
  const auto solicited = solicited_node(ipv6("FE80 0000 0000 0000 0000 0000 0012 3456"));
  CHECK(solicited == ipv6("FF02 0000 0000 0000 0000 0001 FF12 3456"));
  CHECK(group_address(Version::kV1, solicited).wire() == 0b1'010110'1);
  CHECK(group_address(Version::k16, solicited).wire() == 0b1'101000'0'1010110'1);
}

TEST_CASE("Link-layer address options have 8 octets and the address right-aligned in the fifth and sixth") {
  // RFC 3572 figures 8 and 9.
  const auto v1 = link_option(LinkOption::kSource, *Address::from_wire(Version::kV1, 0x23));
  CHECK(test::Octets(v1.begin(), v1.end()) == hex("01 01 0000 00 23 0000"));
  const auto v16 = link_option(LinkOption::kTarget, *Address::from_wire(Version::k16, 0x2003));
  CHECK(test::Octets(v16.begin(), v16.end()) == hex("02 01 0000 2003 0000"));
  CHECK(find_link_option(Version::kV1, LinkOption::kSource, v1)->wire() == 0x23);
  CHECK(find_link_option(Version::k16, LinkOption::kTarget, v16)->wire() == 0x2003);
  CHECK_FALSE(find_link_option(Version::kV1, LinkOption::kTarget, v1));
}

TEST_CASE("An option is found among others, and not in options that are broken") {
  const auto find = [](const char* options) {
    return find_link_option(Version::kV1, LinkOption::kTarget, hex(options));
  };
  CHECK(find("05 01 0000 0000 FF00  02 01 0000 00 23 0000")->wire() == 0x23);
  CHECK_FALSE(find(""));
  CHECK_FALSE(find("02 00 0000 00 23 0000"));                        // length 0
  CHECK_FALSE(find("02 01 0000 00 23 0000  05 00 0000 0000 0000"));  // length 0 behind it
  CHECK_FALSE(find("02 01 0000 00 23 00"));                          // cut off
  CHECK_FALSE(find("02"));                                           //
  CHECK_FALSE(find("02 02 0000 00 23 0000 0000 0000 0000 0000"));    // length 2
  CHECK_FALSE(find("02 01 0000 00 22 0000"));                        // EA bit
  CHECK_FALSE(find("02 01 0000 00 FF 0000"));                        // broadcast
  CHECK_FALSE(find("02 01 0000 20 03 0000"));                        // of MAPOS 16
}

TEST_CASE("Interface identifiers come from EUI-64 or EUI-48, u bit inverted, or are local (RFC 3572 section 3)") {
  CHECK(interface_id(std::array<uint8_t, 8>{0x02 ^ 0x02, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77}) ==
        InterfaceId{0x02, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77});
  CHECK(interface_id(std::array<uint8_t, 6>{0x00, 0x11, 0x22, 0x33, 0x44, 0x55}) ==
        InterfaceId{0x02, 0x11, 0x22, 0xFF, 0xFE, 0x33, 0x44, 0x55});
  CHECK(local_interface_id({0xFF, 1, 2, 3, 4, 5, 6, 7}) == InterfaceId{0xFD, 1, 2, 3, 4, 5, 6, 7});
}

TEST_CASE("An advertised MTU may lower the MTU, not raise it (RFC 3572 section 2.2)") {
  CHECK(kIpMtu == 65280);
  CHECK(mtu_after_advertisement(kIpMtu, kIpMtu, 9000) == 9000);
  CHECK(mtu_after_advertisement(kIpMtu, kIpMtu, 65281) == 65280);
  CHECK(mtu_after_advertisement(4000, 4000, 4001) == 4000);
  CHECK(mtu_after_advertisement(4000, 4000, 1279) == 4000);  // less than IPv6 allows
}
