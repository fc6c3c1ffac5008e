// SPDX-License-Identifier: BSD-3-Clause
// The host's side of a modelled card: what a driver sees instead of a mapped BAR.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <tl/expected.hpp>
#include <utility>
#include <vector>

#include "hwmodel/config.h"
#include "hwmodel/datasheet.h"

namespace awing::hw {

class Domain;

/// Rate of the time-stamp counter, Hz, measured against CLOCK_MONOTONIC. The first call takes 20 ms and is within some
/// millionths; later ones return what it found. Thread-safe.
uint64_t measured_tsc_hz();

/// A card in its slot and on its wire. Cards joined by a wire form one domain and share one time.
///
/// DMA addresses are this process's virtual addresses. The card reads and writes the memory it was given until it
/// is reset or the port is destroyed.
///
/// Thread-safety: doorbells may come from one thread each (one that sends, one that receives) at any time; poll()
/// from any thread; everything else takes the domain's lock and may be called from any thread.
class Port {
 public:
  /// Makes the card and joins it to its wire. Error: one line saying what is wrong and what is allowed.
  static tl::expected<std::unique_ptr<Port>, std::string> open(const PortConfig& config);
  ~Port();

  /// Posted register write; reaches the card through the bus, in order with the doorbells before it.
  void write(uint32_t reg, uint32_t value);
  /// Register read; the host stalls for the round trip (model time passes), rounded up to 50 ns.
  uint32_t read(uint32_t reg);
  /// Counter as the card has it, read without touching the bus or time: for tests and xstats of the model itself.
  uint64_t counter(Counter c);

  /// Doorbells: posted writes to kTxProducer and kRxConsumer. No lock, no system call.
  void tx_doorbell(uint32_t value);
  void rx_doorbell(uint32_t value);

  /// Lets model time pass: clock=tsc up to the time-stamp counter, clock=virtual by the cost of one poll plus
  /// that of `sent` and `received` packets. Returns at once when another thread is advancing the domain.
  void poll(uint32_t sent, uint32_t received);

  /// What is called when interrupt lines rise (1 << Cause each). It is called by whichever thread advances the domain,
  /// with the domain locked: it must be short and call nothing of a port.
  void set_interrupt(std::function<void(uint32_t rising)> interrupt);
  /// clock=virtual: the host spends the time its profile gives for an interrupt.
  void interrupted();
  /// poll(0, 0) for somebody who sleeps, clock=tsc. Returns after how many picoseconds it wants to be called again:
  /// soon while cards do something, ever later while they do nothing, up to a millisecond, and in time for a line that
  /// is to rise.
  Ps drive();

  /// Model time reached, ps.
  Ps now() const;
  /// How far model time is behind the time-stamp counter, ps, what it has given up for good included (clock=virtual:
  /// 0).
  Ps lag() const;
  /// Light on the fibre both ways, without a register access.
  bool link_up() const;
  /// Name and value of what the wire and path did with this port's frames (sent direction): offered, delivered,
  /// and one counter per way of losing them.
  std::vector<std::pair<std::string, uint64_t>> wire_counters() const;
  /// What went wrong with the files of the wire and of the trace, in one line; empty when nothing did.
  std::string complaint() const;
  /// Hash and number of the events so far (only when config.trace is set).
  std::pair<uint64_t, uint64_t> trace_hash() const;

  const PortConfig& config() const { return config_; }

 private:
  explicit Port(const PortConfig& config) : config_(config) {}
  PortConfig config_;
  std::shared_ptr<Domain> domain_;
  int index_ = 0;  ///< which of the domain's cards
  friend class Domain;
};

}  // namespace awing::hw
