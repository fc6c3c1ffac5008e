// SPDX-License-Identifier: BSD-3-Clause
// The three switches and four nodes of RFC 2174 figure 2: what the RFC says of them in table 1 and figures 5 to 9.
#include <catch2/catch.hpp>

#include "network.h"

using namespace mapos;
using test::Hops;
using test::Network;

namespace {

struct Figure2 {
  Network net{Version::kV1};
  int s1 = net.add_switch("S1", 0x20, 0xE0);
  int s2 = net.add_switch("S2", 0x40, 0xE0);
  int s3 = net.add_switch("S3", 0x60, 0xE0);
  int n1 = net.add_node("N1"), n2 = net.add_node("N2"), n3 = net.add_node("N3"), n4 = net.add_node("N4");
  int s2_s1 = net.add_link(s2, port_index(0x09), s1, port_index(0x05));
  int s2_s3 = net.add_link(s2, port_index(0x07), s3, port_index(0x05));
  int s1_s3 = net.add_link(s1, port_index(0x07), s3, port_index(0x03));

  Figure2() {
    net.add_link(s2, port_index(0x03), n1, kNoPort);
    net.add_link(s2, port_index(0x05), n2, kNoPort);
    net.add_link(s1, port_index(0x09), n3, kNoPort);
    net.add_link(s3, port_index(0x09), n4, kNoPort);
    net.all_up();
  }
};

Address at(uint16_t wire) { return *Address::from_wire(Version::kV1, wire); }

}  // namespace

TEST_CASE("Nodes of RFC 2174 figure 2 get the addresses it gives them") {
  Figure2 f;
  f.net.run_for(seconds(1));
  CHECK(f.net.node(f.n1).address() == at(0b01000011));
  CHECK(f.net.node(f.n2).address() == at(0b01000101));
  CHECK(f.net.node(f.n3).address() == at(0b00101001));
  CHECK(f.net.node(f.n4).address() == at(0b01101001));
}

TEST_CASE("S1 has the routing table of RFC 2174 table 1") {
  Figure2 f;
  f.net.run_for(seconds(1));
  const auto routes = f.net.core(f.s1).ssp()->routes();
  REQUIRE(routes.size() == 3);
  CHECK(routes[0].destination == Prefix{0b00100000, 0b11100000});  // S1 itself
  CHECK(routes[0].metric == 0);
  CHECK(routes[1].destination == Prefix{0b01000000, 0b11100000});
  CHECK(port_wire(routes[1].next_hop) == 0b00000101);
  CHECK(routes[1].metric == 1);
  CHECK(routes[2].destination == Prefix{0b01100000, 0b11100000});
  CHECK(port_wire(routes[2].next_hop) == 0b00000111);
  CHECK(routes[2].metric == 1);
}

TEST_CASE("S2 has the broadcast table of RFC 2174 figure 6 when the forward delay is over") {
  Figure2 f;
  f.net.run_for(seconds(45));
  PortSet figure6;
  for (const uint8_t port : {0x09, 0x05, 0x03}) figure6.set(port_index(port));
  CHECK(f.net.core(f.s2).group_ports() == figure6);
  CHECK(f.net.core(f.s2).ssp()->vss() == Prefix{0x20, 0xE0});  // figure 5: S1
}

TEST_CASE("Broadcasts of N2, N3 and N4 take the paths of RFC 2174 figures 7, 8 and 9") {
  Figure2 f;
  f.net.run_for(seconds(45));
  CHECK(f.net.broadcast(f.n2) == Hops{"N2->S2", "S2->S1", "S2->N1", "S1->N3", "S1->S3", "S3->N4"});
  CHECK(f.net.broadcast(f.n3) == Hops{"N3->S1", "S1->S2", "S1->S3", "S2->N1", "S2->N2", "S3->N4"});
  CHECK(f.net.broadcast(f.n4) == Hops{"N4->S3", "S3->S1", "S1->N3", "S1->S2", "S2->N1", "S2->N2"});
}

TEST_CASE("N4 to N1 goes through S3 and S2 (RFC 2174 section 3.2)") {
  Figure2 f;
  f.net.run_for(seconds(1));
  f.net.send(f.n4, at(0x43));
  f.net.run_for(seconds(1));
  CHECK(f.net.hops() == Hops{"N4->S3", "S3->S2", "S2->N1"});
}

TEST_CASE("When S1 and S2 lose their link, unicast and then broadcast go through S3") {
  Figure2 f;
  f.net.run_for(seconds(45));
  f.net.set_link(f.s2_s1, false);
  f.net.run_for(seconds(10));  // the next periodic update of S3 brings the other way
  f.net.send(f.n3, at(0x43));
  f.net.run_for(seconds(1));
  CHECK(f.net.hops() == Hops{"N3->S1", "S1->S3", "S3->S2", "S2->N1"});
  // The link S2-S3 is new in the tree: nothing before its forward delay of 30 s.
  CHECK(f.net.broadcast(f.n2) == Hops{"N2->S2", "S2->N1"});
  f.net.run_for(seconds(31));
  CHECK(f.net.broadcast(f.n2) == Hops{"N2->S2", "S2->N1", "S2->S3", "S3->N4", "S3->S1", "S1->N3"});
}

TEST_CASE("Every frame that a switch of figure 2 received is in one of its counters") {
  Figure2 f;
  f.net.run_for(seconds(45));
  f.net.broadcast(f.n2);
  f.net.send(f.n4, at(0x43));
  f.net.send(f.n4, at(0x01));  // IP to the control processor: not for it
  f.net.send(f.n4, at(0x67));  // no node on port 07 of S3
  f.net.send(f.n1, at(0x41));  // control processor of S2 by its cluster address
  f.net.run_for(seconds(1));
  uint64_t data = 0;
  for (const int s : {f.s1, f.s2, f.s3}) {
    const SwitchCounters& c = f.net.core(s).counters();
    CHECK(c.received() == f.net.received(s));
    CHECK(c.ssp == f.net.core(s).ssp()->counters().packets());
    data += c.unicast_local + c.unicast_routed;
  }
  CHECK(data == 2);  // N4 to N1: S3 routed, S2 delivered
  CHECK(f.net.core(f.s3).counters().not_for_control == 1);
  CHECK(f.net.core(f.s3).counters().no_node == 1);
  CHECK(f.net.core(f.s2).counters().not_for_control == 1);
}

TEST_CASE("Nodes of figure 2 find each other by ARP and by neighbour discovery across switches") {
  Network net;
  const int s1 = net.add_switch("S1", 0x20, 0xE0), s2 = net.add_switch("S2", 0x40, 0xE0);
  const auto ip6 = [](uint8_t last) { return Ipv6Address{0xFE, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, last}; };
  const int n1 = net.add_node("N1", {.ip = 0xC0000201, .ips6 = {ip6(1)}});
  const int n3 = net.add_node("N3", {.ip = 0xC0000203, .ips6 = {ip6(3)}});
  net.add_link(s2, port_index(0x09), s1, port_index(0x05));
  net.add_link(s2, port_index(0x03), n1, kNoPort);
  net.add_link(s1, port_index(0x09), n3, kNoPort);
  net.all_up();
  net.run_for(seconds(100));
  CHECK_FALSE(net.send_ip(n1, 0xC0000203));
  net.run_for(seconds(1));
  CHECK(net.events(n1).back() == Event{EventKind::kResolved, kNoPort, 0xC0000203});
  CHECK(net.send_ip(n1, 0xC0000203));
  CHECK(net.send_ip(n3, 0xC0000201));  // learned from the question
  net.run_for(seconds(1));
  CHECK(net.node(n3).counters().ipv4 == 1);
  CHECK(net.node(n1).counters().ipv4 == 1);

  Outbox out;
  CHECK_FALSE(net.node(n1).destination(ip6(3), net.now(), out));
  net.deliver(n1, out);
  net.run_for(seconds(1));
  CHECK(net.node(n1).destination(ip6(3), net.now(), out) == at(0x29));
  CHECK(net.node(n3).destination(ip6(1), net.now(), out) == at(0x43));
  for (const int n : {n1, n3}) CHECK(net.node(n).counters().received() == net.received(n));
}

TEST_CASE("A count to infinity around a ring ends after 15 steps (RFC 2174 section 3.4.3)") {
  // S1, S2 and S3 in a ring, one more behind S3. Each step of the count crosses a link, 1 ms, and makes the metric
  // larger.
  for (const bool silent : {false, true}) {
    CAPTURE(silent);
    Network net;
    const int s1 = net.add_switch("S1", 0x20, 0xE0), s2 = net.add_switch("S2", 0x40, 0xE0);
    const int s3 = net.add_switch("S3", 0x60, 0xE0);
    net.add_link(s1, 2, s2, 2);
    net.add_link(s2, 3, s3, 2);
    net.add_link(s3, 3, s1, 3);
    net.all_up();
    net.run_for(seconds(5));
    // The fourth, which only S3 hears: 0x10 under a longer mask, as the mask of each is its own.
    const Prefix lost{0x10, 0xF0};
    const auto say = [&](uint32_t metric) {
      Outbox out;
      const auto to = out.add_frame(4, {Address::control_processor(Version::kV1), kSsp}, ssp_octets(1));
      put_ssp_header(to, SspCommand::kResponse);
      put_ssp_entry(to, 0, {kSspRouteFamily, lost.bits, lost.mask, metric});
      auto frame = test::Octets(out.frame(0).octets.begin(), out.frame(0).octets.end());
      net.inject(s3, 4, frame);
    };
    net.port_up(s3, 4);
    say(0);
    net.run_for(seconds(1));
    for (const int s : {s1, s2, s3}) REQUIRE(net.core(s).ssp()->find(lost)->reachable());
    if (silent)
      net.run_for(seconds(30) - seconds(1));  // EXPIRATION_TIMER of S3
    else
      say(16);
    net.run_for(milliseconds(16));
    for (const int s : {s1, s2, s3}) CHECK_FALSE(net.core(s).ssp()->find(lost)->reachable());
    net.run_for(seconds(31));  // GC_TIMER
    for (const int s : {s1, s2, s3}) CHECK(net.core(s).ssp()->find(lost) == nullptr);
  }
}
