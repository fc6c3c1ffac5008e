// SPDX-License-Identifier: BSD-3-Clause
// Queues: their memory, and what fills and empties them outside the bursts.
#include <rte_malloc.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "driver.h"

namespace awing::pmd {

namespace {

constexpr uint32_t kLeastTxStream = 64 * 1024, kLeastRxStream = 128 * 1024;
constexpr uint32_t kMostRxBuffer = 16384;  // RxDescriptor::len

template <typename T>
T* allocate(const char* what, size_t bytes, unsigned socket, unsigned align = RTE_CACHE_LINE_SIZE) {
  return static_cast<T*>(rte_zmalloc_socket(what, bytes, align, static_cast<int>(socket)));
}

/// Interrupts for a quarter of the ring; adaptive between three quarters and one.
SendPolicy send_policy(SendMode mode, uint32_t size) { return {mode, size / 4, size - size / 4, size / 4}; }

void free_bufs(rte_mbuf** bufs, uint32_t n) {
  for (uint32_t i = 0; bufs && i < n; ++i) {
    if (bufs[i]) rte_pktmbuf_free_seg(bufs[i]);
    bufs[i] = nullptr;
  }
}

}  // namespace

int rx_queue_setup(rte_eth_dev* dev, uint16_t index, uint16_t nb_desc, unsigned socket, const rte_eth_rxconf* conf,
                   rte_mempool* pool) {
  if (!primary()) return -EPERM;
  Adapter& adapter = *adapter_of(dev);
  rx_queue_release(dev, index);
  auto* q = allocate<RxQueue>("awing_rxq", sizeof(RxQueue), socket);
  if (!q) return -ENOMEM;
  dev->data->rx_queues[index] = q;
  q->adapter = &adapter;
  q->status = adapter.status;
  q->pool = pool;
  q->room = rte_pktmbuf_data_room_size(pool) - RTE_PKTMBUF_HEADROOM;
  q->nb_desc = nb_desc;
  q->port_id = dev->data->port_id;
  q->deferred = conf->rx_deferred_start != 0;
  if (adapter.ring) {
    nb_desc = q->nb_desc = std::bit_ceil(nb_desc);  // the card's rings are powers of two
    q->size = nb_desc;
    q->room = std::min(q->room, kMostRxBuffer);
    q->descs = allocate<hw::RxDescriptor>("awing_rxd", nb_desc * sizeof(hw::RxDescriptor), socket, 4096);
    q->cpls = allocate<hw::RxCompletion>("awing_rxc", nb_desc * sizeof(hw::RxCompletion), socket, 4096);
    q->bufs = allocate<rte_mbuf*>("awing_rxb", nb_desc * sizeof(rte_mbuf*), socket);
    if (!q->descs || !q->cpls || !q->bufs) return -ENOMEM;
  } else {
    const uint32_t bytes =
        adapter.rx_stream ? adapter.rx_stream : std::max(kLeastRxStream, std::bit_ceil(uint32_t{nb_desc} * 256));
    q->mask = bytes - 1;
    q->tell_after = bytes / 8;
    q->stream = allocate<uint8_t>("awing_rx_stream", bytes, socket, 4096);
    if (!q->stream) return -ENOMEM;
  }
  return 0;
}

int tx_queue_setup(rte_eth_dev* dev, uint16_t index, uint16_t nb_desc, unsigned socket, const rte_eth_txconf* conf) {
  if (!primary()) return -EPERM;
  Adapter& adapter = *adapter_of(dev);
  tx_queue_release(dev, index);
  auto* q = allocate<TxQueue>("awing_txq", sizeof(TxQueue), socket);
  if (!q) return -ENOMEM;
  dev->data->tx_queues[index] = q;
  q->adapter = &adapter;
  q->status = adapter.status;
  q->nb_desc = nb_desc;
  q->deferred = conf->tx_deferred_start != 0;
  // Quick release puts whole buffers back as they are: not those that were chained.
  const uint64_t offloads = conf->offloads | dev->data->dev_conf.txmode.offloads;
  q->fast_free = (offloads & RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE) && !(offloads & RTE_ETH_TX_OFFLOAD_MULTI_SEGS);
  if (adapter.ring) {
    nb_desc = q->nb_desc = std::bit_ceil(nb_desc);
    q->size = nb_desc;
    q->descs = allocate<hw::TxDescriptor>("awing_txd", nb_desc * sizeof(hw::TxDescriptor), socket, 4096);
    q->cpls = allocate<hw::TxCompletion>("awing_txc", nb_desc * sizeof(hw::TxCompletion), socket, 4096);
    q->bufs = allocate<rte_mbuf*>("awing_txb", nb_desc * sizeof(rte_mbuf*), socket);
    q->zeros = allocate<uint8_t>("awing_pad", hw::kMinFrame, socket);
    if (!q->descs || !q->cpls || !q->bufs || !q->zeros) return -ENOMEM;
    q->policy = send_policy(adapter.tx_mode, q->size);
  } else {
    const uint32_t bytes =
        adapter.tx_stream ? adapter.tx_stream : std::max(kLeastTxStream, std::bit_ceil(uint32_t{nb_desc} * 128));
    q->mask = bytes - 1;
    q->policy = send_policy(adapter.tx_mode, bytes);
    q->stream = allocate<uint8_t>("awing_tx_stream", bytes, socket, 4096);
    if (!q->stream) return -ENOMEM;
  }
  return 0;
}

void rx_queue_release(rte_eth_dev* dev, uint16_t index) {
  auto* q = static_cast<RxQueue*>(dev->data->rx_queues[index]);
  if (!q || !primary()) return;
  dev->data->rx_queues[index] = nullptr;
  RxCounts& past = shared_of(dev)->rx_past;
  past = {past.packets + q->count.packets, past.bytes + q->count.bytes, past.nombuf + q->count.nombuf,
          past.too_long + q->count.too_long};
  free_bufs(q->bufs, q->size);
  rte_pktmbuf_free(q->head);
  rte_free(q->stream);
  rte_free(q->descs);
  rte_free(q->cpls);
  rte_free(q->bufs);
  rte_free(q);
}

void tx_queue_release(rte_eth_dev* dev, uint16_t index) {
  auto* q = static_cast<TxQueue*>(dev->data->tx_queues[index]);
  if (!q || !primary()) return;
  dev->data->tx_queues[index] = nullptr;
  TxCounts& past = shared_of(dev)->tx_past;
  past = {past.packets + q->count.packets, past.bytes + q->count.bytes, past.errors + q->count.errors};
  free_bufs(q->bufs, q->size);
  rte_free(q->stream);
  rte_free(q->descs);
  rte_free(q->cpls);
  rte_free(q->bufs);
  rte_free(q->zeros);
  rte_free(q);
}

/// Ring mode: gives the card a buffer for every descriptor. -ENOMEM when the pool has not so many.
int rx_queue_fill(RxQueue& q) {
  for (; q.posted != q.seen + q.size; ++q.posted) {
    rte_mbuf* m = rte_mbuf_raw_alloc(q.pool);
    if (!m) return -ENOMEM;
    const uint32_t slot = q.posted & (q.size - 1);
    q.bufs[slot] = m;
    q.descs[slot] = {q.adapter->device->bus_address(static_cast<uint8_t*>(m->buf_addr) + RTE_PKTMBUF_HEADROOM), q.room,
                     0};
  }
  return 0;
}

void rx_queue_reset(RxQueue& q) {
  q.consumed = q.told = q.seen = q.posted = q.polled = q.taken = 0;
  if (q.bufs) free_bufs(q.bufs, q.size);
  rte_pktmbuf_free(q.head);
  q.head = q.tail = nullptr;
  if (q.cpls) std::memset(q.cpls, 0, q.size * sizeof *q.cpls);
  rte_mbuf like{};
  like.data_off = RTE_PKTMBUF_HEADROOM;
  like.nb_segs = 1;
  like.port = q.port_id;
  rte_mbuf_refcnt_set(&like, 1);
  std::memcpy(&q.rearm, &like.rearm_data, sizeof q.rearm);
}

void tx_queue_reset(TxQueue& q) {
  q.produced = q.fetched = q.seen = q.done = q.polled = 0;
  q.policy.reset();
  if (q.bufs) free_bufs(q.bufs, q.size);
  if (q.cpls) std::memset(q.cpls, 0, q.size * sizeof *q.cpls);
}

uint64_t rx_queue_drain(RxQueue& q) {
  uint64_t frames = 0;
  if (q.cpls) {
    for (;; ++q.seen) {
      const hw::RxCompletion& cpl = q.cpls[q.seen & (q.size - 1)];
      if (((cpl.flags & hw::kRxPhase) != 0) != ((q.seen / q.size) % 2 == 0)) break;
      frames += (cpl.flags & hw::kRxEndOfPacket) != 0;
      // The buffer goes round again: what the card still holds must find room.
      const uint32_t slot = q.posted & (q.size - 1), from = q.seen & (q.size - 1);
      q.bufs[slot] = q.bufs[from];
      q.descs[slot] = q.descs[from];
      ++q.posted;
    }
    if (q.posted != q.told) q.adapter->device->rx_doorbell(q.told = q.posted);
    return frames;
  }
  const uint32_t produced = __atomic_load_n(&q.status->rx_produced, __ATOMIC_ACQUIRE);
  while (produced - q.consumed >= sizeof(hw::RxRecord)) {
    hw::RxRecord head;
    std::memcpy(&head, q.stream + (q.consumed & q.mask), sizeof head);
    const uint32_t size = hw::record_bytes(head.len);
    if (produced - q.consumed < size) break;
    q.consumed += size;
    ++frames;
  }
  if (q.consumed != q.told) q.adapter->device->rx_doorbell(q.told = q.consumed);
  return frames;
}

// --- queues at run time -------------------------------------------------------------------------------------------

int rx_queue_start(rte_eth_dev* dev, uint16_t) {
  if (!primary()) return -EPERM;
  rxq(dev)->started = true;
  dev->data->rx_queue_state[0] = RTE_ETH_QUEUE_STATE_STARTED;
  return set_control(dev, hw::kCtlRxEnable, true);
}

int rx_queue_stop(rte_eth_dev* dev, uint16_t) {
  if (!primary()) return -EPERM;
  rxq(dev)->started = false;
  dev->data->rx_queue_state[0] = RTE_ETH_QUEUE_STATE_STOPPED;
  return set_control(dev, hw::kCtlRxEnable, false);  // frames that come now are counted as missed
}

int tx_queue_start(rte_eth_dev* dev, uint16_t) {
  if (!primary()) return -EPERM;
  txq(dev)->started = true;
  dev->data->tx_queue_state[0] = RTE_ETH_QUEUE_STATE_STARTED;
  return 0;
}

int tx_queue_stop(rte_eth_dev* dev, uint16_t) {
  if (!primary()) return -EPERM;
  txq(dev)->started = false;  // what was accepted still goes out; no more is accepted
  dev->data->tx_queue_state[0] = RTE_ETH_QUEUE_STATE_STOPPED;
  return 0;
}

int tx_done_cleanup(void* queue, uint32_t) {
  if (!primary()) return -EPERM;
  auto* q = static_cast<TxQueue*>(queue);
  if (!q->cpls) return 0;  // streams free at once
  const uint32_t before = q->done;
  tx_reap(*q);
  return static_cast<int>(q->done - before);
}

int rx_descriptor_status(void* queue, uint16_t offset) {
  const auto* q = static_cast<RxQueue*>(queue);
  if (offset >= q->nb_desc) return -EINVAL;
  if (q->cpls) {
    const uint32_t at = q->seen + offset;
    const bool phase = (q->cpls[at & (q->size - 1)].flags & hw::kRxPhase) != 0;
    return phase == ((at / q->size) % 2 == 0) ? RTE_ETH_RX_DESC_DONE : RTE_ETH_RX_DESC_AVAIL;
  }
  uint32_t at = q->consumed;
  for (uint16_t i = 0; q->status->rx_produced - at >= sizeof(hw::RxRecord); ++i) {
    const auto* head = reinterpret_cast<const hw::RxRecord*>(q->stream + (at & q->mask));
    at += hw::record_bytes(head->len);
    if (i == offset && static_cast<int32_t>(q->status->rx_produced - at) >= 0) return RTE_ETH_RX_DESC_DONE;
  }
  return RTE_ETH_RX_DESC_AVAIL;
}

uint32_t rx_queue_count(void* queue) {
  uint16_t n = 0;
  const auto* q = static_cast<RxQueue*>(queue);
  while (n < q->nb_desc && rx_descriptor_status(queue, n) == RTE_ETH_RX_DESC_DONE) ++n;
  return n;
}

int tx_descriptor_status(void* queue, uint16_t offset) {
  auto* q = static_cast<TxQueue*>(queue);
  if (offset >= q->nb_desc) return -EINVAL;
  if (q->cpls) {
    if (primary()) tx_reap(*q);  // the buffers are the primary's to free
    return offset < q->produced - q->done ? RTE_ETH_TX_DESC_FULL : RTE_ETH_TX_DESC_DONE;
  }
  // A stream has octets, not descriptors: one stands for an equal share of it.
  const uint64_t used = q->produced - q->status->tx_fetched;
  return uint64_t{offset} * (q->mask + 1) / q->nb_desc < used ? RTE_ETH_TX_DESC_FULL : RTE_ETH_TX_DESC_DONE;
}

}  // namespace awing::pmd
