// SPDX-License-Identifier: BSD-3-Clause
#include "mapos/nd.h"

#include "mapos/big_endian.h"

namespace mapos {

namespace {

constexpr size_t kIpv6Header = 40;
constexpr size_t kNdHeader = 24;  // type, code, checksum, flags, target
constexpr uint8_t kIcmpv6 = 58, kSolicitation = 135, kAdvertisement = 136;
constexpr uint32_t kSolicitedFlag = 0x4000'0000, kOverrideFlag = 0x2000'0000;
constexpr Ipv6Address kUnspecified{};

Ipv6Address address_at(const uint8_t* p) {
  Ipv6Address a;
  std::copy_n(p, a.size(), a.begin());
  return a;
}

// One's complement sum over pseudo-header and message (RFC 8200 section 8.1); 0xFFFF if the checksum in it is right.
uint16_t checksum(const uint8_t* datagram, std::span<const uint8_t> message) {
  uint32_t sum = kIcmpv6 + static_cast<uint32_t>(message.size());
  for (size_t i = 8; i < kIpv6Header; i += 2) sum += get16(datagram + i);
  for (size_t i = 0; i + 1 < message.size(); i += 2) sum += get16(&message[i]);
  if (message.size() % 2 != 0) sum += static_cast<uint32_t>(message.back() << 8);
  while (sum >> 16 != 0) sum = (sum & 0xFFFF) + (sum >> 16);
  return static_cast<uint16_t>(sum);
}

struct Sending {
  uint8_t type;
  uint32_t flags;
  Ipv6Address from, to, target;
  std::optional<Address> link;  // none: no option
};

void put_nd(Outbox& out, Address destination, const Sending& s) {
  const size_t n = kNdHeader + (s.link ? kLinkOptionOctets : 0);
  const auto datagram = out.add_frame(kNoPort, {destination, kIpv6}, kIpv6Header + n);
  uint8_t* const p = datagram.data();
  p[0] = 0x60;
  put16(p + 4, static_cast<uint16_t>(n));
  p[6] = kIcmpv6;
  p[7] = 255;
  std::ranges::copy(s.from, p + 8);
  std::ranges::copy(s.to, p + 24);
  uint8_t* const m = p + kIpv6Header;
  m[0] = s.type;
  put32(m + 4, s.flags);
  std::ranges::copy(s.target, m + 8);
  if (s.link) {
    const auto type = s.type == kSolicitation ? LinkOption::kSource : LinkOption::kTarget;
    std::ranges::copy(link_option(type, *s.link), m + kNdHeader);
  }
  put16(m + 2, static_cast<uint16_t>(~checksum(p, {m, n})));
}

uint32_t last_octets(const Ipv6Address& a) { return get32(&a[12]); }

}  // namespace

struct Nd::Message {
  uint8_t type;
  uint32_t flags;
  Ipv6Address from, to, target;
  std::span<const uint8_t> options;
};

Nd::Nd(const NdConfig& config)
    : config_(config), states_(config.own_ips.size(), Own::kTentative), table_(config.limits) {}

void Nd::address_assigned(Address own, Time now, Outbox& out) {
  link_down();
  own_ = own;
  for (const Ipv6Address& ip : config_.own_ips) {
    const auto to = solicited_node(ip);
    put_nd(out, group_address(config_.version, to), {kSolicitation, 0, kUnspecified, to, ip, std::nullopt});
    duplicate_until_ = now + config_.duplicate_wait;
  }
}

void Nd::link_down() {
  table_.clear();
  own_.reset();
  std::ranges::fill(states_, Own::kTentative);
  duplicate_until_ = kNever;
}

Nd::Own* Nd::own(const Ipv6Address& ip) {
  const auto at = std::ranges::find(config_.own_ips, ip);
  return at == config_.own_ips.end() ? nullptr : &states_[static_cast<size_t>(at - config_.own_ips.begin())];
}

bool Nd::usable(const Ipv6Address& own_ip) const {
  const Own* const state = const_cast<Nd*>(this)->own(own_ip);
  return state != nullptr && *state == Own::kUsable;
}

std::optional<Address> Nd::resolve(const Ipv6Address& ip, Time now, Outbox& out) {
  const auto known = table_.find(ip, now);
  if (!known && own_ && !config_.own_ips.empty() && usable(config_.own_ips[0]) && table_.want(ip, now))
    question(ip, out);
  return known;
}

void Nd::question(const Ipv6Address& ip, Outbox& out) {
  const auto to = solicited_node(ip);
  put_nd(out, group_address(config_.version, to), {kSolicitation, 0, config_.own_ips[0], to, ip, own_});
}

bool Nd::add(const Ipv6Address& ip, Address hdlc) {
  return hdlc.version() == config_.version && hdlc.is_unicast() && table_.add(ip, hdlc);
}

bool Nd::receive(std::span<const uint8_t> datagram, Time now, Outbox& out) {
  if (datagram.size() < kIpv6Header + 1 || datagram[0] >> 4 != 6 || datagram[6] != kIcmpv6) return false;
  const uint8_t type = datagram[kIpv6Header];
  if (type != kSolicitation && type != kAdvertisement) return false;
  advance(now, out);
  const uint8_t* const p = datagram.data();
  const size_t n = get16(p + 4);
  const auto body = datagram.subspan(kIpv6Header);
  if (n < kNdHeader || n > body.size() || p[7] != 255 || body[1] != 0 || checksum(p, body.first(n)) != 0xFFFF) {
    ++counters_.malformed;
    return true;
  }
  const Message m{type,
                  get32(&body[4]),
                  address_at(p + 8),
                  address_at(p + 24),
                  address_at(&body[8]),
                  body.subspan(kNdHeader, n - kNdHeader)};
  uint64_t& counter = is_multicast(m.target) || is_multicast(m.from) ? counters_.malformed
                      : !own_                                        ? counters_.ignored
                      : type == kSolicitation                        ? solicited(m, now, out)
                                                                     : advertised(m, now, out);
  ++counter;
  return true;
}

uint64_t& Nd::solicited(const Message& m, Time now, Outbox& out) {
  const bool detecting = m.from == kUnspecified;  // somebody looks for duplicates
  if (detecting && m.to != solicited_node(m.target)) return counters_.malformed;
  Own* const state = own(m.target);
  if (state == nullptr || *state == Own::kDuplicate) return counters_.ignored;
  if (detecting) {
    if (*state == Own::kTentative) return duplicate(*state, m.target, out);
    const Sending to_all{kAdvertisement, kOverrideFlag, m.target, kAllNodes, m.target, own_};
    put_nd(out, group_address(config_.version, kAllNodes), to_all);
    return counters_.solicitations;
  }
  if (*state == Own::kTentative) return counters_.ignored;  // RFC 4862 section 5.4.3
  const auto link = find_link_option(config_.version, LinkOption::kSource, m.options);
  if (link && table_.learn(m.from, *link, true, now))
    out.add_event(EventKind::kResolved6, kNoPort, last_octets(m.from));
  const auto back = table_.find(m.from, now);
  if (!back) return counters_.malformed;  // no way back: frames have no source address
  put_nd(out, *back, {kAdvertisement, kSolicitedFlag | kOverrideFlag, m.target, m.from, m.target, own_});
  return counters_.solicitations;
}

uint64_t& Nd::advertised(const Message& m, Time now, Outbox& out) {
  if (is_multicast(m.to) && (m.flags & kSolicitedFlag) != 0) return counters_.malformed;
  if (Own* const state = own(m.target)) return duplicate(*state, m.target, out);
  if (!table_.contains(m.target)) return counters_.ignored;
  const auto known = table_.find(m.target, now);
  const auto link = find_link_option(config_.version, LinkOption::kTarget, m.options);
  // Without the override flag it must not change what is known (RFC 4861 section 7.2.5).
  if (!link || (known && *known != *link && (m.flags & kOverrideFlag) == 0)) return counters_.ignored;
  if (table_.learn(m.target, *link, false, now)) out.add_event(EventKind::kResolved6, kNoPort, last_octets(m.target));
  return counters_.advertisements;
}

// While we look for duplicates it means that we must not use the address; afterwards it is only told.
uint64_t& Nd::duplicate(Own& state, const Ipv6Address& ip, Outbox& out) {
  if (state == Own::kTentative) state = Own::kDuplicate;
  out.add_event(EventKind::kDuplicate6, kNoPort, last_octets(ip));
  return counters_.duplicates;
}

void Nd::advance(Time now, Outbox& out) {
  if (now >= duplicate_until_) {
    duplicate_until_ = kNever;
    for (size_t i = 0; i < states_.size(); ++i) {
      if (states_[i] != Own::kTentative) continue;
      states_[i] = Own::kUsable;
      out.add_event(EventKind::kUsable6, kNoPort, last_octets(config_.own_ips[i]));
    }
  }
  table_.advance(
      now, [&](const Ipv6Address& ip) { question(ip, out); },
      [&](const Ipv6Address& ip) { out.add_event(EventKind::kUnresolved6, kNoPort, last_octets(ip)); });
}

}  // namespace mapos
