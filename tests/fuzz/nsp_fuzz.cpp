// SPDX-License-Identifier: BSD-3-Clause
// Any NSP frames into a node and a switch port. Invariants: the node has no address but one that can be, and only while
// its signal is there; the switch answers requests alone, one frame each, to the port's address; deadlines lie ahead.
#include "frames.h"
#include "mapos/nsp.h"

using namespace mapos;
using fuzz::require;

namespace {

void check_node(NspNode& n, Time now, bool up) {
  const auto a = n.address();
  require(!a || (up && a->is_unicast() && !a->is_control_processor()));
  require(n.next_deadline() > now);
  require(up == (n.next_deadline() != kNever));  // it never stops asking
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const Version v = (data[0] & 1) != 0 ? Version::k16 : Version::kV1;
  const Address address = *Address::unicast(v, data[0] >> 2 | 1);
  NspNode node(v);
  NspPort port(1, (data[0] & 2) != 0 ? std::nullopt : std::optional(address), address);
  Outbox out;
  Time now = 0;
  bool up = false;
  fuzz::Steps s({data + 1, size - 1});
  while (s.next()) {
    now += s.ns;
    node.advance(now, out);
    port.advance(now);
    out.clear();
    switch (s.what & 7) {
      case 0:
        node.link_up(now, out);
        up = true;
        break;
      case 1:
        node.link_down(out);
        up = false;
        break;
      case 2:
        node.verify(now, out);
        break;
      case 3:
      case 4: {
        const auto to = Address::from_wire(v, static_cast<uint16_t>(s.what & 8 ? address.wire() : s.what >> 3 | 1));
        if (to) node.receive(*to, s.octets, now, out);
        require(out.frames() <= 1);
        break;
      }
      default: {
        const bool taken = port.receive(s.octets, now, out) == NspResult::kTaken;
        require(out.frames() == (taken ? 1U : 0U));
        if (taken) require(parse_header(v, out.frame(0).octets)->address == address);
        require(!port.node_up() || port.next_deadline() > now);
      }
    }
    check_node(node, now, up);
  }
  return 0;
}
