// SPDX-License-Identifier: BSD-3-Clause
// A card's events as a value-change dump (IEEE 1364 clause 18), for GTKWave and its like.
#pragma once

#include <cstdio>
#include <memory>
#include <span>
#include <string>
#include <tl/expected.hpp>

#include "hwmodel/events.h"

namespace awing::hw {

/// Writes signals: bus_use (number of BusUse + 1, 0 = idle), bus_octets, tx_level, rx_level, tx_frame, rx_frame,
/// tx_octets, rx_octets, reg_write (offset), reg_value. Time scale 1 ps. Not thread-safe.
class VcdWriter {
 public:
  /// Error: one line when the file cannot be made.
  static tl::expected<std::unique_ptr<VcdWriter>, std::string> open(const std::string& file);
  ~VcdWriter();
  /// Appends events, which must come in order of time.
  void consume(std::span<const Event> events);
  /// False once a write failed (disk full); what was written before stays readable.
  bool good() const { return good_; }

 private:
  explicit VcdWriter(std::FILE* file) : file_(file) {}
  void at(Ps t);
  void change(int signal, uint64_t value, int bits);
  std::FILE* file_;
  Ps now_ = -1;
  bool good_ = true;
};

}  // namespace awing::hw
