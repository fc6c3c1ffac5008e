// SPDX-License-Identifier: BSD-3-Clause
// Where the RFC contradicts itself the reading is in docs/mapos-conformance.md.
#include "mapos/ssp.h"

#include <algorithm>

namespace mapos {

namespace {

constexpr uint8_t kUnreachable = kSspInfinity;

}  // namespace

Ssp::Ssp(const SspConfig& config, Time now)
    : config_(config),
      vss_(config.self.prefix),
      tree_(config.timers.forward_delay, config.timers.port_expiration),
      update_at_(now + config.timers.full_update) {
  routes_.push_back({config.self.prefix, kNoPort, 0, true, kNever});
}

const Route* Ssp::find(Prefix destination) const {
  const auto at = std::ranges::lower_bound(routes_, destination, {}, &Route::destination);
  return at != routes_.end() && at->destination == destination ? &*at : nullptr;
}
Route* Ssp::find_route(Prefix destination) { return const_cast<Route*>(find(destination)); }

void Ssp::port_up(Port p, Time now, Outbox& out, uint8_t cost) {
  run_timers(now, out);
  active_.set(p);
  deaf_.clear(p);
  cost_[p] = std::max<uint8_t>(cost, 1);
  send_request(p, out);
  send_changes(now, out);
}

void Ssp::port_down(Port p, Time now, Outbox& out) {
  run_timers(now, out);
  active_.clear(p);
  tree_.remove(p);
  for (Route& r : routes_)
    if (r.next_hop == p && r.reachable()) lose(r, now);
  follow_vss(now, out);
  ++revision_;
  send_changes(now, out);
}

void Ssp::set_transmit_ok(Port p, bool ok) {
  if (ok)
    deaf_.clear(p);
  else
    deaf_.set(p);
}

bool Ssp::receive(Port p, std::span<const uint8_t> information, Time now, Outbox& out) {
  run_timers(now, out);
  const auto count = [&](uint64_t SspCounters::*counter) {
    ++(counters_.*counter);
    send_changes(now, out);  // of the timers
    return false;
  };
  if (!active_.test(p) || deaf_.test(p)) return count(&SspCounters::not_neighbour);
  const auto packet = SspPacket::parse(information);
  if (!packet) return count(&SspCounters::malformed);
  if (packet->version() != kSspVersion) return count(&SspCounters::bad_version);
  const auto command = static_cast<SspCommand>(packet->command());
  if (command == SspCommand::kRequest) {
    for (size_t i = 0; i < packet->entries(); ++i)
      if (packet->entry(i).family == kSspUnspecifiedFamily) {
        ++counters_.requests;
        send_table(p, Which::kAll, out);
        send_changes(now, out);
        return true;
      }
    return count(&SspCounters::bad_request);
  }
  if (command != SspCommand::kResponse) return count(&SspCounters::bad_command);
  ++counters_.responses;
  for (size_t i = 0; i < packet->entries(); ++i) process(p, packet->entry(i), now, out);
  send_changes(now, out);
  return true;
}

// Part of this switch's own addresses, which nobody else can tell the way to.
bool Ssp::within_self(Prefix p) const {
  const Prefix& self = config_.self.prefix;
  return p.mask > self.mask && (p.bits & self.mask) == self.bits;
}

// Section 5.4.
void Ssp::process(Port p, const SspEntry& e, Time now, Outbox& out) {
  if (e.family != kSspRouteFamily) return void(++counters_.bad_family);
  if (e.metric >= 2 * kSspInfinity) return void(++counters_.bad_metric);
  const auto destination = Prefix::of(config_.self.version, e.address, e.mask);
  if (!destination || within_self(*destination)) return void(++counters_.bad_prefix);
  Route* const r = find_route(*destination);
  if (e.metric > kSspInfinity) return poisoned(p, r, now);
  const auto metric = static_cast<uint8_t>(std::min(e.metric + cost_[p], kSspInfinity));
  if (r != nullptr) {
    ++counters_.entries_used;
    return offered(*r, metric, p, now, out);
  }
  if (metric == kUnreachable) return void(++counters_.unknown_unreachable);
  if (routes_.size() >= config_.most_routes) return void(++counters_.table_full);
  ++counters_.entries_used;
  add_route(*destination, metric, p, now, out);
}

// Step 1.
void Ssp::poisoned(Port p, const Route* r, Time now) {
  if (r == nullptr || r->next_hop == p) return void(++counters_.illegal_poison);
  ++counters_.entries_used;
  if (r->destination == vss_) tree_.poisoned_from(p, now);
}

// Step 2, case 1.
void Ssp::add_route(Prefix destination, uint8_t metric, Port p, Time now, Outbox& out) {
  const auto at = std::ranges::lower_bound(routes_, destination, {}, &Route::destination);
  routes_.insert(at, {destination, p, metric, true, now + config_.timers.expiration});
  ++revision_;
  follow_vss(now, out);
}

// Step 2, case 2.
void Ssp::offered(Route& r, uint8_t metric, Port p, Time now, Outbox& out) {
  const bool from_next_hop = p == r.next_hop;
  // An ordinary update from a port that was downstream: it is no longer. Not so from the upstream port, whatever (a)
  // and (c) say, or every periodic update would cut the tree.
  if (!from_next_hop && r.destination == vss_) tree_.remove(p);
  if (metric == kUnreachable) {
    if (!from_next_hop || !r.reachable()) return;  // (e), (d) once more
    lose(r, now);                                  // (d)
    return follow_vss(now, out);
  }
  if (metric >= r.metric && !from_next_hop) return;  // (a), (c): the old one is as good
  const bool news = metric != r.metric;              // (a), (b)
  // The way to the virtual source switch became longer. It may be counting to infinity around a loop, so the port waits
  // out the forward delay again, or group frames could circle if the counting took longer than that.
  if (metric > r.metric && r.destination == vss_) tree_.remove(p);
  if (news) {
    r.metric = metric;
    r.next_hop = p;
    r.changed = true;
    ++revision_;
  }
  r.deadline = now + config_.timers.expiration;
  if (news) follow_vss(now, out);
}

void Ssp::lose(Route& r, Time now) {
  r.metric = kUnreachable;
  r.changed = true;
  r.deadline = now + config_.timers.garbage;
  ++revision_;
}

void Ssp::follow_vss(Time now, Outbox& out) {
  // The switch itself is always reachable, so there is one.
  const Route& first = *std::ranges::find_if(routes_, &Route::reachable);
  if (first.destination != vss_) {
    vss_ = first.destination;
    tree_.clear();
    out.add_event(EventKind::kNewVss, kNoPort, vss_.bits);
  }
  tree_.set_upstream(first.next_hop, now);
}

void Ssp::run_timers(Time now, Outbox& out) {
  bool lost = false;
  for (Route& r : routes_)
    if (r.reachable() && now >= r.deadline) {
      lose(r, now);
      lost = true;
    }
  // A route that has only just been lost is not collected: its deadline lies ahead.
  if (std::erase_if(routes_, [&](const Route& r) { return !r.reachable() && now >= r.deadline; }) != 0) ++revision_;
  if (lost) follow_vss(now, out);
  tree_.advance(now);
}

void Ssp::advance(Time now, Outbox& out) {
  run_timers(now, out);
  send_changes(now, out);
}

Time Ssp::next_deadline() const {
  Time t = std::min(update_at_, tree_.next_deadline());
  for (const Route& r : routes_) t = std::min(t, r.deadline);
  return t;
}

// Section 5.3.2: the periodic update if it is due, else the triggered one if there is anything to tell.
void Ssp::send_changes(Time now, Outbox& out) {
  const bool periodic = now >= update_at_;
  if (periodic) update_at_ = now + config_.timers.full_update;
  if (!periodic && std::ranges::none_of(routes_, &Route::changed)) return;
  active_.for_each([&](Port p) { send_table(p, periodic ? Which::kAll : Which::kChanged, out); });
  for (Route& r : routes_) r.changed = false;
}

void Ssp::shutdown(Outbox& out) {
  active_.for_each([&](Port p) { send_table(p, Which::kAllUnreachable, out); });
}

void Ssp::send_request(Port p, Outbox& out) const {
  const auto to = out.add_frame(p, {Address::control_processor(config_.self.version), kSsp}, ssp_octets(1));
  put_ssp_header(to, SspCommand::kRequest);
  put_ssp_entry(to, 0, {kSspUnspecifiedFamily, 0, 0, kSspInfinity});  // the metric as in RIP (RFC 1058 section 3.4.1)
}

// Section 5.3.1.
void Ssp::send_table(Port p, Which which, Outbox& out) const {
  const auto wanted = [&](const Route& r) { return which != Which::kChanged || r.changed; };
  auto left = static_cast<size_t>(std::ranges::count_if(routes_, wanted));
  size_t i = 0, room = 0;
  std::span<uint8_t> to;
  for (const Route& r : routes_) {
    if (!wanted(r)) continue;
    if (i == room) {
      room = std::min(left, kSspMostEntries);
      left -= room;
      i = 0;
      to = out.add_frame(p, {Address::control_processor(config_.self.version), kSsp}, ssp_octets(room));
      put_ssp_header(to, SspCommand::kResponse);
    }
    uint32_t metric = which == Which::kAllUnreachable ? kSspInfinity : r.metric;
    if (r.next_hop == p && metric < kSspInfinity) metric += kSspInfinity;
    put_ssp_entry(to, i++, {kSspRouteFamily, r.destination.bits, r.destination.mask, metric});
  }
}

}  // namespace mapos
