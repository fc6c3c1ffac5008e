// SPDX-License-Identifier: BSD-3-Clause
#include "mapos/bridge.h"

#include "mapos/big_endian.h"
#include "mapos/fcs.h"

namespace mapos {

namespace {

constexpr uint8_t kLanFcsFlag = 0x80, kZeroFillFlag = 0x20, kPads = 0x0F;

Mac mac_at(const uint8_t* p) {
  Mac m;
  std::copy_n(p, m.size(), m.begin());
  return m;
}

bool known(MacType t) {
  switch (t) {
    case MacType::k802_3:
    case MacType::k802_4:
    case MacType::k802_5NonCanonical:
    case MacType::kFddiNonCanonical:
    case MacType::k802_5:
    case MacType::kFddi:
      return true;
  }
  return false;
}

}  // namespace

void put_bridge_header(uint8_t* out, Address destination, Address source) {
  put_header(out, {destination, kBridge});
  put16(out + 4, 0);
  put16(out + 6, source.wire());
  out[8] = 0;
  out[9] = static_cast<uint8_t>(MacType::k802_3);
}

tl::expected<BridgedFrame, BridgeError> parse_bridged(std::span<const uint8_t> information) {
  if (information.size() < kBridgeOctets) return tl::unexpected(BridgeError::kMalformed);
  const uint8_t flags = information[4];
  const auto type = static_cast<MacType>(information[5]);
  std::span<const uint8_t> mac = information.subspan(kBridgeOctets);
  const bool lan_fcs = (flags & kLanFcsFlag) != 0;
  const size_t tail = (flags & kPads) + (lan_fcs ? size_t{4} : 0);
  if (!known(type) || mac.size() < kLeastMacFrame + tail) return tl::unexpected(BridgeError::kMalformed);
  mac = mac.first(mac.size() - (flags & kPads));
  if (lan_fcs) {
    if (type == MacType::k802_3 && !fcs32_good(mac)) return tl::unexpected(BridgeError::kLanFcs);
    mac = mac.first(mac.size() - 4);
  }
  const uint8_t* const addresses = mac.data() + (type == MacType::k802_3 ? 0 : 2);
  return BridgedFrame{get16(&information[2]), type, (flags & kZeroFillFlag) != 0, mac_at(addresses),
                      mac_at(addresses + 6),  mac};
}

void NetworkAdapter::add_peer(Address a) {
  if (std::ranges::find(peers_, a) == peers_.end()) peers_.push_back(a);
}

void NetworkAdapter::remove_peer(Address a) {
  std::erase(peers_, a);
  std::erase_if(table_, [&](const auto& e) { return e.second.at == a; });
}

bool NetworkAdapter::add_static(const Mac& mac, Address a) {
  if (is_group(mac) || std::ranges::find(peers_, a) == peers_.end()) return false;
  table_.insert_or_assign(key(mac), Entry{a, kNever});
  return true;
}

std::span<const Address> NetworkAdapter::destinations(std::span<const uint8_t> mac_frame, Time now) {
  if (mac_frame.size() < kLeastMacFrame || mac_frame.size() > kMostMacFrame) {
    ++counters_.bad_length;
    return {};
  }
  const Mac to = mac_at(mac_frame.data());
  const auto at = is_group(to) ? table_.end() : table_.find(key(to));
  if (at == table_.end() || now >= at->second.deadline) {
    ++counters_.flooded;
    return peers_;
  }
  ++counters_.known;
  return {&at->second.at, 1};
}

std::optional<BridgedFrame> NetworkAdapter::receive(std::span<const uint8_t> information, Time now) {
  const auto frame = parse_bridged(information);
  if (!frame || frame->type != MacType::k802_3) {
    ++(!frame && frame.error() == BridgeError::kLanFcs ? counters_.bad_lan_fcs : counters_.malformed);
    return std::nullopt;
  }
  const auto peer = std::ranges::find(peers_, frame->source, &Address::wire);
  if (peer == peers_.end()) {
    ++counters_.not_peer;
    return std::nullopt;
  }
  if (config_.learn && !is_group(frame->source_mac)) learn(frame->source_mac, *peer, now);
  ++counters_.delivered;
  return *frame;
}

void NetworkAdapter::learn(const Mac& mac, Address at, Time now) {
  const auto found = table_.find(key(mac));
  if (found == table_.end() && table_.size() >= config_.most_entries) return;
  if (found != table_.end() && found->second.deadline == kNever) return;
  const Entry e{at, now + config_.aging};
  table_.insert_or_assign(key(mac), e);
  deadline_ = std::min(deadline_, e.deadline);
}

void NetworkAdapter::advance(Time now) {
  if (now < deadline_) return;
  deadline_ = kNever;
  std::erase_if(table_, [&](const auto& e) {
    if (now >= e.second.deadline) return true;
    deadline_ = std::min(deadline_, e.second.deadline);
    return false;
  });
}

}  // namespace mapos
