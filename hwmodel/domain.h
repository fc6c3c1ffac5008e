// SPDX-License-Identifier: BSD-3-Clause
// A domain: one or two cards, what joins them, and the one time they share.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "card.h"
#include "hwmodel/port.h"
#include "path.h"
#include "pcap_wire.h"
#include "sonet_path.h"
#include "vcd.h"

namespace awing::hw {

std::unique_ptr<Card> make_card(Engine engine, const CardConfig& config, Link& tx, Link& rx, Ps start);

class Domain {
 public:
  explicit Domain(const PortConfig& first);

  /// Puts a card on the wire; error: one line. Returns which card it is.
  tl::expected<int, std::string> join(const PortConfig& config);
  void leave(int index);

  void write(int index, uint32_t reg, uint32_t value);
  uint32_t read(int index, uint32_t reg);
  void doorbell(int index, bool tx, uint32_t value);
  void poll(int index, uint32_t sent, uint32_t received);

  void set_interrupt(int index, std::function<void(uint32_t)> interrupt);
  void interrupted();
  Ps drive();

  /// One thread at a time; it spins, for calls are short.
  bool try_lock() { return !locked_.exchange(true, std::memory_order_acquire); }
  void lock();
  void unlock() { locked_.store(false, std::memory_order_release); }

  Ps now() const { return reached_.load(std::memory_order_relaxed); }
  Ps lag() const { return lag_.load(std::memory_order_relaxed); }
  bool link_up(int index) const { return seats_[index].link_up.load(std::memory_order_relaxed); }
  uint64_t counter(int index, Counter c);
  std::vector<std::pair<std::string, uint64_t>> wire_counters(int index);
  std::string complaint(int index);
  std::pair<uint64_t, uint64_t> trace_hash(int index);

 private:
  /// Doorbells on their way to the card: one writer thread, read under the domain's lock.
  struct Mailbox {
    struct Entry {
      Ps t;
      uint32_t value;
    };
    static constexpr uint32_t kSize = 64;
    std::array<Entry, kSize> entries{};
    std::atomic<uint32_t> head{0}, tail{0};
  };
  struct Seat {                             // a place for a card at one end of the wire
    std::unique_ptr<Link> rx;               // what arrives at this end
    std::unique_ptr<Link> out;              // with a path: what the card sends, before the path
    std::unique_ptr<Path> path;             // of the frames this card sends
    std::unique_ptr<SonetPath> sonet_path;  // the same of an oc48 card
    std::unique_ptr<Card> card;
    std::unique_ptr<VcdWriter> vcd;
    EventLog log;
    bool traced = false;
    Mailbox tx_bell, rx_bell;
    std::atomic<bool> link_up{false};
    uint64_t unconnected = 0;  // frames sent into a cable with nobody at its end
  };

  bool loop() const { return loop_; }
  Seat& peer(int index) { return loop() ? seats_[index] : seats_[1 - index]; }
  Link& sent_link(int index) { return seats_[index].out ? *seats_[index].out : *peer(index).rx; }
  Ps host_now();
  void collect_doorbells();
  void catch_up(Ps target);
  bool idle();
  void advance(Ps until);
  void stride(Ps until);
  void carry(int index, Ps until);
  void update_links();

  const std::string wire_;
  const bool loop_;
  const CardKind kind_;
  const ClockMode clock_;
  const HostProfile profile_;
  const Ps cable_delay_;
  uint64_t tsc_start_ = 0, tick_ = 0;  // tick_: of the time-stamp counter, 2^-32 ps
  std::array<Seat, 2> seats_;
  std::unique_ptr<PcapWire> pcap_;
  bool pcap_started_ = false;
  std::atomic<bool> locked_{false};
  std::atomic<Ps> host_{0};  // clock=virtual: time the host has reached
  Ps now_ = 0;               // time the cards have reached
  uint64_t activity_ = 0;    // what the cards had done at the last drive()
  Ps rest_ = 0;              // what that returned
  std::atomic<Ps> reached_{0}, lag_{0};
  std::atomic<Ps> slipped_{0};  // clock=tsc: time given up because the host could not keep up
};

}  // namespace awing::hw
