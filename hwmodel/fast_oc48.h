// SPDX-License-Identifier: BSD-3-Clause
// The fast engine of the oc48 card: jumps from one bus transaction to the next and computes what the line did in
// between. Read it beside the reference engine, whose every event it must give at the same picosecond.
//
// How it may: a condition an agent waits for, once true, stays true until that agent's own next grant. So "the first
// edge at which it holds" is a number, and the next grant is max(bus free, that + 1). Frames start when the line
// alone decides, so they are put on the link as soon as they have arrived in the send FIFO; a frame on the receive
// link is admitted when a bus event could see it.
#pragma once

#include <bit>
#include <vector>

#include "hwmodel/ring.h"
#include "oc48.h"

namespace awing::hw {

class FastOc48 final : public Oc48Card {
 public:
  FastOc48(const CardConfig& config, Link& tx, Link& rx, Ps start);
  ~FastOc48() override;
  void run(Ps until, Ps last) override;
  void new_sender() override;
  bool line_up() const override { return !monitor_.down(); }
  void look_ahead(Ps last) override;
  uint64_t counter(Counter c) const override;

 private:
  static constexpr int64_t kNever = INT64_MAX / 4;
  static constexpr uint16_t kFlushed = 1u << 15;  ///< in TxFrame::flags: thrown away

  struct TxFrame {  // a frame that has wholly arrived in the send FIFO
    uint64_t pos;   // of its octets on the link
    int64_t edge;   // until it starts: first line edge that sees it; then: line edge of its end
    uint64_t stamp;
    uint32_t len, line_octets;
    uint16_t flags, descs;
  };
  struct RxFrame {        // a frame in the receive FIFO
    const uint8_t* data;  // on the link, or in spill_
    uint64_t pos;         // of its octets on the link
    uint64_t stamp;
    Ps at;  // when it was admitted
    uint32_t len;
  };
  struct Settings {  // in force from some edge of each line on
    LineSettings line;
    U128 phc = 0;  // at quantum phc_at
    int64_t phc_at = 0;
    uint64_t inc = nominal();
    U128 value(int64_t q) const { return phc + static_cast<U128>(static_cast<uint64_t>(q - phc_at)) * inc; }
    uint64_t stamp(int64_t q) const { return phc::stamp(value(q)); }
  };
  struct InFlight {  // the transaction on the bus: carried out when time has reached its end
    bool active = false, retry = false, mwi = false;
    Agent agent{};
    BusUse use{};
    int64_t granted = 0, first_data = 0, end = 0;
    uint64_t addr = 0;
    uint32_t bytes = 0;
    HostOp op{};
    TxCompletion tx_cpl{};
    RxCompletion rx_cpl{};
  };

  // --- bus (fast_oc48_bus.cpp) ----------------------------------------------------------------------------------
  int64_t read_time();
  int64_t room_time();
  int64_t write_time(int64_t others, Ps until);
  int64_t report_time();
  /// Interrupt lines that change at or before bus edge e do so.
  void show_lines(int64_t e) {
    for (int64_t at; (at = moderator_.next_change()) <= e;) change_lines(at);
  }
  void grant(int agent, int64_t g, int64_t wait);
  void grant_read(int64_t g);
  void choose_read(int64_t g);
  void grant_write(int64_t g);
  void grant_report(int64_t g);
  bool finish_in_flight(Ps until);
  uint32_t yields(int64_t& end) const;
  void finish_read(uint32_t moved, int64_t end);
  void take_segment(uint32_t moved, int64_t end);
  void take_tx_descriptors(uint32_t n, int64_t end);
  void take_rx_descriptors(uint32_t n, int64_t end);
  void finish_write(uint32_t moved, int64_t end);
  void make_room(uint32_t bytes);
  void host_write(uint32_t r, uint32_t value, int64_t e);
  uint32_t host_read(uint32_t r, int64_t e);
  bool quiet(int64_t e);
  void reset(int64_t e);
  uint64_t levels(int64_t e);
  void trace(int64_t e, EventType type, BusUse use, uint32_t bytes) {
    if (log_) emit(bus_clock_.at(e), Block::kBus, type, static_cast<uint16_t>(use), bytes, levels(e));
  }
  int64_t commit_edge(int64_t last_edge) const;
  void announce(Ps until, Ps last);
  bool accessing() const { return flight_.active && flight_.agent == kHost; }

  // --- lines (fast_oc48_line.cpp) -------------------------------------------------------------------------------
  /// Starts every frame that may start at or before line edge k.
  void commit(int64_t k);
  void commit_with(const Settings& set, int64_t k);
  /// Does in order what both lines do before time t, starts of frames aside: admits or drops the frames whose closing
  /// flag comes on the receive link, and ends SONET frames. If `one`, stops when there is a frame in the FIFO.
  void admit(Ps t, bool one = false);
  void end_front();
  void end_sonet_sent();
  void end_sonet_received();
  void set_rx_clock();
  /// Alarms as the bus sees them at edge e; e never goes back.
  uint32_t bus_alarms(int64_t e);
  void look_at_front();
  void stamp_front();
  /// Latches the stamp of the frame at the head of the receive link if it has begun before time t.
  void hear_front(Ps t);
  void spill();
  /// Does all that the lines do strictly before bus edge e.
  void settle(int64_t e) {
    const Ps t = bus_clock_.at(e);
    commit(tx_before(t));
    admit(t);
  }
  void change(const Settings& fresh, int64_t e, bool phc_set, uint64_t phc_value, bool phc_add);
  const Settings& tx_settings(int64_t k) const { return k >= next_tx_edge_ ? next_ : set_; }
  const Settings& rx_settings(int64_t r) const { return r >= next_rx_edge_ ? next_ : set_; }
  const Settings& newest() const { return next_tx_edge_ != kNever ? next_ : set_; }
  uint32_t sequence(uint64_t i) const { return static_cast<uint32_t>(i - rx_sequence_base_); }

  // --- clocks and crossings -------------------------------------------------------------------------------------
  Ps tx_time(int64_t k) const { return quantum_.at(4 * k); }
  Ps rx_time(int64_t r) const { return rx_clock_.at(4 * r) + rx_link_.delay(); }
  /// Last edge strictly before a time; second edge strictly after it.
  int64_t tx_before(Ps t) const { return quantum_.before(t) >> 2; }
  int64_t tx_seeing(Ps t) const { return ((quantum_.after(t) + 3) >> 2) + 1; }
  int64_t rx_seeing(Ps t) const { return ((rx_clock_.after(t - rx_link_.delay()) + 3) >> 2) + 1; }
  int64_t bus_seeing(Ps t) const { return bus_clock_.after(t) + 1; }
  /// Time before which (strictly) a line's stores are seen at bus edge e.
  Ps seen_by_bus(int64_t e) const { return bus_clock_.at(e - 1); }
  /// Counts the send frames whose end bus edge e sees. e never goes back.
  void see_tx_done(int64_t e);
  void forget_sent();

  Clock rx_clock_;
  int64_t first_tx_edge_;
  int64_t tx_sonet_ = 0, rx_sonet_ = 0;  // SONET frames that end next
  Ps tx_sonet_at_ = 0, rx_sonet_at_ = 0;
  SonetMonitor monitor_;
  SonetSender sonet_sender_;
  Report report_, report_before_;
  Ps report_at_ = -1;  // when report_ took the place of report_before_
  struct Change {
    Ps at;
    uint32_t alarms;
  };
  GrowingRing<Change> alarm_changes_;  // that the bus has not seen
  uint32_t bus_alarms_ = 0, alarms_seen_ = 0;
  int64_t latch_from_ = 0;  // bus edge from which alarms are latched

  // bus
  int64_t free_at_ = 0;
  int last_grant_ = kReport;
  InFlight flight_;
  int64_t read_base_ = 0, write_base_ = 0;  // edges from which the agent's conditions count
  int64_t t_fetch_rx_ = kNever, t_fetch_tx_ = kNever, t_data_ = kNever, t_fifo_ = kNever;
  bool read_again_ = false;
  BusUse read_use_{};
  uint64_t read_addr_ = 0;
  uint32_t read_bytes_ = 0;
  int64_t read_ready_ = 0, read_again_at_ = 0;

  // send side, bus domain
  uint64_t tx_posted_ = 0, tx_fetched_ = 0, tx_claimed_ = 0;
  bool tx_halted_ = false;
  int64_t tx_posted_since_ = 0, rx_posted_since_ = 0, rx_cache_since_ = 0;
  GrowingRing<TxDescriptor> tx_descs_;
  uint32_t tx_desc_done_ = 0, chain_len_ = 0;
  uint16_t chain_flags_ = 0;
  uint64_t tx_pos_ = 0;  // link position: octets arrived
  uint32_t open_len_ = 0;
  uint16_t open_descs_ = 0, open_flags_ = 0;
  GrowingRing<TxFrame> tx_;                  // from the oldest that somebody looks at to the last that arrived
  uint64_t tx_committed_ = 0, tx_done_ = 0;  // frames of tx_ that started; whose end the bus has seen
  uint64_t tx_done_bytes_ = 0, tx_done_base_ = 0;
  uint64_t room_frame_ = 0, room_bytes_ = 0;  // frame whose end makes room for a read, octets up to and with it
  uint64_t tx_cpl_count_ = 0;
  uint32_t tx_cpl_descs_ = 0;

  // receive side, bus domain
  uint64_t rx_posted_ = 0, rx_fetched_ = 0;
  uint64_t rx_released_ = 0, rx_released_before_ = 0;
  Ps rx_release_at_ = 0;  // receive edge that sees the last release
  GrowingRing<RxDescriptor> rx_descs_;
  int64_t rx_descs_since_ = 0;
  uint32_t rx_buf_used_ = 0, rx_frame_done_ = 0;
  bool rx_cpl_waits_ = false;
  int64_t rx_cpl_since_ = 0, rx_cpl_free_since_ = 0;
  RxCompletion rx_cpl_{};
  uint64_t rx_cpl_count_ = 0;
  GrowingRing<RxFrame> rx_;               // admitted and not wholly taken
  uint64_t rx_in_bytes_ = 0;              // FIFO octets admitted, ever
  uint64_t shown_ = 0, shown_bytes_ = 0;  // frames of rx_, and their octets, that the trace has shown
  // Frames in the receive FIFO stay where the link has them, so they are copied once; see FastCard.
  MirrorRing spill_;
  uint64_t spill_pos_ = 0, spilled_ = 0;

  // lines
  Settings set_, next_;
  int64_t next_tx_edge_ = kNever, next_rx_edge_ = kNever;  // from which next_ holds
  int64_t tx_free_edge_ = 0;                               // first edge at which the sender looks at the next frame
  int64_t tx_earliest_ = 1;                                // first payload octet at which the next frame may start
  uint64_t tx_latch_ = 0;
  uint32_t tx_latched_ = 0;
  bool front_known_ = false, front_stamped_ = false;
  int64_t front_p_ = 0, front_edge_ = 0, front_end_ = 0, rx_earliest_ = 1;
  Ps front_at_ = 0, front_end_at_ = 0, change_at_ = 0;
  int64_t first_rx_edge_;
  uint64_t front_stamp_ = 0;
  uint64_t rx_sequence_base_ = 0;  // index of the frame that has sequence number 0
};

}  // namespace awing::hw
