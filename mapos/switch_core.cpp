// SPDX-License-Identifier: BSD-3-Clause
#include "mapos/switch_core.h"

#include <algorithm>

namespace mapos {

SwitchCore::SwitchCore(const Config& config, Time now) : id_(config.id) {
  const Port most = std::min(config.ports, kMostPort);
  for (unsigned p = 0; p <= most; ++p) {
    const auto port = static_cast<Port>(p);
    ports_.push_back({{}, false, NspPort(port, id_.port_address(port), Address::point_to_point(id_.version))});
  }
  if (id_.clustered()) ssp_.emplace(SspConfig{id_, config.timers}, now);
}

tl::expected<void, PortError> SwitchCore::configure(Port p, const PortConfig& port, Time now, Outbox& out) {
  if (!exists(p)) return tl::unexpected(PortError::kNoSuchPort);
  const auto& far = port.far;
  if (port.mode == PortMode::kPpp &&
      (!far || far->version() != id_.version || !far->is_unicast() || far->is_control_processor()))
    return tl::unexpected(PortError::kNoFarAddress);
  PortState& s = ports_[p];
  const bool was_ppp = s.config.mode == PortMode::kPpp;
  const bool is_ppp = port.mode == PortMode::kPpp;
  // Everything off; then the C2 octet; then everything of the new mode on.
  if (s.nsp.node_up()) out.add_event(EventKind::kNodeDown, p, s.nsp.address()->wire());
  s.config.mode = PortMode::kDisabled;
  const auto address = id_.port_address(p);
  s.nsp = NspPort(p, port.assign ? address : std::nullopt, address.value_or(Address::point_to_point(id_.version)));
  settle(p, now, out);
  const auto label = !is_ppp          ? PathLabel::kMapos
                     : port.scrambled ? PathLabel::kPppScrambled
                                      : PathLabel::kPppUnscrambled;
  if (was_ppp || is_ppp) out.add_event(EventKind::kPathLabel, p, static_cast<uint32_t>(label));
  s.config = port;
  settle(p, now, out);
  return {};
}

void SwitchCore::port_up(Port p, Time now, Outbox& out) {
  if (!exists(p)) return;
  ports_[p].up = true;
  settle(p, now, out);
}

void SwitchCore::port_down(Port p, Time now, Outbox& out) {
  if (!exists(p)) return;
  PortState& s = ports_[p];
  s.up = false;
  if (s.nsp.node_up()) out.add_event(EventKind::kNodeDown, p, s.nsp.address()->wire());
  s.nsp.link_down();
  settle(p, now, out);
}

void SwitchCore::set_transmit_ok(Port p, bool ok) {
  if (ssp_ && exists(p)) ssp_->set_transmit_ok(p, ok);
}

// What the port is, from its mode, its signal and NSP, and what follows from that for SSP and group frames.
void SwitchCore::settle(Port p, Time now, Outbox& out) {
  const PortState& s = ports_[p];
  const PortMode mode = s.config.mode;
  const bool node = s.up && (mode == PortMode::kNode || (mode == PortMode::kAuto && s.nsp.node_up()));
  const bool switch_there = s.up && (mode == PortMode::kSwitch || (mode == PortMode::kAuto && !node));
  nodes_.clear(p);
  tunnels_.clear(p);
  if (node) nodes_.set(p);
  if (s.up && mode == PortMode::kPpp) tunnels_.set(p);
  if (ssp_) {
    if (switch_there && !ssp_->active(p)) ssp_->port_up(p, now, out, s.config.cost);
    if (!switch_there && ssp_->active(p)) ssp_->port_down(p, now, out);
  }
  refresh();
}

// What the data path looks at.
void SwitchCore::refresh() {
  group_ports_ = ssp_ ? nodes_ | ssp_->tree().forwarding() : nodes_;
  if (ssp_ && revision_ != ssp_->revision()) fill_routes();
}

void SwitchCore::fill_routes() {
  revision_ = ssp_->revision();
  next_hop_.fill(kNoPort);
  std::vector<const Route*> routes;
  for (const Route& r : ssp_->routes())
    if (r.reachable() && r.next_hop != kNoPort) routes.push_back(&r);
  // The longest mask last, so that it wins.
  std::ranges::stable_sort(routes, {}, [](const Route* r) { return r->destination.mask; });
  const bool v1 = id_.version == Version::kV1;
  for (const Route* r : routes) {
    const auto first = Address::from_wire(id_.version, r->destination.bits | 1)->number();
    const size_t n = size_t{1} << std::popcount(static_cast<unsigned>(~r->destination.mask & (v1 ? 0x7E : 0x7EFE)));
    std::fill_n(next_hop_.begin() + first, n, r->next_hop);
  }
}

PortSet SwitchCore::receive(Port in, std::span<uint8_t> frame, Time now, Outbox& out) {
  if (!exists(in) || !ports_[in].up || ports_[in].config.mode == PortMode::kDisabled) return drop(counters_.bad_port);
  const PortState& s = ports_[in];
  if (s.config.mode == PortMode::kPpp) {
    if (!to_mapos(frame, *s.config.far)) return drop(counters_.bad_ppp_header);
    return unicast(in, *s.config.far, frame);
  }
  const auto header = parse_header(id_.version, frame);
  if (!header) return drop(counters_.bad_header);
  if (header->address.is_group()) return group(in);
  if (header->address.is_control_processor()) {
    control(in, header->protocol, frame.subspan(kHeaderOctets), now, out);
    return {};
  }
  return unicast(in, header->address, frame);
}

PortSet SwitchCore::unicast(Port in, Address a, std::span<uint8_t> frame) {
  PortSet to;
  if (id_.prefix.contains(a)) {
    if (a.port_part(id_.prefix.mask) == 1) {
      const auto protocol = parse_header(id_.version, frame)->protocol;
      return drop(protocol == kNsp || protocol == kSsp ? counters_.far_control : counters_.not_for_control);
    }
    const Port p = id_.port_of(a);
    if (tunnels_.test(p))
      to_ppp(frame);
    else if (!nodes_.test(p))
      return drop(counters_.no_node);
    ++counters_.unicast_local;
    to.set(p);
    return to;
  }
  const Port p = next_hop_[a.number()];
  if (p == kNoPort) return drop(counters_.no_route);
  if (p == in) return drop(counters_.would_return);
  ++counters_.unicast_routed;
  to.set(p);
  return to;
}

PortSet SwitchCore::group(Port in) {
  if (!group_ports_.test(in)) return drop(counters_.off_tree);
  const PortSet to = group_ports_.without(in);
  if (to.empty()) return drop(counters_.no_listener);
  ++counters_.group;
  counters_.group_copies += static_cast<uint64_t>(to.count());
  return to;
}

void SwitchCore::control(Port in, uint16_t protocol, std::span<const uint8_t> information, Time now, Outbox& out) {
  advance(now, out);
  PortState& s = ports_[in];
  if (protocol == kNsp) {
    const bool nodes_here = s.config.mode == PortMode::kAuto || s.config.mode == PortMode::kNode;
    const bool good = nodes_here && s.nsp.receive(information, now, out) == NspResult::kTaken;
    ++(good ? counters_.nsp : counters_.bad_nsp);
    if (good) settle(in, now, out);
  } else if (protocol == kSsp) {
    const bool good = ssp_ && ssp_->receive(in, information, now, out);
    ++(good ? counters_.ssp : counters_.bad_ssp);
    refresh();
  } else {
    ++counters_.not_for_control;
  }
}

void SwitchCore::advance(Time now, Outbox& out) {
  for (unsigned i = 1; i < ports_.size(); ++i) {
    const auto p = static_cast<Port>(i);
    PortState& s = ports_[p];
    if (!s.nsp.advance(now)) continue;
    out.add_event(EventKind::kNodeDown, p, s.nsp.address()->wire());
    settle(p, now, out);
  }
  if (ssp_) ssp_->advance(now, out);
  refresh();
}

Time SwitchCore::next_deadline() const {
  Time t = ssp_ ? ssp_->next_deadline() : kNever;
  for (const PortState& s : ports_) t = std::min(t, s.nsp.next_deadline());
  return t;
}

void SwitchCore::shutdown(Outbox& out) {
  if (ssp_) ssp_->shutdown(out);
}

}  // namespace mapos
