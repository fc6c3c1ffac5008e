// SPDX-License-Identifier: BSD-3-Clause
// MAC frames over MAPOS: formats of RFC 3422 section 2.2 and RFC 2878 section 4.2, tables of RFC 3422 section 3.
#include <catch2/catch.hpp>

#include "mapos/bridge.h"
#include "octets.h"

using namespace mapos;
using test::hex;
using test::Octets;

namespace {

Address at(uint16_t wire) { return *Address::from_wire(Version::kV1, wire); }
const Mac kH1{0x02, 0, 0, 0, 0, 1}, kH2{0x02, 0, 0, 0, 0, 2};
const auto kB1 = at(0x23), kB2 = at(0x45), kB3 = at(0x67);

// H1 to H2 and back, and H1 to all; EtherType 0806.
const Octets kFrom1To2 = hex("020000000002 020000000001 0806 0001");
const Octets kFrom2To1 = hex("020000000001 020000000002 0806 0002");
const Octets kFrom1ToAll = hex("FFFFFFFFFFFF 020000000001 0806 0001");

Octets bridged(uint16_t source, const Octets& mac, uint8_t flags = 0, uint8_t type = 1) {
  Octets i(6 + mac.size());
  i[2] = static_cast<uint8_t>(source >> 8);
  i[3] = static_cast<uint8_t>(source);
  i[4] = flags;
  i[5] = type;
  std::ranges::copy(mac, i.begin() + 6);
  return i;
}

NetworkAdapter adapter_b1(AdapterConfig c = {}) {
  NetworkAdapter b1(c);
  b1.add_peer(kB2);
  b1.add_peer(kB3);
  return b1;
}
std::vector<Address> to(NetworkAdapter& n, const Octets& mac, Time now) {
  const auto d = n.destinations(mac, now);
  return {d.begin(), d.end()};
}

}  // namespace

TEST_CASE("Header of a bridged frame (RFC 3422 figure 3)") {
  Octets f(kHeaderOctets + kBridgeOctets);
  put_bridge_header(f.data(), kB2, kB1);
  CHECK(f == hex("45 03 FE31 0000 0023 00 01"));
  put_bridge_header(f.data(), *Address::from_wire(Version::k16, 0x2203), *Address::from_wire(Version::k16, 0x2003));
  CHECK(f == hex("2203 FE31 0000 2003 00 01"));
}

TEST_CASE("An 802.3 frame comes out as it went in; line padding and LAN FCS are taken off") {
  const Octets in = bridged(0x23, kFrom1To2);
  const auto plain = parse_bridged(in);
  REQUIRE(plain);
  CHECK(plain->source == 0x23);
  CHECK(plain->destination_mac == kH2);
  CHECK(plain->source_mac == kH1);
  CHECK_FALSE(plain->zero_fill);
  CHECK(Octets(plain->mac.begin(), plain->mac.end()) == kFrom1To2);

  Octets padded = kFrom1To2;
  padded.insert(padded.end(), 15, 0);
  const Octets padded_in = bridged(0x23, padded, 0x20 | 15);
  const auto pads = parse_bridged(padded_in);
  REQUIRE(pads);
  CHECK(pads->zero_fill);
  CHECK(Octets(pads->mac.begin(), pads->mac.end()) == kFrom1To2);

  // FCS of the octets of kFrom1To2, by zlib.crc32 of Python, least significant octet first.
  Octets with_fcs = kFrom1To2;
  test::append(with_fcs, hex("B14ADCBC"));
  const Octets fcs_in = bridged(0x23, with_fcs, 0x80);
  const auto fcs = parse_bridged(fcs_in);
  REQUIRE(fcs);
  CHECK(Octets(fcs->mac.begin(), fcs->mac.end()) == kFrom1To2);
  with_fcs[3] ^= 1;
  CHECK(parse_bridged(bridged(0x23, with_fcs, 0x80)).error() == BridgeError::kLanFcs);
}

TEST_CASE("802.4, 802.5 and FDDI have a pad and a frame control octet before the addresses (figure 4)") {
  for (const uint8_t type : {2, 3, 4, 11, 12}) {
    const auto f = parse_bridged(bridged(0x23, hex("00 50 020000000002 020000000001 AAAA03"), 0, type));
    REQUIRE(f);
    CHECK(f->destination_mac == kH2);
    CHECK(f->source_mac == kH1);
  }
}

TEST_CASE("Bridged frames that are too short for what they say, or of no known type, are refused") {
  const auto bad = [](const Octets& i) { return parse_bridged(i).error() == BridgeError::kMalformed; };
  CHECK(bad({}));
  CHECK(bad(hex("0000 0023 00")));
  CHECK(bad(bridged(0x23, hex("020000000002 020000000001 08"))));
  CHECK(bad(bridged(0x23, kFrom1To2, 3)));     // 16 octets, less 3 of padding
  CHECK(bad(bridged(0x23, kFrom1To2, 0x80)));  // less an FCS
  CHECK(bad(bridged(0x23, kFrom1To2, 0, 5)));
  CHECK(bad(bridged(0x23, kFrom1To2, 0, 0)));
}

TEST_CASE("The discovery of RFC 3422 section 3.3.2, step by step") {
  NetworkAdapter b1 = adapter_b1(), b2(AdapterConfig{});
  b2.add_peer(kB1);
  b2.add_peer(kB3);
  CHECK(to(b1, kFrom1ToAll, 0) == std::vector{kB2, kB3});        // (1), (2)
  CHECK(b2.receive(bridged(0x23, kFrom1ToAll), 0).has_value());  // (3) to (5)
  CHECK(to(b2, kFrom2To1, 0) == std::vector{kB1});               // (6), (7)
  CHECK(b1.receive(bridged(0x45, kFrom2To1), 0).has_value());    // (8), (9)
  CHECK(to(b1, kFrom1To2, 0) == std::vector{kB2});
  CHECK(b1.counters().flooded == 1);
  CHECK(b1.counters().known == 1);
}

TEST_CASE("An unknown unicast address is sent to all peers (section 3.1)") {
  NetworkAdapter b1 = adapter_b1();
  CHECK(to(b1, kFrom1To2, 0) == std::vector{kB2, kB3});
}

TEST_CASE("A learned entry ends 300 s after the last frame of its host; the newest place wins") {
  NetworkAdapter b1 = adapter_b1();
  b1.receive(bridged(0x45, kFrom2To1), 0);
  b1.receive(bridged(0x45, kFrom2To1), seconds(100));
  CHECK(to(b1, kFrom1To2, seconds(400) - 1) == std::vector{kB2});
  CHECK(to(b1, kFrom1To2, seconds(400)).size() == 2);
  b1.advance(seconds(400));
  CHECK(b1.entries() == 0);
  CHECK(b1.next_deadline() == kNever);
  b1.receive(bridged(0x45, kFrom2To1), seconds(500));
  b1.receive(bridged(0x67, kFrom2To1), seconds(501));
  CHECK(to(b1, kFrom1To2, seconds(501)) == std::vector{kB3});
  CHECK(b1.entries() == 1);
}

TEST_CASE("A static entry does not age and is not overwritten (section 3.3.1)") {
  NetworkAdapter b1 = adapter_b1();
  CHECK(b1.add_static(kH2, kB2));
  CHECK_FALSE(b1.add_static(kH1, at(0x29)));  // no peer
  CHECK_FALSE(b1.add_static({0x03, 0, 0, 0, 0, 1}, kB2));
  b1.receive(bridged(0x67, kFrom2To1), 0);
  b1.advance(seconds(100'000));
  CHECK(to(b1, kFrom1To2, seconds(100'000)) == std::vector{kB2});
  CHECK(b1.remove(kH2));
  CHECK(to(b1, kFrom1To2, seconds(100'000)).size() == 2);
}

TEST_CASE("Frames of strangers are discarded and teach nothing (sections 3.2 and 5.4)") {
  NetworkAdapter b1 = adapter_b1();
  CHECK_FALSE(b1.receive(bridged(0x29, kFrom2To1), 0));
  CHECK_FALSE(b1.receive(bridged(0x2023, kFrom2To1), 0));
  CHECK_FALSE(b1.receive(bridged(0x45, kFrom2To1, 0, 12), 0));
  CHECK_FALSE(b1.receive(hex("00"), 0));
  CHECK(b1.counters().not_peer == 2);
  CHECK(b1.counters().malformed == 2);
  CHECK(b1.entries() == 0);
  b1.receive(bridged(0x45, kFrom2To1), 0);
  b1.remove_peer(kB2);
  CHECK(b1.entries() == 0);
  CHECK(to(b1, kFrom1To2, 0) == std::vector{kB3});
}

TEST_CASE("Learning can be switched off, has an end, and does not take group addresses") {
  NetworkAdapter off = adapter_b1({.learn = false}), small = adapter_b1({.most_entries = 1});
  off.receive(bridged(0x45, kFrom2To1), 0);
  CHECK(off.entries() == 0);
  small.receive(bridged(0x45, hex("020000000001 030000000002 0806 0002")), 0);
  CHECK(small.entries() == 0);
  small.receive(bridged(0x45, kFrom2To1), 0);
  small.receive(bridged(0x45, kFrom1To2), 0);
  CHECK(small.entries() == 1);
}

TEST_CASE("A MAC frame that MAPOS cannot carry goes nowhere") {
  NetworkAdapter b1 = adapter_b1();
  CHECK(to(b1, hex("020000000002 020000000001 08"), 0).empty());
  CHECK(to(b1, Octets(65280 - 6 + 1), 0).empty());
  CHECK(to(b1, Octets(65280 - 6), 0).size() == 2);
  CHECK(b1.counters().bad_length == 2);
}
