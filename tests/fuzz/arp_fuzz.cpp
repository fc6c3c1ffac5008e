// SPDX-License-Identifier: BSD-3-Clause
// Any frames into a node that resolves addresses, while links come and go and time passes. Invariants: each frame in
// one counter, each ARP packet in one of its own; what is in the caches is a unicast address of a node; entries by hand
// are changed by UNARP alone; the caches stay within bounds; the own IP address is never in them.
#include <vector>

#include "frames.h"
#include "mapos/node_core.h"

using namespace mapos;
using fuzz::require;

namespace {

constexpr Ipv4Address kOwn = 0xC0000201, kByHand = 0xC0000240;
constexpr Ipv6Address kOwn6{0xFE, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x12, 0x34, 0x56};
constexpr Ipv6Address kPeer6{0xFE, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xAB, 0xCD, 0xEF};

void plausible(const std::optional<Address>& a) { require(!a || (a->is_unicast() && !a->is_control_processor())); }

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const Version v = (data[0] & 1) != 0 ? Version::k16 : Version::kV1;
  const Address by_hand = *Address::unicast(v, 0x28);
  NodeCore node({.version = v,
                 .ip = kOwn,
                 .ips6 = {kOwn6},
                 .neighbours = {.most_entries = 8},
                 .manual = (data[0] & 2) != 0 ? Address::unicast(v, 0x11) : std::nullopt});
  Outbox out;
  Time now = 0;
  uint64_t given = 0;
  fuzz::Steps s({data + 1, size - 1});
  while (s.next()) {
    now += s.ns;
    node.advance(now, out);
    out.clear();
    const uint64_t unarps = node.arp().counters().unarps;
    bool lost = false;
    const auto before = node.arp().find(kByHand, now);
    const auto protocol = [&](Protocol p) {
      std::vector<uint8_t> f(kHeaderOctets);
      put_header(f.data(), {Address::broadcast(v), p});
      f.insert(f.end(), s.octets.begin(), s.octets.end());
      ++given;
      node.receive(f, now, out);
    };
    switch (s.what & 7) {
      case 0:
        node.link_up(now, out);
        lost = true;
        break;
      case 1:
        node.link_down(out);
        lost = true;
        break;
      case 2:
        node.arp().add(kByHand, by_hand);
        break;
      case 3: {
        const auto d = node.destination(0xC0000200 + (s.what >> 3), now, out);
        if (d) require(d->version() == v && !d->is_control_processor());
        node.destination(kPeer6, now, out);
        break;
      }
      case 4:
      case 5:
        protocol(kArp);
        break;
      case 6:
        protocol(kIpv6);
        break;
      default: {
        const auto address = node.address();
        ++given;
        const auto r = node.receive(s.octets, now, out);
        require(r.information.data() == nullptr || r.information.data() == s.octets.data() + kHeaderOctets);
        lost = address != node.address();
      }
    }
    const NodeCounters& c = node.counters();
    require(c.received() == given);
    require(c.arp == node.arp().counters().packets());
    require(c.nd == node.nd().counters().packets());
    require(node.arp().size() <= 8);
    require(!node.arp().find(kOwn, now));
    require(node.next_deadline() > now);
    for (uint32_t ip = 0xC0000200; ip < 0xC0000220; ++ip) plausible(node.arp().find(ip, now));
    plausible(node.nd().find(kPeer6, now));
    if (before == by_hand && !lost && node.arp().counters().unarps == unarps)
      require(node.arp().find(kByHand, now) == by_hand);
  }
  return 0;
}
