// SPDX-License-Identifier: BSD-3-Clause
// The reference engine of the oc48 card: every clock edge of its three domains (bus, send line, receive line), plain
// state machines. Read it beside docs/datasheet-oc48.md.
#pragma once

#include <deque>
#include <vector>

#include "crossing.h"
#include "oc48.h"

namespace awing::hw {

class ReferenceOc48 final : public Oc48Card {
 public:
  ReferenceOc48(const CardConfig& config, Link& tx, Link& rx, Ps start);
  void run(Ps until, Ps last) override;
  void new_sender() override;
  bool line_up() const override { return !monitor_.down(); }

 private:
  struct TxFrame {  // a whole frame in the send FIFO
    uint64_t pos;
    uint32_t len, fifo_bytes, descs;
    uint16_t flags;
  };
  struct RxFrame {  // a whole frame in the receive FIFO
    uint64_t pos, stamp;
    uint32_t len, sequence;
  };
  struct Done {  // what a framer has finished with, ever
    uint64_t bytes = 0, frames = 0;
  };
  struct Clocking {  // what the host sets of the PHC
    uint64_t commands = 0;
    uint32_t command = 0;
    uint64_t value = 0;
    int32_t trim = 0;
  };
  struct Phc {
    U128 value = 0;
    uint64_t inc = nominal();
  };
  struct Conditions {
    bool agent[kAgents] = {};
  };
  struct Transaction {
    Agent agent;
    BusUse use;
    int64_t granted, first_data;
    uint64_t addr;
    uint32_t bytes, moved, word;
    bool retry, mwi;
    HostOp op;
    TxCompletion tx_cpl;
    RxCompletion rx_cpl;
  };

  // bus domain (reference_oc48_bus.cpp)
  void bus_edge(int64_t e, Ps t);
  Conditions conditions(int64_t e) const;
  void grant(Agent agent, int64_t e, Ps t);
  void choose_read();
  void grant_read(int64_t e);
  void grant_write();
  void grant_report();
  void transfer(int64_t e, Ps t);
  void finish(int64_t e, Ps t);
  void finish_read(Ps t);
  void finish_write(int64_t e, Ps t);
  void take_tx_descriptors(uint32_t n);
  void take_rx_descriptors(uint32_t n);
  void host_write(uint32_t r, uint32_t value, int64_t e, Ps t);
  uint32_t host_read(uint32_t r, int64_t e) const;
  void reset(int64_t e);
  bool quiet() const;
  uint32_t tx_free() const { return config_.tx_fifo - static_cast<uint32_t>(tx_claimed_ - tx_done_.seen().bytes); }
  bool room() const { return tx_free() >= config_.bus.burst + 32; }
  uint64_t levels() const {
    return (tx_claimed_ - tx_done_.seen().bytes) << 32 | (rx_in_.seen().bytes - rx_released_.value());
  }
  bool want_rx_descs() const { return rx_posted_ > rx_fetched_ && rx_descs_.size() <= config_.desc_cache / 2; }
  bool want_tx_descs() const {
    return !tx_halted_ && tx_posted_ > tx_fetched_ && tx_descs_.size() <= config_.desc_cache / 2;
  }
  bool want_data() const { return !tx_halted_ && !tx_descs_.empty(); }
  bool rx_waits() const { return rx_in_.seen().frames != rx_taken_; }
  bool runs(Agent agent) const { return busy_ && now_.agent == agent; }

  // line domains (reference_oc48_line.cpp)
  void tx_edge(int64_t k, Ps t);
  void send(int64_t k, Ps t);
  void start_frame(int64_t p, Ps t);
  uint32_t stuffed(const TxFrame& frame) const;
  void rx_edge(int64_t r, Ps t);
  void end_of_sonet_frame(int64_t r, Ps t);
  void end_frame(Ps t);
  Ps rx_time(int64_t r) const { return rx_clock_.at(4 * r) + rx_link_.delay(); }

  Clock rx_clock_;  // recovered from the line: the far end's
  int64_t next_bus_ = 0, next_tx_ = 0, next_rx_ = 0;

  // bus state
  Conditions request_;
  bool busy_ = false;
  int64_t free_at_ = 0;
  Transaction now_{};
  int last_grant_ = kReport;
  int64_t asked_[kAgents] = {-1, -1, -1, -1, -1};  // edge at which the agent's condition became true, -1 = is not
  uint64_t stall_fifo_ = 0, stall_host_ = 0;
  bool read_again_ = false;  // the bridge said Retry: the same read is asked again
  BusUse read_use_{};
  uint64_t read_addr_ = 0;
  uint32_t read_bytes_ = 0;
  int64_t read_ready_ = 0, read_again_at_ = 0;  // when the bridge has the data; when the card asks again

  // send side, bus domain. Descriptors since reset, FIFO octets ever.
  uint64_t tx_posted_ = 0, tx_fetched_ = 0, tx_claimed_ = 0;
  bool tx_halted_ = false;
  std::vector<uint8_t> tx_ram_;
  uint64_t tx_written_ = 0;
  std::deque<TxFrame> tx_frames_;
  Crossing<uint64_t> tx_in_;           // frames wholly arrived
  std::deque<TxDescriptor> tx_descs_;  // descriptors held, the head one partly read
  uint32_t tx_desc_done_ = 0;          // octets of it that are read
  uint32_t chain_len_ = 0;             // frame whose descriptors are being fetched
  uint16_t chain_flags_ = 0;
  TxFrame tx_open_{};  // frame whose octets are arriving

  // receive side, bus domain
  uint64_t rx_posted_ = 0, rx_fetched_ = 0;
  Crossing<uint64_t> rx_released_;  // FIFO octets written to the host, ever
  std::deque<RxDescriptor> rx_descs_;
  uint32_t rx_buf_used_ = 0, rx_frame_done_ = 0;
  bool rx_cpl_waits_ = false;
  RxCompletion rx_cpl_{};
  uint64_t rx_cpl_count_ = 0, tx_cpl_count_ = 0;  // completions written since reset
  uint32_t tx_cpl_descs_ = 0;
  uint64_t tx_done_base_ = 0;  // tx_done_.frames at the last reset
  uint64_t rx_taken_ = 0;      // frames wholly written to the host, ever
  std::deque<RxFrame> rx_frames_;
  std::deque<TxCompletion> tx_cpls_;  // made by the line, seen by the bus when tx_done_ is

  // line state
  Crossing<LineSettings> tx_set_, rx_set_;
  Crossing<Clocking> clocking_;
  Crossing<Phc> phc_seen_;  // the PHC as the receive line sees it
  Crossing<Done> tx_done_, rx_in_;
  uint64_t tx_latch_ = 0;
  uint32_t tx_latched_ = 0;
  Phc phc_;             // at the next edge of the send line
  U128 phc_shown_ = 0;  // at its last edge
  uint64_t commands_done_ = 0;
  bool sending_ = false;
  TxFrame tx_now_{};
  uint64_t tx_stamp_ = 0;
  int64_t tx_flag_ = 0;      // payload octet of the closing flag
  int64_t tx_earliest_ = 1;  // first payload octet at which the next frame may start; octet 0 of the line is a flag
  uint64_t tx_started_ = 0;  // frames the line has begun or flushed, ever
  SonetSender sonet_sender_;
  Crossing<Report> report_;  // from the receive to the send line
  Crossing<uint32_t> alarms_;
  uint32_t alarms_seen_ = 0;  // bus domain: the register that latches them
  SonetMonitor monitor_;
  bool receiving_ = false;
  int64_t rx_flag_ = 0, rx_earliest_ = 1;
  uint64_t rx_stamp_ = 0;
  uint32_t rx_sequence_ = 0;
  std::vector<uint8_t> rx_ram_;
};

}  // namespace awing::hw
