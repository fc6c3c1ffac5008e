// SPDX-License-Identifier: BSD-3-Clause
// The card as a model in this process.
#pragma once

#include "device.h"
#include "hwmodel/port.h"

namespace awing::pmd {

class ModelDevice final : public Device {
 public:
  explicit ModelDevice(std::unique_ptr<hw::Port> port) : port_(std::move(port)) {}
  uint32_t read(uint32_t reg) override { return port_->read(reg); }
  void write(uint32_t reg, uint32_t value) override { port_->write(reg, value); }
  void tx_doorbell(uint32_t value) override { port_->tx_doorbell(value); }
  void rx_doorbell(uint32_t value) override { port_->rx_doorbell(value); }
  void poll(uint32_t sent, uint32_t received) override { port_->poll(sent, received); }
  void set_interrupt(std::function<void(uint32_t)> interrupt) override { port_->set_interrupt(std::move(interrupt)); }
  void interrupted() override { port_->interrupted(); }
  uint64_t drive() override { return static_cast<uint64_t>(port_->drive() / hw::kPsPerNs); }
  bool link_up() const override { return port_->link_up(); }
  uint64_t bus_address(const void* p) const override { return reinterpret_cast<uint64_t>(p); }
  uint64_t counter(hw::Counter c) override { return port_->counter(c); }
  std::vector<std::pair<std::string, uint64_t>> more_counters() override { return port_->wire_counters(); }
  std::string complaint() override { return port_->complaint(); }
  uint64_t lag_ns() const override { return static_cast<uint64_t>(port_->lag() / hw::kPsPerNs); }
  bool virtual_time() const override { return port_->config().clock == hw::ClockMode::kVirtual; }

 private:
  std::unique_ptr<hw::Port> port_;
};

}  // namespace awing::pmd
