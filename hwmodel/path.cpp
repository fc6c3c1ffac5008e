// SPDX-License-Identifier: BSD-3-Clause
#include "path.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "card.h"

namespace awing::hw {

namespace {
constexpr Ps kOctet = 800;          // at 10 Gb/s, the rate of the card
constexpr uint32_t kLeastIdle = 5;  // octets
/// Frames of cross traffic per hop that one call computes ahead of need.
constexpr uint64_t kCrossPerCall = 4096;
}  // namespace

// --- frames inside --------------------------------------------------------------------------------------------------

void FrameStore::push(WireFrame frame, const uint8_t* data) {
  for (;;) {
    const uint64_t size = octets_.size();
    frame.pos = head_;
    if ((head_ & (size - 1)) + frame.len > size) frame.pos = (head_ | (size - 1)) + 1;  // not across the seam
    if (frame.pos + frame.len - tail_ <= size) break;
    // What does not cross a multiple of the size does not cross one of twice the size.
    std::vector<uint8_t> larger(2 * size);
    for (uint64_t p = tail_; p < head_;) {
      const uint64_t run = std::min(head_ - p, size - (p & (size - 1)));
      std::memcpy(&larger[p & (2 * size - 1)], &octets_[p & (size - 1)], run);
      p += run;
    }
    octets_.swap(larger);
  }
  std::memcpy(&octets_[frame.pos & (octets_.size() - 1)], data, frame.len);
  head_ = frame.pos + frame.len;
  frames_.push(frame);
}

void FrameStore::pop() {
  tail_ = frames_.front().pos + frames_.front().len;
  frames_.pop();
}

// --- the path -------------------------------------------------------------------------------------------------------

Path::Chance::Chance(double p)
    : below(p < 1 ? static_cast<uint64_t>(std::ldexp(std::max(p, 0.0), 64)) : 0), always(p >= 1) {}

Path::Path(const PathConfig& config)
    : config_(config),
      loss_(config.loss),
      duplicate_(config.duplicate),
      corrupt_(config.corrupt),
      reorder_(config.reorder),
      random_(config.seed) {
  uint64_t n = 0;
  for (const HopConfig& hop : config_.hops) hops_.emplace_back(hop, config_.seed + ++n * 0x9E3779B97F4A7C15);
  least_entry_ = ready(0, kMinFrame);
  least_latency_ = config_.delay;
  for (size_t i = 0; i + 1 < hops_.size(); ++i) least_latency_ += hops_[i].least_duration();
}

/// A hop has a frame when its last octet is there; a plain line passes it on from its start.
Ps Path::ready(Ps start, uint32_t len) const {
  return hops_.empty() ? start : start + kOctet * static_cast<Ps>(kPreamble + len + kFcs);
}

bool Path::place(const WireFrame& frame, const uint8_t* data, Link& out) {
  WireFrame placed = frame;
  placed.pos = out.next_pos();
  if (out.room(placed.pos) < frame.len) out.evacuate(placed.pos);
  if (out.room(placed.pos) < frame.len) return false;
  std::memcpy(out.bytes(placed.pos), data, frame.len);
  out.push(placed);
  ++delivered_;
  return true;
}

void Path::carry(Ps t, uint32_t len, uint32_t flags, const uint8_t* data, Link& out) {
  if (hops_.empty()) {
    t = std::max(t, line_free_);
    line_free_ = t + kOctet * static_cast<Ps>(kPreamble + len + kFcs + kLeastIdle);
  }
  for (size_t i = 0; i < hops_.size(); ++i) {
    OutputLine::Sent sent;
    if (!hops_[i].forward(t, len, sent)) return;
    t = i + 1 < hops_.size() ? sent.end : sent.start;
  }
  const WireFrame frame{t + config_.delay, 0, len, flags};
  if (!held_.empty() || !place(frame, data, out)) held_.push(frame, data);
}

/// Frames held back come to the first hop, those ready before `until`.
void Path::run_late(Ps until, Link& out) {
  for (; !late_.empty() && late_.front().start < until; late_.pop())
    carry(late_.front().start, late_.front().len, late_.front().flags, late_.data(), out);
}

void Path::take(const WireFrame& frame, const uint8_t* data, Ps arrival, Link& out) {
  last_ready_ = std::max(last_ready_, ready(arrival, frame.len));
  run_late(last_ready_, out);
  ++offered_;
  // Always six draws, so that one setting does not change what another does.
  const bool lost = loss_.hit(random_()), twice = duplicate_.hit(random_());
  duplicated_ += !lost && twice;
  lost_ += lost;
  for (int copy = 0; copy < 2; ++copy) {
    const bool damaged = corrupt_.hit(random_()), late = reorder_.hit(random_());
    if (lost || (copy == 1 && !twice)) continue;
    corrupted_ += damaged;
    reordered_ += late;
    const uint32_t flags = frame.flags | (damaged ? uint32_t{kFrameBadFcs} : 0);
    if (late)
      late_.push({last_ready_ + config_.reorder_extra, 0, frame.len, flags}, data);
    else
      carry(last_ready_, frame.len, flags, data, out);
  }
}

void Path::advance(Link& in, Link& out) {
  while (!held_.empty() && place(held_.front(), held_.data(), out)) held_.pop();
  while (!in.empty() && in.front().start < in.known_until()) {
    const WireFrame frame = in.front();
    take(frame, in.bytes(frame.pos), frame.start + in.delay(), out);
    in.pop();
    in.release(frame.pos + frame.len);
  }
  // Whatever comes later is ready for the first hop no sooner than this.
  const Ps horizon = std::max(in.known_until() + in.delay() + least_entry_, last_ready_);
  run_late(horizon, out);
  Ps settled = horizon;
  for (Hop& hop : hops_) {
    hop.run_cross(settled, kCrossPerCall);
    settled += hop.least_duration();
  }
  const Ps known = horizon + least_latency_;
  out.set_known_until(held_.empty() ? known : std::min(known, held_.front().start));
}

std::vector<std::pair<std::string, uint64_t>> Path::counters() const {
  std::vector<std::pair<std::string, uint64_t>> all{{"offered", offered_},     {"duplicated", duplicated_},
                                                    {"delivered", delivered_}, {"inside", held_.size() + late_.size()},
                                                    {"lost", lost_},           {"corrupted", corrupted_},
                                                    {"reordered", reordered_}};
  for (size_t i = 0; i < hops_.size(); ++i) {
    const std::string name = "hop" + std::to_string(i + 1) + "_";
    all.emplace_back(name + "queue_drops", hops_[i].drops());
    all.emplace_back(name + "cross_offered", hops_[i].cross_offered());
    all.emplace_back(name + "cross_forwarded", hops_[i].cross_offered() - hops_[i].cross_drops());
    all.emplace_back(name + "cross_drops", hops_[i].cross_drops());
  }
  return all;
}

}  // namespace awing::hw
