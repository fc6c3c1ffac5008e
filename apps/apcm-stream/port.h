// SPDX-License-Identifier: BSD-3-Clause
// One DPDK port as apcm-stream sees it: packets, a clock, and what the card can do about time.
#pragma once

#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <tl/expected.hpp>

namespace apcm::stream {

struct PortConfig {
  uint16_t id = 0;
  bool send = false, receive = false;
  uint32_t mtu = 1500;  ///< largest IP packet
};

/// Where the card inserts its stamp, as net_awing's dynamic field "awing_dynfield_tx_stamp" holds it.
struct TxStampField {
  uint16_t stamp_offset;  ///< octets from the start of the Ethernet frame to the 8-octet 32.32 stamp
  uint16_t csum_offset;   ///< to the 16-bit ones-complement sum that the card mends
};
static_assert(sizeof(TxStampField) == 4 && alignof(TxStampField) == 2);

/// A started port. Stops and closes it when destroyed. Not thread-safe.
class Port {
 public:
  static tl::expected<std::unique_ptr<Port>, std::string> open(const PortConfig& config);
  ~Port();
  Port(const Port&) = delete;
  Port& operator=(const Port&) = delete;

  uint16_t id() const { return id_; }
  const std::string& name() const { return name_; }
  uint64_t link_bps() const { return link_bps_; }
  uint64_t mac() const { return mac_; }
  rte_mempool* pool() const { return pool_; }

  /// True when now_ns() is the port's own clock, false when it is the processor's.
  bool has_clock() const { return has_clock_; }
  bool timed_send() const { return tx_flag_ != 0; }
  bool inserts_stamp() const { return stamp_flag_ != 0; }
  bool stamps_receive() const { return rx_flag_ != 0; }

  /// Nanoseconds of the clock that stamps and launch times of this port refer to.
  uint64_t now_ns() const;

  /// The card is to start the frame at `launch_ns`, if timed_send().
  void set_launch(rte_mbuf* m, uint64_t launch_ns) const {
    *RTE_MBUF_DYNFIELD(m, timestamp_offset_, rte_mbuf_timestamp_t*) = launch_ns;
    m->ol_flags |= tx_flag_;
  }
  /// The card is to write its stamp, if inserts_stamp().
  void set_stamp(rte_mbuf* m, TxStampField where) const {
    *RTE_MBUF_DYNFIELD(m, stamp_offset_, TxStampField*) = where;
    m->ol_flags |= stamp_flag_;
  }
  /// The card's arrival time of a received frame; nothing when it has none.
  std::optional<uint64_t> receive_stamp_ns(const rte_mbuf* m) const {
    if (rx_flag_ == 0 || (m->ol_flags & rx_flag_) == 0) return std::nullopt;
    return *RTE_MBUF_DYNFIELD(m, timestamp_offset_, const rte_mbuf_timestamp_t*);
  }
  uint16_t send(rte_mbuf** packets, uint16_t count) { return rte_eth_tx_burst(id_, 0, packets, count); }
  uint16_t receive(rte_mbuf** packets, uint16_t count) { return rte_eth_rx_burst(id_, 0, packets, count); }
  rte_eth_stats stats() const;
  /// Packets taken that are not on the line yet; nothing when the port does not tell (only net_awing does).
  std::optional<uint64_t> in_flight() const;
  /// Asks for the link. Some drivers (net_memif) only try to connect when they are asked.
  bool link_up() const;

 private:
  explicit Port(uint16_t id) : id_(id) {}
  tl::expected<void, std::string> start(const PortConfig& config);

  uint16_t id_;
  std::string name_;
  bool started_ = false;
  rte_mempool* pool_ = nullptr;
  uint64_t link_bps_ = 0;
  uint64_t mac_ = 0;
  bool has_clock_ = false;
  int timestamp_offset_ = -1;
  uint64_t tx_flag_ = 0, rx_flag_ = 0;
  int stamp_offset_ = -1;
  uint64_t stamp_flag_ = 0;
  std::optional<uint64_t> in_flight_id_;  ///< of the xstat
};

/// Nanoseconds of the processor's clock: steady, but set to the host's time of day at the first call, so that two
/// processes of one host agree.
uint64_t host_now_ns();

}  // namespace apcm::stream
