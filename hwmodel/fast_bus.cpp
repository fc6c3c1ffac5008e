// SPDX-License-Identifier: BSD-3-Clause
// Fast engine, bus domain: from one grant to the next.
#include <algorithm>
#include <cstring>

#include "fast.h"

namespace awing::hw {

namespace {
uint8_t* host(uint64_t addr) { return reinterpret_cast<uint8_t*>(addr); }

/// Frames that stay in the list of those sent before it is worth looking which may go.
constexpr uint64_t kSentKept = 32;

/// Octets to the next multiple of `boundary` (a power of two).
uint32_t to_boundary(uint64_t addr, uint32_t boundary) {
  return boundary - static_cast<uint32_t>(addr & (boundary - 1));
}

/// Copies whole 16-octet pieces; both sides may be read and written up to the next multiple of 16.
inline void copy16(uint8_t* to, const uint8_t* from, uint32_t n) {
  if (n > 256) {
    std::memcpy(to, from, n);
    return;
  }
  for (uint32_t i = 0; i < n; i += 16) std::memcpy(to + i, from + i, 16);
}
}  // namespace

FastCard::FastCard(const CardConfig& config, Link& tx, Link& rx, Ps start)
    : Card(config, tx, rx, start), spill_(2 * config.rx_fifo) {
  free_at_ = bus_clock_.after(start);
  tx_free_edge_ = (quantum_.after(start) + 1) >> 1;
  rx_end_ = tx_free_edge_ - 1;
  set_.phc = static_cast<U128>(config.phc_start) << 64;
  tx_pos_ = tx_parsed_ = (tx.next_pos() + kRecordAlign - 1) & ~uint64_t{kRecordAlign - 1};
  rx_link_.set_evacuate([this] { spill(); });
}

FastCard::~FastCard() { rx_link_.set_evacuate(nullptr); }

void FastCard::run(Ps until, Ps last) {
  const int64_t now_edge = line_before(until + 1), last_edge = line_before(last + 1);
  for (;;) {
    if (log_ && completion_end_ != kNever && bus_clock_.at(completion_end_) <= until) {
      trace_end(std::exchange(completion_end_, kNever), BusUse::kCompletion, completion_bytes_);
    }
    if (flight_.active) {
      if (!finish_in_flight(until)) break;
      continue;
    }
    const int64_t t_host = host_ops_.empty() ? kNever : host_ops_.front().edge;
    const int64_t t_bridge = reads_head_ == reads_tail_ ? kNever : reads_[reads_tail_].ready;
    if (tx_committed_ != tx_.head()) commit(commit_edge(last_edge));
    const int64_t t_read = read_time();
    const int64_t t_report = report_time();
    const int64_t others = std::max(free_at_, std::min({t_host, t_bridge, t_read, t_report}) + 1);
    const int64_t t_write = write_time(others, now_edge);
    const int64_t g = std::max(free_at_, std::min(others, t_write + 1));
    if (g >= kNever || bus_clock_.at(g) > until) break;
    const int64_t asked[kAgents] = {t_host, t_bridge, t_read, t_write, t_report};
    int agent = last_grant_;
    do agent = (agent + 1) % kAgents;
    while (asked[agent] + 1 > g);
    last_grant_ = agent;
    switch (agent) {
      case kHost:
        grant_host(g);
        break;
      case kBridge:
        grant_bridge(g);
        break;
      case kRead:
        counters_[kRdWaitClocks] += static_cast<uint64_t>(g - t_read - 1);
        grant_read(g);
        break;
      case kWrite:
        counters_[kWrWaitClocks] += static_cast<uint64_t>(g - t_write - 1);
        grant_write(g);
        break;
      default:
        grant_report(g);
        break;
    }
  }
  commit(accessing() ? now_edge : std::max(now_edge, commit_edge(last_edge)));
  admit(now_edge);
  if (log_) hear_front(now_edge);
  if (!moderator_.idle()) show_lines(bus_clock_.before(until + 1));
  ran_until_ = until;
  announce(until, last);
}

/// Line edge up to which frames may be started: a register access may see or change what the line does, so no further
/// than that.
int64_t FastCard::commit_edge(int64_t last_edge) const {
  if (host_ops_.empty()) return last_edge;
  return std::min(last_edge, line_before(bus_clock_.at(std::max(free_at_, host_ops_.front().edge + 1))));
}

void FastCard::look_ahead(Ps last) {
  if (!accessing()) commit(commit_edge(line_before(last + 1)));
  announce(ran_until_, last);
}

/// Tells the far end up to when it knows every frame of ours: no later than the first that may still come.
void FastCard::announce(Ps until, Ps last) {
  const bool changing = accessing();
  Ps known = last + 1;
  // Frames in the FIFO start after `last`, unless a register access holds them up.
  if (tx_committed_ != tx_.head() && (changing || !host_ops_.empty()))
    known = changing ? until + 1 : quantum_.at(2 * commit_edge(line_before(last + 1)) + 2);
  // Frames that are still to be read begin after the first data phase of a completion that is not yet granted.
  const int64_t from = bus_clock_.after(until);
  int64_t data = kNever;
  if (reads_head_ != reads_tail_)
    data = std::max(from, reads_[reads_tail_].ready + 1) + timing_.lead(kBridge);
  else if (changing || !host_ops_.empty() || (!tx_halted_ && (tx_posted_ != tx_asked_ || txd_head_ != txd_tail_)))
    data = from + timing_.lead(kRead) + config_.bus.completer_latency;
  // They start behind those that wait.
  if (data != kNever && tx_committed_ == tx_.head())
    known = std::min(known, std::max(bus_clock_.at(data), quantum_.at(tx_earliest_)));
  tx_link_.set_known_until(std::max(known, until + 1));
}

uint64_t FastCard::counter(Counter c) const {
  uint64_t v = counters_[c];
  if (c == kTxFrames || c == kTxBytes) {  // frames on the line whose end lies ahead
    const int64_t now = line_before(ran_until_ + 1);
    for (uint64_t i = tx_committed_; i-- > tx_done_ && tx_[i].edge > now;)
      if (!(tx_[i].flags & kFlushed)) v -= c == kTxFrames ? 1 : tx_[i].len;
  }
  return v;
}

// --- when an agent's condition first holds ------------------------------------------------------------------------

int64_t FastCard::read_time() {
  const int64_t base = read_base_;
  t_fetch_rx_ = t_fetch_tx_ = t_data_ = kNever;
  if (ring_) {
    if (rx_posted_ > rx_asked_ && rxd_head_ - rxd_tail_ + rx_descs_coming_ <= config_.desc_cache / 2)
      t_fetch_rx_ = std::max({base, rx_posted_since_, rx_cache_since_});
    if (!tx_halted_ && tx_posted_ > tx_asked_ && txd_head_ - txd_tail_ + tx_descs_coming_ <= config_.desc_cache / 2)
      t_fetch_tx_ = std::max({base, posted_since_, tx_cache_since_});
    if (!tx_halted_ && txd_head_ != txd_tail_) t_data_ = std::max(base, tx_descs_since_);
  } else if (!tx_halted_ && tx_posted_ > tx_asked_) {
    t_data_ = std::max(base, posted_since_);
  }
  t_any_ = std::min({t_fetch_rx_, t_fetch_tx_, t_data_});
  if (t_any_ == kNever || reads_head_ - reads_tail_ >= config_.bus.splits) return kNever;
  t_fifo_ = t_data_ == kNever ? kNever : std::max(base, room_time());
  const int64_t what = std::min({t_fetch_rx_, t_fetch_tx_, std::max(t_data_, t_fifo_)});
  return what >= kNever ? kNever : std::max(split_since_, what);
}

/// First bus edge that sees room in the send FIFO for one more read.
int64_t FastCard::room_time() {
  const uint64_t need = tx_reserved_ + config_.bus.mmrbc + 32;
  if (need <= config_.tx_fifo) return 0;
  const uint64_t target = need - config_.tx_fifo;  // octets that must have left
  while (room_bytes_ < target) {
    if (room_frame_ == tx_committed_) return kNever;
    room_bytes_ += record_bytes(tx_[room_frame_].len);
    ++room_frame_;
    room_known_ = false;
  }
  if (!room_known_) {
    room_edge_ = bus_seeing(tx_[room_frame_ - 1].edge);
    room_known_ = true;
  }
  return room_edge_;
}

uint32_t FastCard::rx_host_free() const {
  const uint32_t size = reg(kRxSize);
  if (reg64(kRxBaseLo) == 0 || size == 0 || (size & (size - 1)) != 0) return 0;
  return size - static_cast<uint32_t>(std::min<uint64_t>(size, rx_asked_ - rx_posted_));
}

/// First edge at which the write engine wants the bus, if that is before `others` - 1; admits what it must for that.
int64_t FastCard::write_time(int64_t others, int64_t now_edge) {
  // A frame counts at bus edge e when its last word lies before edge e - 1; no edge from `others` on matters.
  const int64_t bound = others >= kNever ? now_edge : std::min(now_edge, line_before(bus_clock_.at(others - 2)));
  const int64_t t = ring_ ? ring_data_time(bound) : stream_data_time(bound);
  return t >= kNever ? kNever : std::max(t, write_base_);
}

int64_t FastCard::stream_data_time(int64_t bound) {
  if (rx_in_bytes_ == rx_taken_ && !admit(bound, rx_taken_ + 1)) return kNever;
  if (age_since_ < 0) {
    age_since_ = std::max(data_base_, bus_seeing(rx_.front().edge));
    enough_since_ = -1;
  }
  const int64_t t_aged = age_since_ + reg(kRxFlush);
  if (enough_since_ < 0) {
    const uint64_t enough = rx_taken_ + std::max(1u, reg(kRxMinBurst));
    uint64_t last = rx_.head();
    if (rx_in_bytes_ >= enough) {  // they are there already: which of them made it enough?
      uint64_t octets = rx_taken_ - rx_tail_off_;
      for (last = rx_.tail(); octets < enough;) octets += record_bytes(rx_[last++].len);
    } else {
      // Once it has waited long enough a burst may go and make room: frames that end later are not judged yet.
      bound = std::min(bound, line_before(bus_clock_.at(std::max<int64_t>(t_aged - 2, 0))));
      last = admit(bound, enough) ? rx_.head() : 0;
    }
    if (last != 0) enough_since_ = std::max(data_base_, bus_seeing(rx_[last - 1].edge));
  }
  t_ready_ = enough_since_ < 0 ? t_aged : std::min(t_aged, enough_since_);
  return rx_host_free() == 0 ? kNever : std::max(t_ready_, host_room_since_);
}

int64_t FastCard::ring_data_time(int64_t bound) {
  if (rxd_head_ == rxd_tail_ || rx_cpl_pending_) return kNever;
  if (rx_.empty() && !admit(bound, rx_in_bytes_ + 1)) return kNever;
  return std::max({rx_descs_since_, rx_cpl_free_since_, bus_seeing(rx_.front().edge)});
}

/// First edge at which a status record or a completion wants the bus.
int64_t FastCard::report_time() {
  if (!ring_) return dirty_ ? dirty_since_ : kNever;
  const int64_t t_rx = rx_cpl_pending_ ? rx_cpl_since_ : kNever;
  const uint64_t next = tx_done_base_ + tx_cpl_count_;
  return std::min(t_rx, next < tx_committed_ ? bus_seeing(tx_[next].edge) : kNever);
}

// --- grants -------------------------------------------------------------------------------------------------------

void FastCard::grant_host(int64_t g) {
  flight_.active = true;
  flight_.op = host_ops_.front();
  host_ops_.pop_front();
  flight_.use = flight_.op.read ? BusUse::kHostRead : BusUse::kHostWrite;
  flight_.granted = g;
  flight_.first_data = flight_.end = g + timing_.lead(kHost) + (flight_.op.read ? 1 : 0);
  flight_.bytes = 4;
  counters_[kBusHostClocks] += static_cast<uint64_t>(flight_.end + 1 + timing_.idle - g);
  trace_grant(g, flight_.use, 4);
}

void FastCard::grant_bridge(int64_t g) {
  const Read& read = reads_[reads_tail_];
  if (tx_.size() > kSentKept) forget_sent(g);
  const int64_t first = g + timing_.lead(kBridge);
  const int64_t end = first + timing_.words(read.addr, read.bytes) - 1;
  free_at_ = end + 1 + timing_.idle;
  counters_[kBusCompletionClocks] += static_cast<uint64_t>(free_at_ - g);
  trace_grant(g, BusUse::kCompletion, read.bytes);
  switch (read.use) {
    case BusUse::kReadStream:
      take_stream(read, first);
      tx_fetched_ += read.bytes;
      set_dirty(end);
      break;
    case BusUse::kReadData:
      take_segment(read, end);
      break;
    case BusUse::kReadTxDescs:
      take_tx_descriptors(read, end);
      break;
    default:
      take_rx_descriptors(read, end);
      break;
  }
  if (reads_head_ - reads_tail_ == config_.bus.splits) split_since_ = end + 1;
  ++reads_tail_;
  completion_end_ = end;
  completion_bytes_ = read.bytes;
}

void FastCard::grant_read(int64_t g) {
  trace_before_ = log_ ? levels(g) : 0;
  const uint32_t boundary = config_.bus.boundary;
  counters_[kStallSplits] += static_cast<uint64_t>(std::max<int64_t>(0, split_since_ - t_any_));
  if (t_data_ != kNever)
    counters_[kStallTxFifo] += static_cast<uint64_t>(
        std::max<int64_t>(0, std::min({t_fifo_, t_fetch_rx_, t_fetch_tx_, g}) - std::max(t_data_, split_since_)));
  Read& read = reads_[reads_head_++];
  read.frame_start = read.desc_end = false;
  if (t_fetch_rx_ <= g || t_fetch_tx_ <= g) {
    const bool rx = t_fetch_rx_ <= g;
    uint64_t& asked = rx ? rx_asked_ : tx_asked_;
    uint32_t& coming = rx ? rx_descs_coming_ : tx_descs_coming_;
    const uint32_t each = rx ? sizeof(RxDescriptor) : sizeof(TxDescriptor);
    const uint32_t size = reg(rx ? kRxSize : kTxSize);
    const auto index = static_cast<uint32_t>(asked & (size - 1));
    read.use = rx ? BusUse::kReadRxDescs : BusUse::kReadTxDescs;
    read.addr = reg64(rx ? kRxBaseLo : kTxBaseLo) + uint64_t{index} * each;
    const auto held = static_cast<uint32_t>(rx ? rxd_head_ - rxd_tail_ : txd_head_ - txd_tail_) + coming;
    auto n = static_cast<uint32_t>(std::min<uint64_t>((rx ? rx_posted_ : tx_posted_) - asked, size - index));
    n = std::min({n, config_.desc_cache - held, to_boundary(read.addr, boundary) / each});
    read.bytes = n * each;
    asked += n;
    coming += n;
  } else if (ring_) {
    const TxDescriptor& desc = tx_descs_[txd_tail_];
    read.use = BusUse::kReadData;
    read.desc = desc;
    read.addr = desc.addr + tx_desc_offset_;
    read.bytes = std::min({desc.len - tx_desc_offset_, config_.bus.mmrbc, to_boundary(read.addr, boundary)});
    read.frame_start = tx_frame_asked_ == 0;
    tx_desc_offset_ += read.bytes;
    tx_frame_asked_ += read.bytes;
    tx_reserved_ += read.bytes + (read.frame_start ? sizeof(TxRecord) : 0);
    read.desc_end = tx_desc_offset_ == desc.len;
    if (read.desc_end) {
      if (desc.flags & kTxEndOfPacket) {
        tx_reserved_ += record_bytes(tx_frame_asked_) - sizeof(TxRecord) - tx_frame_asked_;
        tx_frame_asked_ = 0;
      }
      tx_desc_offset_ = 0;
      ++txd_tail_;
      if (txd_head_ - txd_tail_ + tx_descs_coming_ == config_.desc_cache / 2) tx_cache_since_ = g + 1;
    }
  } else {
    const uint32_t size = reg(kTxSize);
    const auto offset = static_cast<uint32_t>(tx_asked_ & (size - 1));
    read.use = BusUse::kReadStream;
    read.addr = reg64(kTxBaseLo) + offset;
    read.bytes = static_cast<uint32_t>(std::min<uint64_t>(tx_posted_ - tx_asked_, config_.bus.mmrbc));
    read.bytes = std::min({read.bytes, size - offset, to_boundary(read.addr, boundary)});
    tx_asked_ += read.bytes;
    tx_reserved_ += read.bytes;
  }
  read.ready = g + timing_.lead(kRead) + 1 + config_.bus.completer_latency;
  read_base_ = g + 1;
  free_at_ = g + timing_.lead(kRead) + 1 + timing_.idle;
  counters_[kBusRequestClocks] += static_cast<uint64_t>(free_at_ - g);
  if (log_)
    emit(bus_clock_.at(g), Block::kBus, EventType::kBusGrant, static_cast<uint16_t>(read.use), read.bytes,
         trace_before_);
}

void FastCard::start_write(BusUse use, uint64_t addr, uint32_t bytes, int64_t g) {
  flight_.active = true;
  flight_.use = use;
  flight_.addr = addr;
  flight_.bytes = bytes;
  flight_.granted = g;
  flight_.first_data = g + timing_.lead(kWrite);
  flight_.end = flight_.first_data + timing_.words(addr, bytes) - 1;
  if (use != BusUse::kWriteData)
    counters_[kBusStatusClocks] += static_cast<uint64_t>(flight_.end + 1 + timing_.idle - g);
}

void FastCard::grant_report(int64_t g) {
  trace_before_ = log_ ? levels(g) : 0;
  if (!ring_) {
    dirty_ = false;
    see_tx_done(g);
    flight_.status = {static_cast<uint32_t>(rx_produced_), static_cast<uint32_t>(tx_fetched_),
                      static_cast<uint32_t>(tx_done_ - tx_done_base_), 0};
    start_write(BusUse::kWriteStatus, reg64(kStatusAddrLo), sizeof(StatusRecord), g);
  } else if (rx_cpl_pending_) {
    rx_cpl_pending_ = false;
    rx_cpl_free_since_ = g + 1;
    flight_.rx_cpl = rx_cpl_;
    const uint32_t size = reg(kRxSize);
    if (!(rx_cpl_count_ & size)) flight_.rx_cpl.flags |= kRxPhase;
    start_write(BusUse::kWriteRxCpl, reg64(kRxCplBaseLo) + (rx_cpl_count_++ & (size - 1)) * sizeof(RxCompletion),
                sizeof(RxCompletion), g);
  } else {
    see_tx_done(g);
    const uint64_t index = tx_done_base_ + tx_cpl_count_;
    const bool flushed = (tx_[index].flags & kFlushed) != 0;
    const uint32_t size = reg(kTxSize);
    tx_cpl_descs_ += tx_[index].descs;
    flight_.tx_cpl = {flushed ? 0 : tx_[index].stamp, tx_cpl_descs_,
                      (flushed ? 2u : 0u) | (tx_cpl_count_ & size ? 0u : 1u)};
    start_write(BusUse::kWriteTxCpl, reg64(kTxCplBaseLo) + (tx_cpl_count_++ & (size - 1)) * sizeof(TxCompletion),
                sizeof(TxCompletion), g);
  }
  trace_write(g);
}

void FastCard::grant_write(int64_t g) {
  trace_before_ = log_ ? levels(g) : 0;
  const uint32_t boundary = config_.bus.boundary;
  // What has ended by now is judged by the room there was before this burst makes more.
  const int64_t seen = seen_by_bus(g);
  admit(seen);
  if (ring_) {
    const RxDescriptor& desc = rx_descs_[rxd_tail_];
    const uint64_t addr = desc.addr + rx_buf_used_;
    start_write(BusUse::kWriteData, addr,
                std::min({rx_.front().len - rx_tail_off_, desc.len - rx_buf_used_, to_boundary(addr, boundary)}), g);
  } else {
    counters_[kStallRxHost] += static_cast<uint64_t>(std::max<int64_t>(0, host_room_since_ - t_ready_));
    uint64_t waiting = rx_in_bytes_ - rx_taken_;
    for (uint64_t i = rx_.head(); i-- > rx_.tail() && rx_[i].edge > seen;) waiting -= record_bytes(rx_[i].len);
    const uint32_t size = reg(kRxSize);
    const auto offset = static_cast<uint32_t>(rx_asked_ & (size - 1));
    const uint64_t addr = reg64(kRxBaseLo) + offset;
    const auto bytes = static_cast<uint32_t>(
        std::min<uint64_t>({waiting, rx_host_free(), size - offset, to_boundary(addr, boundary)}));
    rx_asked_ += bytes;
    rx_taken_ += bytes;
    start_write(BusUse::kWriteData, addr, bytes, g);
  }
  trace_write(g);
}

void FastCard::trace_write(int64_t g) {
  if (log_)
    emit(bus_clock_.at(g), Block::kBus, EventType::kBusGrant, static_cast<uint16_t>(flight_.use), flight_.bytes,
         trace_before_);
}

// --- ends ---------------------------------------------------------------------------------------------------------

/// Carries out the end of the transaction on the bus if that is not after `until`.
bool FastCard::finish_in_flight(Ps until) {
  int64_t end = flight_.end;
  uint32_t moved = flight_.bytes;
  if (flight_.use == BusUse::kWriteData) {
    // The latency timer: from this edge on the burst gives way at a 128-octet boundary if the bridge waits.
    const int64_t t_host = host_ops_.empty() ? kNever : host_ops_.front().edge;
    const int64_t t_bridge = reads_head_ == reads_tail_ ? kNever : reads_[reads_tail_].ready;
    const int64_t yield = std::max(flight_.granted + config_.bus.latency_timer, std::min(t_host, t_bridge) + 1);
    if (yield < end) {
      const uint32_t skew = static_cast<uint32_t>(flight_.addr & (timing_.width - 1));
      const int64_t word = std::max<int64_t>(0, yield - flight_.first_data);
      // Octets moved when word `word` is done, then up to the next boundary of the bus address.
      const uint64_t at = flight_.addr - skew + static_cast<uint64_t>(word + 1) * timing_.width;
      const uint64_t stop = (at + 127) & ~uint64_t{127};
      if (stop < flight_.addr + flight_.bytes) {
        moved = static_cast<uint32_t>(stop - flight_.addr);
        end = flight_.first_data + timing_.words(flight_.addr, moved) - 1;
      }
    }
  }
  if (bus_clock_.at(end) > until) return false;
  show_lines(end);
  flight_.active = false;
  free_at_ = end + 1 + timing_.idle;
  switch (flight_.use) {
    case BusUse::kHostWrite:
      host_write(flight_.op.reg, flight_.op.value, end);
      emit(bus_clock_.at(end), Block::kRegs, EventType::kRegWrite, 0, flight_.op.reg,
           traced(flight_.op.reg, flight_.op.value));
      break;
    case BusUse::kHostRead:
      read_value_ = host_read(flight_.op.reg, end);
      read_done_ = true;
      break;
    case BusUse::kWriteStatus:
      std::memcpy(host(flight_.addr), &flight_.status, sizeof flight_.status);
      emit(bus_clock_.at(end), Block::kBus, EventType::kStatus, 0, flight_.status.rx_produced,
           uint64_t{flight_.status.tx_fetched} << 32 | flight_.status.tx_done);
      moderator_.tell(kCauseReceive, sequence(rx_.tail()), end);
      moderator_.tell(kCauseSend, flight_.status.tx_fetched, end);
      break;
    case BusUse::kWriteTxCpl:
      std::memcpy(host(flight_.addr), &flight_.tx_cpl, sizeof flight_.tx_cpl);
      moderator_.tell(kCauseSend, flight_.tx_cpl.done, end);
      break;
    case BusUse::kWriteRxCpl:
      std::memcpy(host(flight_.addr), &flight_.rx_cpl, sizeof flight_.rx_cpl);
      if (flight_.rx_cpl.flags & kRxEndOfPacket)
        moderator_.tell(kCauseReceive, moderator_.told(kCauseReceive) + 1, end);
      break;
    default:
      finish_data(end, moved);
      break;
  }
  trace_end(end, flight_.use, moved);
  return true;
}

void FastCard::finish_data(int64_t end, uint32_t moved) {
  counters_[kBusWriteClocks] += static_cast<uint64_t>(free_at_ - flight_.granted);
  write_base_ = end + 1;
  rx_released_before_ = rx_released_;
  rx_release_edge_ = line_seeing(bus_clock_.at(end));
  if (!ring_) {
    data_base_ = end + 1;
    age_since_ = -1;
    rx_asked_ -= flight_.bytes - moved;
    rx_taken_ -= flight_.bytes - moved;
    rx_produced_ += moved;
    rx_released_ += moved;
    copy_stream(host(flight_.addr), moved);
    set_dirty(end);
    return;
  }
  const RxFrame& frame = rx_.front();
  std::memcpy(host(flight_.addr), frame.data + rx_tail_off_, moved);
  rx_buf_used_ += moved;
  rx_tail_off_ += moved;
  const bool frame_end = rx_tail_off_ == frame.len;
  if (frame_end || rx_buf_used_ == rx_descs_[rxd_tail_].len) {
    rx_cpl_ = {frame.stamp, static_cast<uint16_t>(rx_buf_used_), static_cast<uint16_t>(frame_end ? kRxEndOfPacket : 0),
               sequence(rx_.tail())};
    rx_cpl_pending_ = true;
    rx_cpl_since_ = end + 1;
    ++rxd_tail_;
    if (rxd_head_ - rxd_tail_ + rx_descs_coming_ == config_.desc_cache / 2) rx_cache_since_ = end + 1;
    rx_buf_used_ = 0;
  }
  if (frame_end) {
    rx_tail_off_ = 0;
    rx_taken_ += record_bytes(frame.len);
    rx_released_ += record_bytes(frame.len);
    free_tail();
  }
}

/// Writes the next n octets of the receive FIFO, records with their headers, to host memory.
void FastCard::copy_stream(uint8_t* to, uint32_t n) {
  while (n > 0) {
    const RxFrame& frame = rx_.front();
    const uint32_t size = record_bytes(frame.len);
    const uint8_t* data = frame.data;
    const uint32_t piece = std::min(n, size - rx_tail_off_);  // multiples of 16, so a header is never cut
    uint8_t* at = to;
    uint32_t from = rx_tail_off_, left = piece;
    if (from == 0) {
      const RxRecord head{frame.stamp, static_cast<uint16_t>(frame.len), 0, sequence(rx_.tail())};
      std::memcpy(at, &head, sizeof head);
      at += sizeof head;
      from = sizeof head;
      left -= static_cast<uint32_t>(sizeof head);
    }
    copy16(at, data + from - sizeof(RxRecord), left);
    to += piece;
    n -= piece;
    rx_tail_off_ += piece;
    if (rx_tail_off_ == size) {
      rx_tail_off_ = 0;
      free_tail();
    }
  }
}

/// The send FIFO lies on the link. Room runs out only when frames wait long in the far receive FIFO.
void FastCard::make_room(uint32_t bytes) {
  if (tx_link_.room(tx_pos_) >= bytes) [[likely]]
    return;
  const uint64_t open = !ring_ ? tx_parsed_ : open_len_ != 0 ? open_pos_ - sizeof(TxRecord) : tx_pos_;
  tx_link_.evacuate(tx_committed_ != tx_.head() ? tx_[tx_committed_].pos - sizeof(TxRecord) : open);
}

// --- read completions ---------------------------------------------------------------------------------------------

void FastCard::take_stream(const Read& read, int64_t first_data) {
  if (tx_halted_) return;
  make_room(read.bytes);
  std::memcpy(tx_link_.bytes(tx_pos_), host(read.addr), read.bytes);
  const uint64_t from = tx_pos_, skew = read.addr & (timing_.width - 1);
  const int shift = std::countr_zero(timing_.width);
  tx_pos_ += read.bytes;
  // When the line cannot start these frames before the whole burst is there, all are as good as seen at its end.
  const int64_t end_seen = line_seeing(bus_clock_.at(first_data + timing_.words(read.addr, read.bytes) - 1));
  const bool line_bound = 2 * end_seen <= tx_earliest_;
  while (tx_pos_ - tx_parsed_ >= sizeof(TxRecord)) {
    const TxRecord& head = *reinterpret_cast<const TxRecord*>(tx_link_.bytes(tx_parsed_));
    if (!valid_tx(head.len, head.flags, head.stamp_offset, head.csum_offset)) [[unlikely]] {
      tx_halted_ = true;
      counters_[kTxBadRecord]++;
      return;
    }
    const uint32_t size = record_bytes(head.len);
    if (tx_pos_ - tx_parsed_ < size) return;
    const auto word = static_cast<int64_t>((tx_parsed_ + size - from + skew - 1) >> shift);
    tx_.push({tx_parsed_ + sizeof(TxRecord), line_bound ? end_seen : line_seeing(bus_clock_.at(first_data + word)),
              head.len, static_cast<uint16_t>(head.flags & 0x7FFF), 0, 0});
    tx_parsed_ += size;
  }
}

void FastCard::take_segment(const Read& read, int64_t end) {
  make_room(read.bytes + 2 * sizeof(TxRecord));
  if (read.frame_start) {
    const TxRecord head{0, read.desc.flags, read.desc.stamp_offset, read.desc.csum_offset, read.desc.launch_time};
    std::memcpy(tx_link_.bytes(tx_pos_), &head, sizeof head);
    open_pos_ = tx_pos_ + sizeof head;
    tx_pos_ = open_pos_;
    open_len_ = 0;
    open_descs_ = 0;
    open_flags_ = read.desc.flags;
  }
  std::memcpy(tx_link_.bytes(tx_pos_), host(read.addr), read.bytes);
  tx_pos_ += read.bytes;
  open_len_ += read.bytes;
  if (!read.desc_end) return;
  ++open_descs_;
  if (!(read.desc.flags & kTxEndOfPacket)) return;
  tx_.push({open_pos_, line_seeing(bus_clock_.at(end)), open_len_, static_cast<uint16_t>(open_flags_ & 0x7FFF),
            open_descs_, 0});
  open_len_ = 0;
  tx_pos_ = (tx_pos_ + kRecordAlign - 1) & ~uint64_t{kRecordAlign - 1};
}

void FastCard::take_tx_descriptors(const Read& read, int64_t end) {
  tx_descs_coming_ -= static_cast<uint32_t>(read.bytes / sizeof(TxDescriptor));
  for (uint32_t i = 0; i < read.bytes && !tx_halted_; i += sizeof(TxDescriptor)) {
    TxDescriptor desc;
    std::memcpy(&desc, host(read.addr + i), sizeof desc);
    if (chain_len_ == 0) chain_first_ = desc;
    chain_len_ += desc.len;
    const bool last = (desc.flags & kTxEndOfPacket) != 0;
    if (desc.len == 0 || chain_len_ > kMaxFrameAny ||
        (last && !valid_tx(chain_len_, chain_first_.flags, chain_first_.stamp_offset, chain_first_.csum_offset))) {
      tx_halted_ = true;
      counters_[kTxBadRecord]++;
      read_base_ = end + 1;
      return;
    }
    if (last) chain_len_ = 0;
    if (txd_head_ == txd_tail_) tx_descs_since_ = end + 1;
    tx_descs_[txd_head_++] = desc;
  }
}

void FastCard::take_rx_descriptors(const Read& read, int64_t end) {
  rx_descs_coming_ -= static_cast<uint32_t>(read.bytes / sizeof(RxDescriptor));
  for (uint32_t i = 0; i < read.bytes; i += sizeof(RxDescriptor)) {
    if (rxd_head_ == rxd_tail_) rx_descs_since_ = end + 1;
    std::memcpy(&rx_descs_[rxd_head_++], host(read.addr + i), sizeof(RxDescriptor));
  }
}

// --- registers ----------------------------------------------------------------------------------------------------

void FastCard::host_write(uint32_t r, uint32_t value, int64_t e) {
  if (!store(r, value) || moderate(r, value, e)) return;
  const LineSettings& now = next_edge_ != kNever ? next_ : set_;
  LineSettings fresh = now;
  bool phc_set = false, phc_add = false;
  switch (r) {
    case kTxProducer:
      if (!ring_) value &= ~(kRecordAlign - 1);
      if (tx_posted_ == tx_asked_) posted_since_ = e + 1;
      tx_posted_ += value - static_cast<uint32_t>(tx_posted_);
      return;
    case kRxConsumer: {
      const bool full = !ring_ && rx_host_free() == 0;
      if (rx_posted_ == rx_asked_) rx_posted_since_ = e + 1;
      rx_posted_ += value - static_cast<uint32_t>(rx_posted_);
      if (!ring_) rx_posted_ = std::min(rx_posted_, rx_produced_);
      if (full && rx_host_free() > 0) host_room_since_ = e + 1;
      return;
    }
    case kControl:
      fresh.control = value;
      break;
    case kMaxFrame:
      fresh.max_frame = value;
      break;
    case kMacLo:
    case kMacHi:
      fresh.mac = reg64(kMacLo) & 0xFFFF'FFFF'FFFF;
      break;
    case kPhcTrim:
      fresh.inc = phc::increment(static_cast<int32_t>(value));
      break;
    case kCommand:
      if (value & kCmdReset) reset(e);
      phc_set = (value & kCmdPhcSet) != 0;
      phc_add = (value & kCmdPhcAdd) != 0;
      if (!phc_set && !phc_add) return;
      break;
    default:
      if (!ring_ && (r == kRxBaseLo || r == kRxBaseHi || r == kRxSize)) host_room_since_ = e + 1;
      return;
  }
  change_line(fresh, e, phc_set, reg64(kPhcValueLo), phc_add);
}

/// As the bus sees it at edge e, before the edge.
bool FastCard::quiet(int64_t e) {
  see_tx_done(e);
  const int64_t seen = seen_by_bus(e);
  admit(seen);
  const bool rx_waiting =
      ring_ ? !rx_.empty() && rx_.front().edge <= seen : rx_in_bytes_ != rx_taken_ && rx_.front().edge <= seen;
  return reads_head_ == reads_tail_ && tx_.head() == tx_done_ && !rx_waiting && !dirty_ && !rx_cpl_pending_ &&
         (!ring_ || tx_done_ - tx_done_base_ == tx_cpl_count_) &&
         (tx_halted_ || (tx_posted_ == tx_asked_ && tx_reserved_ == tx_done_bytes_));
}

void FastCard::reset(int64_t e) {
  reset_refused_ = (reg(kControl) & (kCtlRxEnable | kCtlTxEnable)) != 0 || !quiet(e);
  if (reset_refused_) return;
  ring_ = (reg(kControl) & kCtlRingMode) != 0;
  tx_posted_ = tx_asked_ = tx_fetched_ = rx_posted_ = rx_asked_ = rx_produced_ = 0;
  tx_reserved_ = tx_done_bytes_;
  tx_pos_ = (tx_pos_ + kRecordAlign - 1) & ~uint64_t{kRecordAlign - 1};
  tx_parsed_ = tx_pos_;
  tx_halted_ = false;
  txd_tail_ = txd_head_;
  rxd_tail_ = rxd_head_;
  chain_len_ = open_len_ = 0;
  open_descs_ = 0;
  tx_desc_offset_ = tx_frame_asked_ = rx_buf_used_ = 0;
  tx_cpl_count_ = rx_cpl_count_ = 0;
  tx_cpl_descs_ = 0;
  tx_done_base_ = tx_done_;
  rx_sequence_base_ = rx_.head();
  reset_moderator(e);
  tx_latched_ = 0;
  tx_latch_ = 0;
  host_room_since_ = rx_cache_since_ = tx_cache_since_ = e + 1;
}

uint32_t FastCard::host_read(uint32_t r, int64_t e) {
  const int64_t before = line_before(bus_clock_.at(e));
  commit(before);
  admit(before);
  switch (r) {
    case kStatus:
      return status(quiet(e), tx_halted_);
    case kPhcLo:
      return static_cast<uint32_t>(settings(before).stamp(2 * before));
    case kPhcHi:
      return static_cast<uint32_t>(settings(before).stamp(2 * before) >> 32);
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
      break;
  }
  for (const Counter c : {kTxFrames, kTxBytes}) {
    if ((r & ~4u) != kCounterBase + 8 * c) continue;
    const Ps ran = std::exchange(ran_until_, bus_clock_.at(e) - 1);
    const uint64_t v = counter(c);
    ran_until_ = ran;
    return static_cast<uint32_t>(r % 8 == 0 ? v : v >> 32);
  }
  return load(r);
}

// --- what the trace shows -----------------------------------------------------------------------------------------

void FastCard::see_tx_done(int64_t e) {
  const int64_t seen = seen_by_bus(e);
  commit(seen);
  for (; tx_done_ != tx_committed_ && tx_[tx_done_].edge <= seen; ++tx_done_)
    tx_done_bytes_ += record_bytes(tx_[tx_done_].len);
}

void FastCard::forget_sent(int64_t e) {
  see_tx_done(e);
  const uint64_t measured = room_frame_ - (room_frame_ != 0);
  tx_.pop_to(std::min({tx_done_, measured, ring_ ? tx_done_base_ + tx_cpl_count_ : tx_done_}));
}

/// FIFO levels as the bus sees them at edge e.
uint64_t FastCard::levels(int64_t e) {
  see_tx_done(e);
  const int64_t seen = seen_by_bus(e);
  admit(seen);
  for (; trace_rx_ != rx_.head() && rx_[trace_rx_].edge <= seen; ++trace_rx_)
    trace_rx_bytes_ += record_bytes(rx_[trace_rx_].len);
  return (tx_reserved_ - tx_done_bytes_) << 32 | (trace_rx_bytes_ - rx_released_);
}

void FastCard::trace_grant(int64_t g, BusUse use, uint32_t bytes) {
  if (log_) emit(bus_clock_.at(g), Block::kBus, EventType::kBusGrant, static_cast<uint16_t>(use), bytes, levels(g));
}

void FastCard::trace_end(int64_t e, BusUse use, uint32_t bytes) {
  if (log_) emit(bus_clock_.at(e), Block::kBus, EventType::kBusEnd, static_cast<uint16_t>(use), bytes, levels(e));
}

}  // namespace awing::hw
