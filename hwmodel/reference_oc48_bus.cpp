// SPDX-License-Identifier: BSD-3-Clause
// Reference engine of the oc48 card, bus domain: arbiter, DMA read and write engines, register accesses, one edge of
// the PCI clock at a time.
#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "reference_oc48.h"

namespace awing::hw {

namespace {
uint8_t* host(uint64_t addr) { return reinterpret_cast<uint8_t*>(addr); }
}  // namespace

ReferenceOc48::ReferenceOc48(const CardConfig& config, Link& tx, Link& rx, Ps start)
    : Oc48Card(config, tx, rx, start), rx_clock_(sonet::quantum_clock(rx.line_ppm())) {
  tx_ram_.resize(std::bit_ceil(2 * config.tx_fifo));
  rx_ram_.resize(std::bit_ceil(2 * config.rx_fifo));
  next_bus_ = bus_clock_.after(start);
  next_tx_ = (quantum_.after(start) + 3) / 4;
  next_rx_ = (rx_clock_.after(start - rx.delay()) + 3) / 4;
  tx_set_.reset(first_settings());
  rx_set_.reset(first_settings());
  phc_.value = (static_cast<U128>(config.phc_start) << 64) + 4 * static_cast<U128>(next_tx_ - 1) * nominal();
  phc_seen_.reset(phc_);
  phc_shown_ = phc_.value;
  phc_.value += 4 * static_cast<U128>(nominal());
}

void ReferenceOc48::run(Ps until, Ps) {
  for (;;) {
    const Ps bus = bus_clock_.at(next_bus_), tx = quantum_.at(4 * next_tx_), rx = rx_time(next_rx_);
    if (std::min({bus, tx, rx}) > until) break;
    if (bus <= tx && bus <= rx) {  // edges at the same picosecond: bus first, then send line, then receive line
      bus_edge(next_bus_++, bus);
    } else if (tx <= rx) {
      tx_edge(next_tx_++, tx);
    } else {
      rx_edge(next_rx_++, rx);
    }
  }
  ran_until_ = until;
  tx_link_.set_known_until(until + 1);
}

// --- what each agent waits for, judged on the values before the edge --------------------------------------------

ReferenceOc48::Conditions ReferenceOc48::conditions(int64_t e) const {
  Conditions c;
  c.agent[kHost] = !host_ops_.empty() && host_ops_.front().edge <= e;
  if (read_again_)
    c.agent[kRead] = e >= read_again_at_;
  else
    c.agent[kRead] = want_rx_descs() || want_tx_descs() || (want_data() && room());
  c.agent[kWrite] = rx_waits() && !rx_descs_.empty() && !rx_cpl_waits_;
  c.agent[kReport] = rx_cpl_waits_ || tx_done_.seen().frames - tx_done_base_ != tx_cpl_count_;
  return c;
}

void ReferenceOc48::bus_edge(int64_t e, Ps t) {
  if (moderator_.lines(e) != moderator_.taken()) change_lines(e);
  tx_done_.capture(t);
  rx_in_.capture(t);
  alarms_.capture(t);
  alarms_seen_ |= alarms_.seen();

  const Conditions now = conditions(e);
  for (int a = 0; a < kAgents; ++a)
    if (now.agent[a] && asked_[a] < 0 && !runs(static_cast<Agent>(a))) asked_[a] = e;
  if (!runs(kRead) && !read_again_ && want_data() && !want_rx_descs() && !want_tx_descs() && !room()) ++stall_fifo_;
  if (!runs(kWrite) && rx_waits() && rx_descs_.empty()) ++stall_host_;

  if (busy_) {
    if (e >= now_.first_data && (e - now_.first_data) % (1 + pci_.word_wait) == 0) transfer(e, t);
  } else if (e >= free_at_) {
    for (int i = 1; i <= kAgents; ++i) {
      const int a = (last_grant_ + i) % kAgents;
      if (!request_.agent[a]) continue;
      grant(static_cast<Agent>(a), e, t);
      break;
    }
  }
  request_ = now;
}

// --- grants -------------------------------------------------------------------------------------------------------

void ReferenceOc48::grant(Agent agent, int64_t e, Ps t) {
  last_grant_ = agent;
  now_ = Transaction{};
  now_.agent = agent;
  now_.granted = e;
  busy_ = true;
  const uint64_t level = levels();
  const auto wait = static_cast<uint64_t>(e - asked_[agent] - 1);
  asked_[agent] = -1;
  switch (agent) {
    case kHost:
      now_.op = host_ops_.front();
      host_ops_.pop_front();
      now_.use = now_.op.read ? BusUse::kHostRead : BusUse::kHostWrite;
      now_.bytes = 4;
      now_.first_data = e + pci_.lead_host(now_.op.read);
      break;
    case kRead:
      counters_[kRdWaitClocks] += wait;
      grant_read(e);
      break;
    case kWrite:
      counters_[kWrWaitClocks] += wait;
      grant_write();
      now_.first_data = e + pci_.lead(false);
      break;
    default:
      grant_report();
      now_.first_data = e + pci_.lead(false);
      break;
  }
  emit(t, Block::kBus, EventType::kBusGrant, static_cast<uint16_t>(now_.use), now_.bytes, level);
}

/// What is read next: receive descriptors first, then send descriptors, then data.
void ReferenceOc48::choose_read() {
  const bool rx = want_rx_descs();
  if (rx || want_tx_descs()) {
    const uint64_t fetched = rx ? rx_fetched_ : tx_fetched_;
    const uint32_t each = rx ? sizeof(RxDescriptor) : sizeof(TxDescriptor);
    const uint32_t size = reg(rx ? kRxSize : kTxSize);
    const auto index = static_cast<uint32_t>(fetched & (size - 1));
    read_use_ = rx ? BusUse::kReadRxDescs : BusUse::kReadTxDescs;
    read_addr_ = reg64(rx ? kRxBaseLo : kTxBaseLo) + uint64_t{index} * each;
    const auto held = static_cast<uint32_t>(rx ? rx_descs_.size() : tx_descs_.size());
    const uint32_t boundary = config_.bus.boundary;
    const uint64_t posted = rx ? rx_posted_ : tx_posted_;
    uint32_t n = static_cast<uint32_t>(std::min<uint64_t>(posted - fetched, size - index));
    n = std::min({n, config_.desc_cache - held, config_.bus.burst / each,
                  (boundary - static_cast<uint32_t>(read_addr_ & (boundary - 1))) / each});
    read_bytes_ = n * each;
    return;
  }
  const TxDescriptor& desc = tx_descs_.front();
  read_use_ = BusUse::kReadData;
  read_addr_ = desc.addr + tx_desc_done_;
  read_bytes_ = read_octets(read_addr_, desc.len - tx_desc_done_);
}

void ReferenceOc48::grant_read(int64_t e) {
  if (!read_again_) {
    counters_[kStallTxFifo] += std::exchange(stall_fifo_, 0);
    choose_read();
    read_ready_ = e + config_.bus.retry;
  }
  now_.use = read_use_;
  now_.addr = read_addr_;
  now_.bytes = read_bytes_;
  now_.retry = e < read_ready_;
  now_.first_data = e + (now_.retry ? pci_.lead_retry() : pci_.lead(true));
  read_again_ = now_.retry;
}

void ReferenceOc48::grant_write() {
  counters_[kStallRxHost] += std::exchange(stall_host_, 0);
  const RxFrame& frame = rx_frames_.front();
  const RxDescriptor& desc = rx_descs_.front();
  now_.use = BusUse::kWriteData;
  now_.addr = desc.addr + rx_buf_used_;
  now_.bytes = write_octets(now_.addr, std::min(frame.len - rx_frame_done_, desc.len - rx_buf_used_), now_.mwi);
}

void ReferenceOc48::grant_report() {
  if (rx_cpl_waits_) {
    rx_cpl_waits_ = false;
    now_.use = BusUse::kWriteRxCpl;
    now_.rx_cpl = rx_cpl_;
    const uint32_t size = reg(kRxSize);
    if (!(rx_cpl_count_ & size)) now_.rx_cpl.flags |= kRxPhase;
    now_.addr = reg64(kRxCplBaseLo) + (rx_cpl_count_++ & (size - 1)) * sizeof(RxCompletion);
    now_.bytes = sizeof(RxCompletion);
    return;
  }
  now_.use = BusUse::kWriteTxCpl;
  now_.tx_cpl = tx_cpls_.front();
  tx_cpls_.pop_front();
  const uint32_t size = reg(kTxSize);
  tx_cpl_descs_ += now_.tx_cpl.done;
  now_.tx_cpl.done = tx_cpl_descs_;
  if (!(tx_cpl_count_ & size)) now_.tx_cpl.flags |= 1;
  now_.addr = reg64(kTxCplBaseLo) + (tx_cpl_count_++ & (size - 1)) * sizeof(TxCompletion);
  now_.bytes = sizeof(TxCompletion);
}

// --- data phases --------------------------------------------------------------------------------------------------

void ReferenceOc48::transfer(int64_t e, Ps t) {
  if (now_.retry) return finish(e, t);
  const uint32_t skew = static_cast<uint32_t>(now_.addr & (pci_.width - 1));  // the first word may be a part of one
  const uint32_t to = std::min(now_.bytes, (now_.word + 1) * pci_.width - skew);
  if (now_.use == BusUse::kReadData) {
    if (tx_open_.len == 0) tx_open_ = {tx_written_, 0, 0, 0, tx_descs_.front().flags};
    for (uint32_t i = now_.moved; i < to; ++i) tx_ram_[tx_written_++ & (tx_ram_.size() - 1)] = host(now_.addr)[i];
    tx_open_.len += to - now_.moved;
  }
  now_.moved = to;
  ++now_.word;
  // The latency timer has run out and the bridge wants the bus: give way after this data phase; Memory Write and
  // Invalidate goes on to the end of the cache line.
  const bool cut = now_.agent == kRead || now_.agent == kWrite;
  const bool yield = cut && e - now_.granted >= config_.bus.latency_timer && request_.agent[kHost] &&
                     (!now_.mwi || (now_.addr + to) % config_.bus.cache_line == 0);
  if (to == now_.bytes || yield) finish(e, t);
}

void ReferenceOc48::finish(int64_t e, Ps t) {
  busy_ = false;
  free_at_ = e + 1 + pci_.idle;
  const auto clocks = static_cast<uint64_t>(free_at_ - now_.granted);
  switch (now_.agent) {
    case kHost:
      counters_[kBusHostClocks] += clocks;
      if (now_.op.read) {
        read_value_ = host_read(now_.op.reg, e);
        read_done_ = true;
      } else {
        host_write(now_.op.reg, now_.op.value, e, t);
        emit(t, Block::kRegs, EventType::kRegWrite, 0, now_.op.reg, traced(now_.op.reg, now_.op.value));
      }
      break;
    case kRead:
      if (now_.retry) {
        counters_[kBusRequestClocks] += clocks;
        counters_[kBusRetries]++;
        read_again_at_ = e + 3;  // REQ# is off for two clocks (PCI 2.2 section 3.4.1)
        break;
      }
      counters_[kBusCompletionClocks] += clocks;
      finish_read(t);
      break;
    case kWrite:
      counters_[kBusWriteClocks] += clocks;
      finish_write(e, t);
      break;
    default:
      counters_[kBusStatusClocks] += clocks;
      if (now_.use == BusUse::kWriteTxCpl) {
        std::memcpy(host(now_.addr), &now_.tx_cpl, sizeof now_.tx_cpl);
        moderator_.tell(kCauseSend, now_.tx_cpl.done, e);
      } else {
        std::memcpy(host(now_.addr), &now_.rx_cpl, sizeof now_.rx_cpl);
        if (now_.rx_cpl.flags & kRxEndOfPacket) moderator_.tell(kCauseReceive, moderator_.told(kCauseReceive) + 1, e);
      }
      break;
  }
  emit(t, Block::kBus, EventType::kBusEnd, static_cast<uint16_t>(now_.use), now_.moved, levels());
}

void ReferenceOc48::finish_read(Ps t) {
  // Of descriptors whole ones count: one cut in two is read again.
  if (now_.use == BusUse::kReadTxDescs) return take_tx_descriptors(now_.moved / sizeof(TxDescriptor));
  if (now_.use == BusUse::kReadRxDescs) return take_rx_descriptors(now_.moved / sizeof(RxDescriptor));
  if (tx_open_.len == now_.moved) tx_claimed_ += sizeof(TxRecord);  // the first octets of the frame
  tx_claimed_ += now_.moved;
  tx_desc_done_ += now_.moved;
  const TxDescriptor desc = tx_descs_.front();
  if (tx_desc_done_ != desc.len) return;
  tx_descs_.pop_front();
  tx_desc_done_ = 0;
  tx_open_.descs++;
  if (!(desc.flags & kTxEndOfPacket)) return;
  tx_open_.fifo_bytes = record_bytes(tx_open_.len);
  tx_claimed_ += record_bytes(tx_open_.len) - sizeof(TxRecord) - tx_open_.len;  // padding
  tx_frames_.push_back(tx_open_);
  tx_open_ = {};
  tx_in_.store(tx_in_.value() + 1, t);
}

void ReferenceOc48::take_tx_descriptors(uint32_t n) {
  for (uint32_t i = 0; i < n; ++i) {
    TxDescriptor desc;
    std::memcpy(&desc, host(now_.addr + i * sizeof desc), sizeof desc);
    ++tx_fetched_;
    if (chain_len_ == 0) chain_flags_ = desc.flags;
    chain_len_ += desc.len;
    const bool last = (desc.flags & kTxEndOfPacket) != 0;
    if (desc.len == 0 || chain_len_ > kMaxFrameOc48 || (last && !valid_chain(chain_len_, chain_flags_))) {
      tx_halted_ = true;
      counters_[kTxBadRecord]++;
      return;
    }
    if (last) chain_len_ = 0;
    tx_descs_.push_back(desc);
  }
}

void ReferenceOc48::take_rx_descriptors(uint32_t n) {
  for (uint32_t i = 0; i < n; ++i) {
    RxDescriptor desc;
    std::memcpy(&desc, host(now_.addr + i * sizeof desc), sizeof desc);
    ++rx_fetched_;
    rx_descs_.push_back(desc);
  }
}

void ReferenceOc48::finish_write(int64_t, Ps t) {
  const RxFrame frame = rx_frames_.front();
  for (uint32_t i = 0; i < now_.moved; ++i)
    host(now_.addr)[i] = rx_ram_[(frame.pos + rx_frame_done_ + i) & (rx_ram_.size() - 1)];
  rx_buf_used_ += now_.moved;
  rx_frame_done_ += now_.moved;
  const bool frame_end = rx_frame_done_ == frame.len;
  if (frame_end || rx_buf_used_ == rx_descs_.front().len) {
    rx_cpl_ = {frame.stamp, static_cast<uint16_t>(rx_buf_used_), static_cast<uint16_t>(frame_end ? kRxEndOfPacket : 0),
               frame.sequence};
    rx_cpl_waits_ = true;
    rx_descs_.pop_front();
    rx_buf_used_ = 0;
  }
  if (!frame_end) return;
  rx_frames_.pop_front();
  ++rx_taken_;
  rx_frame_done_ = 0;
  rx_released_.store(rx_released_.value() + record_bytes(frame.len), t);
}

// --- registers ----------------------------------------------------------------------------------------------------

void ReferenceOc48::host_write(uint32_t r, uint32_t value, int64_t e, Ps t) {
  if (!store(r, value) || moderate(r, value, e)) return;
  LineSettings set = tx_set_.value();
  Clocking clocking = clocking_.value();
  switch (r) {
    case kTxProducer:
      tx_posted_ += value - static_cast<uint32_t>(tx_posted_);
      return;
    case kRxConsumer:
      rx_posted_ += value - static_cast<uint32_t>(rx_posted_);
      return;
    case kSonetSeen:
      alarms_seen_ &= ~value;
      return;
    case kPhcTrim:
      clocking.trim = static_cast<int32_t>(value);
      clocking_.store(clocking, t);
      return;
    case kCommand:
      if (value & kCmdReset) reset(e);
      if (!(value & (kCmdPhcSet | kCmdPhcAdd))) return;
      clocking.command = value;
      clocking.value = reg64(kPhcValueLo);
      ++clocking.commands;
      clocking_.store(clocking, t);
      return;
    default:
      if (!update(set, r, value)) return;
      tx_set_.store(set, t);
      rx_set_.store(set, t);
  }
}

bool ReferenceOc48::quiet() const {
  return !read_again_ && tx_in_.value() == tx_done_.seen().frames && !rx_waits() && !rx_cpl_waits_ &&
         tx_done_.seen().frames - tx_done_base_ == tx_cpl_count_ &&
         (tx_halted_ || (tx_posted_ == tx_fetched_ && tx_claimed_ == tx_done_.seen().bytes && tx_descs_.empty()));
}

void ReferenceOc48::reset(int64_t e) {
  reset_refused_ = (reg(kControl) & (kCtlRxEnable | kCtlTxEnable)) != 0 || !quiet();
  if (reset_refused_) return;
  tx_posted_ = tx_fetched_ = rx_posted_ = rx_fetched_ = 0;
  tx_claimed_ = tx_done_.value().bytes;
  tx_halted_ = false;
  tx_descs_.clear();
  rx_descs_.clear();
  chain_len_ = 0;
  tx_open_ = {};
  tx_desc_done_ = rx_buf_used_ = rx_frame_done_ = 0;
  tx_cpl_count_ = rx_cpl_count_ = 0;
  tx_cpl_descs_ = 0;
  tx_done_base_ = tx_done_.value().frames;
  reset_moderator(e);
  rx_sequence_ = 0;
  tx_latched_ = 0;
  tx_latch_ = 0;
}

uint32_t ReferenceOc48::host_read(uint32_t r, int64_t e) const {
  switch (r) {
    case kStatus:
      return status(quiet(), tx_halted_);
    case kPhcLo:
      return static_cast<uint32_t>(phc::stamp(phc_shown_));
    case kPhcHi:
      return static_cast<uint32_t>(phc::stamp(phc_shown_) >> 32);
    case kTxStampLo:
      return static_cast<uint32_t>(tx_latch_);
    case kTxStampHi:
      return static_cast<uint32_t>(tx_latch_ >> 32);
    case kTxStampCount:
      return tx_latched_;
    case kIntrLines:
      return moderator_.lines(e);
    case kIntrRxTold:
      return moderator_.told(kCauseReceive);
    case kIntrTxTold:
      return moderator_.told(kCauseSend);
    case kSonetAlarms:
      return alarms_.seen();
    case kSonetSeen:
      return alarms_seen_;
    default:
      return load(r);
  }
}

}  // namespace awing::hw
