// SPDX-License-Identifier: BSD-3-Clause
// The fast engine: jumps from one bus grant to the next and computes the cycle numbers in between. Read it beside the
// reference engine, whose every event it must give at the same picosecond.
//
// How it may: every condition an agent waits for, once true, stays true until that agent's own next grant. So "the
// first edge at which it holds" is a number that can be computed, and the next grant is max(bus free, that + 1).
// Frames in the send FIFO start at times that only the line knows, so they are put on the link as soon as they have
// arrived; frames on the receive link are admitted only as far as the next grant needs.
#pragma once

#include <bit>
#include <vector>

#include "card.h"
#include "hwmodel/ring.h"

namespace awing::hw {

class FastCard final : public Card {
 public:
  FastCard(const CardConfig& config, Link& tx, Link& rx, Ps start);
  ~FastCard() override;
  void run(Ps until, Ps last) override;
  void look_ahead(Ps last) override;
  uint64_t counter(Counter c) const override;
  /// A trace shows when frames begin, so it must hear of them before that.
  Ps horizon() const override {
    return log_ ? rx_link_.known_until() + rx_link_.delay() - kQuantumAtMost : Card::horizon();
  }

 private:
  static constexpr int64_t kNever = INT64_MAX / 4;
  static constexpr uint16_t kFlushed = 1u << 15;  ///< in TxFrame::flags: thrown away

  /// A ring buffer of a power of two, addressed by ever-growing indices.
  template <typename T>
  struct Ring {
    explicit Ring(size_t n) : items(std::bit_ceil(n)), mask(items.size() - 1) {}
    T& operator[](uint64_t i) { return items[i & mask]; }
    const T& operator[](uint64_t i) const { return items[i & mask]; }
    std::vector<T> items;
    uint64_t mask;
  };

  struct TxFrame {  // a frame that has wholly arrived in the send FIFO
    uint64_t pos;   // of its octets on the link; its TxRecord lies before it
    int64_t edge;   // until it starts: first line edge that sees it; then: line edge of its end
    uint32_t len;
    uint16_t flags;
    uint16_t descs;  // ring mode: descriptors it came in
    uint64_t stamp;  // ring mode: of its start
  };
  struct RxFrame {        // a frame in the receive FIFO
    const uint8_t* data;  // on the link, or in spill_
    uint64_t pos;         // of its octets on the link
    uint64_t stamp;
    int64_t edge;  // line edge at which it was admitted
    uint32_t len;
  };
  struct LineSettings {
    uint32_t control = 0, max_frame = 1518;
    uint64_t mac = 0;
    U128 phc = 0;  // at quantum phc_at
    int64_t phc_at = 0;
    uint64_t inc = phc::kNominal;
    uint64_t stamp(int64_t q) const { return phc::stamp(value(q)); }
    U128 value(int64_t q) const { return phc + static_cast<U128>(static_cast<uint64_t>(q - phc_at)) * inc; }
  };
  struct Read {
    BusUse use;
    bool frame_start, desc_end;
    uint32_t bytes;
    uint64_t addr;
    int64_t ready;
    TxDescriptor desc;
  };
  struct InFlight {  // a transaction whose end the host can see: carried out when time has reached it
    bool active = false;
    BusUse use{};
    int64_t granted = 0, first_data = 0, end = 0;
    uint64_t addr = 0;
    uint32_t bytes = 0;
    HostOp op{};
    union {
      StatusRecord status;
      TxCompletion tx_cpl;
      RxCompletion rx_cpl;
    };
    InFlight() : status{} {}
  };

  // --- bus (fast_bus.cpp) ---------------------------------------------------------------------------------------
  bool finish_in_flight(Ps until);
  int64_t read_time();
  int64_t write_time(int64_t others, int64_t now_edge);
  int64_t room_time();
  int64_t stream_data_time(int64_t bound);
  int64_t ring_data_time(int64_t bound);
  int64_t commit_edge(int64_t last_edge) const;
  /// A register access is on the bus.
  bool accessing() const {
    return flight_.active && (flight_.use == BusUse::kHostWrite || flight_.use == BusUse::kHostRead);
  }
  void announce(Ps until, Ps last);
  void set_dirty(int64_t end) {
    if (dirty_) return;
    dirty_ = reg64(kStatusAddrLo) != 0;
    dirty_since_ = end + 1;
  }
  void grant_host(int64_t g);
  void grant_bridge(int64_t g);
  void grant_read(int64_t g);
  void grant_write(int64_t g);
  void grant_report(int64_t g);
  int64_t report_time();
  /// Interrupt lines that change at or before bus edge e do so.
  void show_lines(int64_t e) {
    for (int64_t at; (at = moderator_.next_change()) <= e;) change_lines(at);
  }
  void start_write(BusUse use, uint64_t addr, uint32_t bytes, int64_t g);
  void make_room(uint32_t bytes);
  void take_stream(const Read& read, int64_t first_data);
  void take_segment(const Read& read, int64_t end);
  void take_tx_descriptors(const Read& read, int64_t end);
  void take_rx_descriptors(const Read& read, int64_t end);
  void finish_data(int64_t end, uint32_t moved);
  void copy_stream(uint8_t* to, uint32_t n);
  void host_write(uint32_t r, uint32_t value, int64_t e);
  uint32_t host_read(uint32_t r, int64_t e);
  bool quiet(int64_t e);
  void reset(int64_t e);
  void trace_grant(int64_t g, BusUse use, uint32_t bytes);
  void trace_write(int64_t g);
  void trace_end(int64_t e, BusUse use, uint32_t bytes);
  uint64_t levels(int64_t e);
  uint32_t rx_host_free() const;

  // --- line (fast_line.cpp) -------------------------------------------------------------------------------------
  /// Starts every frame that may start at or before line edge k.
  void commit(int64_t k);
  void commit_with(const LineSettings& set, int64_t k);
  int64_t launch(const LineSettings& set, TxFrame& frame, int64_t q);
  void stamp_sent(const LineSettings& set, TxFrame& frame, int64_t q);
  const TxRecord& header(const TxFrame& frame) const {
    return *reinterpret_cast<const TxRecord*>(tx_link_.bytes(frame.pos - sizeof(TxRecord)));
  }
  /// Admits or drops the frames on the receive link whose last word lies at or before line edge k, until `enough`
  /// octets have been admitted, ever. False: there are not so many.
  bool admit(int64_t k, uint64_t enough = UINT64_MAX);
  void look_at_front();
  void stamp_front();
  /// Latches the stamp of the frame at the head of the receive link if it has begun by line edge k.
  void hear_front(int64_t k);
  void spill();
  void free_tail() {
    const RxFrame& frame = rx_.front();
    rx_.pop();
    if (rx_.tail() > spilled_) rx_link_.release(frame.pos + frame.len);
  }
  void change_line(const LineSettings& fresh, int64_t e, bool phc_set, uint64_t phc_value, bool phc_add);
  const LineSettings& settings(int64_t k) const { return k >= next_edge_ ? next_ : set_; }

  uint32_t sequence(uint64_t i) const { return static_cast<uint32_t>(i - rx_sequence_base_); }

  // --- crossings ------------------------------------------------------------------------------------------------
  /// Last line edge strictly before / at or before a time; second line edge strictly after it.
  int64_t line_before(Ps t) const { return quantum_.before(t) >> 1; }
  int64_t line_seeing(Ps t) const { return ((quantum_.after(t) + 1) >> 1) + 1; }
  /// Second bus edge strictly after a line edge.
  int64_t bus_seeing(int64_t k) const { return bus_clock_.after(quantum_.at(2 * k)) + 1; }
  /// Last line edge whose stores bus edge e sees.
  int64_t seen_by_bus(int64_t e) const { return line_before(bus_clock_.at(e - 1)); }
  /// Counts the send frames whose end bus edge e sees. e never goes back.
  void see_tx_done(int64_t e);
  /// Lets go of the send frames that nobody looks at after bus edge e.
  void forget_sent(int64_t e);

  // bus
  int64_t free_at_ = 0;
  int last_grant_ = kReport;
  InFlight flight_;
  Ring<Read> reads_{32};
  uint64_t reads_head_ = 0, reads_tail_ = 0;
  bool ring_ = false;
  int64_t read_base_ = 0, write_base_ = 0;  // edges from which the agent's conditions count
  // Edges since which a condition of the read engine has held without a break (kNever: does not hold).
  int64_t split_since_ = 0, posted_since_ = kNever;
  int64_t tx_descs_since_ = kNever, tx_cache_since_ = 0, rx_posted_since_ = kNever, rx_cache_since_ = 0;
  int64_t t_fetch_rx_ = kNever, t_fetch_tx_ = kNever, t_data_ = kNever, t_fifo_ = kNever, t_any_ = kNever;
  int64_t t_ready_ = 0;
  uint64_t trace_before_ = 0;
  int64_t completion_end_ = kNever;  // edge at which a completion ends that the trace has yet to show
  uint32_t completion_bytes_ = 0;

  // send side, bus domain
  uint64_t tx_posted_ = 0, tx_asked_ = 0, tx_fetched_ = 0;
  uint64_t tx_reserved_ = 0;
  bool tx_halted_ = false;
  uint64_t tx_pos_ = 0, tx_parsed_ = 0;      // link positions: octets arrived, parsed
  GrowingRing<TxFrame> tx_;                  // from the oldest that somebody looks at to the last that arrived
  uint64_t tx_committed_ = 0, tx_done_ = 0;  // frames of tx_ that started; whose end the bus has seen
  uint64_t tx_done_bytes_ = 0;
  uint64_t tx_done_base_ = 0;
  uint64_t room_frame_ = 0, room_bytes_ = 0;  // frame whose end makes room for a read, octets up to and with it
  int64_t room_edge_ = 0;
  bool room_known_ = false;
  Ring<TxDescriptor> tx_descs_{128};
  uint64_t txd_head_ = 0, txd_tail_ = 0;
  uint32_t tx_descs_coming_ = 0, tx_desc_offset_ = 0, tx_frame_asked_ = 0;
  uint32_t chain_len_ = 0;
  TxDescriptor chain_first_{};
  uint64_t open_pos_ = 0;
  uint32_t open_len_ = 0;
  uint16_t open_descs_ = 0, open_flags_ = 0;
  uint64_t tx_cpl_count_ = 0;
  uint32_t tx_cpl_descs_ = 0;

  // receive side, bus domain
  uint64_t rx_posted_ = 0, rx_asked_ = 0, rx_produced_ = 0;
  uint64_t rx_taken_ = 0;  // FIFO octets granted to bursts, ever
  uint64_t rx_released_ = 0, rx_released_before_ = 0;
  int64_t rx_release_edge_ = 0;  // line edge that sees the last release
  bool dirty_ = false;
  int64_t dirty_since_ = kNever, host_room_since_ = 0;
  int64_t data_base_ = 0;      // edge from which the conditions of a data burst count
  int64_t age_since_ = -1;     // edge at which octets began to wait, -1 = not yet known
  int64_t enough_since_ = -1;  // edge at which enough octets waited, -1 = not yet known
  GrowingRing<RxFrame> rx_;    // admitted and not wholly taken
  uint64_t rx_in_bytes_ = 0;   // FIFO octets admitted, ever
  uint32_t rx_tail_off_ = 0;   // octets of the tail record (stream) or frame (ring) taken
  // Frames in the receive FIFO stay where the link has them, so they are copied once. When those that wait are passed
  // by many that are dropped, the link would run out of room: then the waiting ones move here, each at most once.
  MirrorRing spill_;
  uint64_t spill_pos_ = 0, spilled_ = 0;  // where the next goes; frames below this index are here
  uint64_t trace_rx_ = 0, trace_rx_bytes_ = 0;
  Ring<RxDescriptor> rx_descs_{128};
  uint64_t rxd_head_ = 0, rxd_tail_ = 0;
  uint32_t rx_descs_coming_ = 0, rx_buf_used_ = 0;
  int64_t rx_descs_since_ = kNever;
  bool rx_cpl_pending_ = false;
  int64_t rx_cpl_since_ = kNever, rx_cpl_free_since_ = 0;
  RxCompletion rx_cpl_{};
  uint64_t rx_cpl_count_ = 0;

  // line
  LineSettings set_, next_;
  int64_t next_edge_ = kNever;  // line edge from which next_ holds
  int64_t tx_free_edge_ = 0;    // first edge at which the sender looks at the next frame
  int64_t tx_earliest_ = 0;     // first quantum at which the next frame may start
  uint32_t deficit_ = 0;
  bool launch_checked_ = false;
  uint64_t tx_latch_ = 0;
  uint32_t tx_latched_ = 0;
  bool front_known_ = false, front_stamped_ = false;
  int64_t front_q_ = 0, front_end_ = 0, rx_end_ = -1;
  uint64_t front_stamp_ = 0;
  uint64_t rx_sequence_base_ = 0;  // index of the frame that has sequence number 0
};

}  // namespace awing::hw
