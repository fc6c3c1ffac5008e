// SPDX-License-Identifier: BSD-3-Clause
// Neighbour discovery over MAPOS: RFC 3572 sections 2.3, 4 and 5 on the messages of RFC 4861 sections 4.3 and 4.4.
// Checksums were computed with Python over the pseudo-header of RFC 8200 section 8.1.
#include <catch2/catch.hpp>

#include "box.h"
#include "mapos/nd.h"

using namespace mapos;
using test::events;
using test::hex;
using test::Octets;
using test::sent;

namespace {

Ipv6Address ipv6(const char* digits) {
  Ipv6Address a{};
  std::ranges::copy(hex(digits), a.begin());
  return a;
}
Address at(uint16_t wire) { return *Address::from_wire(Version::kV1, wire); }

#define OWN "FE800000000000000000000000123456"
#define PEER "FE800000000000000000000000ABCDEF"
#define OWN_GROUP "FF0200000000000000000001FF123456"
#define PEER_GROUP "FF0200000000000000000001FFABCDEF"
#define NONE "00000000000000000000000000000000"
#define ALL_NODES "FF020000000000000000000000000001"

const Ipv6Address kOwn = ipv6(OWN), kPeer = ipv6(PEER);
// Low 6 bits of the solicited-node groups: 0x56 -> 010110 -> AD, 0xEF -> 101111 -> DF; of all nodes 000001 -> 83.
const Octets kSearch = hex("AD 03 0057 6000000000183AFF" NONE OWN_GROUP "8700135700000000" OWN);
const Octets kQuestion = hex("DF 03 0057 6000000000203AFF" OWN PEER_GROUP "8700AADC00000000" PEER "0101000000230000");
const Octets kAnswer = hex("6000000000203AFF" PEER OWN "8800483A60000000" PEER "0201000000490000");
const Octets kAsked = hex("6000000000203AFF" PEER OWN_GROUP "870044E900000000" OWN "0101000000490000");
const Octets kOurAnswer = hex("49 03 0057 6000000000203AFF" OWN PEER "8800E29260000000" OWN "0201000000230000");
const Octets kDefence = hex("83 03 0057 6000000000203AFF" OWN ALL_NODES "8800F0AA20000000" OWN "0201000000230000");
const Octets kDuplicate = hex("6000000000203AFF" OWN ALL_NODES "8800F08420000000" OWN "0201000000490000");
const Octets kNoOverride = hex("6000000000203AFF" PEER OWN "8800683240000000" PEER "0201000000510000");

struct Host {
  Nd nd{{.own_ips = {kOwn}}};
  Outbox out;
  Host() {
    nd.address_assigned(at(0x23), 0, out);
    nd.advance(seconds(1), out);
    out.clear();
  }
};

}  // namespace

TEST_CASE("Duplicates are looked for once NSP gave the address, and the IP address is used a second later") {
  Nd nd({.own_ips = {kOwn}});
  Outbox out;
  CHECK_FALSE(nd.usable(kOwn));
  CHECK(nd.next_deadline() == kNever);
  nd.address_assigned(at(0x23), seconds(7), out);
  CHECK(sent(out) == test::Frames{kSearch});
  CHECK_FALSE(nd.resolve(kPeer, seconds(7), out));
  CHECK(out.empty());  // nothing is asked from an address that may be another's
  nd.advance(seconds(8) - 1, out);
  CHECK_FALSE(nd.usable(kOwn));
  nd.advance(seconds(8), out);
  CHECK(nd.usable(kOwn));
  CHECK(events(out) == std::vector{Event{EventKind::kUsable6, kNoPort, 0x00123456}});
}

TEST_CASE("An address that is another's, or that another looks for too, is not used") {
  for (const Octets& sign : {kDuplicate, Octets(kSearch.begin() + 4, kSearch.end())}) {
    Nd nd({.own_ips = {kOwn}});
    Outbox out;
    nd.address_assigned(at(0x23), 0, out);
    out.clear();
    CHECK(nd.receive(sign, 1, out));
    CHECK(events(out) == std::vector{Event{EventKind::kDuplicate6, kNoPort, 0x00123456}});
    nd.advance(seconds(1), out);
    CHECK_FALSE(nd.usable(kOwn));
    CHECK(nd.counters().duplicates == 1);
  }
}

TEST_CASE("A neighbour is asked for through its solicited-node group, and its answer used") {
  Host h;
  CHECK_FALSE(h.nd.resolve(kPeer, seconds(10), h.out));
  CHECK(sent(h.out) == test::Frames{kQuestion});
  CHECK(h.nd.receive(kAnswer, seconds(10), h.out));
  CHECK(events(h.out) == std::vector{Event{EventKind::kResolved6, kNoPort, 0x00ABCDEF}});
  CHECK(h.nd.resolve(kPeer, seconds(10), h.out) == at(0x49));
  CHECK(h.out.empty());
}

TEST_CASE("A neighbour that does not answer is asked for three times, then given up") {
  Host h;
  h.nd.resolve(kPeer, seconds(10), h.out);
  h.nd.advance(seconds(11), h.out);
  h.nd.advance(seconds(12), h.out);
  CHECK(sent(h.out) == test::Frames{kQuestion, kQuestion, kQuestion});
  h.nd.advance(seconds(13), h.out);
  CHECK(events(h.out) == std::vector{Event{EventKind::kUnresolved6, kNoPort, 0x00ABCDEF}});
}

TEST_CASE("A question for the own address is answered to the asker, who is remembered") {
  Host h;
  CHECK(h.nd.receive(kAsked, seconds(10), h.out));
  CHECK(sent(h.out) == test::Frames{kOurAnswer});
  CHECK(h.nd.find(kPeer, seconds(10)) == at(0x49));
}

TEST_CASE("A search for duplicates of the own address is answered to all nodes") {
  Host h;
  CHECK(h.nd.receive(std::span(kSearch).subspan(4), seconds(10), h.out));
  CHECK(sent(h.out) == test::Frames{kDefence});
  CHECK(h.nd.usable(kOwn));
}

TEST_CASE("What nobody asked for puts nothing in, and without the override flag nothing is changed") {
  Host h;
  CHECK(h.nd.receive(kAnswer, seconds(10), h.out));
  CHECK_FALSE(h.nd.find(kPeer, seconds(10)));
  h.nd.resolve(kPeer, seconds(10), h.out);
  h.nd.receive(kAnswer, seconds(10), h.out);
  h.nd.receive(kNoOverride, seconds(11), h.out);
  CHECK(h.nd.find(kPeer, seconds(11)) == at(0x49));
  CHECK(h.nd.counters().ignored == 2);
}

TEST_CASE("Neighbour discovery that fails the checks of RFC 4861 is counted; other datagrams are the host's") {
  Host h;
  h.nd.resolve(kPeer, seconds(10), h.out);
  const auto spoilt = [&](size_t octet, uint8_t value) {
    Octets d = kAnswer;
    d[octet] = value;
    return h.nd.receive(d, seconds(10), h.out);
  };
  CHECK(spoilt(7, 254));   // hop limit: came through a router
  CHECK(spoilt(41, 1));    // code
  CHECK(spoilt(42, 0));    // checksum
  CHECK(spoilt(5, 0x21));  // longer than what came
  CHECK(spoilt(5, 0x17));  // shorter than the message
  CHECK(h.nd.counters().malformed == 5);
  CHECK_FALSE(spoilt(6, 17));    // UDP
  CHECK_FALSE(spoilt(40, 128));  // echo request
  CHECK_FALSE(spoilt(0, 0x45));  // not IPv6
  CHECK_FALSE(h.nd.receive({}, seconds(10), h.out));
  CHECK_FALSE(h.nd.find(kPeer, seconds(10)));
  CHECK(h.nd.counters().packets() == 5);
}

TEST_CASE("Loss of the link forgets neighbours; by hand they stay until then") {
  Host h;
  CHECK(h.nd.add(kPeer, at(0x51)));
  CHECK_FALSE(h.nd.add(kPeer, at(0xFF)));
  h.nd.advance(seconds(10'000), h.out);
  CHECK(h.nd.find(kPeer, seconds(10'000)) == at(0x51));
  h.nd.link_down();
  CHECK_FALSE(h.nd.find(kPeer, seconds(10'000)));
  CHECK_FALSE(h.nd.usable(kOwn));
}
