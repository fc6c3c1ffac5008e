// SPDX-License-Identifier: BSD-3-Clause
// Fast engine of the oc48 card, bus domain: from one transaction to the next.
#include <algorithm>
#include <cstring>

#include "fast_oc48.h"
#include "mapos/encoder.h"

namespace awing::hw {

namespace {
uint8_t* host(uint64_t addr) { return reinterpret_cast<uint8_t*>(addr); }

/// Frames that stay in the list of those sent before it is worth looking which may go.
constexpr uint64_t kSentKept = 32;
}  // namespace

FastOc48::FastOc48(const CardConfig& config, Link& tx, Link& rx, Ps start)
    : Oc48Card(config, tx, rx, start), rx_clock_(sonet::quantum_clock(rx.line_ppm())), spill_(2 * config.rx_fifo) {
  free_at_ = bus_clock_.after(start);
  first_tx_edge_ = tx_free_edge_ = (quantum_.after(start) + 3) >> 2;
  set_rx_clock();
  tx_sonet_ = std::max<int64_t>(0, (first_tx_edge_ + sonet::kFrameEdges - 1) / sonet::kFrameEdges - 1);
  tx_sonet_at_ = tx_time((tx_sonet_ + 1) * sonet::kFrameEdges);
  set_.line = first_settings();
  set_.phc = static_cast<U128>(config.phc_start) << 64;
  tx_pos_ = tx.next_pos();
  rx_link_.set_evacuate([this] { spill(); });
}

FastOc48::~FastOc48() { rx_link_.set_evacuate(nullptr); }

void FastOc48::run(Ps until, Ps last) {
  const int64_t now_edge = tx_before(until + 1), last_edge = tx_before(last + 1);
  for (;;) {
    if (flight_.active) {
      if (!finish_in_flight(until)) break;
      continue;
    }
    commit(commit_edge(last_edge));
    const int64_t t_host = host_ops_.empty() ? kNever : host_ops_.front().edge;
    const int64_t t_read = read_time(), t_report = report_time();
    const int64_t others = std::max(free_at_, std::min({t_host, t_read, t_report}) + 1);
    const int64_t t_write = write_time(others, until);
    const int64_t g = std::max(free_at_, std::min(others, t_write + 1));
    if (g >= kNever || bus_clock_.at(g) > until) break;
    const int64_t asked[kAgents] = {t_host, kNever, t_read, t_write, t_report};
    int agent = last_grant_;
    do agent = (agent + 1) % kAgents;
    while (asked[agent] + 1 > g);
    last_grant_ = agent;
    grant(agent, g, g - asked[agent] - 1);
  }
  commit(accessing() ? now_edge : std::max(now_edge, commit_edge(last_edge)));
  admit(until + 1);
  if (log_) hear_front(until + 1);
  if (!moderator_.idle()) show_lines(bus_clock_.before(until + 1));
  ran_until_ = until;
  announce(until, last);
}

/// Line edge up to which frames may be started: a register access may see or change what the line does, so no further
/// than that.
int64_t FastOc48::commit_edge(int64_t last_edge) const {
  if (host_ops_.empty()) return last_edge;
  return std::min(last_edge, tx_before(bus_clock_.at(std::max(free_at_, host_ops_.front().edge + 1))));
}

void FastOc48::look_ahead(Ps last) {
  if (!accessing()) commit(commit_edge(tx_before(last + 1)));
  announce(ran_until_, last);
}

/// Tells the far end up to when it knows every frame of ours: no later than the first that may still come.
void FastOc48::announce(Ps until, Ps last) {
  const bool changing = accessing();
  Ps known = last + 1;
  // Frames in the FIFO start after `last`, unless a register access holds them up.
  if (tx_committed_ != tx_.head() && (changing || !host_ops_.empty()))
    known = changing ? until + 1 : tx_time(commit_edge(tx_before(last + 1)) + 1);
  // Frames that are still to be read begin after the end of the read that brings their last octets, and behind those
  // that wait.
  // (A read of descriptors may yet be cut short, and data be read before it would have ended.)
  const bool reading = flight_.active && flight_.use == BusUse::kReadData && !flight_.retry;
  const bool more = changing || !host_ops_.empty() || read_again_ ||
                    (!tx_halted_ && (tx_posted_ != tx_fetched_ || !tx_descs_.empty()));
  if ((reading || more) && tx_committed_ == tx_.head()) {
    const int64_t end = reading ? flight_.end : bus_clock_.after(until) + pci_.lead(true);
    known = std::min(known, std::max(bus_clock_.at(end), tx_time(sonet::edge_of(tx_earliest_))));
  }
  // And no SONET frame is told of before it ends.
  tx_link_.set_known_until(std::max(std::min(known, tx_sonet_at_), until + 1));
}

uint64_t FastOc48::counter(Counter c) const {
  uint64_t v = counters_[c];
  if (c == kTxFrames || c == kTxBytes) {  // frames on the line whose end lies ahead
    const int64_t now = tx_before(ran_until_ + 1);
    for (uint64_t i = tx_committed_; i-- > tx_done_ && tx_[i].edge > now;)
      if (!(tx_[i].flags & kFlushed)) v -= c == kTxFrames ? 1 : tx_[i].len;
  }
  return v;
}

// --- when an agent's condition first holds ------------------------------------------------------------------------

int64_t FastOc48::read_time() {
  t_fetch_rx_ = t_fetch_tx_ = t_data_ = t_fifo_ = kNever;
  if (read_again_) return read_again_at_;
  if (rx_posted_ > rx_fetched_ && rx_descs_.size() <= config_.desc_cache / 2)
    t_fetch_rx_ = std::max({read_base_, rx_posted_since_, rx_cache_since_});
  if (!tx_halted_ && tx_posted_ > tx_fetched_ && tx_descs_.size() <= config_.desc_cache / 2)
    t_fetch_tx_ = std::max(read_base_, tx_posted_since_);
  if (!tx_halted_ && !tx_descs_.empty()) {
    t_data_ = read_base_;
    t_fifo_ = std::max(read_base_, room_time());
  }
  return std::min({t_fetch_rx_, t_fetch_tx_, t_fifo_});
}

/// First bus edge that sees room in the send FIFO for one more read.
int64_t FastOc48::room_time() {
  const uint64_t need = tx_claimed_ + config_.bus.burst + 32;
  if (need <= config_.tx_fifo) return 0;
  const uint64_t target = need - config_.tx_fifo;  // octets that must have left
  while (room_bytes_ < target) {
    if (room_frame_ == tx_committed_) return kNever;
    room_bytes_ += record_bytes(tx_[room_frame_++].len);
  }
  return room_frame_ == 0 ? 0 : bus_seeing(tx_time(tx_[room_frame_ - 1].edge));
}

/// First edge at which the write engine wants the bus, if that is before `others` - 1; admits what it must for that.
int64_t FastOc48::write_time(int64_t others, Ps until) {
  if (rx_descs_.empty() || rx_cpl_waits_) return kNever;
  if (rx_.empty()) {
    // A frame counts at bus edge e when its last word lies before edge e - 1; no edge from `others` on matters.
    admit(others >= kNever ? until + 1 : std::min(until + 1, bus_clock_.at(std::max<int64_t>(others - 2, 0))), true);
    if (rx_.empty()) return kNever;
  }
  return std::max({write_base_, rx_descs_since_, rx_cpl_free_since_, bus_seeing(rx_.front().at)});
}

/// First edge at which a completion wants the bus.
int64_t FastOc48::report_time() {
  const int64_t t_rx = rx_cpl_waits_ ? rx_cpl_since_ : kNever;
  const uint64_t next = tx_done_base_ + tx_cpl_count_;
  return std::min(t_rx, next < tx_committed_ ? bus_seeing(tx_time(tx_[next].edge)) : kNever);
}

// --- grants -------------------------------------------------------------------------------------------------------

void FastOc48::grant(int agent, int64_t g, int64_t wait) {
  const uint64_t level = log_ ? levels(g) : 0;
  flight_ = InFlight{};
  flight_.active = true;
  flight_.agent = static_cast<Agent>(agent);
  flight_.granted = g;
  flight_.first_data = g + pci_.lead(agent == kRead);
  switch (agent) {
    case kHost:
      flight_.op = host_ops_.front();
      host_ops_.pop_front();
      flight_.use = flight_.op.read ? BusUse::kHostRead : BusUse::kHostWrite;
      flight_.bytes = 4;
      flight_.first_data = g + pci_.lead_host(flight_.op.read);
      break;
    case kRead:
      counters_[kRdWaitClocks] += static_cast<uint64_t>(wait);
      grant_read(g);
      break;
    case kWrite:
      counters_[kWrWaitClocks] += static_cast<uint64_t>(wait);
      grant_write(g);
      break;
    default:
      grant_report(g);
      break;
  }
  const bool one = agent == kHost || flight_.retry;
  flight_.end = flight_.first_data + (one ? 0 : pci_.span(pci_.words(flight_.addr, flight_.bytes)));
  if (log_)
    emit(bus_clock_.at(g), Block::kBus, EventType::kBusGrant, static_cast<uint16_t>(flight_.use), flight_.bytes, level);
}

void FastOc48::choose_read(int64_t g) {
  const bool rx = t_fetch_rx_ <= g;
  if (rx || t_fetch_tx_ <= g) {
    const uint64_t fetched = rx ? rx_fetched_ : tx_fetched_;
    const uint32_t each = rx ? sizeof(RxDescriptor) : sizeof(TxDescriptor);
    const uint32_t size = reg(rx ? kRxSize : kTxSize);
    const auto index = static_cast<uint32_t>(fetched & (size - 1));
    read_use_ = rx ? BusUse::kReadRxDescs : BusUse::kReadTxDescs;
    read_addr_ = reg64(rx ? kRxBaseLo : kTxBaseLo) + uint64_t{index} * each;
    const auto held = static_cast<uint32_t>(rx ? rx_descs_.size() : tx_descs_.size());
    const uint32_t boundary = config_.bus.boundary;
    auto n = static_cast<uint32_t>(std::min<uint64_t>((rx ? rx_posted_ : tx_posted_) - fetched, size - index));
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

void FastOc48::grant_read(int64_t g) {
  if (!read_again_) {
    if (t_data_ != kNever)
      counters_[kStallTxFifo] +=
          static_cast<uint64_t>(std::max<int64_t>(0, std::min({t_fifo_, t_fetch_rx_, t_fetch_tx_, g}) - t_data_));
    choose_read(g);
    read_ready_ = g + config_.bus.retry;
  }
  flight_.use = read_use_;
  flight_.addr = read_addr_;
  flight_.bytes = read_bytes_;
  flight_.retry = read_again_ = g < read_ready_;
  if (flight_.retry) flight_.first_data = g + pci_.lead_retry();
}

void FastOc48::grant_write(int64_t) {
  const RxFrame& frame = rx_.front();
  const RxDescriptor& desc = rx_descs_.front();
  const int64_t waits = std::max(write_base_, bus_seeing(frame.at));
  counters_[kStallRxHost] += static_cast<uint64_t>(std::max<int64_t>(0, rx_descs_since_ - waits));
  flight_.use = BusUse::kWriteData;
  flight_.addr = desc.addr + rx_buf_used_;
  flight_.bytes =
      write_octets(flight_.addr, std::min(frame.len - rx_frame_done_, desc.len - rx_buf_used_), flight_.mwi);
}

void FastOc48::grant_report(int64_t g) {
  if (rx_cpl_waits_) {
    rx_cpl_waits_ = false;
    rx_cpl_free_since_ = g + 1;
    flight_.use = BusUse::kWriteRxCpl;
    flight_.rx_cpl = rx_cpl_;
    const uint32_t size = reg(kRxSize);
    if (!(rx_cpl_count_ & size)) flight_.rx_cpl.flags |= kRxPhase;
    flight_.addr = reg64(kRxCplBaseLo) + (rx_cpl_count_++ & (size - 1)) * sizeof(RxCompletion);
    flight_.bytes = sizeof(RxCompletion);
    return;
  }
  see_tx_done(g);
  const TxFrame& frame = tx_[tx_done_base_ + tx_cpl_count_];
  const uint32_t size = reg(kTxSize);
  tx_cpl_descs_ += frame.descs;
  flight_.use = BusUse::kWriteTxCpl;
  flight_.tx_cpl = {frame.stamp, tx_cpl_descs_, (frame.flags & kFlushed ? 2u : 0u) | (tx_cpl_count_ & size ? 0u : 1u)};
  flight_.addr = reg64(kTxCplBaseLo) + (tx_cpl_count_++ & (size - 1)) * sizeof(TxCompletion);
  flight_.bytes = sizeof(TxCompletion);
  if (tx_.size() > kSentKept) forget_sent();
}

// --- ends ---------------------------------------------------------------------------------------------------------

/// Octets that the transaction on the bus moves, and the edge of its last data phase: fewer when the latency timer has
/// run out and the bridge wants the bus.
uint32_t FastOc48::yields(int64_t& end) const {
  end = flight_.end;
  const uint32_t all = flight_.retry ? 0 : flight_.bytes;
  if ((flight_.agent != kRead && flight_.agent != kWrite) || flight_.retry || host_ops_.empty()) return all;
  const int64_t from = std::max(flight_.granted + config_.bus.latency_timer, host_ops_.front().edge + 1);
  if (from >= end) return all;
  const int64_t step = 1 + pci_.word_wait;
  int64_t word = std::max<int64_t>(0, (from - flight_.first_data + step - 1) / step);
  if (flight_.mwi) {
    const int64_t line = config_.bus.cache_line / pci_.width;
    word = (word / line + 1) * line - 1;
  }
  const int64_t last = flight_.first_data + word * step;
  if (last >= end) return all;
  end = last;
  return static_cast<uint32_t>((word + 1) * pci_.width - static_cast<int64_t>(flight_.addr & (pci_.width - 1)));
}

/// Carries out the end of the transaction on the bus if that is not after `until`.
bool FastOc48::finish_in_flight(Ps until) {
  int64_t end = 0;
  const uint32_t moved = yields(end);
  if (bus_clock_.at(end) > until) return false;
  show_lines(end);
  flight_.active = false;
  free_at_ = end + 1 + pci_.idle;
  const auto clocks = static_cast<uint64_t>(free_at_ - flight_.granted);
  switch (flight_.agent) {
    case kHost:
      counters_[kBusHostClocks] += clocks;
      if (flight_.op.read) {
        read_value_ = host_read(flight_.op.reg, end);
        read_done_ = true;
      } else {
        host_write(flight_.op.reg, flight_.op.value, end);
        emit(bus_clock_.at(end), Block::kRegs, EventType::kRegWrite, 0, flight_.op.reg,
             traced(flight_.op.reg, flight_.op.value));
      }
      break;
    case kRead:
      if (flight_.retry) {
        counters_[kBusRequestClocks] += clocks;
        counters_[kBusRetries]++;
        read_again_at_ = end + 3;
        break;
      }
      counters_[kBusCompletionClocks] += clocks;
      read_base_ = end + 1;
      finish_read(moved, end);
      break;
    case kWrite:
      counters_[kBusWriteClocks] += clocks;
      finish_write(moved, end);
      break;
    default:
      counters_[kBusStatusClocks] += clocks;
      if (flight_.use == BusUse::kWriteTxCpl) {
        std::memcpy(host(flight_.addr), &flight_.tx_cpl, sizeof flight_.tx_cpl);
        moderator_.tell(kCauseSend, flight_.tx_cpl.done, end);
      } else {
        std::memcpy(host(flight_.addr), &flight_.rx_cpl, sizeof flight_.rx_cpl);
        if (flight_.rx_cpl.flags & kRxEndOfPacket)
          moderator_.tell(kCauseReceive, moderator_.told(kCauseReceive) + 1, end);
      }
      break;
  }
  trace(end, EventType::kBusEnd, flight_.use, moved);
  return true;
}

void FastOc48::finish_read(uint32_t moved, int64_t end) {
  if (flight_.use == BusUse::kReadTxDescs) return take_tx_descriptors(moved / sizeof(TxDescriptor), end);
  if (flight_.use == BusUse::kReadRxDescs) return take_rx_descriptors(moved / sizeof(RxDescriptor), end);
  take_segment(moved, end);
}

/// The send FIFO lies on the link. Room runs out only when frames wait long in the far receive FIFO.
void FastOc48::make_room(uint32_t bytes) {
  if (tx_link_.room(tx_pos_) >= bytes) [[likely]]
    return;
  tx_link_.evacuate(tx_committed_ != tx_.head() ? tx_[tx_committed_].pos : tx_pos_ - open_len_);
}

void FastOc48::take_segment(uint32_t moved, int64_t end) {
  const TxDescriptor desc = tx_descs_.front();
  make_room(moved);
  if (open_len_ == 0) {
    open_flags_ = desc.flags;
    tx_claimed_ += sizeof(TxRecord);
  }
  std::memcpy(tx_link_.bytes(tx_pos_), host(flight_.addr), moved);
  tx_pos_ += moved;
  open_len_ += moved;
  tx_claimed_ += moved;
  tx_desc_done_ += moved;
  if (tx_desc_done_ != desc.len) return;
  tx_descs_.pop();
  tx_desc_done_ = 0;
  ++open_descs_;
  if (!(desc.flags & kTxEndOfPacket)) return;
  tx_claimed_ += record_bytes(open_len_) - sizeof(TxRecord) - open_len_;
  const uint64_t pos = tx_pos_ - open_len_;
  const auto octets = static_cast<uint32_t>(mapos::stuffed_octets(
      {tx_link_.bytes(pos), open_len_}, config_.sonet.fcs == 4 ? mapos::Fcs::k32 : mapos::Fcs::k16));
  tx_.push({pos, tx_seeing(bus_clock_.at(end)), 0, open_len_, octets, static_cast<uint16_t>(open_flags_ & 0x7FFF),
            open_descs_});
  open_len_ = 0;
  open_descs_ = 0;
}

void FastOc48::take_tx_descriptors(uint32_t n, int64_t) {
  for (uint32_t i = 0; i < n; ++i) {
    TxDescriptor desc;
    std::memcpy(&desc, host(flight_.addr + i * sizeof desc), sizeof desc);
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
    tx_descs_.push(desc);
  }
}

void FastOc48::take_rx_descriptors(uint32_t n, int64_t end) {
  if (n != 0 && rx_descs_.empty()) rx_descs_since_ = end + 1;
  for (uint32_t i = 0; i < n; ++i) {
    RxDescriptor desc;
    std::memcpy(&desc, host(flight_.addr + i * sizeof desc), sizeof desc);
    ++rx_fetched_;
    rx_descs_.push(desc);
  }
}

void FastOc48::finish_write(uint32_t moved, int64_t end) {
  write_base_ = end + 1;
  const RxFrame frame = rx_.front();
  std::memcpy(host(flight_.addr), frame.data + rx_frame_done_, moved);
  rx_buf_used_ += moved;
  rx_frame_done_ += moved;
  const bool frame_end = rx_frame_done_ == frame.len;
  if (frame_end || rx_buf_used_ == rx_descs_.front().len) {
    rx_cpl_ = {frame.stamp, static_cast<uint16_t>(rx_buf_used_), static_cast<uint16_t>(frame_end ? kRxEndOfPacket : 0),
               sequence(rx_.tail())};
    rx_cpl_waits_ = true;
    rx_cpl_since_ = end + 1;
    rx_descs_.pop();
    if (rx_descs_.size() == config_.desc_cache / 2) rx_cache_since_ = end + 1;
    rx_buf_used_ = 0;
  }
  if (!frame_end) return;
  settle(end);  // what has ended by now is judged by the room there was before
  rx_frame_done_ = 0;
  rx_released_before_ = rx_released_;
  rx_released_ += record_bytes(frame.len);
  rx_release_at_ = rx_time(rx_seeing(bus_clock_.at(end)));
  rx_.pop();
  if (rx_.tail() > spilled_) rx_link_.release(frame.pos + frame.len);
}

// --- registers ----------------------------------------------------------------------------------------------------

void FastOc48::host_write(uint32_t r, uint32_t value, int64_t e) {
  if (!store(r, value) || moderate(r, value, e)) return;
  Settings fresh = newest();
  bool phc_set = false, phc_add = false;
  switch (r) {
    case kTxProducer:
      if (tx_posted_ == tx_fetched_) tx_posted_since_ = e + 1;
      tx_posted_ += value - static_cast<uint32_t>(tx_posted_);
      return;
    case kRxConsumer:
      if (rx_posted_ == rx_fetched_) rx_posted_since_ = e + 1;
      rx_posted_ += value - static_cast<uint32_t>(rx_posted_);
      return;
    case kSonetSeen:
      settle(e);
      bus_alarms(e);
      alarms_seen_ &= ~value;
      latch_from_ = e + 1;
      return;
    case kPhcTrim:
      fresh.inc = phc::increment(static_cast<int32_t>(value), nominal());
      break;
    case kCommand:
      if (value & kCmdReset) reset(e);
      phc_set = (value & kCmdPhcSet) != 0;
      phc_add = (value & kCmdPhcAdd) != 0;
      if (!phc_set && !phc_add) return;
      break;
    default:
      if (!update(fresh.line, r, value)) return;
  }
  change(fresh, e, phc_set, reg64(kPhcValueLo), phc_add);
}

/// As the bus sees it at edge e, before the edge.
bool FastOc48::quiet(int64_t e) {
  see_tx_done(e);
  const Ps seen = seen_by_bus(e);
  admit(seen);
  const bool rx_waits = !rx_.empty() && rx_.front().at < seen;
  return !read_again_ && tx_.head() == tx_done_ && !rx_waits && !rx_cpl_waits_ &&
         tx_done_ - tx_done_base_ == tx_cpl_count_ &&
         (tx_halted_ || (tx_posted_ == tx_fetched_ && tx_claimed_ == tx_done_bytes_ && tx_descs_.empty()));
}

void FastOc48::reset(int64_t e) {
  reset_refused_ = (reg(kControl) & (kCtlRxEnable | kCtlTxEnable)) != 0 || !quiet(e);
  if (reset_refused_) return;
  tx_posted_ = tx_fetched_ = rx_posted_ = rx_fetched_ = 0;
  tx_claimed_ = tx_done_bytes_;
  tx_halted_ = false;
  tx_descs_.pop_to(tx_descs_.head());
  rx_descs_.pop_to(rx_descs_.head());
  chain_len_ = open_len_ = 0;
  open_descs_ = 0;
  tx_desc_done_ = rx_buf_used_ = rx_frame_done_ = 0;
  tx_cpl_count_ = rx_cpl_count_ = 0;
  tx_cpl_descs_ = 0;
  tx_done_base_ = tx_done_;
  rx_sequence_base_ = rx_.head();
  reset_moderator(e);
  tx_latched_ = 0;
  tx_latch_ = 0;
  rx_cache_since_ = e + 1;
}

uint32_t FastOc48::host_read(uint32_t r, int64_t e) {
  settle(e);
  const int64_t before = std::max(tx_before(bus_clock_.at(e)), first_tx_edge_ - 1);
  switch (r) {
    case kStatus:
      return status(quiet(e), tx_halted_);
    case kPhcLo:
      return static_cast<uint32_t>(tx_settings(before).stamp(4 * before));
    case kPhcHi:
      return static_cast<uint32_t>(tx_settings(before).stamp(4 * before) >> 32);
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
      return bus_alarms(e);
    case kSonetSeen:
      bus_alarms(e);
      return alarms_seen_;
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

// --- what the bus sees of the lines -------------------------------------------------------------------------------

void FastOc48::see_tx_done(int64_t e) {
  const int64_t seen = tx_before(seen_by_bus(e));
  commit(seen);
  for (; tx_done_ != tx_committed_ && tx_[tx_done_].edge <= seen; ++tx_done_)
    tx_done_bytes_ += record_bytes(tx_[tx_done_].len);
}

/// Lets go of the send frames that nobody looks at any more.
void FastOc48::forget_sent() {
  const uint64_t measured = room_frame_ - (room_frame_ != 0);
  tx_.pop_to(std::min({tx_done_, measured, tx_done_base_ + tx_cpl_count_}));
}

/// FIFO levels as the bus sees them at edge e.
uint64_t FastOc48::levels(int64_t e) {
  see_tx_done(e);
  const Ps seen = seen_by_bus(e);
  admit(seen);
  for (; shown_ != rx_.head() && rx_[shown_].at < seen; ++shown_) shown_bytes_ += record_bytes(rx_[shown_].len);
  return (tx_claimed_ - tx_done_bytes_) << 32 | (shown_bytes_ - rx_released_);
}

}  // namespace awing::hw
