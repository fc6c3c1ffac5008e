// SPDX-License-Identifier: BSD-3-Clause
// What the driver needs of a card: registers, doorbells, and that time passes. The model in this process implements it;
// a mapped BAR would.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "hwmodel/datasheet.h"

namespace awing::pmd {

/// Calls are made once per burst at most, never per packet. Registers from any thread; each doorbell from one thread at
/// a time.
class Device {
 public:
  virtual ~Device() = default;
  virtual uint32_t read(uint32_t reg) = 0;
  virtual void write(uint32_t reg, uint32_t value) = 0;
  virtual void tx_doorbell(uint32_t value) = 0;
  virtual void rx_doorbell(uint32_t value) = 0;
  /// Called with every burst; tells how many packets the last bursts moved.
  virtual void poll(uint32_t sent, uint32_t received) = 0;
  /// What is called when interrupt lines rise (1 << Cause each): by any thread, in the middle of any of these calls.
  virtual void set_interrupt(std::function<void(uint32_t rising)> interrupt) = 0;
  /// The driver serves an interrupt: where time is counted, that takes some.
  virtual void interrupted() = 0;
  /// Lets time pass for somebody who sleeps; nanoseconds after which it wants to be called again.
  virtual uint64_t drive() = 0;
  virtual bool link_up() const = 0;
  /// Address under which the card reaches memory of this process.
  virtual uint64_t bus_address(const void* p) const = 0;
  virtual uint64_t counter(hw::Counter c) = 0;
  /// Further counters of what stands behind the card (the modelled wire), by name; the names do not change.
  virtual std::vector<std::pair<std::string, uint64_t>> more_counters() = 0;
  /// What went wrong behind the card since it was made (files of a modelled wire), in one line; empty when nothing did.
  virtual std::string complaint() = 0;
  /// Nanoseconds the device is behind its clock.
  virtual uint64_t lag_ns() const = 0;
  /// True when time moves only as software touches the card.
  virtual bool virtual_time() const = 0;
};

/// Walks the register blocks and checks that each is there in the version this driver knows. Returns an empty string,
/// or one line that names what was found and what is known.
std::string check_blocks(Device& device);

}  // namespace awing::pmd
