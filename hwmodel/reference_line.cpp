// SPDX-License-Identifier: BSD-3-Clause
// Reference engine, line domain: PHC, send side, receive side, one line edge (6.4 ns) at a time.
#include <cstring>

#include "mac.h"
#include "reference.h"

namespace awing::hw {

void ReferenceCard::line_edge(int64_t k, Ps t) {
  line_.capture(t);
  tx_in_.capture(t);
  rx_released_.capture(t);

  const LineSettings& set = line_.seen();
  if (set.commands != commands_done_) {
    commands_done_ = set.commands;
    if (set.command & kCmdPhcSet) phc_ = phc::from_stamp(set.phc_value);
    if (set.command & kCmdPhcAdd) phc_ += phc::from_stamp(set.phc_value);
  }
  phc_inc_ = phc::increment(set.trim);
  phc_shown_ = phc_;

  tx_line(k, t);
  rx_line(k, t);
  phc_ += 2 * static_cast<U128>(phc_inc_);
}

void ReferenceCard::tx_line(int64_t k, Ps t) {
  if (sending_) {
    if (k < tx_end_) return;
    sending_ = false;  // the word with the Terminate octet
    counters_[kTxFrames]++;
    counters_[kTxBytes] += tx_now_.len;
    tx_done_.store({tx_done_.value().bytes + tx_now_.fifo_bytes, tx_done_.value().frames + 1}, t);
    if (ring_) tx_cpls_.push_back({tx_stamp_, tx_now_.descs, 0});
    emit(t, Block::kTx, EventType::kTxEnd, 0, tx_now_.len, 0);
    return;
  }
  if (tx_taken_frames_ == tx_in_.seen()) return;
  if (!(line_.seen().control & kCtlTxEnable)) {  // sender off: one waiting frame is thrown away each edge
    const TxFrame& frame = tx_frames_.front();
    counters_[kTxFlushed]++;
    tx_done_.store({tx_done_.value().bytes + frame.fifo_bytes, tx_done_.value().frames + 1}, t);
    if (ring_) tx_cpls_.push_back({0, frame.descs, 2});
    emit(t, Block::kTx, EventType::kTxFlush, 0, frame.len, 0);
    tx_frames_.pop_front();
    ++tx_taken_frames_;
    launch_checked_ = false;
    return;
  }
  const TxFrame& frame = tx_frames_.front();
  for (int64_t q = 2 * k; q <= 2 * k + 1; ++q) {
    if (q < tx_earliest_) continue;
    const uint64_t now = phc::stamp(phc_ + static_cast<U128>(q - 2 * k) * phc_inc_);
    if (frame.flags & kTxLaunchTime) {
      const auto ahead = static_cast<int64_t>(frame.launch - now);
      if (!launch_checked_) {
        launch_checked_ = true;
        if (ahead < 0) counters_[kTxLaunchPast]++;
        if (ahead > static_cast<int64_t>(phc::kLaunchHorizon)) {
          counters_[kTxLaunchFuture]++;
          tx_frames_.front().flags &= static_cast<uint16_t>(~kTxLaunchTime);
        }
      }
      if ((frame.flags & kTxLaunchTime) && ahead > 0) continue;
    }
    tx_stamp_ = now;
    start_frame(q);
    return;
  }
}

void ReferenceCard::start_frame(int64_t q) {
  tx_now_ = tx_frames_.front();
  tx_frames_.pop_front();
  ++tx_taken_frames_;
  launch_checked_ = false;
  sending_ = true;
  tx_end_ = end_edge(q, tx_now_.len);
  IdleDeficit idle{q > tx_earliest_ ? 0 : deficit_};  // a line that idled past the earliest start owes nothing
  tx_earliest_ = q + idle.next(tx_now_.len + kFcs);
  deficit_ = idle.deficit;

  const uint64_t pos = tx_link_.next_pos();
  if (tx_link_.room(pos) < tx_now_.len) tx_link_.evacuate(pos);
  uint8_t* wire = tx_link_.bytes(pos);
  for (uint32_t i = 0; i < tx_now_.len; ++i) wire[i] = tx_ram_[(tx_now_.pos + i) & (tx_ram_.size() - 1)];
  if (tx_now_.flags & kTxInsertStamp) insert_stamp(wire, tx_stamp_, tx_now_.stamp_offset, tx_now_.csum_offset);
  if (tx_now_.flags & kTxLatchStamp) {
    tx_latch_ = tx_stamp_;
    ++tx_latched_;
  }
  tx_link_.push({quantum_.at(q), pos, tx_now_.len, 0});
  emit(quantum_.at(q), Block::kTx, EventType::kTxStart, q % 2 ? 4 : 0, tx_now_.len, tx_stamp_);
}

void ReferenceCard::rx_line(int64_t k, Ps t) {
  if (!receiving_) {
    if (rx_link_.empty()) return;
    const WireFrame& frame = rx_link_.front();
    for (int64_t q = 2 * k; q <= 2 * k + 1 && !receiving_; ++q) {
      if (quantum_.at(q) < frame.start + rx_link_.delay()) continue;
      receiving_ = true;
      rx_end_ = end_edge(q, frame.len);
      rx_stamp_ = phc::stamp(phc_ + static_cast<U128>(q - 2 * k) * phc_inc_);
      emit(quantum_.at(q), Block::kRx, EventType::kRxStart, q % 2 ? 4 : 0, frame.len, rx_stamp_);
    }
    return;
  }
  if (k < rx_end_) return;
  receiving_ = false;  // the word with the Terminate octet: the frame is judged and admitted whole, or dropped
  const WireFrame frame = rx_link_.front();
  const uint8_t* data = rx_link_.bytes(frame.pos);
  const LineSettings& set = line_.seen();
  Counter verdict = classify(data, frame.len, frame.flags, set.control, set.max_frame, set.mac);
  const uint32_t size = record_bytes(frame.len);
  uint64_t level = rx_in_.value().bytes - rx_released_.seen();
  if (verdict == kRxFrames && level + size > config_.rx_fifo) verdict = kRxFifoDrops;
  counters_[verdict]++;
  if (verdict == kRxFrames) {
    counters_[kRxBytes] += frame.len;
    const RxRecord head{rx_stamp_, static_cast<uint16_t>(frame.len), 0, rx_sequence_};
    const uint64_t pos = rx_in_.value().bytes;
    uint8_t record[sizeof(RxRecord) + kMaxFrameAny + kRecordAlign] = {};
    std::memcpy(record, &head, sizeof head);
    std::memcpy(record + sizeof head, data, frame.len);
    for (uint32_t i = 0; i < size; ++i) rx_ram_[(pos + i) & (rx_ram_.size() - 1)] = record[i];
    rx_frames_.push_back({pos + sizeof head, rx_stamp_, frame.len, rx_sequence_++});
    rx_in_.store({pos + size, rx_in_.value().frames + 1}, t);
    emit(t, Block::kRx, EventType::kRxAdmit, 0, frame.len, level + size);
  } else {
    emit(t, Block::kRx, EventType::kRxDrop, static_cast<uint16_t>(verdict), frame.len, level);
  }
  rx_link_.pop();
  rx_link_.release(frame.pos + frame.len);
}

}  // namespace awing::hw
