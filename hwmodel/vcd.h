// SPDX-License-Identifier: BSD-3-Clause
// A card's events as a value-change dump (IEEE 1364 clause 18), for GTKWave and its like.
#pragma once

#include <array>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "hwmodel/events.h"

namespace awing::hw {

// X(Signal, name, bits): bits 0 = a string (GTKWave's extension of the format: "s" value).
#define AWING_VCD_SIGNALS(X)                                                                             \
  X(kVcdBusUse, "bus_use", 8)            /* BusUse of the transaction; z when the bus is idle */         \
  X(kVcdBusOwner, "bus_owner", 0)        /* the same in words */                                         \
  X(kVcdBusOctets, "bus_octets", 16)     /* octets of the transaction */                                 \
  X(kVcdTxLevel, "tx_fifo", 32)          /* send FIFO level as the bus sees it */                        \
  X(kVcdRxLevel, "rx_fifo", 32)          /* receive FIFO level as the bus sees it */                     \
  X(kVcdRxLineLevel, "rx_fifo_line", 32) /* receive FIFO level as the line sees it */                    \
  X(kVcdTxFrame, "tx_frame", 1)          /* 1 from the Start octet to the edge of the Terminate octet */ \
  X(kVcdTxOctets, "tx_octets", 16)                                                                       \
  X(kVcdTxFlushed, "tx_flushed", 32) /* frames thrown away since the dump began */                       \
  X(kVcdRxFrame, "rx_frame", 1)      /* 1 from the Start octet until admitted or dropped */              \
  X(kVcdRxOctets, "rx_octets", 16)                                                                       \
  X(kVcdRxDropped, "rx_dropped", 32)     /* frames dropped since the dump began */                       \
  X(kVcdRxDropCause, "rx_drop_cause", 8) /* Counter that counted the last of them */                     \
  X(kVcdRegOffset, "reg_offset", 16)     /* last register written */                                     \
  X(kVcdRegValue, "reg_value", 32)                                                                       \
  X(kVcdRegWrites, "reg_writes", 32)   /* register writes since the dump began */                        \
  X(kVcdRxProduced, "rx_produced", 32) /* of the last status record */                                   \
  X(kVcdTxFetched, "tx_fetched", 32)                                                                     \
  X(kVcdTxDone, "tx_done", 32)                                                                           \
  X(kVcdRxInterrupt, "rx_interrupt", 1) /* the lines of the interrupt moderator */                       \
  X(kVcdTxInterrupt, "tx_interrupt", 1)                                                                  \
  X(kVcdAlarms, "alarms", 8) /* oc48: SonetAlarm */

/// Writes the signals above in scope "card", time scale 1 ps, a line for each change of value. Not thread-safe.
class VcdWriter {
 public:
  enum Signal : uint8_t {
#define X(id, name, bits) id,
    AWING_VCD_SIGNALS(X)
#undef X
        kVcdSignals
  };

  /// Error: one line when the file cannot be made.
  static tl::expected<std::unique_ptr<VcdWriter>, std::string> open(const std::string& file);
  ~VcdWriter();
  VcdWriter(const VcdWriter&) = delete;
  VcdWriter& operator=(const VcdWriter&) = delete;

  /// Appends events, which must come in order of time. Does nothing after an error.
  void consume(std::span<const Event> events);
  /// Hands everything written so far to the system.
  void flush();
  /// False once a write failed (disk full); what was written before stays readable.
  bool good() const { return error_.empty(); }
  /// One line naming the file and what the system said; empty while all is well.
  const std::string& error() const { return error_; }

 private:
  VcdWriter(std::FILE* out, std::string file) : out_(out), file_(std::move(file)) {}
  void header();
  void event(const Event& e);
  void at(Ps t);
  void change(Signal signal, uint64_t value);
  void write(std::string_view text);

  std::FILE* out_;
  std::string file_;
  std::string error_;
  std::array<uint64_t, kVcdSignals> values_{};
  Ps event_at_ = 0, written_at_ = -1;
};

/// The name a dump shows for a bus transaction.
const char* bus_use_name(uint64_t use);

}  // namespace awing::hw
