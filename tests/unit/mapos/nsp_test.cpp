// SPDX-License-Identifier: BSD-3-Clause
// NSP, both sides: RFC 2173 sentence by sentence, timers at their exact edges. Frames are those of RFC 2173 section 4.2
// and RFC 2175 section 4, octet by octet.
#include <catch2/catch.hpp>

#include "box.h"
#include "mapos/nsp.h"

using namespace mapos;
using test::hex;
using test::Octets;
using test::sent;

namespace {

const Octets kRequest = hex("01 03 FE03 00000001 00000000");
const Octets kAssignment23 = hex("23 03 FE03 00000002 00000023");
const Octets kAssignment25 = hex("25 03 FE03 00000002 00000025");

NspResult give(NspNode& n, const Octets& frame, Time now, Outbox& out, Version v = Version::kV1) {
  return n.receive(parse_header(v, frame)->address, std::span(frame).subspan(kHeaderOctets), now, out);
}
Address at(uint16_t wire) { return *Address::from_wire(Version::kV1, wire); }

struct Node {
  NspNode nsp{Version::kV1};
  Outbox out;
  explicit Node(Time up = 0) { nsp.link_up(up, out); }
  Node(Time up, const Octets& assignment, Time answered) : Node(up) {
    give(nsp, assignment, answered, out);
    out.clear();
  }
};

NspPort port_of_23() { return {port_index(0x03), at(0x23), at(0x23)}; }
const auto kRequestInformation = hex("00000001 00000000");

}  // namespace

TEST_CASE("A node asks when the signal is there, to 01, with a zero address") {
  Node n;
  CHECK(sent(n.out) == test::Frames{kRequest});
}

TEST_CASE("A node asks again after 5 s, not earlier, and again without end") {
  Node n;
  n.out.clear();
  for (int i = 1; i <= 100; ++i) {
    CHECK(n.nsp.next_deadline() == seconds(5 * i));
    n.nsp.advance(seconds(5 * i) - 1, n.out);
    CHECK(n.out.empty());
    n.nsp.advance(seconds(5 * i), n.out);
    CHECK(sent(n.out) == test::Frames{kRequest});
  }
}

TEST_CASE("An assigned node verifies its address every 30 s") {
  Node n(0, kAssignment23, seconds(1));
  CHECK(n.nsp.address() == at(0x23));
  for (int i = 1; i <= 10; ++i) {
    const Time due = seconds(1 + 30 * i);
    CHECK(n.nsp.next_deadline() == due);
    n.nsp.advance(due - 1, n.out);
    CHECK(n.out.empty());
    n.nsp.advance(due, n.out);
    CHECK(sent(n.out) == test::Frames{kRequest});
    CHECK(give(n.nsp, kAssignment23, due + 1, n.out) == NspResult::kTaken);
    CHECK(n.out.empty());  // the same address is no event
  }
}

TEST_CASE("A verification that is not answered is repeated every 5 s and the address stays") {
  Node n(0, kAssignment23, 0);
  for (const int t : {30, 35, 40, 45}) {
    CHECK(n.nsp.next_deadline() == seconds(t));
    n.nsp.advance(seconds(t), n.out);
    CHECK(sent(n.out) == test::Frames{kRequest});
    CHECK(n.nsp.address() == at(0x23));
  }
}

TEST_CASE("A transmission error has the node verify at once; loss of signal takes the address") {
  Node n(0, kAssignment23, 0);
  n.nsp.verify(seconds(7), n.out);
  CHECK(sent(n.out) == test::Frames{kRequest});
  CHECK(n.nsp.address() == at(0x23));
  n.nsp.link_down(n.out);
  CHECK_FALSE(n.nsp.address());
  CHECK(n.nsp.next_deadline() == kNever);
  REQUIRE(n.out.events().size() == 1);
  CHECK(n.out.events()[0] == Event{EventKind::kAddressLost, kNoPort, 0x23});
  n.out.clear();
  n.nsp.verify(seconds(8), n.out);  // nobody to ask
  CHECK(n.out.empty());
  CHECK(give(n.nsp, kAssignment23, seconds(8), n.out) == NspResult::kUnexpected);
}

TEST_CASE("A node that was moved takes its new address at the next verification") {
  Node n(0, kAssignment23, 0);
  n.nsp.advance(seconds(30), n.out);
  n.out.clear();
  CHECK(give(n.nsp, kAssignment25, seconds(31), n.out) == NspResult::kTaken);
  CHECK(n.nsp.address() == at(0x25));
  REQUIRE(n.out.events().size() == 1);
  CHECK(n.out.events()[0] == Event{EventKind::kAddressAssigned, kNoPort, 0x25});
}

TEST_CASE("A node takes no assignment that it did not ask for, that is not to it, or that cannot be") {
  Node n(0, kAssignment23, 0);
  CHECK(give(n.nsp, kAssignment25, 1, n.out) == NspResult::kUnexpected);
  n.nsp.verify(2, n.out);
  for (const char* bad : {"23 03 FE03 00000002 00000025",  // destination is not the address
                          "23 03 FE03 00000002 01000023",  // bits that no address has
                          "FF 03 FE03 00000002 000000FF",  // broadcast
                          "01 03 FE03 00000002 00000001",  // a control processor
                          "25 03 FE03 00000002 000000",    // short
                          "25 03 FE03 00000004 00000025",  // unknown command
                          "25 03 FE03 00000000 00000025"})
    CHECK(give(n.nsp, hex(bad), 3, n.out) == NspResult::kMalformed);
  CHECK(n.nsp.address() == at(0x23));
  // More than 8 octets: the rest is ignored.
  CHECK(give(n.nsp, hex("25 03 FE03 00000002 00000025 DEADBEEF"), 4, n.out) == NspResult::kTaken);
  CHECK(n.nsp.address() == at(0x25));
  // A second copy of the answer finds nobody waiting.
  CHECK(give(n.nsp, kAssignment23, 5, n.out) == NspResult::kUnexpected);
  CHECK(n.nsp.address() == at(0x25));
}

TEST_CASE("A rejected node tells and keeps asking every 5 s") {
  Node n;
  n.out.clear();
  CHECK(give(n.nsp, hex("03 03 FE03 00000003 00000000"), seconds(1), n.out) == NspResult::kTaken);
  REQUIRE(n.out.events().size() == 1);
  CHECK(n.out.events()[0].kind == EventKind::kRejected);
  CHECK(n.nsp.next_deadline() == seconds(5));
}

TEST_CASE("Two nodes on one line give each other 03, and a node on a loop gives it itself") {
  for (const bool loop : {false, true})
    for (const Version v : {Version::kV1, Version::k16}) {
      CAPTURE(loop, v == Version::k16);
      NspNode a(v), b(v);
      Outbox from_a, from_b;
      a.link_up(0, from_a);
      if (!loop) b.link_up(0, from_b);
      NspNode& far = loop ? a : b;
      Outbox& from_far = loop ? from_a : from_b;
      const auto request = sent(from_a);
      CHECK(give(far, request[0], 1, from_far, v) == NspResult::kTaken);
      const auto answers = sent(from_far);
      const auto& answer = answers.back();
      // RFC 2173 section 4.3.1; 0003 for MAPOS 16 from RFC 3572 section 3.
      CHECK(answer == hex(v == Version::kV1 ? "03 03 FE03 00000002 00000003" : "0003 FE03 00000002 00000003"));
      CHECK(give(a, answer, 2, from_a, v) == NspResult::kTaken);
      CHECK(a.address() == Address::point_to_point(v));
    }
}

TEST_CASE("A request that is not to 01 does not make a point-to-point line") {
  Node n;
  n.out.clear();
  CHECK(give(n.nsp, hex("03 03 FE03 00000001 00000000"), 1, n.out) == NspResult::kUnexpected);
  CHECK(n.out.empty());
}

TEST_CASE("The switch answers with the port's address, sent to that address, whatever the request's field holds") {
  NspPort p = port_of_23();
  Outbox out;
  CHECK(p.receive(hex("00000001 FFFFFFFF"), 0, out) == NspResult::kTaken);
  REQUIRE(out.frames() == 1);
  CHECK(out.frame(0).port == port_index(0x03));
  CHECK(out.events()[0] == Event{EventKind::kNodeUp, port_index(0x03), 0x23});
  CHECK(sent(out) == test::Frames{kAssignment23});
}

TEST_CASE("NSP: MAPOS 16 addresses stand in the two least significant octets (RFC 2175 section 4)") {
  const auto a = *Address::from_wire(Version::k16, 0x2003);
  NspPort p(1, a, a);
  Outbox out;
  CHECK(p.receive(kRequestInformation, 0, out) == NspResult::kTaken);
  const auto frames = sent(out);
  CHECK(frames == test::Frames{hex("2003 FE03 00000002 00002003")});
  NspNode n(Version::k16);
  n.link_up(0, out);
  CHECK(sent(out) == test::Frames{hex("0001 FE03 00000001 00000000")});
  CHECK(give(n, frames[0], 1, out, Version::k16) == NspResult::kTaken);
  CHECK(n.address() == a);
}

TEST_CASE("A node is down when more than 90 s have passed without a request") {
  NspPort p = port_of_23();
  Outbox out;
  p.receive(kRequestInformation, seconds(10), out);
  CHECK(p.node_up());
  CHECK_FALSE(p.advance(seconds(100)));  // 90 s are not more than 90 s
  CHECK(p.node_up());
  CHECK(p.next_deadline() == seconds(100) + 1);
  CHECK(p.advance(seconds(100) + 1));
  CHECK_FALSE(p.node_up());
  CHECK(p.next_deadline() == kNever);
}

TEST_CASE("Each request keeps the node alive, and signal failure ends it at once") {
  NspPort p = port_of_23();
  Outbox out;
  for (int t = 0; t <= 900; t += 90) p.receive(kRequestInformation, seconds(t), out);
  CHECK(p.next_deadline() == seconds(990) + 1);
  CHECK(out.events().size() == 1);  // up once
  p.link_down();
  CHECK_FALSE(p.node_up());
}

TEST_CASE("A switch that cannot assign an address rejects, and takes no node for up") {
  NspPort p(1, std::nullopt, at(0x03));
  Outbox out;
  CHECK(p.receive(kRequestInformation, 0, out) == NspResult::kTaken);
  CHECK(sent(out) == test::Frames{hex("03 03 FE03 00000003 00000000")});
  CHECK_FALSE(p.node_up());
}

TEST_CASE("The switch does not answer what is not a request") {
  NspPort p = port_of_23();
  Outbox out;
  CHECK(p.receive(hex("00000002 00000023"), 0, out) == NspResult::kUnexpected);
  CHECK(p.receive(hex("00000003 00000000"), 0, out) == NspResult::kUnexpected);
  CHECK(p.receive(hex("00000004 00000000"), 0, out) == NspResult::kMalformed);
  CHECK(p.receive(hex("00000001 000000"), 0, out) == NspResult::kMalformed);
  CHECK(p.receive({}, 0, out) == NspResult::kMalformed);
  CHECK(out.empty());
  CHECK_FALSE(p.node_up());
}
