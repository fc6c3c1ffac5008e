// SPDX-License-Identifier: BSD-3-Clause
// Fast engine, line domain: when frames start, and when they are admitted.
#include <algorithm>
#include <cstring>

#include "fast.h"
#include "mac.h"

namespace awing::hw {

void FastCard::commit(int64_t k) {
  if (tx_committed_ == tx_.head()) return;
  if (k < next_edge_) return commit_with(set_, k);
  if (tx_free_edge_ < next_edge_) {
    commit_with(set_, next_edge_ - 1);
    tx_free_edge_ = std::max(tx_free_edge_, next_edge_);  // what is left is looked at under the new settings
  }
  commit_with(next_, k);
}

void FastCard::commit_with(const LineSettings& set, int64_t k) {
  if (!(set.control & kCtlTxEnable)) {  // sender off: one waiting frame is thrown away each line edge
    for (; tx_committed_ != tx_.head(); ++tx_committed_) {
      TxFrame& frame = tx_[tx_committed_];
      const int64_t edge = std::max(frame.edge, tx_free_edge_);
      if (edge > k) return;
      counters_[kTxFlushed]++;
      frame.edge = edge;
      frame.flags |= kFlushed;
      launch_checked_ = false;
      tx_free_edge_ = edge + 1;
      emit(quantum_.at(2 * edge), Block::kTx, EventType::kTxFlush, 0, frame.len, 0);
    }
    return;
  }
  const int64_t last = 2 * k + 1;
  int64_t earliest = tx_earliest_;
  uint64_t frames = tx_committed_;
  uint64_t bytes = 0;
  for (; frames != tx_.head(); ++frames) {
    TxFrame& frame = tx_[frames];
    int64_t q = std::max(2 * std::max(frame.edge, tx_free_edge_), earliest);
    if (q > last) break;
    if (frame.flags & (kTxLaunchTime | kTxInsertStamp | kTxLatchStamp)) [[unlikely]] {
      if (frame.flags & kTxLaunchTime) {
        q = launch(set, frame, q);
        if (q > last) break;
      }
      stamp_sent(set, frame, q);
    }
    if (q > earliest) deficit_ = 0;  // a line that idled past the earliest start owes nothing
    IdleDeficit idle{deficit_};
    earliest = q + idle.next(frame.len + kFcs);
    deficit_ = idle.deficit;
    const Ps start = quantum_.at(q);
    tx_link_.push({start, frame.pos, frame.len, 0});
    frame.edge = end_edge(q, frame.len);
    tx_free_edge_ = frame.edge + 1;
    bytes += frame.len;
    if (ring_) frame.stamp = set.stamp(q);
    if (log_) [[unlikely]] {
      emit(start, Block::kTx, EventType::kTxStart, q % 2 ? 4 : 0, frame.len, set.stamp(q));
      emit(quantum_.at(2 * frame.edge), Block::kTx, EventType::kTxEnd, 0, frame.len, 0);
    }
  }
  counters_[kTxFrames] += frames - tx_committed_;
  counters_[kTxBytes] += bytes;
  tx_committed_ = frames;
  tx_earliest_ = earliest;
}

/// First quantum >= q at which a timed frame may start.
int64_t FastCard::launch(const LineSettings& set, TxFrame& frame, int64_t q) {
  const uint64_t time = header(frame).launch_time;
  const auto ahead = static_cast<int64_t>(time - set.stamp(q));
  if (!launch_checked_) {
    launch_checked_ = true;
    if (ahead < 0) counters_[kTxLaunchPast]++;
    if (ahead > static_cast<int64_t>(phc::kLaunchHorizon)) {
      counters_[kTxLaunchFuture]++;
      frame.flags &= static_cast<uint16_t>(~kTxLaunchTime);
      return q;
    }
  }
  if (ahead <= 0) return q;
  const U128 wait = phc::from_stamp(time) - set.value(q);
  return q + static_cast<int64_t>((wait + set.inc - 1) / set.inc);
}

void FastCard::stamp_sent(const LineSettings& set, TxFrame& frame, int64_t q) {
  launch_checked_ = false;
  frame.flags &= static_cast<uint16_t>(~kTxLaunchTime);
  const uint64_t stamp = set.stamp(q);
  if (frame.flags & kTxInsertStamp) {
    const TxRecord& head = header(frame);
    insert_stamp(tx_link_.bytes(frame.pos), stamp, head.stamp_offset, head.csum_offset);
  }
  if (frame.flags & kTxLatchStamp) {
    tx_latch_ = stamp;
    ++tx_latched_;
  }
}

/// Works out when the frame at the head of the receive link starts and ends here.
[[gnu::always_inline]] inline void FastCard::look_at_front() {
  const WireFrame& frame = rx_link_.front();
  front_q_ = std::max(quantum_.at_or_after(frame.start + rx_link_.delay()), 2 * (rx_end_ + 1));
  front_end_ = end_edge(front_q_, frame.len);
  front_known_ = true;
  front_stamped_ = false;
}

/// Latches the stamp of the frame at the head of the receive link; needs it looked at and started.
[[gnu::always_inline]] inline void FastCard::stamp_front() {
  front_stamp_ = settings(front_q_ >> 1).stamp(front_q_);
  front_stamped_ = true;
  if (log_)
    emit(quantum_.at(front_q_), Block::kRx, EventType::kRxStart, front_q_ % 2 ? 4 : 0, rx_link_.front().len,
         front_stamp_);
}

void FastCard::hear_front(int64_t k) {
  if (rx_link_.empty()) return;
  if (!front_known_) look_at_front();
  if (!front_stamped_ && (front_q_ >> 1) <= k) stamp_front();
}

/// Takes the frames that wait in the receive FIFO off the link.
void FastCard::spill() {
  for (uint64_t i = std::max(rx_.tail(), spilled_); i != rx_.head(); ++i) {
    uint8_t* to = spill_.at(spill_pos_);
    std::memcpy(to, rx_[i].data, rx_[i].len);
    rx_[i].data = to;
    spill_pos_ += record_bytes(rx_[i].len);  // no more than the FIFO holds, so half the ring at most
  }
  spilled_ = rx_.head();
}

bool FastCard::admit(int64_t k, uint64_t enough) {
  uint64_t in = rx_in_bytes_, frames = 0, bytes = 0;  // in registers: this is where most of the time goes
  bool got = true;
  while (in < enough) {
    got = false;
    if (rx_link_.empty()) break;
    const WireFrame& frame = rx_link_.front();
    if (!front_known_) look_at_front();
    if (front_end_ > k) break;
    if (!front_stamped_) stamp_front();
    const LineSettings& set = settings(front_end_);
    Counter verdict = classify(rx_link_.bytes(frame.pos), frame.len, frame.flags, set.control, set.max_frame, set.mac);
    const uint32_t size = record_bytes(frame.len);
    const uint64_t level = in - (front_end_ >= rx_release_edge_ ? rx_released_ : rx_released_before_);
    if (verdict == kRxFrames && level + size > config_.rx_fifo) verdict = kRxFifoDrops;
    if (verdict == kRxFrames) [[likely]] {
      rx_.push({rx_link_.bytes(frame.pos), frame.pos, front_stamp_, front_end_, frame.len});
      ++frames;
      bytes += frame.len;
      in += size;
    } else {
      counters_[verdict]++;
      if (rx_.head() == std::max(rx_.tail(), spilled_)) rx_link_.release(frame.pos + frame.len);
    }
    if (log_) [[unlikely]] {
      if (verdict == kRxFrames)
        emit(quantum_.at(2 * front_end_), Block::kRx, EventType::kRxAdmit, 0, frame.len, level + size);
      else
        emit(quantum_.at(2 * front_end_), Block::kRx, EventType::kRxDrop, static_cast<uint16_t>(verdict), frame.len,
             level);
    }
    rx_link_.pop();
    rx_end_ = front_end_;
    front_known_ = false;
    got = true;
  }
  rx_in_bytes_ = in;
  counters_[kRxFrames] += frames;
  counters_[kRxBytes] += bytes;
  return got;
}

/// The host changed a line setting at bus edge e: it holds from the line edge that sees it.
void FastCard::change_line(const LineSettings& fresh, int64_t e, bool phc_set, uint64_t phc_value, bool phc_add) {
  // Everything before this moment is carried out under the settings in force; the last change is in force by now.
  const int64_t before = line_before(bus_clock_.at(e));
  commit(before);
  admit(before);
  hear_front(before);  // a frame that has begun keeps the stamp of its start
  if (next_edge_ != kNever) set_ = next_;
  next_ = fresh;
  next_edge_ = line_seeing(bus_clock_.at(e));
  const int64_t q = 2 * next_edge_;
  next_.phc = phc_set ? phc::from_stamp(phc_value) : set_.value(q);
  if (phc_add) next_.phc += phc::from_stamp(phc_value);
  next_.phc_at = q;
}

}  // namespace awing::hw
