// SPDX-License-Identifier: BSD-3-Clause
// The reference engine: every clock edge of both domains, plain state machines. Read it beside docs/datasheet.md.
#pragma once

#include <vector>

#include "card.h"
#include "crossing.h"

namespace awing::hw {

class ReferenceCard final : public Card {
 public:
  ReferenceCard(const CardConfig& config, Link& tx, Link& rx, Ps start);
  void run(Ps until, Ps last) override;
  /// Every edge looks one quantum ahead for frames that begin.
  Ps horizon() const override { return rx_link_.known_until() + rx_link_.delay() - kQuantumAtMost; }

 private:
  struct TxFrame {  // a whole frame in the send FIFO
    uint64_t pos;
    uint32_t len, fifo_bytes, descs;
    uint16_t flags, stamp_offset, csum_offset;
    uint64_t launch;
  };
  struct TxDone {  // what the line side has finished with
    uint64_t bytes = 0, frames = 0;
  };
  struct RxFrame {  // a whole frame in the receive FIFO
    uint64_t pos, stamp;
    uint32_t len, sequence;
  };
  struct RxDone {
    uint64_t bytes = 0, frames = 0;
  };
  struct LineSettings {
    uint32_t control = 0, max_frame = 1518;
    uint64_t mac = 0;
    uint64_t commands = 0;  // how many PHC commands were given
    uint32_t command = 0;   // the last one
    uint64_t phc_value = 0;
    int32_t trim = 0;
  };
  struct Conditions {
    bool agent[kAgents] = {};
  };
  struct Read {  // an outstanding split
    BusUse use;
    uint64_t addr;
    uint32_t bytes;
    int64_t ready;
    TxDescriptor desc{};                         // kReadData: whose octets these are
    bool frame_start = false, desc_end = false;  // kReadData: first of its frame, last of its descriptor
  };
  struct Transaction {
    Agent agent;
    BusUse use;
    int64_t granted, first_data;
    uint64_t addr;
    uint32_t bytes, moved, word;
    HostOp op;
    StatusRecord status;
    TxCompletion tx_cpl;
    RxCompletion rx_cpl;
  };

  // bus domain
  void bus_edge(int64_t e, Ps t);
  Conditions conditions(int64_t e) const;
  void grant(Agent agent, int64_t e, Ps t);
  void grant_read(int64_t e);
  void grant_write();
  void grant_report();
  void transfer(int64_t e, Ps t);
  void finish(int64_t e, Ps t);
  void host_write(uint32_t r, uint32_t value, int64_t e, Ps t);
  uint32_t host_read(uint32_t r, int64_t e) const;
  void reset(int64_t e);
  bool quiet() const;
  void take_stream(const uint8_t* data, uint32_t n, Ps t);
  void take_segment(const Read& read, const uint8_t* data, uint32_t n, bool last, Ps t);
  void take_tx_descriptors(const Read& read);
  void take_rx_descriptors(const Read& read);
  void bad_record() {
    tx_halted_ = true;
    counters_[kTxBadRecord]++;
    asked_[kRead] = -1;  // what it waited for is gone
    stall_fifo_ = stall_splits_ = 0;
  }
  uint32_t tx_free() const { return config_.tx_fifo - static_cast<uint32_t>(tx_reserved_ - tx_done_.seen().bytes); }
  uint64_t levels() const {
    return (tx_reserved_ - tx_done_.seen().bytes) << 32 | (rx_in_.seen().bytes - rx_released_.value());
  }
  uint64_t rx_frames_waiting() const { return rx_in_.seen().frames - rx_frames_taken_; }
  bool want_rx_descs() const;
  bool want_tx_descs() const;
  bool want_data() const;
  uint32_t rx_waiting() const { return static_cast<uint32_t>(rx_in_.seen().bytes - rx_taken_); }
  uint32_t rx_host_free() const;
  bool rx_ready() const;  // stream: enough waits, or has waited long enough
  bool writing_data() const { return busy_ && now_.use == BusUse::kWriteData; }

  // line domain
  void line_edge(int64_t k, Ps t);
  void tx_line(int64_t k, Ps t);
  void rx_line(int64_t k, Ps t);
  void start_frame(int64_t q);

  int64_t next_bus_ = 0, next_line_ = 0;

  // bus state
  Conditions request_;
  bool busy_ = false;
  int64_t free_at_ = 0;
  Transaction now_{};
  int last_grant_ = kReport;
  int64_t asked_[kAgents] = {-1, -1, -1, -1, -1};  // edge at which the agent's condition became true, -1 = is not
  uint64_t stall_fifo_ = 0, stall_splits_ = 0, stall_host_ = 0;
  std::deque<Read> reads_;
  bool ring_ = false;

  // send side, bus domain. Octets or descriptors since reset.
  uint64_t tx_posted_ = 0, tx_asked_ = 0, tx_fetched_ = 0;
  uint64_t tx_reserved_ = 0;  // FIFO octets claimed, ever
  bool tx_halted_ = false;
  std::vector<uint8_t> tx_ram_;
  uint64_t tx_written_ = 0, tx_parsed_ = 0;  // stream: octets arrived and parsed, positions in tx_ram_
  std::deque<TxFrame> tx_frames_;
  Crossing<uint64_t> tx_in_;           // frames wholly arrived
  std::deque<TxDescriptor> tx_descs_;  // ring: descriptors held, the head one partly asked for
  uint32_t tx_descs_coming_ = 0, tx_desc_offset_ = 0;
  uint32_t tx_frame_asked_ = 0;  // ring: octets asked for of the head frame
  TxFrame tx_chain_{};           // ring: frame whose descriptors are being fetched
  TxFrame tx_open_{};            // ring: frame whose octets are arriving

  // receive side, bus domain
  uint64_t rx_posted_ = 0, rx_asked_ = 0, rx_produced_ = 0;
  uint64_t rx_taken_ = 0;           // FIFO octets granted to bursts, ever
  Crossing<uint64_t> rx_released_;  // FIFO octets written to the host, ever
  uint32_t rx_age_ = 0;
  bool dirty_ = false;
  std::deque<RxDescriptor> rx_descs_;
  uint32_t rx_descs_coming_ = 0, rx_buf_used_ = 0, rx_frame_done_ = 0;
  std::deque<RxCompletion> rx_cpl_;
  uint64_t rx_cpl_count_ = 0, tx_cpl_count_ = 0;  // completions written since reset
  uint32_t tx_cpl_descs_ = 0;
  uint64_t tx_done_base_ = 0;     // tx_done_.frames at the last reset
  uint64_t rx_frames_taken_ = 0;  // frames wholly written to the host, ever
  uint64_t rx_frames_base_ = 0;   // the same at the last reset
  std::deque<RxFrame> rx_frames_;
  std::deque<TxCompletion> tx_cpls_;  // made by the line, seen by the bus when tx_done_ is

  // line state
  Crossing<LineSettings> line_;
  Crossing<TxDone> tx_done_;
  Crossing<RxDone> rx_in_;
  uint64_t tx_latch_ = 0;
  uint32_t tx_latched_ = 0;
  U128 phc_ = 0, phc_shown_ = 0;  // at the next edge; at the last edge
  uint64_t phc_inc_ = phc::kNominal;
  uint64_t commands_done_ = 0;
  bool sending_ = false, launch_checked_ = false;
  TxFrame tx_now_{};
  int64_t tx_end_ = 0, tx_earliest_ = 0;
  uint64_t tx_taken_frames_ = 0;  // frames the line has begun or flushed, ever
  uint32_t deficit_ = 0;
  uint64_t tx_stamp_ = 0;
  bool receiving_ = false;
  int64_t rx_end_ = -1;
  uint64_t rx_stamp_ = 0, rx_ram_written_ = 0;
  uint32_t rx_sequence_ = 0;
  std::vector<uint8_t> rx_ram_;
};

}  // namespace awing::hw
