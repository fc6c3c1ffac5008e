// SPDX-License-Identifier: BSD-3-Clause
// What both engines of the oc48 card share: bus timing, what the framer makes of a frame, and which frames are for us.
// Read it beside docs/datasheet-oc48.md.
#pragma once

#include "card.h"
#include "sonet.h"
#include "sonet_monitor.h"

namespace awing::hw {

/// Clocks of a transaction on legacy PCI. Edge numbers are of the bus clock, the grant is the address phase.
struct PciTiming {
  explicit PciTiming(const BusConfig& bus)
      : width(bus.width),
        decode(bus.decode),
        read_wait(bus.read_wait),
        write_wait(bus.target_wait),
        word_wait(bus.word_wait),
        idle(bus.idle) {}
  uint32_t width, decode, read_wait, write_wait, word_wait, idle;

  /// Data phases that n octets at bus address addr take.
  uint32_t words(uint64_t addr, uint32_t n) const {
    return static_cast<uint32_t>(((addr & (width - 1)) + n + width - 1) / width);
  }
  /// Clocks from the grant to the first data phase. Reads turn the data lines round before it.
  uint32_t lead(bool read) const { return read ? 1 + decode + read_wait : decode + write_wait; }
  uint32_t lead_host(bool read) const { return decode + (read ? 1 : 0); }
  /// Clocks from the grant to the Retry of the bridge.
  uint32_t lead_retry() const { return 1 + decode; }
  /// Clocks from the first data phase to the last of n.
  int64_t span(uint32_t n) const { return static_cast<int64_t>(n - 1) * (1 + word_wait); }
};

/// Octets that the receiver of a frame puts in the FIFO: as on the awing card, 16 and the frame padded to 16.
/// (record_bytes in datasheet.h)

/// PHC octet times by which a received stamp is advanced: the mean time that the PHC takes to cross to the receiver,
/// one and a half line clocks.
constexpr int kStampAdvance = 6;

/// SonetFormat of a line that is set so.
uint32_t sonet_format(const SonetConfig& config);

class Oc48Card : public Card {
 public:
  Oc48Card(const CardConfig& config, Link& tx, Link& rx, Ps start);
  /// Frames are announced by the time of their word, so the receiver may go right up to it.
  Ps horizon() const override { return rx_link_.known_until() + rx_link_.delay(); }

 protected:
  struct LineSettings {  // what the host sets and the framers see
    uint32_t control = 0, max_frame = kMaxFrameOc48 + 4;
    uint32_t address = 0;
    uint32_t insert = 0, tx_c2 = 0, rx_c2 = 0;
  };
  struct Report {  // what the receiver tells the sender of the same card: for RDI-P and REI
    uint32_t alarms = 0;
    uint64_t b2 = 0, b3 = 0;
  };
  struct SonetSender {
    bool light = false;       // the laser was on at the end of the last frame
    uint64_t b2 = 0, b3 = 0;  // violations told so far
  };
  LineSettings first_settings() const;
  /// The overhead of the SONET frame of ours that ends now.
  SonetFrame sonet_frame(int64_t number, const LineSettings& set, const Report& seen, SonetSender& sender) const;
  /// Takes over what the monitor has counted.
  void count(const SonetMonitor::Counts& counts);
  /// Takes over a register that framers see; false when it is none of these.
  bool update(LineSettings& set, uint32_t r, uint32_t value) const;

  /// Counter that a frame arriving now ends in, or kRxFrames when it may be admitted.
  Counter judge(const uint8_t* frame, const WireFrame& wire, const LineSettings& set, bool down) const;
  static bool valid_chain(uint32_t len, uint16_t flags) {
    return len >= kMapHeader && len <= kMaxFrameOc48 && !(flags & (kTxInsertStamp | kTxLaunchTime));
  }
  /// Throws away what is on the receive link.
  void lose_frames();
  static constexpr uint64_t nominal() { return phc::kNominalOc48; }
  /// Octets of a data burst to host memory that begins at addr, and whether it is Memory Write and Invalidate.
  uint32_t write_octets(uint64_t addr, uint32_t most, bool& mwi) const;
  /// Octets of a read that begins at addr.
  uint32_t read_octets(uint64_t addr, uint32_t most) const;

  PciTiming pci_;
  const uint32_t format_;
};

}  // namespace awing::hw
