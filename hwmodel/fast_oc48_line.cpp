// SPDX-License-Identifier: BSD-3-Clause
// Fast engine of the oc48 card, line domains: when frames start, and when they are admitted.
#include <algorithm>
#include <cstring>

#include "fast_oc48.h"

namespace awing::hw {

void FastOc48::commit(int64_t k) {
  if (tx_committed_ == tx_.head()) return;
  if (k < next_tx_edge_) return commit_with(set_, k);
  if (tx_free_edge_ < next_tx_edge_) {
    commit_with(set_, next_tx_edge_ - 1);
    tx_free_edge_ = std::max(tx_free_edge_, next_tx_edge_);  // what is left is looked at under the new settings
  }
  commit_with(next_, k);
}

void FastOc48::commit_with(const Settings& set, int64_t k) {
  const bool on = (set.line.control & kCtlTxEnable) != 0;
  for (; tx_committed_ != tx_.head(); ++tx_committed_) {
    TxFrame& frame = tx_[tx_committed_];
    const int64_t looked_at = std::max(frame.edge, tx_free_edge_);
    if (!on) {  // one waiting frame is thrown away each line edge
      if (looked_at > k) return;
      counters_[kTxFlushed]++;
      frame.edge = looked_at;
      frame.flags |= kFlushed;
      frame.stamp = 0;
      tx_free_edge_ = looked_at + 1;
      emit(tx_time(looked_at), Block::kTx, EventType::kTxFlush, 0, frame.len, 0);
      continue;
    }
    const int64_t p = std::max(4 * sonet::word_from(looked_at), tx_earliest_);
    const int64_t edge = sonet::edge_of(p);
    if (edge > k) return;
    const auto lane = static_cast<uint32_t>(sonet::lane_of(p));
    const Ps start = tx_time(edge);
    frame.stamp = set.stamp(4 * edge + lane);
    if (frame.flags & kTxLatchStamp) {
      tx_latch_ = frame.stamp;
      ++tx_latched_;
    }
    tx_link_.push({start, frame.pos, frame.len, 0, frame.line_octets, lane});
    const int64_t flag = p + frame.line_octets;
    frame.edge = sonet::edge_of(flag);
    tx_free_edge_ = frame.edge;
    tx_earliest_ = flag + 1;
    counters_[kTxFrames]++;
    counters_[kTxBytes] += frame.len;
    if (log_) {
      emit(start, Block::kTx, EventType::kTxStart, static_cast<uint16_t>(lane), frame.len, frame.stamp);
      emit(tx_time(frame.edge), Block::kTx, EventType::kTxEnd, 0, frame.len, 0);
    }
  }
}

/// Works out when the frame at the head of the receive link starts and ends here.
void FastOc48::look_at_front() {
  const WireFrame& frame = rx_link_.front();
  const int64_t arrival = std::max((rx_clock_.at_or_after(frame.start) + 3) >> 2, first_rx_edge_);
  const int64_t word = std::max(sonet::word_from(arrival), rx_earliest_ >> 2);
  front_p_ = std::max(4 * word + frame.lane, rx_earliest_);
  front_edge_ = sonet::edge_of(front_p_);
  front_end_ = sonet::edge_of(front_p_ + frame.line_octets);
  front_at_ = rx_time(front_edge_);
  front_end_at_ = rx_time(front_end_);
  front_known_ = true;
  front_stamped_ = false;
}

/// Latches the stamp of the frame at the head of the receive link; needs it looked at and started.
void FastOc48::stamp_front() {
  // The PHC that the receive line sees is that of the last edge of our line before the edge before this one.
  const int64_t k = std::max(tx_before(rx_time(front_edge_ - 1)), first_tx_edge_ - 1);
  const Settings& set = tx_settings(k);
  front_stamp_ = set.stamp(4 * k + kStampAdvance + sonet::lane_of(front_p_));
  front_stamped_ = true;
  if (log_)
    emit(front_at_, Block::kRx, EventType::kRxStart, static_cast<uint16_t>(sonet::lane_of(front_p_)),
         rx_link_.front().len, front_stamp_);
}

void FastOc48::hear_front(Ps t) {
  if (rx_link_.empty()) return;
  if (!front_known_) look_at_front();
  if (!front_stamped_ && front_at_ < t) stamp_front();
}

/// Takes the frames that wait in the receive FIFO off the link.
void FastOc48::spill() {
  for (uint64_t i = std::max(rx_.tail(), spilled_); i != rx_.head(); ++i) {
    uint8_t* to = spill_.at(spill_pos_);
    std::memcpy(to, rx_[i].data, rx_[i].len);
    rx_[i].data = to;
    spill_pos_ += record_bytes(rx_[i].len);  // no more than the FIFO holds, so half the ring at most
  }
  spilled_ = rx_.head();
}

void FastOc48::admit(Ps t, bool one) {
  for (;;) {
    if (one && !rx_.empty()) return;
    if (!front_known_ && !rx_link_.empty()) look_at_front();
    const Ps next = std::min({front_known_ ? front_end_at_ : kForever, rx_sonet_at_, tx_sonet_at_});
    if (next >= t) return;
    if (next == tx_sonet_at_)
      end_sonet_sent();
    else if (next == rx_sonet_at_)
      end_sonet_received();
    else
      end_front();
  }
}

/// The closing flag of the frame at the head of the receive link: it is admitted or dropped.
void FastOc48::end_front() {
  if (!front_stamped_) stamp_front();
  const WireFrame& frame = rx_link_.front();
  const uint8_t* data = rx_link_.bytes(frame.pos);
  Counter verdict = judge(data, frame, rx_settings(front_end_).line, monitor_.down());
  const uint32_t size = record_bytes(frame.len);
  const uint64_t level = rx_in_bytes_ - (front_end_at_ >= rx_release_at_ ? rx_released_ : rx_released_before_);
  if (verdict == kRxFrames && level + size > config_.rx_fifo) verdict = kRxFifoDrops;
  counters_[verdict]++;
  if (verdict == kRxFrames) [[likely]] {
    counters_[kRxBytes] += frame.len;
    rx_.push({data, frame.pos, front_stamp_, front_end_at_, frame.len});
    rx_in_bytes_ += size;
    emit(front_end_at_, Block::kRx, EventType::kRxAdmit, 0, frame.len, level + size);
  } else {
    if (rx_.head() == std::max(rx_.tail(), spilled_)) rx_link_.release(frame.pos + frame.len);
    emit(front_end_at_, Block::kRx, EventType::kRxDrop, static_cast<uint16_t>(verdict), frame.len, level);
  }
  rx_earliest_ = front_p_ + frame.line_octets + 1;
  rx_link_.pop();
  front_known_ = false;
}

void FastOc48::end_sonet_sent() {
  const int64_t k = (tx_sonet_ + 1) * sonet::kFrameEdges;
  const Report& seen = report_at_ < tx_time(k - 1) ? report_ : report_before_;
  tx_link_.push_sonet(sonet_frame(tx_sonet_, tx_settings(k).line, seen, sonet_sender_));
  ++tx_sonet_;
  tx_sonet_at_ = tx_time(k + sonet::kFrameEdges);
}

void FastOc48::end_sonet_received() {
  const int64_t r = (rx_sonet_ + 1) * sonet::kFrameEdges;
  const Ps t = rx_sonet_at_;
  const uint32_t before = monitor_.alarms();
  monitor_.step(rx_link_.take_sonet(rx_sonet_), rx_settings(r).line.rx_c2);
  count(monitor_.counts());
  report_before_ = report_;
  report_ = {monitor_.alarms(), monitor_.counts().b2, monitor_.counts().b3};
  report_at_ = t;
  if (monitor_.alarms() != before) {
    alarm_changes_.push({t, monitor_.alarms()});
    emit(t, Block::kRx, EventType::kAlarms, 0, monitor_.alarms(), before);
  }
  ++rx_sonet_;
  rx_sonet_at_ = rx_time(r + sonet::kFrameEdges);
}

uint32_t FastOc48::bus_alarms(int64_t e) {
  for (; !alarm_changes_.empty() && alarm_changes_.front().at < seen_by_bus(e); alarm_changes_.pop()) {
    if (bus_seeing(alarm_changes_.front().at) > latch_from_) alarms_seen_ |= bus_alarms_;
    bus_alarms_ = alarm_changes_.front().alarms;
  }
  if (e >= latch_from_) alarms_seen_ |= bus_alarms_;
  return bus_alarms_;
}

/// Recovers the clock of whoever sends, from now on.
void FastOc48::set_rx_clock() {
  rx_clock_ = sonet::quantum_clock(rx_link_.line_ppm());
  first_rx_edge_ = (rx_clock_.after(ran_until_ - rx_link_.delay()) + 3) >> 2;
  rx_sonet_ = std::max<int64_t>(0, (first_rx_edge_ + sonet::kFrameEdges - 1) / sonet::kFrameEdges - 1);
  rx_sonet_at_ = rx_time((rx_sonet_ + 1) * sonet::kFrameEdges);
}

void FastOc48::new_sender() {
  lose_frames();
  front_known_ = false;
  rx_earliest_ = 1;
  set_rx_clock();
  if (next_rx_edge_ != kNever) next_rx_edge_ = rx_seeing(change_at_);
}

/// The host changed something that the lines see, at bus edge e: it holds from the edges that see it.
void FastOc48::change(const Settings& fresh, int64_t e, bool phc_set, uint64_t phc_value, bool phc_add) {
  // Everything before this moment is carried out under the settings in force; the last change is in force by now.
  const Ps t = bus_clock_.at(e);
  settle(e);
  hear_front(t);  // a frame that has begun keeps the stamp of its start
  if (next_tx_edge_ != kNever) set_ = next_;
  next_ = fresh;
  next_tx_edge_ = tx_seeing(t);
  next_rx_edge_ = rx_seeing(t);
  change_at_ = t;
  const int64_t q = 4 * next_tx_edge_;
  next_.phc = phc_set ? phc::from_stamp(phc_value) : set_.value(q);
  if (phc_add) next_.phc += phc::from_stamp(phc_value);
  next_.phc_at = q;
}

}  // namespace awing::hw
