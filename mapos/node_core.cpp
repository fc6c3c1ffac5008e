// SPDX-License-Identifier: BSD-3-Clause
#include "mapos/node_core.h"

namespace mapos {

NodeCore::NodeCore(const NodeConfig& config)
    : config_(config),
      nsp_(config.version),
      arp_({config.version, config.ip, config.neighbours}),
      nd_({config.version, config.ips6, config.neighbours}) {
  if (config_.ips6.empty()) return;
  join(group_address(config_.version, kAllNodes));
  for (const Ipv6Address& ip : config_.ips6) join(group_address(config_.version, solicited_node(ip)));
}

void NodeCore::link_up(Time now, Outbox& out) {
  if (!config_.manual) return nsp_.link_up(now, out);
  manual_up_ = true;
  address_assigned(now, out);
}

void NodeCore::link_down(Outbox& out) {
  manual_up_ = false;
  nsp_.link_down(out);
  arp_.link_down();
  nd_.link_down();
}

void NodeCore::address_assigned(Time now, Outbox& out) {
  if (config_.network_adapter) return;
  arp_.address_assigned(*address(), now, out);
  nd_.address_assigned(*address(), now, out);
}

// Own address, broadcast, groups joined, and NSP, which may be for an address that is not ours yet.
bool NodeCore::accepts(const Header& h) const {
  if (h.protocol == kNsp && h.address.is_unicast()) return true;
  if (!h.address.is_group()) return h.address == address();
  return h.address.is_broadcast() || groups_[h.address.number()] > 0;
}

NodeCore::Received NodeCore::receive(std::span<const uint8_t> frame, Time now, Outbox& out) {
  const auto header = parse_header(config_.version, frame);
  if (!header) return drop(counters_.bad_header);
  if (!accepts(*header)) return drop(counters_.not_for_us);
  const auto information = frame.subspan(kHeaderOctets);
  const bool adapter = config_.network_adapter;
  switch (header->protocol) {
    case kNsp: {
      const auto before = nsp_.address();
      const bool taken = nsp_.receive(header->address, information, now, out) == NspResult::kTaken;
      ++(taken ? counters_.nsp : counters_.bad_nsp);
      if (nsp_.address() && nsp_.address() != before) address_assigned(now, out);
      return {};
    }
    case kArp:
      if (adapter) break;
      ++counters_.arp;
      arp_.receive(information, now, out);
      return {};
    case kIpv4:
      if (adapter) break;
      if (information.empty()) return drop(counters_.empty);
      ++counters_.ipv4;
      return {kIpv4, information};
    case kIpv6:
      if (adapter) break;
      if (information.empty()) return drop(counters_.empty);
      if (nd_.receive(information, now, out)) return drop(counters_.nd);
      ++counters_.ipv6;
      return {kIpv6, information};
    case kBridge:
      ++counters_.bridged;
      return {kBridge, information};
    default:
      break;
  }
  return drop(counters_.unknown_protocol);
}

void NodeCore::advance(Time now, Outbox& out) {
  nsp_.advance(now, out);
  arp_.advance(now, out);
  nd_.advance(now, out);
}

bool NodeCore::broadcast_ip(Ipv4Address ip) const {
  if (ip == 0xFFFF'FFFF) return true;
  // Prefixes of 31 and 32 bits have no broadcast address (RFC 3021).
  if (!config_.ip || config_.prefix_length > 30) return false;
  const uint32_t host = 0xFFFF'FFFFU >> config_.prefix_length;
  return ip == (*config_.ip | host);
}

tl::expected<Address, NoDestination> NodeCore::destination(Ipv4Address next_hop, Time now, Outbox& out) {
  if (!address()) return tl::unexpected(NoDestination::kNoAddress);
  if (broadcast_ip(next_hop)) return Address::broadcast(config_.version);
  if (is_multicast(next_hop)) return group_address(config_.version, next_hop);
  if (const auto a = arp_.resolve(next_hop, now, out)) return *a;
  return tl::unexpected(NoDestination::kResolving);
}

tl::expected<Address, NoDestination> NodeCore::destination(const Ipv6Address& next_hop, Time now, Outbox& out) {
  if (!address()) return tl::unexpected(NoDestination::kNoAddress);
  if (is_multicast(next_hop)) return group_address(config_.version, next_hop);
  if (const auto a = nd_.resolve(next_hop, now, out)) return *a;
  return tl::unexpected(NoDestination::kResolving);
}

}  // namespace mapos
