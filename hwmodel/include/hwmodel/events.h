// SPDX-License-Identifier: BSD-3-Clause
// Observable events of a card. Both engines report the same events; the order in a trace is (time, block, type).
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "hwmodel/time.h"

namespace awing::hw {

enum class Block : uint8_t { kBus, kTx, kRx, kRegs };

enum class EventType : uint8_t {
  // bus
  kBusEnd,  ///< a = BusUse, b = octets, c = send FIFO level << 32 | receive FIFO level, both as the bus sees them after
            ///< this edge
  kStatus,  ///< a = 0, b = rx_produced, c = tx_fetched << 32 | tx_done
  kRegWrite,  ///< a = 0, b = register offset, c = value; at the data edge
  kBusGrant,  ///< a = BusUse, b = octets, c = send FIFO level << 32 | receive FIFO level, as the bus sees them at this
              ///< edge
  // send side
  kTxEnd,    ///< b = octets; at the line edge of the Terminate octet
  kTxFlush,  ///< b = octets; sender off, frame thrown away
  kTxStart,  ///< a = lane (0 or 4; oc48: 0..3), b = octets, c = stamp
  // receive side
  kRxAdmit,  ///< b = octets, c = receive FIFO level as the line sees it, after
  kRxDrop,   ///< a = Counter that counted it, b = octets, c = level
  kRxStart,  ///< a = lane (0 or 4; oc48: 0..3), b = octets, c = stamp
  // interrupt moderator, in block kRegs
  kInterrupt,  ///< a = lines asserted from this edge on (1 << Cause), b = lines before, c = told: receive << 32 | send
  // receive side of the oc48 card
  kAlarms,  ///< b = alarms that stand from now on (SonetAlarm), c = before
};

/// Who uses the bus, and for what.
enum class BusUse : uint16_t {
  kHostWrite,
  kHostRead,
  kCompletion,   ///< split completion: data or descriptors to the card
  kReadStream,   ///< read request: send stream
  kReadData,     ///< read request: frame data of a descriptor
  kReadTxDescs,  ///< read request: send descriptors
  kReadRxDescs,  ///< read request: receive descriptors
  kWriteData,    ///< receive data
  kWriteStatus,  ///< status record
  kWriteRxCpl,   ///< receive completion
  kWriteTxCpl,   ///< send completion
};

struct Event {
  Ps t;
  Block block;
  EventType type;
  uint16_t a;
  uint32_t b;
  uint64_t c;
  friend bool operator==(const Event&, const Event&) = default;
};

/// Collects the events of one card, which may be reported ahead of time, and passes them on in order.
class EventLog {
 public:
  using Sink = std::function<void(std::span<const Event>)>;

  /// Without a sink, events are kept in a 64-bit hash and a count alone.
  void set_sink(Sink sink) { sink_ = std::move(sink); }
  void add(Event e) { pending_.push_back(e); }
  /// Passes on, in order, every event with t <= until. No event with t <= until may be added later.
  void flush(Ps until);

  uint64_t hash() const { return hash_; }    ///< FNV-1a over all events passed on
  uint64_t count() const { return count_; }  ///< events passed on

 private:
  std::vector<Event> pending_;
  Sink sink_;
  uint64_t hash_ = 0xcbf29ce484222325;
  uint64_t count_ = 0;
};

}  // namespace awing::hw
