// SPDX-License-Identifier: BSD-3-Clause
// Reference engine, bus domain: arbiter, DMA read and write engines, register accesses, one bus edge at a time.
#include <algorithm>
#include <bit>
#include <cstring>

#include "reference.h"

namespace awing::hw {

namespace {
uint8_t* host(uint64_t addr) { return reinterpret_cast<uint8_t*>(addr); }
}  // namespace

ReferenceCard::ReferenceCard(const CardConfig& config, Link& tx, Link& rx, Ps start) : Card(config, tx, rx, start) {
  tx_ram_.resize(std::bit_ceil(2 * config.tx_fifo));
  rx_ram_.resize(std::bit_ceil(2 * config.rx_fifo));
  next_bus_ = bus_clock_.after(start);
  next_line_ = (quantum_.after(start) + 1) / 2;
  phc_ = phc_shown_ = (static_cast<U128>(config.phc_start) << 64) + 2 * static_cast<U128>(next_line_) * phc::kNominal;
}

void ReferenceCard::run(Ps until, Ps) {
  for (;;) {
    const Ps bus = bus_clock_.at(next_bus_), line = quantum_.at(2 * next_line_);
    if (std::min(bus, line) > until) break;
    if (bus <= line) {  // edges at the same picosecond: bus first, then line
      bus_edge(next_bus_++, bus);
    } else {
      line_edge(next_line_++, line);
    }
  }
  ran_until_ = until;
  tx_link_.set_known_until(until + 1);
}

// --- what each agent waits for, judged on the values before the edge --------------------------------------------

uint32_t ReferenceCard::rx_host_free() const {
  const uint32_t size = reg(kRxSize);
  if (reg64(kRxBaseLo) == 0 || !std::has_single_bit(size)) return 0;
  return size - static_cast<uint32_t>(std::min<uint64_t>(size, rx_asked_ - rx_posted_));
}

bool ReferenceCard::want_rx_descs() const {
  return ring_ && rx_posted_ > rx_asked_ && rx_descs_.size() + rx_descs_coming_ <= config_.desc_cache / 2;
}

bool ReferenceCard::want_tx_descs() const {
  return ring_ && !tx_halted_ && tx_posted_ > tx_asked_ &&
         tx_descs_.size() + tx_descs_coming_ <= config_.desc_cache / 2;
}

bool ReferenceCard::want_data() const {
  if (tx_halted_) return false;
  return ring_ ? !tx_descs_.empty() : tx_posted_ > tx_asked_;
}

bool ReferenceCard::rx_ready() const {
  return rx_waiting() > 0 && (rx_waiting() >= reg(kRxMinBurst) || rx_age_ >= reg(kRxFlush));
}

ReferenceCard::Conditions ReferenceCard::conditions(int64_t e) const {
  Conditions c;
  c.agent[kHost] = !host_ops_.empty() && host_ops_.front().edge <= e;
  c.agent[kBridge] = !reads_.empty() && reads_.front().ready <= e;
  const bool fifo_ok = tx_free() >= config_.bus.mmrbc + 32;
  c.agent[kRead] =
      reads_.size() < config_.bus.splits && (want_rx_descs() || want_tx_descs() || (want_data() && fifo_ok));
  if (ring_) {
    c.agent[kWrite] = rx_cpl_.empty() && rx_frames_waiting() > 0 && !rx_descs_.empty();
    c.agent[kReport] = !rx_cpl_.empty() || tx_done_.seen().frames - tx_done_base_ != tx_cpl_count_;
  } else {
    c.agent[kWrite] = rx_ready() && rx_host_free() > 0;
    c.agent[kReport] = dirty_;
  }
  return c;
}

void ReferenceCard::bus_edge(int64_t e, Ps t) {
  if (moderator_.lines(e) != moderator_.taken()) change_lines(e);
  tx_done_.capture(t);
  rx_in_.capture(t);

  const Conditions now = conditions(e);
  for (int a = 0; a < kAgents; ++a)
    if (now.agent[a] && asked_[a] < 0 && !(busy_ && now_.agent == a)) asked_[a] = e;

  const bool splits_full = reads_.size() >= config_.bus.splits;
  const bool descs = want_rx_descs() || want_tx_descs();
  if (splits_full && (descs || want_data())) ++stall_splits_;
  if (!splits_full && !descs && want_data() && tx_free() < config_.bus.mmrbc + 32) ++stall_fifo_;
  if (!ring_ && !writing_data() && rx_ready() && rx_host_free() == 0) ++stall_host_;
  rx_age_ = rx_waiting() == 0 || writing_data() ? 0 : rx_age_ + 1;

  if (busy_) {
    if (e >= now_.first_data) transfer(e, t);
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

void ReferenceCard::grant(Agent agent, int64_t e, Ps t) {
  last_grant_ = agent;
  now_ = Transaction{};
  now_.agent = agent;
  now_.granted = e;
  now_.first_data = e + timing_.lead(agent);
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
      if (now_.op.read) ++now_.first_data;  // turnaround of the data lines
      break;
    case kBridge:
      now_.use = BusUse::kCompletion;
      now_.addr = reads_.front().addr;
      now_.bytes = reads_.front().bytes;
      break;
    case kRead:
      counters_[kRdWaitClocks] += wait;
      grant_read(e);
      break;
    case kWrite:
      counters_[kWrWaitClocks] += wait;
      grant_write();
      break;
    default:
      grant_report();
      break;
  }
  const uint32_t words = agent == kRead ? 1 : timing_.words(now_.addr, now_.bytes);
  const uint64_t clocks = static_cast<uint64_t>(now_.first_data - e) + words + timing_.idle;
  if (agent == kHost) counters_[kBusHostClocks] += clocks;
  if (agent == kBridge) counters_[kBusCompletionClocks] += clocks;
  if (agent == kRead) {
    counters_[kBusRequestClocks] += clocks;
    busy_ = false;  // the split response ends it
    free_at_ = e + static_cast<int64_t>(clocks);
  }
  if (agent == kReport) counters_[kBusStatusClocks] += clocks;
  emit(t, Block::kBus, EventType::kBusGrant, static_cast<uint16_t>(now_.use), now_.bytes, level);
}

void ReferenceCard::grant_read(int64_t e) {
  const uint32_t boundary = config_.bus.boundary;
  counters_[kStallSplits] += std::exchange(stall_splits_, 0);
  counters_[kStallTxFifo] += std::exchange(stall_fifo_, 0);
  Read read{};
  if (want_rx_descs() || want_tx_descs()) {
    const bool rx = want_rx_descs();
    uint64_t& asked = rx ? rx_asked_ : tx_asked_;
    uint32_t& coming = rx ? rx_descs_coming_ : tx_descs_coming_;
    const uint32_t each = rx ? sizeof(RxDescriptor) : sizeof(TxDescriptor);
    const uint32_t size = reg(rx ? kRxSize : kTxSize);
    const auto index = static_cast<uint32_t>(asked & (size - 1));
    read.use = rx ? BusUse::kReadRxDescs : BusUse::kReadTxDescs;
    read.addr = reg64(rx ? kRxBaseLo : kTxBaseLo) + uint64_t{index} * each;
    const auto held = static_cast<uint32_t>(rx ? rx_descs_.size() : tx_descs_.size()) + coming;
    uint32_t n = static_cast<uint32_t>(std::min<uint64_t>((rx ? rx_posted_ : tx_posted_) - asked, size - index));
    n = std::min(n, config_.desc_cache - held);
    n = std::min(n, (boundary - static_cast<uint32_t>(read.addr & (boundary - 1))) / each);
    read.bytes = n * each;
    asked += n;
    coming += n;
  } else if (ring_) {
    const TxDescriptor& desc = tx_descs_.front();
    read.use = BusUse::kReadData;
    read.desc = desc;
    read.addr = desc.addr + tx_desc_offset_;
    read.bytes = std::min(
        {desc.len - tx_desc_offset_, config_.bus.mmrbc, boundary - static_cast<uint32_t>(read.addr & (boundary - 1))});
    read.frame_start = tx_frame_asked_ == 0;
    tx_desc_offset_ += read.bytes;
    tx_frame_asked_ += read.bytes;
    tx_reserved_ += read.bytes + (read.frame_start ? sizeof(TxRecord) : 0);
    read.desc_end = tx_desc_offset_ == desc.len;
    if (read.desc_end) {
      if (desc.flags & kTxEndOfPacket) {
        tx_reserved_ += record_bytes(tx_frame_asked_) - sizeof(TxRecord) - tx_frame_asked_;  // padding
        tx_frame_asked_ = 0;
      }
      tx_desc_offset_ = 0;
      tx_descs_.pop_front();
    }
  } else {
    const uint32_t size = reg(kTxSize);
    const auto offset = static_cast<uint32_t>(tx_asked_ & (size - 1));
    read.use = BusUse::kReadStream;
    read.addr = reg64(kTxBaseLo) + offset;
    read.bytes = static_cast<uint32_t>(std::min<uint64_t>(tx_posted_ - tx_asked_, config_.bus.mmrbc));
    read.bytes = std::min({read.bytes, size - offset, boundary - static_cast<uint32_t>(read.addr & (boundary - 1))});
    tx_asked_ += read.bytes;
    tx_reserved_ += read.bytes;
  }
  read.ready = e + timing_.lead(kRead) + 1 + config_.bus.completer_latency;
  now_.use = read.use;
  now_.bytes = read.bytes;
  reads_.push_back(read);
}

void ReferenceCard::grant_report() {
  if (!ring_) {
    dirty_ = false;
    now_.use = BusUse::kWriteStatus;
    now_.addr = reg64(kStatusAddrLo);
    now_.bytes = sizeof(StatusRecord);
    now_.status = {static_cast<uint32_t>(rx_produced_), static_cast<uint32_t>(tx_fetched_),
                   static_cast<uint32_t>(tx_done_.seen().frames - tx_done_base_), 0};
  } else if (!rx_cpl_.empty()) {
    now_.use = BusUse::kWriteRxCpl;
    now_.rx_cpl = rx_cpl_.front();
    rx_cpl_.pop_front();
    const uint32_t size = reg(kRxSize);
    if (!(rx_cpl_count_ & size)) now_.rx_cpl.flags |= kRxPhase;
    now_.addr = reg64(kRxCplBaseLo) + (rx_cpl_count_++ & (size - 1)) * sizeof(RxCompletion);
    now_.bytes = sizeof(RxCompletion);
  } else {
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
}

void ReferenceCard::grant_write() {
  const uint32_t boundary = config_.bus.boundary;
  now_.use = BusUse::kWriteData;
  if (ring_) {
    const RxFrame& frame = rx_frames_.front();
    const RxDescriptor& desc = rx_descs_.front();
    now_.addr = desc.addr + rx_buf_used_;
    now_.bytes = std::min({frame.len - rx_frame_done_, desc.len - rx_buf_used_,
                           boundary - static_cast<uint32_t>(now_.addr & (boundary - 1))});
    return;
  }
  counters_[kStallRxHost] += std::exchange(stall_host_, 0);
  const uint32_t size = reg(kRxSize);
  const auto offset = static_cast<uint32_t>(rx_asked_ & (size - 1));
  now_.addr = reg64(kRxBaseLo) + offset;
  now_.bytes = std::min(
      {rx_waiting(), rx_host_free(), size - offset, boundary - static_cast<uint32_t>(now_.addr & (boundary - 1))});
  rx_asked_ += now_.bytes;
  rx_taken_ += now_.bytes;
  rx_age_ = 0;
}

// --- data phases --------------------------------------------------------------------------------------------------

void ReferenceCard::transfer(int64_t e, Ps t) {
  const uint32_t skew = static_cast<uint32_t>(now_.addr & (timing_.width - 1));  // the first word may be a part of one
  const uint32_t to = std::min(now_.bytes, (now_.word + 1) * timing_.width - skew);
  if (now_.agent == kBridge) {
    const Read read = reads_.front();
    const uint8_t* from = host(read.addr + now_.moved);
    if (read.use == BusUse::kReadStream) take_stream(from, to - now_.moved, t);
    if (read.use == BusUse::kReadData) take_segment(read, from, to - now_.moved, to == now_.bytes, t);
  }
  now_.moved = to;
  ++now_.word;
  // The latency timer has run out and the bridge waits: give way at the next 128-octet boundary.
  const bool yield = now_.use == BusUse::kWriteData && e - now_.granted >= config_.bus.latency_timer &&
                     (request_.agent[kHost] || request_.agent[kBridge]) && (now_.addr + to) % 128 == 0;
  if (to == now_.bytes || yield) finish(e, t);
}

void ReferenceCard::take_stream(const uint8_t* data, uint32_t n, Ps t) {
  if (tx_halted_) return;
  const uint64_t mask = tx_ram_.size() - 1;
  for (uint32_t i = 0; i < n; ++i) tx_ram_[(tx_written_ + i) & mask] = data[i];
  tx_written_ += n;
  while (tx_written_ - tx_parsed_ >= sizeof(TxRecord)) {
    TxRecord head;
    for (uint32_t i = 0; i < sizeof head; ++i) reinterpret_cast<uint8_t*>(&head)[i] = tx_ram_[(tx_parsed_ + i) & mask];
    if (!valid_tx(head.len, head.flags, head.stamp_offset, head.csum_offset)) return bad_record();
    const uint32_t size = record_bytes(head.len);
    if (tx_written_ - tx_parsed_ < size) return;
    tx_frames_.push_back({tx_parsed_ + sizeof head, head.len, size, 0, head.flags, head.stamp_offset, head.csum_offset,
                          head.launch_time});
    tx_parsed_ += size;
    tx_in_.store(tx_in_.value() + 1, t);
  }
}

void ReferenceCard::take_segment(const Read& read, const uint8_t* data, uint32_t n, bool last, Ps t) {
  if (read.frame_start && tx_open_.descs == 0 && tx_open_.len == 0)
    tx_open_ = {tx_written_,          0, 0, 0, read.desc.flags, read.desc.stamp_offset, read.desc.csum_offset,
                read.desc.launch_time};
  for (uint32_t i = 0; i < n; ++i) tx_ram_[(tx_written_ + i) & (tx_ram_.size() - 1)] = data[i];
  tx_written_ += n;
  tx_open_.len += n;
  if (!last || !read.desc_end) return;
  tx_open_.descs++;
  if (!(read.desc.flags & kTxEndOfPacket)) return;
  tx_open_.fifo_bytes = record_bytes(tx_open_.len);
  tx_frames_.push_back(tx_open_);
  tx_open_ = {};
  tx_in_.store(tx_in_.value() + 1, t);
}

void ReferenceCard::finish(int64_t e, Ps t) {
  busy_ = false;
  free_at_ = e + 1 + timing_.idle;
  switch (now_.use) {
    case BusUse::kHostWrite:
      host_write(now_.op.reg, now_.op.value, e, t);
      emit(t, Block::kRegs, EventType::kRegWrite, 0, now_.op.reg, traced(now_.op.reg, now_.op.value));
      break;
    case BusUse::kHostRead:
      read_value_ = host_read(now_.op.reg, e);
      read_done_ = true;
      break;
    case BusUse::kCompletion: {
      const Read read = reads_.front();
      reads_.pop_front();
      if (read.use == BusUse::kReadTxDescs) take_tx_descriptors(read);
      if (read.use == BusUse::kReadRxDescs) take_rx_descriptors(read);
      if (read.use == BusUse::kReadStream) tx_fetched_ += read.bytes, dirty_ |= reg64(kStatusAddrLo) != 0;
      break;
    }
    case BusUse::kWriteStatus:
      std::memcpy(host(now_.addr), &now_.status, sizeof now_.status);
      emit(t, Block::kBus, EventType::kStatus, 0, now_.status.rx_produced,
           uint64_t{now_.status.tx_fetched} << 32 | now_.status.tx_done);
      moderator_.tell(kCauseReceive, static_cast<uint32_t>(rx_frames_taken_ - rx_frames_base_), e);
      moderator_.tell(kCauseSend, now_.status.tx_fetched, e);
      break;
    case BusUse::kWriteTxCpl:
      std::memcpy(host(now_.addr), &now_.tx_cpl, sizeof now_.tx_cpl);
      moderator_.tell(kCauseSend, now_.tx_cpl.done, e);
      break;
    case BusUse::kWriteRxCpl:
      std::memcpy(host(now_.addr), &now_.rx_cpl, sizeof now_.rx_cpl);
      if (now_.rx_cpl.flags & kRxEndOfPacket) moderator_.tell(kCauseReceive, moderator_.told(kCauseReceive) + 1, e);
      break;
    case BusUse::kWriteData: {
      counters_[kBusWriteClocks] += static_cast<uint64_t>(free_at_ - now_.granted);
      const uint64_t mask = rx_ram_.size() - 1;
      const uint64_t from = ring_ ? rx_frames_.front().pos + rx_frame_done_ : rx_taken_ - now_.bytes;
      for (uint32_t i = 0; i < now_.moved; ++i) host(now_.addr)[i] = rx_ram_[(from + i) & mask];
      if (!ring_) {
        rx_asked_ -= now_.bytes - now_.moved;  // what gave way is asked for again
        rx_taken_ -= now_.bytes - now_.moved;
        rx_produced_ += now_.moved;
        rx_released_.store(rx_released_.value() + now_.moved, t);
        for (; !rx_frames_.empty(); rx_frames_.pop_front(), ++rx_frames_taken_) {  // frames wholly written
          const RxFrame& first = rx_frames_.front();
          if (first.pos - sizeof(RxRecord) + record_bytes(first.len) > rx_released_.value()) break;
        }
        dirty_ |= reg64(kStatusAddrLo) != 0;
        break;
      }
      const RxFrame frame = rx_frames_.front();
      rx_buf_used_ += now_.moved;
      rx_frame_done_ += now_.moved;
      const bool frame_end = rx_frame_done_ == frame.len;
      if (frame_end || rx_buf_used_ == rx_descs_.front().len) {
        rx_cpl_.push_back({frame.stamp, static_cast<uint16_t>(rx_buf_used_),
                           static_cast<uint16_t>(frame_end ? kRxEndOfPacket : 0), frame.sequence});
        rx_descs_.pop_front();
        rx_buf_used_ = 0;
      }
      if (frame_end) {
        rx_frames_.pop_front();
        ++rx_frames_taken_;
        rx_frame_done_ = 0;
        rx_taken_ += record_bytes(frame.len);
        rx_released_.store(rx_released_.value() + record_bytes(frame.len), t);
      }
      break;
    }
    default:
      break;
  }
  emit(t, Block::kBus, EventType::kBusEnd, static_cast<uint16_t>(now_.use), now_.moved, levels());
}

void ReferenceCard::take_tx_descriptors(const Read& read) {
  tx_descs_coming_ -= read.bytes / sizeof(TxDescriptor);
  for (uint32_t i = 0; i < read.bytes && !tx_halted_; i += sizeof(TxDescriptor)) {
    TxDescriptor desc;
    std::memcpy(&desc, host(read.addr + i), sizeof desc);
    if (tx_chain_.len == 0) tx_chain_ = {0, 0, 0, 0, desc.flags, desc.stamp_offset, desc.csum_offset, desc.launch_time};
    tx_chain_.len += desc.len;
    if (desc.len == 0 || tx_chain_.len > kMaxFrameAny) return bad_record();
    if (desc.flags & kTxEndOfPacket) {
      if (!valid_tx(tx_chain_.len, tx_chain_.flags, tx_chain_.stamp_offset, tx_chain_.csum_offset)) return bad_record();
      tx_chain_ = {};
    }
    tx_descs_.push_back(desc);
  }
}

void ReferenceCard::take_rx_descriptors(const Read& read) {
  rx_descs_coming_ -= read.bytes / sizeof(RxDescriptor);
  for (uint32_t i = 0; i < read.bytes; i += sizeof(RxDescriptor)) {
    RxDescriptor desc;
    std::memcpy(&desc, host(read.addr + i), sizeof desc);
    rx_descs_.push_back(desc);
  }
}

// --- registers ----------------------------------------------------------------------------------------------------

void ReferenceCard::host_write(uint32_t r, uint32_t value, int64_t e, Ps t) {
  if (!store(r, value) || moderate(r, value, e)) return;
  LineSettings set = line_.value();
  switch (r) {
    case kTxProducer:
      if (!ring_) value &= ~(kRecordAlign - 1);
      tx_posted_ += value - static_cast<uint32_t>(tx_posted_);
      return;
    case kRxConsumer:
      rx_posted_ += value - static_cast<uint32_t>(rx_posted_);
      if (!ring_) rx_posted_ = std::min(rx_posted_, rx_produced_);
      return;
    case kControl:
      set.control = value;
      break;
    case kMaxFrame:
      set.max_frame = value;
      break;
    case kMacLo:
    case kMacHi:
      set.mac = reg64(kMacLo) & 0xFFFF'FFFF'FFFF;
      break;
    case kPhcTrim:
      set.trim = static_cast<int32_t>(value);
      break;
    case kCommand:
      if (value & kCmdReset) reset(e);
      if (!(value & (kCmdPhcSet | kCmdPhcAdd))) return;
      set.command = value;
      set.phc_value = reg64(kPhcValueLo);
      ++set.commands;
      break;
    default:
      return;
  }
  line_.store(set, t);
}

bool ReferenceCard::quiet() const {
  return reads_.empty() && tx_in_.value() == tx_done_.seen().frames && rx_waiting() == 0 && !dirty_ &&
         rx_cpl_.empty() && (!ring_ || tx_done_.seen().frames - tx_done_base_ == tx_cpl_count_) &&
         (tx_halted_ || (tx_posted_ == tx_asked_ && tx_reserved_ == tx_done_.seen().bytes));
}

void ReferenceCard::reset(int64_t e) {
  reset_refused_ = (reg(kControl) & (kCtlRxEnable | kCtlTxEnable)) != 0 || !quiet();
  if (reset_refused_) return;
  ring_ = (reg(kControl) & kCtlRingMode) != 0;
  tx_posted_ = tx_asked_ = tx_fetched_ = rx_posted_ = rx_asked_ = rx_produced_ = 0;
  tx_reserved_ = tx_done_.value().bytes;
  tx_parsed_ = tx_written_;
  tx_halted_ = false;
  tx_descs_.clear();
  rx_descs_.clear();
  tx_chain_ = tx_open_ = {};
  tx_desc_offset_ = tx_frame_asked_ = rx_buf_used_ = rx_frame_done_ = 0;
  tx_cpl_count_ = rx_cpl_count_ = 0;
  tx_cpl_descs_ = 0;
  tx_done_base_ = tx_done_.value().frames;
  rx_frames_base_ = rx_frames_taken_;
  reset_moderator(e);
  rx_sequence_ = 0;
  tx_latched_ = 0;
  tx_latch_ = 0;
}

uint32_t ReferenceCard::host_read(uint32_t r, int64_t e) const {
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
    default:
      return load(r);
  }
}

}  // namespace awing::hw
