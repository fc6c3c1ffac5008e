// SPDX-License-Identifier: BSD-3-Clause
// A MAPOS frame switch without its ports: which frame goes where, NSP towards nodes, SSP towards other switches,
// MAPOS/PPP tunnelling (RFC 2171 section 1.3, RFC 2173, RFC 2174, RFC 3186). No I/O, no clock, no threads; no
// allocation, lock or virtual call per data frame. One thread at a time.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <tl/expected.hpp>
#include <vector>

#include "mapos/nsp.h"
#include "mapos/outbox.h"
#include "mapos/ppp_tunnel.h"
#include "mapos/ssp.h"
#include "mapos/switch_id.h"

namespace mapos {

enum class PortMode : uint8_t {
  kAuto,      ///< taken for a switch until an NSP request comes (RFC 2174 section 6.1)
  kNode,      ///< a node, perhaps with a manual address: no SSP; group frames whenever the signal is there
  kSwitch,    ///< a switch: NSP requests are discarded
  kPpp,       ///< RFC 3186
  kDisabled,  ///< frames from it and for it are discarded (RFC 3186 section 2.3.4)
};

struct PortConfig {
  PortMode mode = PortMode::kAuto;
  uint8_t cost = 1;              ///< of the link, for SSP
  bool assign = true;            ///< false: NSP requests are rejected
  std::optional<Address> far{};  ///< kPpp: address of the far port; unicast, no control processor
  bool scrambled = true;         ///< kPpp: x^43 + 1 on the line, which the C2 octet says
};

enum class PortError : uint8_t {
  kNoSuchPort,
  kNoFarAddress,  ///< kPpp without a far address that can be one
};

/// Every frame received ends in exactly one of these, and each copy sent of a data frame is counted.
struct SwitchCounters {
  uint64_t unicast_local = 0;   ///< to a port of this switch
  uint64_t unicast_routed = 0;  ///< towards another switch
  uint64_t group = 0;           ///< broadcast and multicast, sent on at least one port
  uint64_t nsp = 0;             ///< good NSP frames
  uint64_t ssp = 0;             ///< good SSP frames; more in SspCounters

  uint64_t bad_port = 0;        ///< port disabled, down or not there
  uint64_t bad_header = 0;      ///< short, control field, EA bits (RFC 2171 section 3.1)
  uint64_t bad_ppp_header = 0;  ///< not FF 03 from a tunnel port
  uint64_t no_route = 0;        ///< of another switch, which is unknown or unreachable (RFC 2174 section 3.2)
  uint64_t no_node = 0;         ///< of this switch, but no node is there
  uint64_t would_return = 0;    ///< next hop is where it came from; frames have no hop count, so it could circle
  uint64_t off_tree = 0;        ///< group frame from a port that is neither a node nor of the tree (section 4.4)
  uint64_t no_listener = 0;     ///< group frame, and no port to send it to (section 4.2)
  uint64_t bad_nsp = 0;
  uint64_t bad_ssp = 0;
  uint64_t not_for_control = 0;  ///< to the control processor, but nothing that it knows
  uint64_t far_control = 0;      ///< NSP or SSP to the control processor by its cluster address: neighbours use 01

  uint64_t group_copies = 0;  ///< not a frame received: what `group` became

  uint64_t received() const {
    return unicast_local + unicast_routed + group + nsp + ssp + bad_port + bad_header + bad_ppp_header + no_route +
           no_node + would_return + off_tree + no_listener + bad_nsp + bad_ssp + not_for_control + far_control;
  }
};

class SwitchCore {
 public:
  struct Config {
    SwitchId id;
    Port ports = 63;  ///< indices 1 to this, at most kMostPort
    SspTimers timers{};
  };
  /// All ports are down and in kAuto.
  SwitchCore(const Config& config, Time now);

  /// Changes the mode of a port, up or down, in the order of RFC 3186 section 2.3.1; on error nothing is changed.
  tl::expected<void, PortError> configure(Port p, const PortConfig& port, Time now, Outbox& out);
  /// The signal on the port is good, or lost. A port that does not exist is left alone.
  void port_up(Port p, Time now, Outbox& out);
  void port_down(Port p, Time now, Outbox& out);
  /// What the far end of the line says of our sending direction (RDI, REI): while it is bad, SSP from there does not
  /// count (RFC 2174 section 6.2).
  void set_transmit_ok(Port p, bool ok);

  /// A frame, address to last information octet, that came in on a port. Returns the ports to send it out on, as it now
  /// stands: tunnel ports rewrite the header in place. Empty if it ended here; control frames may be in `out` then.
  PortSet receive(Port in, std::span<uint8_t> frame, Time now, Outbox& out);
  /// Does what is due; no effect before next_deadline().
  void advance(Time now, Outbox& out);
  Time next_deadline() const;
  /// Tells the other switches that nothing is reachable here any more (RFC 2174 section 5.3.2 (4)).
  void shutdown(Outbox& out);

  const SwitchId& id() const { return id_; }
  const PortConfig& port(Port p) const { return ports_[p].config; }
  bool node_up(Port p) const { return nodes_.test(p); }
  /// Where group frames go: nodes, and the tree's ports past their delay.
  const PortSet& group_ports() const { return group_ports_; }
  /// None if the switch is not in a cluster.
  const Ssp* ssp() const { return ssp_ ? &*ssp_ : nullptr; }
  const SwitchCounters& counters() const { return counters_; }

 private:
  struct PortState {
    PortConfig config;
    bool up = false;
    NspPort nsp;
  };
  bool exists(Port p) const { return p != kNoPort && p < ports_.size(); }
  PortSet unicast(Port in, Address a, std::span<uint8_t> frame);
  PortSet group(Port in);
  void control(Port in, uint16_t protocol, std::span<const uint8_t> information, Time now, Outbox& out);
  void settle(Port p, Time now, Outbox& out);
  void refresh();
  void fill_routes();
  PortSet drop(uint64_t& counter) {
    ++counter;
    return {};
  }

  SwitchId id_;
  std::vector<PortState> ports_;
  std::optional<Ssp> ssp_;
  PortSet nodes_, tunnels_, group_ports_;
  uint64_t revision_ = 0;              // of the routes in next_hop_
  std::array<Port, 8192> next_hop_{};  // by Address::number(), of other switches
  SwitchCounters counters_;
};

}  // namespace mapos
