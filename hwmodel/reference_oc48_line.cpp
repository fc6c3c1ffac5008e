// SPDX-License-Identifier: BSD-3-Clause
// Reference engine of the oc48 card, line domains: PHC and send framer at the edges of the card's own line clock,
// receive framer at those of the clock recovered from the line. 77.76 MHz, four octets an edge.
#include <cstring>

#include "mapos/fcs.h"
#include "reference_oc48.h"

namespace awing::hw {

void ReferenceOc48::tx_edge(int64_t k, Ps t) {
  tx_set_.capture(t);
  clocking_.capture(t);
  tx_in_.capture(t);

  const Clocking& set = clocking_.seen();
  if (set.commands != commands_done_) {
    commands_done_ = set.commands;
    if (set.command & kCmdPhcSet) phc_.value = phc::from_stamp(set.value);
    if (set.command & kCmdPhcAdd) phc_.value += phc::from_stamp(set.value);
  }
  phc_.inc = phc::increment(set.trim, nominal());
  phc_shown_ = phc_.value;
  phc_seen_.store(phc_, t);

  report_.capture(t);
  if (k % sonet::kFrameEdges == 0 && k > 0)
    tx_link_.push_sonet(sonet_frame(k / sonet::kFrameEdges - 1, tx_set_.seen(), report_.seen(), sonet_sender_));
  send(k, t);
  phc_.value += 4 * static_cast<U128>(phc_.inc);
}

void ReferenceOc48::send(int64_t k, Ps t) {
  const bool payload = sonet::is_payload(k);
  const int64_t word = sonet::word_from(k);
  if (sending_ && payload && tx_flag_ >> 2 == word) {
    sending_ = false;  // the word with the closing flag
    counters_[kTxFrames]++;
    counters_[kTxBytes] += tx_now_.len;
    tx_done_.store({tx_done_.value().bytes + tx_now_.fifo_bytes, tx_done_.value().frames + 1}, t);
    tx_cpls_.push_back({tx_stamp_, tx_now_.descs, 0});
    emit(t, Block::kTx, EventType::kTxEnd, 0, tx_now_.len, 0);
  }
  if (sending_ || tx_started_ == tx_in_.seen()) return;
  if (!(tx_set_.seen().control & kCtlTxEnable)) {  // sender off: one waiting frame is thrown away each edge
    const TxFrame& frame = tx_frames_.front();
    counters_[kTxFlushed]++;
    tx_done_.store({tx_done_.value().bytes + frame.fifo_bytes, tx_done_.value().frames + 1}, t);
    tx_cpls_.push_back({0, frame.descs, 2});
    emit(t, Block::kTx, EventType::kTxFlush, 0, frame.len, 0);
    tx_frames_.pop_front();
    ++tx_started_;
    return;
  }
  if (!payload) return;
  const int64_t p = std::max(4 * word, tx_earliest_);
  if (p >> 2 == word) start_frame(p, t);
}

/// Octets between the flags: header, information and FCS, flag and escape octets twice (RFC 2171 section 3.2).
uint32_t ReferenceOc48::stuffed(const TxFrame& frame) const {
  std::vector<uint8_t> octets(frame.len);
  for (uint32_t i = 0; i < frame.len; ++i) octets[i] = tx_ram_[(frame.pos + i) & (tx_ram_.size() - 1)];
  uint32_t fcs = config_.sonet.fcs == 4 ? mapos::fcs32(octets) : mapos::fcs16(octets);
  for (uint32_t i = 0; i < config_.sonet.fcs; ++i, fcs >>= 8) octets.push_back(static_cast<uint8_t>(fcs));
  uint32_t n = 0;
  for (const uint8_t octet : octets) n += octet == 0x7D || octet == 0x7E ? 2 : 1;
  return n;
}

void ReferenceOc48::start_frame(int64_t p, Ps t) {
  tx_now_ = tx_frames_.front();
  tx_frames_.pop_front();
  ++tx_started_;
  sending_ = true;
  const uint32_t octets = stuffed(tx_now_);
  const int lane = sonet::lane_of(p);
  tx_flag_ = p + octets;
  tx_earliest_ = tx_flag_ + 1;  // one flag closes this frame and opens the next
  tx_stamp_ = phc::stamp(phc_.value + static_cast<U128>(lane) * phc_.inc);

  const uint64_t pos = tx_link_.next_pos();
  if (tx_link_.room(pos) < tx_now_.len) tx_link_.evacuate(pos);
  uint8_t* wire = tx_link_.bytes(pos);
  for (uint32_t i = 0; i < tx_now_.len; ++i) wire[i] = tx_ram_[(tx_now_.pos + i) & (tx_ram_.size() - 1)];
  if (tx_now_.flags & kTxLatchStamp) {
    tx_latch_ = tx_stamp_;
    ++tx_latched_;
  }
  tx_link_.push({t, pos, tx_now_.len, 0, octets, static_cast<uint32_t>(lane)});
  emit(t, Block::kTx, EventType::kTxStart, static_cast<uint16_t>(lane), tx_now_.len, tx_stamp_);
}

void ReferenceOc48::rx_edge(int64_t r, Ps t) {
  rx_set_.capture(t);
  rx_released_.capture(t);
  phc_seen_.capture(t);
  if (r % sonet::kFrameEdges == 0 && r > 0) end_of_sonet_frame(r, t);
  if (!sonet::is_payload(r)) return;

  const int64_t word = sonet::word_from(r);
  if (receiving_ && rx_flag_ >> 2 == word) end_frame(t);
  if (receiving_ || rx_link_.empty()) return;
  const WireFrame& frame = rx_link_.front();
  if (frame.start + rx_link_.delay() > t) return;
  const int64_t p = std::max(4 * word + frame.lane, rx_earliest_);
  if (p >> 2 != word) return;
  receiving_ = true;
  rx_flag_ = p + frame.line_octets;
  rx_earliest_ = rx_flag_ + 1;
  const Phc& phc = phc_seen_.seen();
  rx_stamp_ = phc::stamp(phc.value + static_cast<U128>(kStampAdvance + sonet::lane_of(p)) * phc.inc);
  emit(t, Block::kRx, EventType::kRxStart, static_cast<uint16_t>(sonet::lane_of(p)), frame.len, rx_stamp_);
}

void ReferenceOc48::new_sender() {
  lose_frames();
  receiving_ = false;
  rx_earliest_ = 1;
  rx_clock_ = sonet::quantum_clock(rx_link_.line_ppm());
  next_rx_ = (rx_clock_.after(ran_until_ - rx_link_.delay()) + 3) / 4;
}

void ReferenceOc48::end_of_sonet_frame(int64_t r, Ps t) {
  const uint32_t before = monitor_.alarms();
  monitor_.step(rx_link_.take_sonet(r / sonet::kFrameEdges - 1), rx_set_.seen().rx_c2);
  count(monitor_.counts());
  report_.store({monitor_.alarms(), monitor_.counts().b2, monitor_.counts().b3}, t);
  alarms_.store(monitor_.alarms(), t);
  if (monitor_.alarms() != before) emit(t, Block::kRx, EventType::kAlarms, 0, monitor_.alarms(), before);
}

/// The word with the closing flag: the frame is judged, and admitted whole or dropped.
void ReferenceOc48::end_frame(Ps t) {
  receiving_ = false;
  const WireFrame frame = rx_link_.front();
  const uint8_t* data = rx_link_.bytes(frame.pos);
  Counter verdict = judge(data, frame, rx_set_.seen(), monitor_.down());
  const uint32_t size = record_bytes(frame.len);
  const uint64_t level = rx_in_.value().bytes - rx_released_.seen();
  if (verdict == kRxFrames && level + size > config_.rx_fifo) verdict = kRxFifoDrops;
  counters_[verdict]++;
  if (verdict == kRxFrames) {
    counters_[kRxBytes] += frame.len;
    const uint64_t pos = rx_in_.value().bytes;
    for (uint32_t i = 0; i < frame.len; ++i) rx_ram_[(pos + i) & (rx_ram_.size() - 1)] = data[i];
    rx_frames_.push_back({pos, rx_stamp_, frame.len, rx_sequence_++});
    rx_in_.store({pos + size, rx_in_.value().frames + 1}, t);
    emit(t, Block::kRx, EventType::kRxAdmit, 0, frame.len, level + size);
  } else {
    emit(t, Block::kRx, EventType::kRxDrop, static_cast<uint16_t>(verdict), frame.len, level);
  }
  rx_link_.pop();
  rx_link_.release(frame.pos + frame.len);
}

}  // namespace awing::hw
