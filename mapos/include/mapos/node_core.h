// SPDX-License-Identifier: BSD-3-Clause
// A MAPOS node without its port: its address from NSP, ARP and neighbour discovery, which frames are for it, where
// datagrams go (RFC 2173, RFC 2176, RFC 3572). No I/O, no clock, no threads; no allocation, lock or virtual call per
// data frame. One thread at a time.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <tl/expected.hpp>

#include "mapos/arp.h"
#include "mapos/nd.h"
#include "mapos/nsp.h"
#include "mapos/outbox.h"

namespace mapos {

struct NodeConfig {
  Version version = Version::kV1;
  std::optional<Ipv4Address> ip{};
  uint8_t prefix_length = 24;       ///< of `ip`: tells the subnet's broadcast address
  std::vector<Ipv6Address> ips6{};  ///< the first should be link-local
  NeighbourLimits neighbours{};
  std::optional<Address> manual{};  ///< an address by hand in place of NSP (RFC 2171 section 1.2)
  bool network_adapter = false;     ///< RFC 3422 section 2.2: takes NSP and bridged frames alone
};

/// Every frame received ends in exactly one of these.
struct NodeCounters {
  uint64_t ipv4 = 0, ipv6 = 0, bridged = 0;  ///< handed to the caller
  uint64_t nsp = 0;                          ///< taken by NSP
  uint64_t arp = 0;                          ///< ARP frames, good or bad: more in ArpCounters
  uint64_t nd = 0;                           ///< neighbour discovery, good or bad: more in NdCounters

  uint64_t bad_header = 0;        ///< short, control field, EA bits (RFC 2171 section 3.1)
  uint64_t not_for_us = 0;        ///< another address, a group not joined, SSP of a switch
  uint64_t unknown_protocol = 0;  ///< or one that a network adapter does not take
  uint64_t empty = 0;             ///< a datagram of no octet (RFC 2176 section 2)
  uint64_t bad_nsp = 0;

  uint64_t received() const {
    return ipv4 + ipv6 + bridged + nsp + arp + nd + bad_header + not_for_us + unknown_protocol + empty + bad_nsp;
  }
};

/// Why there is no destination yet. An event says when to try again.
enum class NoDestination : uint8_t {
  kNoAddress,  ///< NSP has not given this node an address
  kResolving,  ///< asked for the host's; kResolved or kUnresolved will tell
};

class NodeCore {
 public:
  explicit NodeCore(const NodeConfig& config);

  /// The signal on the port is good, or lost, or was disturbed.
  void link_up(Time now, Outbox& out);
  void link_down(Outbox& out);
  void transmission_error(Time now, Outbox& out) { nsp_.verify(now, out); }

  /// What of a received frame is the caller's: protocol kIpv4, kIpv6 or kBridge and the information field, which lies
  /// in the frame; protocol 0 if nothing.
  struct Received {
    uint16_t protocol = 0;
    std::span<const uint8_t> information{};
  };
  Received receive(std::span<const uint8_t> frame, Time now, Outbox& out);
  /// Does what is due. next_deadline() may be early, never late.
  void advance(Time now, Outbox& out);
  Time next_deadline() const { return std::min({nsp_.next_deadline(), arp_.next_deadline(), nd_.next_deadline()}); }

  /// Where the frame of a datagram to this next hop goes: put_header() with it and kIpv4 or kIpv6.
  tl::expected<Address, NoDestination> destination(Ipv4Address next_hop, Time now, Outbox& out);
  tl::expected<Address, NoDestination> destination(const Ipv6Address& next_hop, Time now, Outbox& out);

  /// Takes frames to this group from now on, until leave() has been called as often: several IP groups share one.
  void join(Address group) { ++groups_[group.number()]; }
  void leave(Address group) { groups_[group.number()] -= groups_[group.number()] > 0 ? 1 : 0; }

  std::optional<Address> address() const { return manual_up_ ? config_.manual : nsp_.address(); }
  Arp& arp() { return arp_; }
  Nd& nd() { return nd_; }
  const NodeCounters& counters() const { return counters_; }

 private:
  bool accepts(const Header& h) const;
  bool broadcast_ip(Ipv4Address ip) const;
  void address_assigned(Time now, Outbox& out);
  Received drop(uint64_t& counter) {
    ++counter;
    return {};
  }

  NodeConfig config_;
  NspNode nsp_;
  Arp arp_;
  Nd nd_;
  bool manual_up_ = false;
  std::array<uint16_t, 8192> groups_{};  // members by group number
  NodeCounters counters_;
};

}  // namespace mapos
