// SPDX-License-Identifier: BSD-3-Clause
// Bursts in stream mode: one copy between mbuf and stream each way, a few operations a packet. The variants are chosen
// when the port starts, so that a packet pays for what the application asked for alone.
#include <algorithm>
#include <cstring>

#include "driver.h"

namespace awing::pmd {

namespace {

/// Copies n octets, reading and writing none beyond them. Small frames go in 16-octet pieces, the last one overlapping.
inline void copy_octets(uint8_t* to, const uint8_t* from, uint32_t n) {
  if (n > 256 || n < 16) {
    std::memcpy(to, from, n);
    return;
  }
  for (uint32_t i = 0; i + 16 <= n; i += 16) std::memcpy(to + i, from + i, 16);
  std::memcpy(to + n - 16, from + n - 16, 16);
}

/// Copies into the stream at octet `at`, which may wrap at its end.
inline void put(const TxQueue& q, uint32_t at, const uint8_t* from, uint32_t n) {
  const uint32_t offset = at & q.mask, room = q.mask + 1 - offset;
  if (n <= room) [[likely]] {
    copy_octets(q.stream + offset, from, n);
    return;
  }
  std::memcpy(q.stream + offset, from, room);
  std::memcpy(q.stream, from + room, n - room);
}

inline void get(const RxQueue& q, uint32_t at, uint8_t* to, uint32_t n) {
  const uint32_t offset = at & q.mask, room = q.mask + 1 - offset;
  if (n <= room) [[likely]] {
    copy_octets(to, q.stream + offset, n);
    return;
  }
  std::memcpy(to, q.stream + offset, room);
  std::memcpy(to + room, q.stream, n - room);
}

void pad(TxQueue& q, uint32_t at, uint32_t n) {
  static constexpr uint8_t kZeros[hw::kMinFrame] = {};
  put(q, at, kZeros, n);
}

uint16_t tx_burst(void* queue, rte_mbuf** pkts, uint16_t n) {
  TxQueue& q = *static_cast<TxQueue*>(queue);
  if (!q.started) [[unlikely]]
    return 0;
  q.adapter->device->poll(q.polled, 0);
  q.polled = 0;
  const bool deferred = q.policy.mode() == SendMode::kDeferred;
  if (deferred || q.policy.look(tx_interrupted(q)))
    q.fetched = __atomic_load_n(&q.status->tx_fetched, __ATOMIC_ACQUIRE);
  const uint32_t used = q.produced - q.fetched;
  uint32_t room = q.mask + 1 - used, at = q.produced;
  uint64_t bytes = 0;
  uint16_t i = 0, bad = 0;
  for (; i < n; ++i) {
    const rte_mbuf& m = *pkts[i];
    if (i + 4 < n) rte_prefetch0(rte_pktmbuf_mtod(pkts[i + 4], void*));
    const uint32_t len = std::max(m.pkt_len, hw::kMinFrame), size = hw::record_bytes(len);
    hw::TxRecord head{static_cast<uint16_t>(len), 0, 0, hw::kNoChecksum, 0};
    if (m.pkt_len - 1 >= hw::kMaxFrameAny || (m.ol_flags & q.special)) [[unlikely]] {
      if (const TxRefusal why = tx_request(q, m, head); why != TxRefusal::kNone) {
        tx_refuse(q, why);  // dropped and counted
        ++bad;
        continue;
      }
    }
    if (size > room) break;
    std::memcpy(q.stream + (at & q.mask), &head, sizeof head);
    uint32_t to = at + static_cast<uint32_t>(sizeof head);
    for (const rte_mbuf* s = &m; s; s = s->next) {
      put(q, to, rte_pktmbuf_mtod(s, const uint8_t*), s->data_len);
      to += s->data_len;
    }
    if (m.pkt_len < hw::kMinFrame) [[unlikely]]
      pad(q, to, hw::kMinFrame - m.pkt_len);
    bytes += m.pkt_len;
    at += size;
    room -= size;
  }
  if (at != q.produced) q.adapter->device->tx_doorbell(q.produced = at);
  if (!deferred) [[unlikely]]
    tx_arm(q, q.produced - q.fetched, q.fetched);
  if (i == 0) return 0;
  q.count.packets += i - bad;
  q.count.bytes += bytes;
  q.polled += i;
  if (q.fast_free)
    rte_mempool_put_bulk(pkts[0]->pool, reinterpret_cast<void* const*>(pkts), i);
  else
    rte_pktmbuf_free_bulk(pkts, i);
  return i;
}

/// A frame longer than one mbuf: a chain. Returns null when the pool is empty.
rte_mbuf* chain(RxQueue& q, uint32_t at, uint32_t len) {
  rte_mbuf *first = nullptr, *last = nullptr;
  for (uint32_t done = 0; done < len;) {
    rte_mbuf* m = rte_mbuf_raw_alloc(q.pool);
    if (!m) {
      rte_pktmbuf_free(first);
      return nullptr;
    }
    std::memcpy(&m->rearm_data, &q.rearm, sizeof q.rearm);
    m->ol_flags = 0;
    m->packet_type = RTE_PTYPE_L2_ETHER;
    const uint32_t piece = std::min(len - done, q.room);
    get(q, at + done, rte_pktmbuf_mtod(m, uint8_t*), piece);
    m->data_len = static_cast<uint16_t>(piece);
    m->pkt_len = len;
    done += piece;
    if (first) {
      last->next = m;
      ++first->nb_segs;
    } else {
      first = m;
    }
    last = m;
  }
  return first;
}

void note_ptp(RxQueue& q, rte_mbuf& m, uint64_t stamp) {
  const auto* eth = rte_pktmbuf_mtod(&m, const rte_ether_hdr*);
  if (eth->ether_type != rte_cpu_to_be_16(RTE_ETHER_TYPE_1588)) return;
  m.ol_flags |= RTE_MBUF_F_RX_IEEE1588_PTP | RTE_MBUF_F_RX_IEEE1588_TMST;
  m.timesync = 0;
  q.adapter->rx_ptp_stamp = stamp;
  q.adapter->rx_ptp_valid = true;
}

template <bool kStamp, bool kSpecial>  // kSpecial: scatter or PTP
uint16_t rx_burst(void* queue, rte_mbuf** pkts, uint16_t n) {
  RxQueue& q = *static_cast<RxQueue*>(queue);
  q.adapter->device->poll(0, q.polled);
  q.polled = 0;
  if (!q.started) [[unlikely]]
    return 0;
  const uint32_t produced = __atomic_load_n(&q.status->rx_produced, __ATOMIC_ACQUIRE);
  uint32_t at = q.consumed;
  if (produced == at) return 0;

  // How many whole records are there?
  uint16_t count = 0;
  for (uint32_t end = at; count < n && produced - end >= sizeof(hw::RxRecord); ++count) {
    const auto* head = reinterpret_cast<const hw::RxRecord*>(q.stream + (end & q.mask));
    const uint32_t size = hw::record_bytes(head->len);
    if (produced - end < size) break;
    end += size;
  }
  if (count == 0) return 0;
  while (rte_mempool_get_bulk(q.pool, reinterpret_cast<void**>(pkts), count) != 0) [[unlikely]] {
      ++q.count.nombuf;  // the records stay where they are; fewer buffers may be there
      if ((count /= 2) == 0) return 0;
    }
  uint64_t bytes = 0;
  uint16_t got = 0, frames = 0;
  for (; frames < count; ++frames) {
    const hw::RxRecord head = *reinterpret_cast<const hw::RxRecord*>(q.stream + (at & q.mask));
    const uint32_t from = at + static_cast<uint32_t>(sizeof head);
    rte_mbuf* m = pkts[got];
    if (kSpecial && head.len > q.room) [[unlikely]] {
      if (!q.scatter) {
        ++q.count.too_long;
        at += hw::record_bytes(head.len);
        continue;
      }
      rte_mbuf* whole = chain(q, from, head.len);
      if (!whole) {
        ++q.count.nombuf;
        break;
      }
      rte_mbuf_raw_free(m);  // a chain brings its own buffers
      m = pkts[got] = whole;
    } else {
      std::memcpy(&m->rearm_data, &q.rearm, sizeof q.rearm);
      m->ol_flags = 0;
      m->packet_type = RTE_PTYPE_L2_ETHER;
      m->pkt_len = head.len;
      m->data_len = head.len;
      get(q, from, static_cast<uint8_t*>(m->buf_addr) + RTE_PKTMBUF_HEADROOM, head.len);
    }
    if (kStamp) {
      *RTE_MBUF_DYNFIELD(m, q.stamp_field, rte_mbuf_timestamp_t*) = stamp_to_ns(head.stamp);
      m->ol_flags |= q.stamp_flag;
    }
    if (kSpecial && q.ptp) note_ptp(q, *m, head.stamp);
    bytes += head.len;
    at += hw::record_bytes(head.len);
    ++got;
  }
  for (uint16_t i = got; i < count; ++i) rte_mbuf_raw_free(pkts[i]);
  q.taken += frames;
  q.consumed = at;
  q.count.packets += got;
  q.count.bytes += bytes;
  q.polled = got;
  if (at - q.told >= q.tell_after) q.adapter->device->rx_doorbell(q.told = at);
  return got;
}

uint16_t no_burst(void*, rte_mbuf**, uint16_t) { return 0; }

}  // namespace

void select_bursts(rte_eth_dev* dev) {
  if (!primary()) {  // the card is the primary's
    dev->rx_pkt_burst = no_burst;
    dev->tx_pkt_burst = no_burst;
    dev->tx_pkt_prepare = nullptr;
    return;
  }
  const Adapter& adapter = *adapter_of(dev);
  dev->tx_pkt_prepare = tx_prepare;
  if (adapter.ring) {
    dev->rx_pkt_burst = rx_burst_ring;
    dev->tx_pkt_burst = tx_burst_ring;
    return;
  }
  const uint64_t offloads = dev->data->dev_conf.rxmode.offloads;
  const auto* q = dev->data->nb_rx_queues ? static_cast<const RxQueue*>(dev->data->rx_queues[0]) : nullptr;
  const bool stamp = (offloads & RTE_ETH_RX_OFFLOAD_TIMESTAMP) != 0;
  const bool special = adapter.ptp || (q && dev->data->mtu + kOverhead > q->room);
  dev->rx_pkt_burst = stamp ? (special ? rx_burst<true, true> : rx_burst<true, false>)
                            : (special ? rx_burst<false, true> : rx_burst<false, false>);
  dev->tx_pkt_burst = tx_burst;
}

}  // namespace awing::pmd
