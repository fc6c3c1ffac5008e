// SPDX-License-Identifier: BSD-3-Clause
// The ports on which a switch passes group frames to and from other switches: its place in the one spanning tree, that
// of the current virtual source switch (RFC 2174 sections 4.4 to 4.9; the second implementation of section 5.4 note 1).
// An engine without I/O; one thread at a time.
#pragma once

#include <array>

#include "mapos/port_set.h"
#include "mapos/time.h"

namespace mapos {

class BroadcastTree {
 public:
  BroadcastTree(Time forward_delay, Time port_expiration) : delay_(forward_delay), expiration_(port_expiration) {}

  /// Another virtual source switch, or none: the whole table is invalid (section 4.9).
  void clear();
  /// The next hop to the virtual source switch; kNoPort at that switch itself. A new one forwards after the forward
  /// delay, the old one no longer (section 4.5). It does not expire: only the loss of the route ends it.
  void set_upstream(Port p, Time now);
  /// The route to the virtual source switch came back poisoned: p leads downstream (sections 4.6 and 4.7). Must not be
  /// the upstream port.
  void poisoned_from(Port p, Time now);
  /// An ordinary update came, or the port is gone: downstream no longer (section 4.7).
  void remove(Port p);

  /// Ends delays and ports that are due. A port whose delay and whose life end together is gone.
  void advance(Time now);
  Time next_deadline() const;

  Port upstream() const { return upstream_; }
  /// Upstream and downstream, whether delayed or not.
  const PortSet& members() const { return members_; }
  /// Those past their forward delay: group frames may come from these and go to these.
  const PortSet& forwarding() const { return forwarding_; }

 private:
  void add(Port p, Time now, Time expires);

  Time delay_, expiration_;
  Port upstream_ = kNoPort;
  PortSet members_, forwarding_;
  std::array<Time, kPorts> forward_at_{};  // of members not yet forwarding
  std::array<Time, kPorts> expires_at_{};  // of members
};

}  // namespace mapos
