// SPDX-License-Identifier: BSD-3-Clause
#include "mapos/arp.h"

#include "mapos/big_endian.h"

namespace mapos {

std::optional<ArpPacket> parse_arp(std::span<const uint8_t> information) {
  if (information.size() < kArpOctets) return std::nullopt;
  const uint8_t* const p = information.data();
  if (get16(p) != kArpHardware || get16(p + 2) != kArpIpv4 || p[4] != 4 || p[5] != 4) return std::nullopt;
  const auto operation = static_cast<ArpOperation>(get16(p + 6));
  if (operation != ArpOperation::kRequest && operation != ArpOperation::kResponse && operation != ArpOperation::kUnarp)
    return std::nullopt;
  return ArpPacket{operation, get32(p + 8), get32(p + 12), get32(p + 16), get32(p + 20)};
}

void put_arp(Outbox& out, Address destination, const ArpPacket& packet) {
  uint8_t* const p = out.add_frame(kNoPort, {destination, kArp}, kArpOctets).data();
  put16(p, kArpHardware);
  put16(p + 2, kArpIpv4);
  p[4] = p[5] = 4;
  put16(p + 6, static_cast<uint16_t>(packet.operation));
  put32(p + 8, packet.sender);
  put32(p + 12, packet.sender_ip);
  put32(p + 16, packet.target);
  put32(p + 20, packet.target_ip);
}

void Arp::address_assigned(Address own, Time now, Outbox& out) {
  link_down();
  own_ = own;
  if (!config_.own_ip) return;
  unarps_left_ = kUnarps;
  send_unarp(now, out);
}

void Arp::link_down() {
  table_.clear();
  own_.reset();
  unarps_left_ = 0;
  unarp_at_ = kNever;
}

void Arp::send_unarp(Time now, Outbox& out) {
  put_arp(out, Address::broadcast(config_.version),
          {ArpOperation::kUnarp, own_->wire(), *config_.own_ip, 0xFFFF'FFFF, 0xFFFF'FFFF});
  unarp_at_ = --unarps_left_ > 0 ? now + kUnarpInterval : kNever;
}

std::optional<Address> Arp::resolve(Ipv4Address ip, Time now, Outbox& out) {
  const auto known = table_.find(ip, now);
  if (!known && own_ && config_.own_ip && table_.want(ip, now)) question(ip, out);
  return known;
}

void Arp::question(Ipv4Address ip, Outbox& out) {
  put_arp(out, Address::broadcast(config_.version), {ArpOperation::kRequest, own_->wire(), *config_.own_ip, 0, ip});
}

bool Arp::add(Ipv4Address ip, Address hdlc) {
  return hdlc.version() == config_.version && hdlc.is_unicast() && table_.add(ip, hdlc);
}

// Could a host say this of itself?
bool Arp::plausible(const ArpPacket& p) const {
  if (p.sender > 0xFFFF) return false;
  const auto a = Address::from_wire(config_.version, static_cast<uint16_t>(p.sender));
  const uint32_t first = p.sender_ip >> 24;
  return a && a->is_unicast() && !a->is_control_processor() && first != 0 && first != 127 && first < 224;
}

void Arp::receive(std::span<const uint8_t> information, Time now, Outbox& out) {
  advance(now, out);
  const auto p = parse_arp(information);
  if (!p || !plausible(*p)) return void(++counters_.malformed);
  if (!own_) return void(++counters_.no_address);
  if (p->sender_ip == config_.own_ip) {
    // Our own broadcast on a loop is none; nor is the other end of a line where both are 03, which only an operator
    // could tell from it.
    ++counters_.conflicts;
    if (p->sender != own_->wire()) out.add_event(EventKind::kAddressConflict, kNoPort, p->sender_ip);
    return;
  }
  switch (p->operation) {
    case ArpOperation::kUnarp: {
      ++counters_.unarps;
      // "If and only if the corresponding hardware address is not equal" (section 3.3). What is only asked for has
      // none.
      const auto known = table_.find(p->sender_ip, now);
      if (known && known->wire() != p->sender) table_.remove(p->sender_ip);
      return;
    }
    case ArpOperation::kRequest: {
      const bool for_us = p->target_ip == config_.own_ip;
      learn(*p, for_us, now, out);
      if (!for_us) return void(++counters_.overheard);
      ++counters_.requests;
      // The frame has no source address; the one in the packet is the only way back.
      const auto asker = *Address::from_wire(config_.version, static_cast<uint16_t>(p->sender));
      return put_arp(out, asker, {ArpOperation::kResponse, own_->wire(), *config_.own_ip, p->sender, p->sender_ip});
    }
    case ArpOperation::kResponse:
      if (p->target_ip != config_.own_ip || !table_.contains(p->sender_ip)) return void(++counters_.unasked);
      ++counters_.responses;
      return learn(*p, false, now, out);
  }
}

// As in RFC 826: what is in the table is brought up to date; who asks for us is put in.
void Arp::learn(const ArpPacket& p, bool new_too, Time now, Outbox& out) {
  const auto hdlc = *Address::from_wire(config_.version, static_cast<uint16_t>(p.sender));
  if (table_.learn(p.sender_ip, hdlc, new_too, now)) out.add_event(EventKind::kResolved, kNoPort, p.sender_ip);
}

void Arp::advance(Time now, Outbox& out) {
  if (now >= unarp_at_) send_unarp(now, out);
  table_.advance(
      now, [&](Ipv4Address ip) { question(ip, out); },
      [&](Ipv4Address ip) { out.add_event(EventKind::kUnresolved, kNoPort, ip); });
}

}  // namespace mapos
