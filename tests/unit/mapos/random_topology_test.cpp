// SPDX-License-Identifier: BSD-3-Clause
// Random clusters whose links fail: routes converge to the shortest paths, broadcasts reach every node once, and no
// broadcast ever circles, whatever happened before. Expected values come from a breadth-first search.
#include <rapidcheck.h>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <queue>

#include "network.h"

using namespace mapos;
using test::Faults;
using test::Network;

namespace {

/// A frame on its longest way, 12 links of at most kMostDelay, is still far from the forward delay of 30 s.
constexpr Time kMostDelay = milliseconds(300);
constexpr Time kFlight = 13 * kMostDelay;

/// Up to 12 switches with a node each, joined at random: a tree and some links more. Figures in the names of switches
/// are their numbers.
struct Cluster {
  Version version;
  Network net;
  int switches;
  std::vector<int> core, node;
  std::vector<std::pair<int, int>> edges;  // switches of link i

  Cluster(Version v, uint32_t seed, int n, int extra) : version(v), net(v, seed), switches(n) {
    std::mt19937 random(seed);
    const auto pick = [&](int below) { return static_cast<int>(random() % static_cast<uint32_t>(below)); };
    std::vector<int> number(15);  // switch numbers are not in the order of creation
    for (int i = 0; i < 15; ++i) number[static_cast<size_t>(i)] = i + 1;
    std::ranges::shuffle(number, random);
    std::vector<Port> next_port(static_cast<size_t>(n), 2);
    for (int i = 0; i < n; ++i) {
      // 4 switch bits: version 1 0sss'spp1 has 3 ports; MAPOS 16 has 127.
      const int bits = number[static_cast<size_t>(i)] << (v == Version::kV1 ? 3 : 11);
      const int wire = v == Version::kV1 ? bits : (bits & 0x7800);
      core.push_back(
          net.add_switch("S" + std::to_string(i), static_cast<uint16_t>(wire), v == Version::kV1 ? 0xF8 : 0xF800));
      node.push_back(net.add_node("N" + std::to_string(i)));
    }
    const auto join = [&](int a, int b) {
      edges.emplace_back(a, b);
      net.add_link(core[static_cast<size_t>(a)], next_port[static_cast<size_t>(a)]++, core[static_cast<size_t>(b)],
                   next_port[static_cast<size_t>(b)]++, 1 + random() % kMostDelay);
    };
    for (int i = 1; i < n; ++i) join(pick(i), i);
    for (int i = 0; i < extra; ++i) {
      const int a = pick(n), b = pick(n);
      if (a != b && next_port[static_cast<size_t>(a)] < 14 && next_port[static_cast<size_t>(b)] < 14) join(a, b);
    }
    for (int i = 0; i < n; ++i) net.add_link(core[static_cast<size_t>(i)], 1, node[static_cast<size_t>(i)], kNoPort);
    net.all_up();
  }

  int any_switch() const { return *rc::gen::inRange(0, switches); }
  const Ssp& ssp(int i) { return *net.core(core[static_cast<size_t>(i)]).ssp(); }

  /// Links between switches from i to each; -1 if there is no way.
  std::vector<int> distances(int from) {
    std::vector<int> d(static_cast<size_t>(switches), -1);
    std::queue<int> open({from});
    d[static_cast<size_t>(from)] = 0;
    for (; !open.empty(); open.pop())
      for (size_t e = 0; e < edges.size(); ++e) {
        if (!net.link_up(static_cast<int>(e))) continue;
        for (const auto& [a, b] : {edges[e], std::pair{edges[e].second, edges[e].first}})
          if (a == open.front() && d[static_cast<size_t>(b)] < 0) {
            d[static_cast<size_t>(b)] = d[static_cast<size_t>(a)] + 1;
            open.push(b);
          }
      }
    return d;
  }

  void check_routes() {
    for (int i = 0; i < switches; ++i) {
      const auto d = distances(i);
      for (int j = 0; j < switches; ++j) {
        const Route* const r = ssp(i).find(net.core(core[static_cast<size_t>(j)]).id().prefix);
        const int metric = r != nullptr && r->reachable() ? r->metric : -1;
        RC_ASSERT(metric == d[static_cast<size_t>(j)]);
      }
    }
  }

  /// Each switch of the component once, each node in it once: a tree, and no node twice.
  void check_broadcast(int from) {
    const auto hops = net.broadcast(node[static_cast<size_t>(from)], kFlight);
    const auto d = distances(from);
    size_t reached = 0;
    for (int j = 0; j < switches; ++j) {
      const auto to = "S" + std::to_string(j) + "->N" + std::to_string(j);
      const bool due = d[static_cast<size_t>(j)] >= 0 && j != from;
      RC_ASSERT(hops.count(to) == (due ? 1U : 0U));
      reached += due ? 1 : 0;
    }
    RC_ASSERT(hops.size() == 1 + 2 * reached);  // to the first switch; to each other switch, and from it to its node
  }

  /// Not whole, since the tree may be in the making, but nowhere twice.
  void check_no_loop(int from) {
    const auto hops = net.broadcast(node[static_cast<size_t>(from)], kFlight);
    for (int j = 0; j < switches; ++j) RC_ASSERT(hops.count("S" + std::to_string(j) + "->N" + std::to_string(j)) <= 1U);
    RC_ASSERT(hops.size() <= static_cast<size_t>(2 * switches));
  }
};

Cluster any_cluster(int most = 12) {
  const auto v = *rc::gen::element(Version::kV1, Version::k16);
  // Three ports of a version 1 switch with 4 switch bits would be too few for the links, but those need no addresses.
  return Cluster(v, *rc::gen::arbitrary<uint32_t>(), *rc::gen::inRange(2, most + 1), *rc::gen::inRange(0, 10));
}

/// Fails, restores and restarts this and that; a broadcast now and then, which must not circle.
void disturb(Cluster& c, bool restarts) {
  for (int rounds = *rc::gen::inRange(1, 6); rounds > 0; --rounds) {
    const int link = *rc::gen::inRange(0, static_cast<int>(c.edges.size()));
    c.net.set_link(link, !c.net.link_up(link));
    if (restarts && *rc::gen::arbitrary<bool>()) c.net.restart(c.core[static_cast<size_t>(c.any_switch())]);
    for (int probes = *rc::gen::inRange(0, 8); probes > 0; --probes) {
      c.net.run_for(milliseconds(*rc::gen::inRange(0, 5'000)));
      c.check_no_loop(c.any_switch());
    }
  }
}

/// The longest that anything stale lives is EXPIRATION and then GC; then the tree waits for the forward delay. 30 s
/// each, and periodic updates in between.
constexpr Time kSettle = seconds(30 + 30 + 30 + 2 * 10);

}  // namespace

TEST_CASE("Random clusters converge to shortest paths and one tree, and again after failures") {
  REQUIRE(rc::check([] {
    Cluster c = any_cluster();
    c.net.run_for(seconds(60));
    c.check_routes();
    for (int i = 0; i < c.switches; ++i) c.check_broadcast(i);
    disturb(c, false);
    for (int i = 0; i < 15; ++i) c.check_no_loop(i % c.switches);  // while the new tree comes up
    c.net.run_for(kSettle);
    c.check_routes();
    for (int i = 0; i < c.switches; ++i) c.check_broadcast(i);
  }));
}

TEST_CASE("Lost, doubled and reordered control frames and restarts delay convergence and do no other harm") {
  REQUIRE(rc::check([] {
    Cluster c = any_cluster();
    c.net.set_faults({.loss = 0.1, .duplicate = 0.3, .reorder = 0.5, .reorder_by = seconds(3)});
    disturb(c, true);
    c.net.set_faults({});
    c.net.run_for(kSettle);
    c.check_routes();
    for (int i = 0; i < c.switches; ++i) c.check_broadcast(i);
  }));
}
