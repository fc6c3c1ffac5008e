// SPDX-License-Identifier: BSD-3-Clause
// The driver's own types. Shared and the queues lie in memory that secondary processes map: plain data, no pointers
// they would follow but those DPDK gives them. Adapter is the primary's alone.
#pragma once

#include <ethdev_driver.h>
#include <rte_ethdev.h>
#include <rte_log.h>
#include <rte_mbuf.h>
#include <rte_mbuf_dyn.h>
#include <rte_version.h>

#include <atomic>
#include <cstdint>
#include <memory>

#include "device.h"
#include "hwmodel/config.h"
#include "policy.h"

static_assert(RTE_VERSION >= RTE_VERSION_NUM(22, 11, 0, 0) && RTE_VERSION < RTE_VERSION_NUM(23, 0, 0, 0),
              "the driver headers of DPDK 22.11 fit its own ABI alone");

namespace awing::pmd {

extern int log_type;
#define AWING_LOG(level, ...) \
  rte_log(RTE_LOG_##level, static_cast<uint32_t>(::awing::pmd::log_type), "net_awing: " AWING_LINE(__VA_ARGS__, ""))
#define AWING_LINE(format, ...) format "%s\n", __VA_ARGS__

constexpr uint16_t kMinMtu = 68, kMaxMtu = 16000;
constexpr uint32_t kOverhead = RTE_ETHER_HDR_LEN + RTE_ETHER_CRC_LEN + 8;  // two VLAN tags

/// What an application writes into the dynamic field "awing_dynfield_tx_stamp" of a packet it also gives the flag
/// "awing_dynflag_tx_stamp": where the card puts the 8-octet stamp, and which checksum it mends (0xFFFF: none). Octets
/// from the start of the frame, even.
struct StampField {
  uint16_t stamp_offset;
  uint16_t csum_offset;
};

/// What the queues counted that are gone: setting a queue up anew must not lose a packet.
struct RxCounts {
  uint64_t packets, bytes, nombuf, too_long;
};
struct TxCounts {
  uint64_t packets, bytes, errors;
};

/// Counters at the last stats_reset; what secondaries may read.
struct Shared {
  uint64_t card[hw::kCounters];       ///< of the card, as last seen by the primary
  uint64_t card_base[hw::kCounters];  ///< at the last reset of the statistics
  uint64_t rx_stop_drops;             ///< received but thrown away when the port stopped
  uint64_t rx_carried, tx_carried;    ///< in flight at the last reset: they count on both sides after it
  RxCounts rx_past;                   ///< of queues since released
  TxCounts tx_past;
};

struct Adapter;

struct RxQueue {
  // --- read by every burst
  Adapter* adapter;
  hw::StatusRecord* status;
  uint8_t* stream;
  uint32_t mask, consumed, told;  ///< octets; told: last doorbell
  uint32_t tell_after;
  rte_mempool* pool;
  uint64_t rearm;   ///< mbuf rearm word: data_off, refcnt, nb_segs, port
  uint32_t room;    ///< octets in an mbuf
  int stamp_field;  ///< offset of the timestamp dynamic field, -1 = off
  uint64_t stamp_flag;
  bool scatter, ptp, started;
  uint32_t polled;  ///< packets received since the last poll
  uint32_t taken;   ///< frames taken since the card's reset, modulo 2^32: what the moderator is told as Seen
  // --- ring mode
  hw::RxDescriptor* descs;
  hw::RxCompletion* cpls;
  rte_mbuf** bufs;
  uint32_t size, seen, posted;  ///< descriptors
  rte_mbuf *head, *tail;        ///< frame whose last buffer has not come yet
  // --- statistics
  RxCounts count;
  uint16_t nb_desc, port_id;
  bool deferred;
};

struct TxQueue {
  Adapter* adapter;
  hw::StatusRecord* status;
  uint8_t* stream;
  uint32_t mask, produced, fetched;  ///< octets; fetched: as last looked at
  SendPolicy policy;
  bool fast_free, started;
  int launch_field, insert_field;  ///< offsets of the dynamic fields
  uint64_t launch_flag, insert_flag, special;
  // --- ring mode
  hw::TxDescriptor* descs;
  hw::TxCompletion* cpls;
  rte_mbuf** bufs;  ///< mbuf segment behind each descriptor, or null
  uint8_t* zeros;
  uint32_t size, seen, done;
  // --- statistics
  TxCounts count;
  uint32_t warned;  ///< bit per TxRefusal: it was told
  uint16_t nb_desc;
  uint32_t polled;
  bool deferred;
};

/// The primary's side of a port: C++ objects that no other process may touch.
struct Adapter {
  std::shared_ptr<const uint64_t> epoch;  ///< clock=tsc: Unix second at which the time of the wire began
  std::unique_ptr<Device> device;
  hw::PortConfig config;
  rte_eth_dev* dev = nullptr;
  Shared* shared = nullptr;
  hw::StatusRecord* status = nullptr;
  uint32_t control = 0;                   ///< control bits besides the enables
  uint32_t rx_stream = 0, tx_stream = 0;  ///< octets, 0 = by number of descriptors
  bool ring = false, ptp = false, link_up = false;
  uint64_t rx_ptp_stamp = 0;
  bool rx_ptp_valid = false;
  uint32_t tx_latched = 0;
  std::string told;  ///< what the log has said of Device::complaint()
  SendMode tx_mode = SendMode::kDeferred;
  uint32_t rx_batch = 1, rx_timeout_us = 0;
  ReceivePolicy rx_policy;
  std::atomic<int> rx_event{-1};           ///< eventfd of the receive queue
  std::atomic<bool> rx_waited_for{false};  ///< the receive interrupt is enabled: somebody may sleep
  std::atomic<bool> tx_interrupt{false};   ///< the send line rose and the sender has not looked since
  std::vector<std::pair<std::string, uint64_t>> more_base;
};

inline Adapter* adapter_of(rte_eth_dev* dev) { return static_cast<Adapter*>(dev->process_private); }
inline Shared* shared_of(rte_eth_dev* dev) { return static_cast<Shared*>(dev->data->dev_private); }
inline RxQueue* rxq(rte_eth_dev* dev) {
  return dev->data->nb_rx_queues ? static_cast<RxQueue*>(dev->data->rx_queues[0]) : nullptr;
}
inline TxQueue* txq(rte_eth_dev* dev) {
  return dev->data->nb_tx_queues ? static_cast<TxQueue*>(dev->data->tx_queues[0]) : nullptr;
}
inline bool primary() { return rte_eal_process_type() == RTE_PROC_PRIMARY; }

constexpr uint64_t stamp_to_ns(uint64_t stamp) {
  return (stamp >> 32) * 1'000'000'000 + (((stamp & 0xFFFFFFFF) * 1'000'000'000 + (uint64_t{1} << 31)) >> 32);
}
constexpr uint64_t ns_to_stamp(uint64_t ns) {
  return (ns / 1'000'000'000) << 32 | (((ns % 1'000'000'000) << 32) + 500'000'000) / 1'000'000'000;
}

// devargs.cpp
/// Reads the device arguments. Returns 0 or -EINVAL after one line in the log.
int parse_devargs(const char* args, Adapter& adapter, rte_ether_addr& mac);

// queues.cpp
int rx_queue_setup(rte_eth_dev*, uint16_t, uint16_t, unsigned, const rte_eth_rxconf*, rte_mempool*);
int tx_queue_setup(rte_eth_dev*, uint16_t, uint16_t, unsigned, const rte_eth_txconf*);
void rx_queue_release(rte_eth_dev*, uint16_t);
void tx_queue_release(rte_eth_dev*, uint16_t);
int rx_queue_fill(RxQueue& q);
void rx_queue_reset(RxQueue& q);
void tx_queue_reset(TxQueue& q);
/// Throws away what the card has delivered; returns the number of frames.
uint64_t rx_queue_drain(RxQueue& q);
int rx_queue_start(rte_eth_dev*, uint16_t);
int rx_queue_stop(rte_eth_dev*, uint16_t);
int tx_queue_start(rte_eth_dev*, uint16_t);
int tx_queue_stop(rte_eth_dev*, uint16_t);
int tx_done_cleanup(void* queue, uint32_t);
int rx_descriptor_status(void* queue, uint16_t offset);
uint32_t rx_queue_count(void* queue);
int tx_descriptor_status(void* queue, uint16_t offset);

// ethdev.cpp
int set_control(rte_eth_dev* dev, uint32_t bit, bool on);

// tx_request.cpp
/// Why a packet cannot go.
enum class TxRefusal : uint8_t { kNone, kLength, kSegments, kStampOffset, kChecksumOffset };
/// Fills in what a packet's flags ask of the card, or says why the card could not do it. head.len is set.
TxRefusal tx_request(const TxQueue& q, const rte_mbuf& m, hw::TxRecord& head);
/// Ring mode: can the descriptors hold these segments?
TxRefusal tx_segments(const TxQueue& q, const rte_mbuf& m);
/// Counts a packet that cannot go; the first of each cause is told in the log.
void tx_refuse(TxQueue& q, TxRefusal why);
uint16_t tx_prepare(void* queue, rte_mbuf** pkts, uint16_t n);

// stream.cpp, ring.cpp
void select_bursts(rte_eth_dev* dev);
uint16_t rx_burst_ring(void* queue, rte_mbuf** pkts, uint16_t n);
uint16_t tx_burst_ring(void* queue, rte_mbuf** pkts, uint16_t n);
void tx_reap(TxQueue& q);

// interrupts.cpp
/// Has the model call the driver when lines rise.
void interrupts_connect(Adapter& adapter);
/// As the port is configured: an eventfd for the receive queue, or none. 0 or negative errno after one line in the log.
int interrupts_configure(rte_eth_dev*);
void interrupts_remove(rte_eth_dev*);
/// Both causes masked.
void interrupts_mask(rte_eth_dev*);
/// Settings of the moderator, both causes masked; after a reset of the card.
void interrupts_start(rte_eth_dev*);
int rx_intr_enable(rte_eth_dev*, uint16_t);
int rx_intr_disable(rte_eth_dev*, uint16_t);
/// Whether the send interrupt came since the last call.
bool tx_interrupted(TxQueue& q);
/// Arms what the policy wants; used, done: units of the ring in use and done, as far as the sender knows.
void tx_arm(TxQueue& q, uint32_t used, uint32_t done);

// stats.cpp
void refresh(Adapter& adapter);
int stats_get(rte_eth_dev*, rte_eth_stats*);
int stats_reset(rte_eth_dev*);
int xstats_get(rte_eth_dev*, rte_eth_xstat*, unsigned);
int xstats_get_names(rte_eth_dev*, rte_eth_xstat_name*, unsigned);

// clock.cpp
uint64_t read_phc(Device& device);
int read_clock(rte_eth_dev*, uint64_t*);
int timesync_enable(rte_eth_dev*);
int timesync_disable(rte_eth_dev*);
int timesync_read_rx(rte_eth_dev*, timespec*, uint32_t);
int timesync_read_tx(rte_eth_dev*, timespec*);
int timesync_adjust(rte_eth_dev*, int64_t);
int timesync_read_time(rte_eth_dev*, timespec*);
int timesync_write_time(rte_eth_dev*, const timespec*);

}  // namespace awing::pmd
