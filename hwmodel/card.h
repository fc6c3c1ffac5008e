// SPDX-License-Identifier: BSD-3-Clause
// What all engines of both cards share: registers, clocks, and how the host reaches them.
#pragma once

#include <array>
#include <cstring>
#include <deque>
#include <functional>
#include <span>

#include "hwmodel/config.h"
#include "hwmodel/datasheet.h"
#include "hwmodel/datasheet_oc48.h"
#include "hwmodel/events.h"
#include "hwmodel/link.h"
#include "hwmodel/time.h"
#include "moderator.h"

namespace awing::hw {

/// Octets on the line before the frame: Start, preamble, SFD. And the FCS behind it.
constexpr uint32_t kPreamble = 8;
constexpr uint32_t kFcs = 4;
/// A quantum is a column of the line, 4 octets, 3.2 ns: frames start on quanta. Two quanta make a line clock edge.
constexpr uint32_t kQuantum = 4;
/// A cable is at least a metre of fibre: 5 ns. The reference engine needs to hear of a frame before it arrives.
constexpr Ps kLeastDelay = 5'000;
/// A frame is known to the receiver this long before it can be admitted: (8 + 64) octets less one quantum, less
/// 200 ppm, rounded down.
constexpr Ps kLeastFrame = 54'000;
/// A quantum, 200 ppm allowed for.
constexpr Ps kQuantumAtMost = 3'201;

/// Line edge of the word that holds the Terminate octet of a frame of `len` octets started at quantum q.
constexpr int64_t end_edge(int64_t q, uint32_t len) { return (kQuantum * q + kPreamble + len + kFcs) >> 3; }

/// Quantum clock of a line that is off by `ppm`.
Clock quantum_clock(int32_t ppm);

/// PHC arithmetic: seconds in 64.64 fixed point, advanced by increment() each quantum. Truncated to 32.32 in stamps.
namespace phc {
constexpr uint64_t kNominal = 59'029'581'036;      ///< 3.2 ns in 2^-64 s, rounded: 2^64 * 3.2e-9 = 59029581035.87
constexpr uint64_t kNominalOc48 = 59'306'661'760;  ///< 1 / 311.04 MHz in 2^-64 s, rounded: 59306661759.61
constexpr uint64_t increment(int32_t trim, uint64_t nominal = kNominal) {
  return nominal + static_cast<int64_t>((static_cast<I128>(nominal) * trim) >> 40);
}
constexpr uint64_t stamp(U128 value) { return static_cast<uint64_t>(value >> 32); }
constexpr U128 from_stamp(uint64_t stamp) { return static_cast<U128>(stamp) << 32; }
/// A launch time further ahead than this is taken for an error and the frame sent at once.
constexpr uint64_t kLaunchHorizon = uint64_t{4} << 32;
}  // namespace phc

/// Writes the stamp into a frame and mends a ones-complement checksum by the difference (RFC 1624).
void insert_stamp(uint8_t* frame, uint64_t stamp, uint16_t stamp_offset, uint16_t csum_offset);

/// Whether a record or descriptor chain describes a frame that the card can send.
bool valid_tx(uint32_t len, uint16_t flags, uint16_t stamp_offset, uint16_t csum_offset);

/// Register access by the host, waiting in the bridge.
struct HostOp {
  int64_t edge;  ///< bus edge at which it reaches the bridge
  uint32_t reg;
  uint32_t value;
  bool read;
};

/// Which agent asks for the bus. Round robin in this order.
/// kWrite moves received data; status records and completions have a turn of their own, so that they take none of it.
enum Agent : int { kHost, kBridge, kRead, kWrite, kReport, kAgents };

/// Clocks of a bus transaction: where its data phases lie and when the bus is free again. See docs/datasheet.md.
struct BusTiming {
  explicit BusTiming(const BusConfig& bus)
      : width(bus.width), decode(bus.decode), wait(bus.target_wait), idle(bus.idle) {}
  uint32_t width, decode, wait, idle;

  /// Data phases that n octets at bus address addr take.
  uint32_t words(uint64_t addr, uint32_t n) const {
    return static_cast<uint32_t>(((addr & (width - 1)) + n + width - 1) / width);
  }
  /// Clocks from the grant to the first data phase: address, attribute, decode; writes to memory add target waits.
  uint32_t lead(Agent agent) const { return 2 + decode + (agent == kWrite || agent == kReport ? wait : 0); }
};

/// The registers of a card.
std::span<const RegInfo> registers(CardKind kind);

/// The part of the card that does not depend on the engine.
class Card {
 public:
  /// The card is plugged in at time `start`: its first clock edges lie after it.
  Card(const CardConfig& config, Link& tx, Link& rx, Ps start);
  virtual ~Card() = default;
  Card(const Card&) = delete;
  Card& operator=(const Card&) = delete;

  /// Carries out everything with time <= until. The receive link must be known far enough: until < horizon().
  /// `last` is how far the caller will go without any host access in between; frames may be put on the link up to it.
  virtual void run(Ps until, Ps last) = 0;
  /// Tells the far end of the frames that it can be told of without running: no host access comes up to `last`.
  virtual void look_ahead(Ps /*last*/) {}
  /// Time up to which (exclusive) run() may go with what the receive link knows.
  virtual Ps horizon() const { return rx_link_.known_until() + rx_link_.delay() + kLeastFrame; }
  Ps ran_until() const { return ran_until_; }
  /// Nothing will happen without an access by the host or a frame from the far end: run() may go any stretch at once.
  virtual bool idle() { return false; }

  /// Posted register write by the host at time t.
  void post_write(Ps t, uint32_t reg, uint32_t value) { post({0, reg, value, false}, t); }
  /// Register read at time t; run() on until read_done(), then read_value().
  void post_read(Ps t, uint32_t reg) {
    read_done_ = false;
    post({0, reg, 0, true}, t);
  }
  /// The host's clock went back to t: accesses that were to come later come then.
  void host_slipped(Ps t);
  bool read_done() const { return read_done_; }
  uint32_t read_value() const { return read_value_; }

  /// A counter as of ran_until().
  virtual uint64_t counter(Counter c) const { return counters_[c]; }
  bool transmitting() const { return (reg(kControl) & kCtlTxEnable) != 0; }
  bool receiving() const { return (reg(kControl) & kCtlRxEnable) != 0; }
  const CardConfig& config() const { return config_; }
  /// Another sender has been plugged in at the far end, and its clock is to be recovered. Frames of the one before that
  /// are still on the way are lost. Not in the middle of run().
  virtual void new_sender() {}
  /// Nothing that the card finds in what it receives keeps the line down.
  virtual bool line_up() const { return true; }
  void set_link_up(bool up) { link_up_ = up; }
  void set_log(EventLog* log) { log_ = log; }
  /// What is called when lines rise (1 << Cause each), by whoever runs the card; once an interrupt, no more.
  void set_interrupt(std::function<void(uint32_t rising)> interrupt) { interrupt_ = std::move(interrupt); }
  /// Time at which a line is next to rise if the card hears and does nothing more; INT64_MAX: not of itself.
  Ps next_interrupt() const {
    const int64_t e = moderator_.next_change();
    return e >= Moderator::kNever ? INT64_MAX : bus_clock_.at(e);
  }

 protected:
  uint32_t reg(uint32_t r) const { return regs_[r / 4]; }
  uint64_t reg64(uint32_t lo) const { return regs_[lo / 4] | (uint64_t{regs_[lo / 4 + 1]} << 32); }
  /// Stores what a host write may change; false when the register is read-only or does not exist.
  bool store(uint32_t r, uint32_t value);
  uint32_t status(bool quiet, bool halted) const {
    return (link_up_ ? uint32_t{kStsLinkUp} : 0) | (quiet ? uint32_t{kStsQuiet} : 0) |
           (halted ? uint32_t{kStsTxError} : 0) | (reset_refused_ ? uint32_t{kStsResetRefused} : 0);
  }
  /// Gives a register its value at power-up.
  void preset(uint32_t r, uint32_t value) { regs_[r / 4] = value; }
  /// A write to the moderator at bus edge e, already stored; false: the register is not one of the moderator's.
  bool moderate(uint32_t r, uint32_t value, int64_t e);
  void reset_moderator(int64_t e);
  /// Takes the lines of bus edge e, at which they change, and tells.
  void change_lines(int64_t e);
  /// What a trace shows of a register write: bus addresses differ from run to run and are shown as 0.
  static uint32_t traced(uint32_t r, uint32_t value) { return is_address(r) ? 0 : value; }
  /// Plain registers and counters; the engine gives the live ones.
  uint32_t load(uint32_t r) const;
  void emit(Ps t, Block block, EventType type, uint16_t a, uint32_t b, uint64_t c) {
    if (log_) log_->add({t, block, type, a, b, c});
  }
  /// Counter that a frame arriving now ends in, or kRxFrames when it may be admitted.
  static Counter classify(const uint8_t* frame, uint32_t len, uint32_t flags, uint32_t control, uint32_t max_frame,
                          uint64_t mac) {
    if (!(control & kCtlRxEnable)) return kRxDisabledDrops;
    if (flags & kFrameBadFcs) return kRxCrcErrors;
    if (len < kMinFrame) return kRxUndersize;
    if (len + kFcs > max_frame) return kRxOversize;
    if (control & kCtlPromiscuous) return kRxFrames;
    uint64_t dst = 0;
    std::memcpy(&dst, frame, 6);
    if (dst == mac || dst == 0xFFFF'FFFF'FFFF) return kRxFrames;
    if ((frame[0] & 1) && (control & kCtlAllMulticast)) return kRxFrames;
    return kRxFiltered;
  }

  CardConfig config_;
  Clock bus_clock_, quantum_;
  BusTiming timing_;
  Link& tx_link_;
  Link& rx_link_;
  EventLog* log_ = nullptr;
  std::deque<HostOp> host_ops_;
  std::array<uint64_t, kCountersOc48> counters_{};
  Moderator moderator_;
  std::function<void(uint32_t)> interrupt_;
  bool link_up_ = false;
  bool reset_refused_ = false;
  bool read_done_ = true;
  uint32_t read_value_ = 0;
  Ps ran_until_ = -1;

 private:
  static bool is_address(uint32_t r);
  void post(HostOp op, Ps t);
  std::span<const RegInfo> map_;
  std::array<uint32_t, kBarBytes / 4> regs_{};
};

}  // namespace awing::hw
