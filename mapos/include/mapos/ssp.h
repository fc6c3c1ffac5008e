// SPDX-License-Identifier: BSD-3-Clause
// Switch-Switch Protocol (RFC 2174): distance-vector routes between the switches of a cluster, and the tree that group
// frames follow. An engine without I/O: it takes packets and time and leaves frames in the caller's Outbox. One thread
// at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "mapos/broadcast_tree.h"
#include "mapos/outbox.h"
#include "mapos/ssp_packet.h"
#include "mapos/switch_id.h"
#include "mapos/time.h"

namespace mapos {

struct SspTimers {
  Time full_update = seconds(10);      ///< FULL_UPDATE_TIME, RFC 2174 section 3.4.1
  Time expiration = seconds(30);       ///< EXPIRATION_TIMER, section 3.4.2
  Time garbage = seconds(30);          ///< GC_TIMER, section 3.4.2
  Time forward_delay = seconds(30);    ///< FORWARD_DELAY_TIMER, section 4.7
  Time port_expiration = seconds(30);  ///< PORT_EXPIRATION_TIMER, section 4.7
};

struct SspConfig {
  SwitchId self;  ///< clustered
  SspTimers timers{};
  size_t most_routes = 1024;  ///< entries that would make more are ignored, so that nobody can fill the memory
};

/// A row of table 1 of RFC 2174.
struct Route {
  Prefix destination;
  Port next_hop;   ///< kNoPort for the switch itself
  uint8_t metric;  ///< 0 the switch itself, 1 a neighbour, 16 unreachable
  bool changed;    ///< to be in the next triggered update
  Time deadline;   ///< if reachable of EXPIRATION_TIMER, else of GC_TIMER; kNever for the switch itself
  bool reachable() const { return metric < kSspInfinity; }
};

/// Every packet ends in exactly one of the first seven, every entry of a good response in exactly one of the others.
struct SspCounters {
  uint64_t requests = 0;
  uint64_t responses = 0;
  uint64_t malformed = 0;    ///< not a header and 1 to 25 entries
  uint64_t bad_version = 0;  ///< RFC 2174 sections 5.3.2 and 5.4
  uint64_t bad_command = 0;
  uint64_t bad_request = 0;    ///< a request for part of the table (section 5.3.2)
  uint64_t not_neighbour = 0;  ///< from a port that does no SSP, or cannot send (section 6.2)

  uint64_t entries_used = 0;    ///< acted on, even if nothing came of it
  uint64_t bad_family = 0;      ///< of an entry, as all that follow
  uint64_t bad_metric = 0;      ///< above 31
  uint64_t bad_prefix = 0;      ///< address or mask
  uint64_t illegal_poison = 0;  ///< poisoned reverse of an unknown route, or from its next hop (section 5.4 step 1)
  uint64_t unknown_unreachable = 0;  ///< metric 16 and no such route (section 5.4 case 1)
  uint64_t table_full = 0;

  uint64_t packets() const {
    return requests + responses + malformed + bad_version + bad_command + bad_request + not_neighbour;
  }
  uint64_t entries() const {
    return entries_used + bad_family + bad_metric + bad_prefix + illegal_poison + unknown_unreachable + table_full;
  }
  bool operator==(const SspCounters&) const = default;
};

class Ssp {
 public:
  /// The first periodic update is due one FULL_UPDATE_TIME after `now`.
  Ssp(const SspConfig& config, Time now);

  /// A switch may be on this port from now on: asks it for its table (section 5.3.2). cost: added to the metrics that
  /// come in, usually 1 (section 3.4.1); at least 1.
  void port_up(Port p, Time now, Outbox& out, uint8_t cost = 1);
  /// The signal is lost, or a node is there: what was known through the port is not any more (section 6.1).
  void port_down(Port p, Time now, Outbox& out);
  /// What the far end says of our sending direction; while bad, packets from the port are discarded (section 6.2).
  void set_transmit_ok(Port p, bool ok);
  bool active(Port p) const { return active_.test(p); }

  /// The information field of an SSP frame to the local control processor. True if it is a good request or response.
  /// Timers that are due run first.
  bool receive(Port p, std::span<const uint8_t> information, Time now, Outbox& out);
  /// Does what is due; no effect before next_deadline().
  void advance(Time now, Outbox& out);
  Time next_deadline() const;
  /// The switch goes down: tells that nothing is reachable through it (section 5.3.2 (4)).
  void shutdown(Outbox& out);

  /// Sorted by destination; the switch itself is among them.
  std::span<const Route> routes() const { return routes_; }
  const Route* find(Prefix destination) const;
  /// The virtual source switch: the reachable one with the smallest number (section 4.1).
  Prefix vss() const { return vss_; }
  const BroadcastTree& tree() const { return tree_; }
  /// Changes whenever next hops or reachability may have changed.
  uint64_t revision() const { return revision_; }
  const SspCounters& counters() const { return counters_; }

 private:
  Route* find_route(Prefix destination);
  bool within_self(Prefix p) const;
  void process(Port p, const SspEntry& e, Time now, Outbox& out);
  void poisoned(Port p, const Route* r, Time now);
  void add_route(Prefix destination, uint8_t metric, Port p, Time now, Outbox& out);
  void offered(Route& r, uint8_t metric, Port p, Time now, Outbox& out);
  void lose(Route& r, Time now);
  void follow_vss(Time now, Outbox& out);
  void run_timers(Time now, Outbox& out);
  void send_changes(Time now, Outbox& out);
  void send_request(Port p, Outbox& out) const;
  enum class Which : uint8_t { kAll, kChanged, kAllUnreachable };
  void send_table(Port p, Which which, Outbox& out) const;

  SspConfig config_;
  PortSet active_, deaf_;  // deaf_: the far end does not hear us
  std::array<uint8_t, kPorts> cost_{};
  std::vector<Route> routes_;
  Prefix vss_;
  BroadcastTree tree_;
  Time update_at_;
  uint64_t revision_ = 0;
  SspCounters counters_;
};

}  // namespace mapos
