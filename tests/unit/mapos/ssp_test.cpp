// SPDX-License-Identifier: BSD-3-Clause
// One SSP engine against hand-made packets: RFC 2174 sections 5.2 to 5.5 case by case, timers at their exact edges.
#include <catch2/catch.hpp>

#include "mapos/ssp.h"
#include "octets.h"

using namespace mapos;
using test::hex;
using test::Octets;

namespace {

struct Entry {
  uint32_t bits;
  uint32_t metric;
  uint32_t mask = 0xE0;
  uint32_t family = 2;
  bool operator==(const Entry&) const = default;
};

/// Laid out by hand, as figure 11 of RFC 2174 has it.
Octets packet(uint8_t command, const std::vector<Entry>& entries, uint8_t version = 1) {
  Octets p{command, version, 0, 0};
  const auto word = [&](uint32_t v) {
    for (const int shift : {24, 16, 8, 0}) p.push_back(static_cast<uint8_t>(v >> shift));
  };
  for (const Entry& e : entries) {
    word(e.family << 16);
    word(e.bits);
    word(e.mask);
    word(0);
    word(e.metric);
  }
  return p;
}

struct Sent {
  Port port;
  Octets information;
  bool operator==(const Sent&) const = default;
};

/// S2 (0x40, mask 0xE0) of RFC 2174 figure 2, with ports 4 (0x09, towards S1), 3 (0x07, towards S3) and 2 up.
struct S2 {
  Outbox out;
  Ssp ssp{{*SwitchId::in_cluster(Version::kV1, 0x40, 0xE0)}, 0};

  S2() {
    for (const Port p : {4, 3, 2}) ssp.port_up(p, 0, out);
    out.clear();
  }
  void hear(Port p, const std::vector<Entry>& entries, Time now) {
    out.clear();
    REQUIRE(ssp.receive(p, packet(2, entries), now, out));
  }
  void advance(Time now) {
    out.clear();
    ssp.advance(now, out);
  }
  std::vector<Sent> sent() const {
    std::vector<Sent> all;
    for (size_t i = 0; i < out.frames(); ++i) {
      const auto f = out.frame(i);
      CHECK(Octets(f.octets.begin(), f.octets.begin() + 4) == hex("01 03 FE05"));  // section 5.1.1
      all.push_back({f.port, Octets(f.octets.begin() + 4, f.octets.end())});
    }
    return all;
  }
  const Route* route(uint16_t bits) const { return ssp.find({bits, 0xE0}); }
  int metric(uint16_t bits) const { return route(bits) != nullptr ? route(bits)->metric : -1; }
  Port next_hop(uint16_t bits) const { return route(bits)->next_hop; }
};

}  // namespace

TEST_CASE("A port that comes up is asked for the whole table (section 5.3.2 (1))") {
  Ssp ssp({*SwitchId::in_cluster(Version::kV1, 0x40, 0xE0)}, 0);
  Outbox out;
  ssp.port_up(4, 0, out);
  REQUIRE(out.frames() >= 1);
  CHECK(out.frame(0).port == 4);
  const Octets first(out.frame(0).octets.begin(), out.frame(0).octets.end());
  CHECK(first == hex("01 03 FE05 01 01 0000 0000 0000 00000000 00000000 00000000 00000010"));
}

TEST_CASE("The whole table goes out every 10 s, to ports with a switch, not earlier") {
  S2 s;
  for (int i = 1; i <= 3; ++i) {
    CHECK(s.ssp.next_deadline() == seconds(10 * i));
    s.advance(seconds(10 * i) - 1);
    CHECK(s.out.empty());
    s.advance(seconds(10 * i));
    const Octets self = packet(2, {{0x40, 0}});
    CHECK(s.sent() == std::vector<Sent>{{2, self}, {3, self}, {4, self}});
  }
  s.ssp.port_down(3, seconds(31), s.out);  // a node turned up there
  s.advance(seconds(40));
  CHECK(s.sent().size() == 2);
}

TEST_CASE("A request for everything gets everything; one for a part, or of another version, gets nothing") {
  S2 s;
  s.hear(4, {{0x20, 0}}, 1);
  s.out.clear();
  CHECK(s.ssp.receive(3, packet(1, {{0, 16, 0, 0}}), 2, s.out));
  CHECK(s.sent() == std::vector<Sent>{{3, packet(2, {{0x20, 1}, {0x40, 0}})}});
  s.out.clear();
  CHECK_FALSE(s.ssp.receive(3, packet(1, {{0x20, 1}}), 3, s.out));
  CHECK_FALSE(s.ssp.receive(3, packet(1, {{0, 16, 0, 0}}, 2), 4, s.out));
  CHECK(s.out.empty());
  CHECK(s.ssp.counters().bad_request == 1);
  CHECK(s.ssp.counters().bad_version == 1);
}

TEST_CASE("A new route: cost added, told at once to all, poisoned to its next hop (case 1, section 5.3.1)") {
  S2 s;
  s.hear(4, {{0x20, 0}, {0x60, 3}}, 1);
  CHECK(s.metric(0x20) == 1);
  CHECK(s.metric(0x60) == 4);
  CHECK(s.next_hop(0x60) == 4);
  const Octets others = packet(2, {{0x20, 1}, {0x60, 4}});
  CHECK(s.sent() == std::vector<Sent>{{2, others}, {3, others}, {4, packet(2, {{0x20, 17}, {0x60, 20}})}});
  s.hear(4, {{0x20, 0}, {0x60, 3}}, 2);
  CHECK(s.out.empty());  // no news
}

TEST_CASE("A switch address counts with and without its EA bit, and as a node address (section 5.1.3)") {
  S2 s;
  s.hear(4, {{0x20, 0}}, 1);
  s.hear(4, {{0x21, 2}}, 2);
  CHECK(s.metric(0x20) == 3);
  s.hear(4, {{0x29, 4}}, 3);
  CHECK(s.metric(0x20) == 5);
  CHECK(s.ssp.routes().size() == 2);
}

TEST_CASE("Metric arithmetic ends at 16") {
  S2 s;
  s.hear(4, {{0x20, 14}}, 1);
  CHECK(s.metric(0x20) == 15);
  s.hear(4, {{0x60, 15}}, 1);  // 16 with the cost: no such route (case 1)
  CHECK(s.metric(0x60) == -1);
  CHECK(s.ssp.counters().unknown_unreachable == 1);
  s.hear(4, {{0x20, 15}}, 2);
  CHECK(s.metric(0x20) == 16);
}

TEST_CASE("Case (a): a worse metric counts from the next hop alone, and is told") {
  S2 s;
  s.hear(4, {{0x60, 1}}, 1);
  s.hear(3, {{0x60, 5}}, 2);
  CHECK(s.metric(0x60) == 2);
  CHECK(s.out.empty());
  s.hear(4, {{0x60, 5}}, 3);
  CHECK(s.metric(0x60) == 6);
  CHECK(s.sent()[0] == Sent{2, packet(2, {{0x60, 6}})});  // section 3.4.3: its metric has increased
}

TEST_CASE("Case (b): a better metric wins from any port") {
  S2 s;
  s.hear(4, {{0x60, 1}}, 1);
  s.hear(3, {{0x60, 0}}, 2);
  CHECK(s.metric(0x60) == 1);
  CHECK(s.next_hop(0x60) == 3);
  CHECK(s.sent() ==
        std::vector<Sent>{{2, packet(2, {{0x60, 1}})}, {3, packet(2, {{0x60, 17}})}, {4, packet(2, {{0x60, 1}})}});
}

TEST_CASE("Case (c): as good is not better, and does not refresh the route of another port") {
  S2 s;
  s.hear(4, {{0x60, 1}}, 1);
  s.hear(3, {{0x60, 1}}, seconds(20));
  CHECK(s.next_hop(0x60) == 4);
  CHECK(s.route(0x60)->deadline == seconds(30) + 1);
  s.hear(4, {{0x60, 1}}, seconds(25));
  CHECK(s.route(0x60)->deadline == seconds(55));
}

TEST_CASE("Cases (d) and (e): unreachable counts from the next hop alone, once, and is told") {
  S2 s;
  s.hear(4, {{0x60, 1}}, 1);
  s.hear(3, {{0x60, 16}}, 2);
  CHECK(s.metric(0x60) == 2);
  s.hear(4, {{0x60, 16}}, 3);
  CHECK(s.metric(0x60) == 16);
  const Octets lost = packet(2, {{0x60, 16}});
  CHECK(s.sent() == std::vector<Sent>{{2, lost}, {3, lost}, {4, lost}});  // 16 even to the next hop, never 32
  s.hear(4, {{0x60, 16}}, seconds(5));
  CHECK(s.out.empty());
  CHECK(s.route(0x60)->deadline == seconds(30) + 3);  // its garbage collection goes on
}

TEST_CASE("Any reachable offer replaces an unreachable route at once (section 3.4.2)") {
  S2 s;
  s.hear(4, {{0x60, 1}}, 1);
  s.hear(4, {{0x60, 16}}, 2);
  s.hear(2, {{0x60, 9}}, 3);
  CHECK(s.metric(0x60) == 10);
  CHECK(s.next_hop(0x60) == 2);
  CHECK(s.route(0x60)->deadline == seconds(30) + 3);
}

TEST_CASE("A route expires after 30 s, is told as 16 for 30 s more and then is gone (figure 3)") {
  S2 s;
  s.hear(4, {{0x20, 0}}, 1);
  s.advance(seconds(30));
  CHECK(s.metric(0x20) == 1);
  CHECK(s.ssp.next_deadline() == seconds(30) + 1);
  s.advance(seconds(30) + 1);
  CHECK(s.metric(0x20) == 16);
  CHECK(s.sent()[0] == Sent{2, packet(2, {{0x20, 16}})});
  s.advance(seconds(40));
  CHECK(s.sent()[0] == Sent{2, packet(2, {{0x20, 16}, {0x40, 0}})});
  s.advance(seconds(60));
  CHECK(s.metric(0x20) == 16);
  s.advance(seconds(60) + 1);
  CHECK(s.metric(0x20) == -1);
  s.advance(seconds(70));
  CHECK(s.sent()[0] == Sent{2, packet(2, {{0x40, 0}})});
}

TEST_CASE("An update just before a route expires keeps it; a poisoned one does not") {
  S2 s;
  s.hear(4, {{0x20, 0}}, 0);
  s.hear(4, {{0x20, 0}}, seconds(30) - 1);
  CHECK(s.route(0x20)->deadline == seconds(60) - 1);
  s.hear(4, {{0x20, 17}}, seconds(50));
  CHECK(s.route(0x20)->deadline == seconds(60) - 1);
}

TEST_CASE("A local port that goes down makes its routes unreachable and that is told at once (section 5.3.2 (3))") {
  S2 s;
  s.hear(4, {{0x20, 0}}, 1);
  s.hear(3, {{0x60, 0}}, 2);
  s.out.clear();
  s.ssp.port_down(4, 3, s.out);
  CHECK(s.metric(0x20) == 16);
  CHECK(s.metric(0x60) == 1);
  CHECK(s.sent() == std::vector<Sent>{{2, packet(2, {{0x20, 16}})}, {3, packet(2, {{0x20, 16}})}});
  CHECK_FALSE(s.ssp.receive(4, packet(2, {{0x20, 0}}), 4, s.out));
  CHECK(s.ssp.counters().not_neighbour == 1);
}

TEST_CASE("A triggered update gives way to a periodic one that is due") {
  S2 s;
  s.hear(4, {{0x20, 0}}, seconds(10));
  // One packet per port, with everything.
  CHECK(s.sent() == std::vector<Sent>{{2, packet(2, {{0x20, 1}, {0x40, 0}})},
                                      {3, packet(2, {{0x20, 1}, {0x40, 0}})},
                                      {4, packet(2, {{0x20, 17}, {0x40, 0}})}});
}

TEST_CASE("On termination everything is told as 16 (section 5.3.2 (4))") {
  S2 s;
  s.hear(4, {{0x20, 0}}, 1);
  s.out.clear();
  s.ssp.shutdown(s.out);
  const Octets all = packet(2, {{0x20, 16}, {0x40, 16}});
  CHECK(s.sent() == std::vector<Sent>{{2, all}, {3, all}, {4, all}});
}

TEST_CASE("A packet holds 25 entries; more go into the next (section 5.1.1)") {
  Outbox out;
  // MAPOS 16 with 6 switch bits: 40 routes and the switch itself.
  Ssp ssp({*SwitchId::in_cluster(Version::k16, 0x2000, 0xFF00)}, 0);
  ssp.port_up(1, 0, out);
  std::vector<Entry> many;
  for (uint32_t n = 20; n < 60; ++n) many.push_back({n << 9, 1, 0xFF00});
  REQUIRE(ssp.receive(1, packet(2, {many.begin(), many.begin() + 25}), 0, out));
  REQUIRE(ssp.receive(1, packet(2, {many.begin() + 25, many.end()}), 0, out));
  out.clear();
  ssp.advance(seconds(10), out);
  REQUIRE(out.frames() == 2);
  CHECK(out.frame(0).octets.size() == 4 + 504);
  CHECK(out.frame(1).octets.size() == 4 + 4 + (41 - 25) * 20);
}

TEST_CASE("Packets and entries that are not right are counted, and change nothing") {
  S2 s;
  const auto bad = [&](const Octets& p) { return !s.ssp.receive(4, p, 1, s.out); };
  CHECK(bad({}));
  CHECK(bad(hex("02 01 0000")));  // no entry
  auto cut = packet(2, {{0x20, 0}});
  cut.pop_back();
  CHECK(bad(cut));
  CHECK(bad(packet(2, std::vector<Entry>(26, {0x20, 0}))));  // 524 octets
  CHECK(s.ssp.counters().malformed == 4);
  CHECK(bad(packet(2, {{0x20, 0}}, 2)));
  CHECK(s.ssp.counters().bad_version == 1);
  CHECK(bad(packet(3, {{0x20, 0}})));
  CHECK(s.ssp.counters().bad_command == 1);
  s.hear(4,
         {
             {0x20, 0, 0xE0, 1},     // family
             {0x20, 32},             // metric
             {0x20, 0xFFFFFFFF},     //
             {0xFF, 0},              // broadcast
             {0xA0, 0},              // a group
             {0x120, 0},             // more than 8 bits
             {0x20, 0, 0},           // no mask
             {0x20, 0, 0x60},        // a mask without the group bit
             {0x20, 0, 0xA0},        // a mask with a hole
             {0x20, 0, 0xFF},        // a mask over the EA bit
             {0x20, 0, 0xFFFFFFE0},  // a mask at the wrong end
             {0x00, 0},              // switch number 0: its control processor would be 01
             {0x48, 0, 0xF8},        // within S2's own addresses
             {0x20, 17},             // poisoned, and no such route
             {0x20, 16},             // unreachable, and no such route
         },
         2);
  const SspCounters& c = s.ssp.counters();
  CHECK(c.bad_family == 1);
  CHECK(c.bad_metric == 2);
  CHECK(c.bad_prefix == 10);
  CHECK(c.illegal_poison == 1);
  CHECK(c.unknown_unreachable == 1);
  CHECK(c.entries() == 15);
  CHECK(c.packets() == 7);
  CHECK(s.ssp.routes().size() == 1);
  CHECK(s.out.empty());
}

TEST_CASE("Nobody can take a switch's own number from it") {
  S2 s;
  s.hear(4, {{0x40, 0}}, 1);
  s.hear(4, {{0x40, 16}}, 2);
  CHECK(s.metric(0x40) == 0);
  CHECK(s.next_hop(0x40) == kNoPort);
}

TEST_CASE("The table has an end") {
  Outbox out;
  Ssp ssp({*SwitchId::in_cluster(Version::kV1, 0x40, 0xE0), {}, 2}, 0);
  ssp.port_up(1, 0, out);
  ssp.receive(1, packet(2, {{0x20, 0}, {0x60, 0}}), 1, out);
  CHECK(ssp.routes().size() == 2);
  CHECK(ssp.counters().table_full == 1);
}

TEST_CASE("While the far end does not hear the switch, what it says does not count (section 6.2)") {
  S2 s;
  s.ssp.set_transmit_ok(4, false);
  CHECK_FALSE(s.ssp.receive(4, packet(2, {{0x20, 0}}), 1, s.out));
  CHECK(s.metric(0x20) == -1);
  s.ssp.set_transmit_ok(4, true);
  CHECK(s.ssp.receive(4, packet(2, {{0x20, 0}}), 2, s.out));
  CHECK(s.metric(0x20) == 1);
}

TEST_CASE("The virtual source switch is the reachable one with the smallest number, perhaps the switch itself") {
  S2 s;
  CHECK(s.ssp.vss().bits == 0x40);
  s.hear(3, {{0x60, 0}}, 1);
  CHECK(s.ssp.vss().bits == 0x40);
  s.hear(4, {{0x20, 0}}, 2);
  CHECK(s.ssp.vss().bits == 0x20);
  CHECK(s.out.events()[0] == Event{EventKind::kNewVss, kNoPort, 0x20});
  s.hear(4, {{0x20, 16}}, 3);
  CHECK(s.ssp.vss().bits == 0x40);
}

TEST_CASE("The upstream port forwards 30 s after it became that") {
  S2 s;
  s.hear(4, {{0x20, 0}}, 0);
  for (int t = 10; t <= 20; t += 10) s.hear(4, {{0x20, 0}}, seconds(t));
  CHECK(s.ssp.tree().upstream() == 4);
  s.advance(seconds(30) - 1);
  CHECK_FALSE(s.ssp.tree().forwarding().test(4));
  s.advance(seconds(30));
  CHECK(s.ssp.tree().forwarding().test(4));
}

TEST_CASE("An upstream port stays in the tree through ordinary updates (section 5.4 (c) read with 4.7)") {
  S2 s;
  for (int t = 0; t <= 300; t += 10) s.hear(4, {{0x20, 0}}, seconds(t));
  CHECK(s.ssp.tree().forwarding().test(4));
}

TEST_CASE("A downstream port forwards 30 s after the first poisoned update and ends 30 s after the last (figure 10)") {
  S2 s;  // no switch with a smaller number: S2 is the virtual source switch
  for (int t = 0; t <= 60; t += 10) {
    s.hear(3, {{0x40, 17}}, seconds(t));
    CHECK(s.ssp.tree().forwarding().test(3) == (t >= 30));
  }
  s.advance(seconds(90) - 1);
  CHECK(s.ssp.tree().forwarding().test(3));
  s.advance(seconds(90));
  CHECK_FALSE(s.ssp.tree().members().test(3));
}

TEST_CASE("One poisoned update alone never opens a port: its delay and its life end together") {
  S2 s;
  s.hear(3, {{0x40, 17}}, 0);
  s.advance(seconds(30));
  CHECK_FALSE(s.ssp.tree().members().test(3));
}

TEST_CASE("An ordinary update from a downstream switch takes its port out of the tree at once (section 4.7)") {
  for (const uint32_t ordinary : {1U, 16U}) {  // cases (a) and (e)
    S2 s;
    for (int t = 0; t <= 40; t += 10) s.hear(3, {{0x40, 17}}, seconds(t));
    REQUIRE(s.ssp.tree().forwarding().test(3));
    s.hear(3, {{0x40, ordinary}}, seconds(41));
    CHECK_FALSE(s.ssp.tree().members().test(3));
  }
}

TEST_CASE("A poisoned update from the upstream port, or of another switch's route, opens nothing") {
  S2 s;
  s.hear(4, {{0x20, 0}}, 0);
  s.hear(3, {{0x60, 0}}, 0);
  s.hear(4, {{0x20, 17}}, 1);
  CHECK(s.ssp.counters().illegal_poison == 1);
  s.hear(2, {{0x60, 18}}, 2);  // 0x60 is not the virtual source switch
  CHECK(s.ssp.tree().members().count() == 1);
}

TEST_CASE("A new virtual source switch makes the whole tree invalid (section 4.9)") {
  S2 s;
  for (int t = 0; t <= 40; t += 10) s.hear(3, {{0x40, 17}}, seconds(t));
  REQUIRE(s.ssp.tree().forwarding().test(3));
  s.hear(4, {{0x20, 0}}, seconds(41));
  CHECK(s.ssp.tree().forwarding().empty());
  CHECK(s.ssp.tree().upstream() == 4);
  s.hear(4, {{0x20, 16}}, seconds(42));  // and its loss again
  CHECK(s.ssp.tree().members().empty());
}

TEST_CASE("Another next hop to the virtual source switch moves the upstream port alone, with a new delay") {
  S2 s;
  for (int t = 0; t <= 40; t += 10) {
    s.hear(4, {{0x20, 1}}, seconds(t));
    s.hear(2, {{0x20, 18}}, seconds(t));
  }
  REQUIRE(s.ssp.tree().forwarding().count() == 2);
  s.hear(3, {{0x20, 0}}, seconds(41));
  CHECK(s.ssp.tree().upstream() == 3);
  CHECK_FALSE(s.ssp.tree().members().test(4));
  CHECK_FALSE(s.ssp.tree().forwarding().test(3));
  CHECK(s.ssp.tree().forwarding().test(2));  // "does not affect forwarding to other downstream ports"
  s.hear(2, {{0x20, 18}}, seconds(50));
  s.hear(3, {{0x20, 0}}, seconds(60));
  s.advance(seconds(71));
  CHECK(s.ssp.tree().forwarding().test(3));
}

TEST_CASE("A longer way to the virtual source switch waits out the forward delay again") {
  S2 s;
  for (int t = 0; t <= 40; t += 10) s.hear(4, {{0x20, 1}}, seconds(t));
  REQUIRE(s.ssp.tree().forwarding().test(4));
  s.hear(4, {{0x20, 2}}, seconds(41));
  CHECK_FALSE(s.ssp.tree().forwarding().test(4));
  s.hear(4, {{0x20, 2}}, seconds(60));
  s.advance(seconds(71));
  CHECK(s.ssp.tree().forwarding().test(4));
}
