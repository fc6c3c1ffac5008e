// SPDX-License-Identifier: BSD-3-Clause
// Two whole cards on a cable and the memory of their hosts, in one thread, every register write at a chosen time. No
// status records and no register access but what a test asks for: so nothing is on the bus that its formula leaves out.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "domain.h"

namespace awing::test {

using namespace awing::hw;

/// A frame as it lies in the receive stream.
struct Received {
  RxRecord head;
  std::vector<uint8_t> octets;
};

/// One card, its host's memory, and what it reported.
class End {
 public:
  void plug(std::unique_ptr<Card> card, const End& far) {
    card_ = std::move(card);
    far_ = &far;
    log_.set_sink([this](std::span<const Event> e) { events_.insert(events_.end(), e.begin(), e.end()); });
    card_->set_log(&log_);
  }
  Card& card() { return *card_; }
  void flush(Ps now) { log_.flush(now); }

  /// Appends a frame to the send stream; `launch` 0 = as soon as it can. With `insert_at` the card writes the stamp
  /// of its start there.
  void append(uint32_t len, uint64_t launch = 0, int insert_at = -1) {
    const uint16_t flags =
        static_cast<uint16_t>((launch != 0 ? kTxLaunchTime : 0) | (insert_at >= 0 ? kTxInsertStamp : 0));
    const TxRecord head{static_cast<uint16_t>(len), flags, static_cast<uint16_t>(insert_at >= 0 ? insert_at : 0),
                        kNoChecksum, launch};
    const size_t at = stream_.size();
    stream_.resize(at + record_bytes(len), 0);
    std::memcpy(stream_.data() + at, &head, sizeof head);
  }
  uint32_t appended() const { return static_cast<uint32_t>(stream_.size()); }

  /// Tells the card where its streams are; what was appended at both ends so far is what there is room for.
  void set_up(Ps t, uint32_t rx_min_burst = 16, uint32_t rx_flush = 0, uint32_t control = kCtlTxEnable | kCtlRxEnable) {
    const uint32_t tx_size = std::bit_ceil(std::max(appended(), 4096u));
    const uint32_t rx_size = std::bit_ceil(std::max(far_->appended(), 4096u));
    tx_.reset(static_cast<uint8_t*>(std::aligned_alloc(4096, tx_size)));
    rx_.reset(static_cast<uint8_t*>(std::aligned_alloc(4096, rx_size)));
    std::copy(stream_.begin(), stream_.end(), tx_.get());
    address(t, kTxBaseLo, tx_.get());
    address(t, kRxBaseLo, rx_.get());
    card_->post_write(t, kTxSize, tx_size);
    card_->post_write(t, kRxSize, rx_size);
    card_->post_write(t, kRxMinBurst, rx_min_burst);
    card_->post_write(t, kRxFlush, rx_flush);
    card_->post_write(t, kMaxFrame, 16384);
    card_->post_write(t, kControl, control | kCtlPromiscuous);
  }
  /// Posts everything that was appended.
  void send(Ps t) { card_->post_write(t, kTxProducer, appended()); }

  std::vector<Event> of(EventType type) const {
    std::vector<Event> some;
    for (const Event& e : events_)
      if (e.type == type) some.push_back(e);
    return some;
  }
  std::vector<Event> of(EventType type, BusUse use) const {
    std::vector<Event> some;
    for (const Event& e : events_)
      if (e.type == type && e.a == static_cast<uint16_t>(use)) some.push_back(e);
    return some;
  }

  /// The receive stream as far as bursts have written it.
  std::vector<Received> received() const {
    uint64_t written = 0;
    for (const Event& e : of(EventType::kBusEnd, BusUse::kWriteData)) written += e.b;
    std::vector<Received> all;
    for (uint64_t at = 0; at + sizeof(RxRecord) <= written;) {
      Received frame;
      std::memcpy(&frame.head, rx_.get() + at, sizeof frame.head);
      if (at + record_bytes(frame.head.len) > written) break;
      frame.octets.assign(rx_.get() + at + sizeof frame.head, rx_.get() + at + sizeof frame.head + frame.head.len);
      all.push_back(std::move(frame));
      at += record_bytes(all.back().head.len);
    }
    return all;
  }

 private:
  struct Free {
    void operator()(uint8_t* p) const { std::free(p); }
  };
  void address(Ps t, uint32_t lo, const uint8_t* p) {
    const auto a = reinterpret_cast<uint64_t>(p);
    card_->post_write(t, lo, static_cast<uint32_t>(a));
    card_->post_write(t, lo + 4, static_cast<uint32_t>(a >> 32));
  }

  const End* far_ = nullptr;
  EventLog log_;
  std::vector<Event> events_;
  std::vector<uint8_t> stream_;
  std::unique_ptr<uint8_t, Free> tx_, rx_;  // outlive the card that reads and writes them
  std::unique_ptr<Card> card_;
};

class TwoCards {
 public:
  TwoCards(Engine engine, const CardConfig& a, const CardConfig& b, Ps delay = kLeastDelay)
      : to_a_(store(b), delay), to_b_(store(a), delay) {
    end_[0].plug(make_card(engine, a, to_b_, to_a_, 0), end_[1]);
    end_[1].plug(make_card(engine, b, to_a_, to_b_, 0), end_[0]);
  }
  End& a() { return end_[0]; }
  End& b() { return end_[1]; }
  Ps now() const { return now_; }

  /// Lets time pass, as domain.cpp does: in strides, so that a card which hears nothing runs ahead of the one that
  /// hears it by no more than the cable can hold; and no card goes further than what it knows of the cable.
  void run(Ps until) {
    while (now_ < until) stride(std::min(until, now_ + kStride));
  }

 private:
  static constexpr Ps kStride = 20 * kPsPerUs;
  /// Twice what the FIFO holds, what a stride sends, and a frame.
  static size_t store(const CardConfig& sender) { return 2 * (sender.tx_fifo + kStride / 800 + kMaxFrameAny); }
  void stride(Ps until) {
    for (bool all = false; !all;) {
      all = true;
      for (End& end : end_) {
        const Ps limit = std::min(until, end.card().horizon() - 1);
        if (limit > end.card().ran_until()) end.card().run(limit, until);
        all = all && end.card().ran_until() >= until;
      }
    }
    now_ = until;
    for (End& end : end_) end.flush(until);
  }

  Link to_a_, to_b_;
  std::array<End, 2> end_;
  Ps now_ = 0;
};

}  // namespace awing::test
