// SPDX-License-Identifier: BSD-3-Clause
#include "card.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <vector>

#include "sonet.h"

namespace awing::hw {

namespace {
/// The map of the awing card with what differs and what is added.
const std::vector<RegInfo>& oc48_registers() {
  static const std::vector<RegInfo> all = [] {
    std::vector<RegInfo> map(std::begin(kRegisters), std::end(kRegisters));
    for (RegInfo& info : map) {
      if (info.offset == kDeviceIdLo) info.reset = static_cast<uint32_t>(kDeviceIdOc48);
      if (info.offset == kDeviceIdHi) info.reset = static_cast<uint32_t>(kDeviceIdOc48 >> 32);
      if (info.offset == kIntrNext) info.reset = kSonetType;
      if (info.offset == kMaxFrame) info.reset = kMaxFrameOc48 + 4;
    }
#define X(name, offset, access, reset, meaning) map.push_back({#name, offset, Access::access, reset, meaning});
    OC48_REGISTERS(X)
#undef X
    return map;
  }();
  return all;
}
}  // namespace

std::span<const RegInfo> registers(CardKind kind) {
  if (kind == CardKind::kOc48) return oc48_registers();
  return kRegisters;
}

Clock quantum_clock(int32_t ppm) {
  uint64_t num = uint64_t{3200} * 1'000'000, den = static_cast<uint64_t>(1'000'000 + ppm);
  const uint64_t g = std::gcd(num, den);
  return Clock(num / g, den / g);
}

void insert_stamp(uint8_t* frame, uint64_t stamp, uint16_t stamp_offset, uint16_t csum_offset) {
  uint8_t* at = frame + stamp_offset;
  uint32_t sum = 0;
  for (int i = 0; i < 4; ++i) {
    const auto fresh = static_cast<uint16_t>(stamp >> (48 - 16 * i));
    const auto old = static_cast<uint16_t>(at[2 * i] << 8 | at[2 * i + 1]);
    sum += static_cast<uint16_t>(~old) + fresh;
    at[2 * i] = static_cast<uint8_t>(fresh >> 8);
    at[2 * i + 1] = static_cast<uint8_t>(fresh);
  }
  if (csum_offset == kNoChecksum) return;
  uint8_t* check = frame + csum_offset;
  sum += static_cast<uint16_t>(~(check[0] << 8 | check[1]));
  sum = (sum & 0xFFFF) + (sum >> 16);
  sum = (sum & 0xFFFF) + (sum >> 16);
  auto mended = static_cast<uint16_t>(~sum);
  if (mended == 0) mended = 0xFFFF;  // zero would say "no checksum"
  check[0] = static_cast<uint8_t>(mended >> 8);
  check[1] = static_cast<uint8_t>(mended);
}

bool valid_tx(uint32_t len, uint16_t flags, uint16_t stamp_offset, uint16_t csum_offset) {
  if (len < kMinFrame || len > kMaxFrameAny) return false;
  if (!(flags & kTxInsertStamp)) return true;
  if (stamp_offset % 2 != 0 || stamp_offset + 8u > len) return false;
  return csum_offset == kNoChecksum || (csum_offset % 2 == 0 && csum_offset + 2u <= len);
}

Card::Card(const CardConfig& config, Link& tx, Link& rx, Ps start)
    : config_(config),
      bus_clock_(config.bus.period_num, config.bus.period_den),
      quantum_(config.kind == CardKind::kOc48 ? sonet::quantum_clock(config.ppm) : quantum_clock(config.ppm)),
      timing_(config.bus),
      tx_link_(tx),
      rx_link_(rx),
      ran_until_(start),
      map_(registers(config.kind)) {
  for (const RegInfo& info : map_) regs_[info.offset / 4] = info.reset;
  const uint64_t khz = config.bus.period_den * 1'000'000'000 / config.bus.period_num;
  regs_[kBusInfo / 4] = config.bus.width | static_cast<uint32_t>(khz << 8);
}

void Card::post(HostOp op, Ps t) {
  op.edge = bus_clock_.after(std::max(t, ran_until_));
  if (!host_ops_.empty()) op.edge = std::max(op.edge, host_ops_.back().edge);
  host_ops_.push_back(op);
}

void Card::host_slipped(Ps t) {
  const int64_t latest = bus_clock_.after(std::max(t, ran_until_));
  for (HostOp& op : host_ops_) op.edge = std::min(op.edge, latest);
}

bool Card::is_address(uint32_t r) {
  switch (r & ~4u) {
    case kStatusAddrLo:
    case kTxBaseLo:
    case kTxCplBaseLo:
    case kRxBaseLo:
    case kRxCplBaseLo:
      return true;
    default:
      return false;
  }
}

bool Card::store(uint32_t r, uint32_t value) {
  if (r % 4 != 0 || r >= kBarBytes) return false;
  for (const RegInfo& info : map_) {
    if (info.offset != r) continue;
    if (info.access == Access::kRo) return false;
    if (info.access == Access::kRw) regs_[r / 4] = value;
    return true;  // commands are not stored: they are done before they could be read back
  }
  return false;
}

bool Card::moderate(uint32_t r, uint32_t value, int64_t e) {
  switch (r) {
    case kIntrRxEnable:
    case kIntrTxEnable:
      moderator_.enable(r == kIntrRxEnable ? kCauseReceive : kCauseSend, (value & 1) != 0, e);
      return true;
    case kIntrRxCount:
    case kIntrTxCount:
      moderator_.set_count(r == kIntrRxCount ? kCauseReceive : kCauseSend, value, e);
      return true;
    case kIntrRxTimeout:
    case kIntrTxTimeout:
      moderator_.set_timeout(r == kIntrRxTimeout ? kCauseReceive : kCauseSend, value, e);
      return true;
    case kIntrRxSeen:
    case kIntrTxSeen:
      moderator_.set_seen(r == kIntrRxSeen ? kCauseReceive : kCauseSend, value, e);
      return true;
    default:
      return false;
  }
}

void Card::reset_moderator(int64_t e) {
  moderator_.reset(e);
  regs_[kIntrRxSeen / 4] = regs_[kIntrTxSeen / 4] = 0;
}

void Card::change_lines(int64_t e) {
  const uint32_t before = moderator_.taken(), now = moderator_.take(e), rising = now & ~before;
  if (rising & 1u << kCauseReceive) counters_[kRxInterrupts]++;
  if (rising & 1u << kCauseSend) counters_[kTxInterrupts]++;
  emit(bus_clock_.at(e), Block::kRegs, EventType::kInterrupt, static_cast<uint16_t>(now), before,
       uint64_t{moderator_.told(kCauseReceive)} << 32 | moderator_.told(kCauseSend));
  if (rising != 0 && interrupt_) interrupt_(rising);
}

uint32_t Card::load(uint32_t r) const {
  if (r % 4 != 0 || r >= kBarBytes) return 0xFFFFFFFF;
  if (r >= kCounterBase &&
      r < kCounterBase + 8 * (config_.kind == CardKind::kOc48 ? kCountersOc48 : uint32_t{kCounters})) {
    const uint64_t v = counters_[(r - kCounterBase) / 8];
    return static_cast<uint32_t>(r % 8 == 0 ? v : v >> 32);
  }
  return regs_[r / 4];
}

}  // namespace awing::hw
