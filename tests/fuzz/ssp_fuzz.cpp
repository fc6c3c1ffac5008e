// SPDX-License-Identifier: BSD-3-Clause
// Any frames on the ports of a clustered switch, ports that come and go, time that passes. Invariants: each frame in
// one counter, each SSP packet and entry in one of its own; the switch's own route is never touched; every route has a
// plausible prefix, metric and port; group frames stay on ports that are up; nothing is sent back where it came from.
#include <array>
#include <vector>

#include "frames.h"
#include "mapos/switch_core.h"

using namespace mapos;
using fuzz::require;

namespace {

constexpr Port kMost = 6;

struct Run {
  SwitchId id;
  SwitchCore core;
  std::array<bool, kMost + 1> up{};
  Outbox out;
  Time now = 0;
  uint64_t given = 0;

  explicit Run(SwitchId i) : id(i), core({i, kMost}, 0) {}

  void frame(Port in, std::span<const uint8_t> octets) {
    std::vector<uint8_t> f(octets.begin(), octets.end());
    ++given;
    const PortSet to = core.receive(in, f, now, out);
    require(core.port(in).mode == PortMode::kPpp || f.size() == octets.size());
    to.for_each([&](Port p) { require(p >= 1 && p <= kMost && up[p]); });
    // One's own port may be addressed by a node (RFC 2171 forwards by address alone); a group never returns.
    if (to.count() > 1) require(!to.test(in));
  }
  void check() {
    const SwitchCounters& c = core.counters();
    require(c.received() == given);
    require(core.next_deadline() > now);
    const Ssp& ssp = *core.ssp();
    require(c.ssp == ssp.counters().requests + ssp.counters().responses);
    const Route* const self = ssp.find(id.prefix);
    require(self != nullptr && self->metric == 0 && self->next_hop == kNoPort);
    require(ssp.routes().size() <= SspConfig{id}.most_routes);
    Prefix least = id.prefix;
    for (const Route& r : ssp.routes()) {
      require(Prefix::of(id.version, r.destination.bits, r.destination.mask) == r.destination);
      require(r.metric <= 16 && !r.changed && r.deadline > now);
      require(&r == self || (r.metric >= 1 && r.next_hop >= 1 && r.next_hop <= kMost));
      if (r.reachable()) {
        least = std::min(least, r.destination);
        require(r.next_hop == kNoPort || ssp.active(r.next_hop));
      }
    }
    require(ssp.vss() == least);
    require(ssp.tree().upstream() == ssp.find(least)->next_hop);
    ssp.tree().members().for_each([&](Port p) { require(ssp.active(p)); });
    core.group_ports().for_each([&](Port p) { require(up[p]); });
  }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const Version v = (data[0] & 1) != 0 ? Version::k16 : Version::kV1;
  const uint8_t n = data[0] >> 1 & 3;  // 1 to 3 of the 2-bit switch numbers
  if (n == 0) return 0;
  const int shift = v == Version::kV1 ? 5 : 13;
  const auto mask = static_cast<uint16_t>(v == Version::kV1 ? 0xE0 : 0xE000);
  Run r(*SwitchId::in_cluster(v, static_cast<uint16_t>(n << shift), mask));
  fuzz::Steps s({data + 1, size - 1});
  while (s.next()) {
    r.now += s.ns;
    r.core.advance(r.now, r.out);
    const auto p = static_cast<Port>(1 + (s.what >> 4) % kMost);
    switch (s.what & 7) {
      case 0:
        r.core.port_up(p, r.now, r.out);
        r.up[p] = true;
        break;
      case 1:
        r.core.port_down(p, r.now, r.out);
        r.up[p] = false;
        break;
      case 2: {
        const auto mode = static_cast<PortMode>(s.octets.empty() ? 0 : s.octets[0] % 5);
        r.core.configure(p, {.mode = mode, .far = Address::unicast(v, 9)}, r.now, r.out);
        break;
      }
      case 3:
      case 4: {  // an SSP packet, so that the header need not be guessed
        std::vector<uint8_t> f(kHeaderOctets);
        put_header(f.data(), {Address::control_processor(v), (s.what & 8) != 0 ? kNsp : kSsp});
        f.insert(f.end(), s.octets.begin(), s.octets.end());
        r.frame(p, f);
        break;
      }
      default:
        r.frame(p, s.octets);
    }
    r.check();
    r.out.clear();
  }
  return 0;
}
