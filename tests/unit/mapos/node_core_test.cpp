// SPDX-License-Identifier: BSD-3-Clause
// A node as a whole: what it takes, what it refuses, where it sends, and that each frame is counted once.
#include <catch2/catch.hpp>

#include "box.h"
#include "mapos/node_core.h"

using namespace mapos;
using test::hex;
using test::Octets;
using test::sent;

namespace {

Address at(uint16_t wire) { return *Address::from_wire(Version::kV1, wire); }

struct Node {
  NodeCore core;
  Outbox out;
  uint64_t given = 0;
  explicit Node(NodeConfig c = {.ip = 0xC0000201}) : core(c) {
    core.link_up(0, out);
    give("23 03 FE03 00000002 00000023");
    out.clear();
  }
  NodeCore::Received give(const char* frame, Time now = 1) {
    ++given;
    last = hex(frame);
    return core.receive(last, now, out);
  }
  Octets last;
};

}  // namespace

TEST_CASE("A node with an address broadcasts UNARP; before it has one nothing can be sent") {
  NodeCore core({.ip = 0xC0000201});
  Outbox out;
  core.link_up(0, out);
  CHECK(sent(out) == test::Frames{hex("01 03 FE03 00000001 00000000")});
  CHECK(core.destination(0xC0000202, 0, out).error() == NoDestination::kNoAddress);
  CHECK(core.destination(0xE0000001, 0, out).error() == NoDestination::kNoAddress);
  core.receive(hex("23 03 FE03 00000002 00000023"), 1, out);
  CHECK(sent(out) == test::Frames{hex("FF 03 FE01 0019 0800 04 04 0017 00000023 C0000201 FFFFFFFF FFFFFFFF")});
  // NSP verifies at 30 s, UNARP repeats at 30 s after the assignment.
  CHECK(core.next_deadline() == seconds(30) + 1);
}

TEST_CASE("Datagrams go to the host, to the group, or to all (RFC 2176 section 3.5)") {
  Node n;
  CHECK(n.core.destination(0xFFFFFFFF, 1, n.out) == at(0xFF));
  CHECK(n.core.destination(0xC00002FF, 1, n.out) == at(0xFF));  // 192.0.2.255/24
  CHECK(n.core.destination(0xE0000005, 1, n.out) == at(0x8B));
  CHECK(n.core.destination(kAllNodes, 1, n.out) == at(0x83));
  CHECK(n.out.empty());
  CHECK(n.core.destination(0xC0000202, 1, n.out).error() == NoDestination::kResolving);
  CHECK(n.out.frames() == 1);
  n.give("23 03 FE01 0019 0800 04 04 0002 00000049 C0000202 00000023 C0000201");
  CHECK(n.core.destination(0xC0000202, 1, n.out) == at(0x49));
}

TEST_CASE("A node takes what is for it, for all, and for its groups, and counts each frame once") {
  Node n;
  const auto r = n.give("23 03 0021 4500");
  CHECK(r.protocol == kIpv4);
  CHECK(Octets(r.information.begin(), r.information.end()) == hex("4500"));
  CHECK(n.give("FF 03 0021 45").protocol == kIpv4);
  CHECK(n.give("23 03 0057 60").protocol == kIpv6);
  CHECK(n.give("23 03 FE31 00").protocol == kBridge);
  CHECK(n.give("25 03 0021 45").protocol == 0);  // another's
  CHECK(n.give("8B 03 0021 45").protocol == 0);  // a group not joined
  n.core.join(at(0x8B));
  n.core.join(at(0x8B));
  n.core.leave(at(0x8B));
  CHECK(n.give("8B 03 0021 45").protocol == kIpv4);
  n.core.leave(at(0x8B));
  n.core.leave(at(0x8B));
  CHECK(n.give("8B 03 0021 45").protocol == 0);
  CHECK(n.give("01 03 FE05 0201").protocol == 0);               // SSP of a switch that takes us for one
  CHECK(n.give("23 03 C021 01").protocol == 0);                 // LCP
  CHECK(n.give("23 03 0021").protocol == 0);                    // no octet of a datagram
  CHECK(n.give("23 13 0021 45").protocol == 0);                 // control field
  CHECK(n.give("22 03 0021 45").protocol == 0);                 // EA bit
  CHECK(n.give("23 03").protocol == 0);                         // short
  CHECK(n.give("23 03 FE01 00").protocol == 0);                 // ARP, malformed
  CHECK(n.give("25 03 FE03 00000002 00000025").protocol == 0);  // an assignment nobody asked for
  const NodeCounters& c = n.core.counters();
  CHECK(c.ipv4 == 3);
  CHECK(c.not_for_us == 4);
  CHECK(c.unknown_protocol == 1);
  CHECK(c.empty == 1);
  CHECK(c.bad_header == 3);
  CHECK(c.arp == 1);
  CHECK(c.bad_nsp == 1);
  CHECK(c.received() == n.given);
}

TEST_CASE("A lost link takes address and neighbours; a new address forgets neighbours and tells it") {
  Node n;
  n.core.arp().add(0xC0000202, at(0x49));
  n.core.transmission_error(2, n.out);
  n.out.clear();
  n.give("25 03 FE03 00000002 00000025", 3);  // moved to another port
  CHECK(n.core.address() == at(0x25));
  CHECK(sent(n.out) == test::Frames{hex("FF 03 FE01 0019 0800 04 04 0017 00000025 C0000201 FFFFFFFF FFFFFFFF")});
  CHECK_FALSE(n.core.arp().find(0xC0000202, 3));
  n.core.arp().add(0xC0000202, at(0x49));
  n.core.link_down(n.out);
  CHECK_FALSE(n.core.address());
  CHECK(n.core.arp().size() == 0);
  CHECK(n.core.next_deadline() == kNever);
}

TEST_CASE("An address by hand needs no NSP (RFC 2171 section 1.2)") {
  NodeCore core({.ip = 0xC0000201, .manual = at(0x23)});
  Outbox out;
  core.link_up(0, out);
  CHECK(core.address() == at(0x23));
  CHECK(sent(out) == test::Frames{hex("FF 03 FE01 0019 0800 04 04 0017 00000023 C0000201 FFFFFFFF FFFFFFFF")});
}

TEST_CASE("A network adapter takes NSP and bridged frames alone (RFC 3422 section 2.2)") {
  Node n({.network_adapter = true});
  CHECK(n.core.address() == at(0x23));
  CHECK(n.give("23 03 FE31 00").protocol == kBridge);
  for (const char* other : {"23 03 0021 45", "23 03 0057 60", "FF 03 FE01 00"}) CHECK(n.give(other).protocol == 0);
  CHECK(n.core.counters().unknown_protocol == 3);
  CHECK(n.core.counters().received() == n.given);
}
