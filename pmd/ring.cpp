// SPDX-License-Identifier: BSD-3-Clause
// Bursts in ring mode: a descriptor a buffer, the card reads and writes the mbufs themselves.
#include <algorithm>

#include "driver.h"

namespace awing::pmd {

void tx_reap(TxQueue& q) {
  uint32_t done = q.done;
  for (;; ++q.seen) {
    const hw::TxCompletion& cpl = q.cpls[q.seen & (q.size - 1)];
    if ((__atomic_load_n(&cpl.flags, __ATOMIC_ACQUIRE) & 1) != ((q.seen / q.size) % 2 == 0)) break;
    done = cpl.done;
  }
  for (; q.done != done; ++q.done) {
    rte_mbuf*& buf = q.bufs[q.done & (q.size - 1)];
    if (buf) rte_pktmbuf_free_seg(buf);  // padding has none
    buf = nullptr;
  }
}

uint16_t tx_burst_ring(void* queue, rte_mbuf** pkts, uint16_t n) {
  TxQueue& q = *static_cast<TxQueue*>(queue);
  if (!q.started) [[unlikely]]
    return 0;
  q.adapter->device->poll(q.polled, 0);
  q.polled = 0;
  const bool deferred = q.policy.mode() == SendMode::kDeferred;
  if (deferred || q.policy.look(tx_interrupted(q))) tx_reap(q);
  const uint32_t before = q.produced;
  uint16_t i = 0;
  for (; i < n; ++i) {
    rte_mbuf& m = *pkts[i];
    const uint32_t len = std::max(m.pkt_len, hw::kMinFrame);
    hw::TxRecord head{static_cast<uint16_t>(len), 0, 0, hw::kNoChecksum, 0};
    TxRefusal why = tx_request(q, m, head);
    if (why == TxRefusal::kNone) why = tx_segments(q, m);
    if (why != TxRefusal::kNone) [[unlikely]] {
      tx_refuse(q, why);
      rte_pktmbuf_free(&m);
      continue;
    }
    const uint32_t short_by = len - m.pkt_len;
    if (m.nb_segs + uint32_t{short_by != 0} > q.size - (q.produced - q.done)) break;
    const uint32_t pkt_len = m.pkt_len;
    for (rte_mbuf* s = &m; s;) {
      rte_mbuf* next = s->next;
      const uint32_t slot = q.produced++ & (q.size - 1);
      const bool last = !next && short_by == 0;
      q.descs[slot] = {q.adapter->device->bus_address(rte_pktmbuf_mtod(s, void*)),
                       s->data_len,
                       static_cast<uint16_t>(head.flags | (last ? hw::kTxEndOfPacket : 0)),
                       head.stamp_offset,
                       head.csum_offset,
                       head.launch_time,
                       0};
      q.bufs[slot] = s;
      s = next;
    }
    if (short_by != 0) {
      const uint32_t slot = q.produced++ & (q.size - 1);
      q.descs[slot] = {q.adapter->device->bus_address(q.zeros),
                       static_cast<uint16_t>(short_by),
                       hw::kTxEndOfPacket,
                       0,
                       hw::kNoChecksum,
                       0,
                       0};
    }
    ++q.count.packets;
    q.count.bytes += pkt_len;
  }
  if (q.produced != before) q.adapter->device->tx_doorbell(q.produced);
  if (!deferred) [[unlikely]]
    tx_arm(q, q.produced - q.done, q.done);
  q.polled += i;
  return i;
}

uint16_t rx_burst_ring(void* queue, rte_mbuf** pkts, uint16_t n) {
  RxQueue& q = *static_cast<RxQueue*>(queue);
  q.adapter->device->poll(0, q.polled);
  q.polled = 0;
  if (!q.started) [[unlikely]]
    return 0;
  uint16_t got = 0;
  while (got < n) {
    const uint32_t slot = q.seen & (q.size - 1);
    const hw::RxCompletion& cpl = q.cpls[slot];
    const uint16_t flags = __atomic_load_n(&cpl.flags, __ATOMIC_ACQUIRE);
    if (((flags & hw::kRxPhase) != 0) != ((q.seen / q.size) % 2 == 0)) break;
    rte_mbuf* fresh = rte_mbuf_raw_alloc(q.pool);
    if (!fresh) {  // the completion stays where it is
      ++q.count.nombuf;
      break;
    }
    rte_mbuf* m = q.bufs[slot];
    q.bufs[slot] = fresh;
    q.descs[slot] = {q.adapter->device->bus_address(static_cast<uint8_t*>(fresh->buf_addr) + RTE_PKTMBUF_HEADROOM),
                     q.room, 0};
    ++q.seen;
    ++q.posted;
    __builtin_memcpy(&m->rearm_data, &q.rearm, sizeof q.rearm);
    m->ol_flags = 0;
    m->packet_type = RTE_PTYPE_L2_ETHER;
    m->data_len = cpl.len;
    m->pkt_len = cpl.len;
    if (!q.head) {
      q.head = m;
    } else {
      q.tail->next = m;
      ++q.head->nb_segs;
      q.head->pkt_len += cpl.len;
    }
    q.tail = m;
    if (!(flags & hw::kRxEndOfPacket)) continue;
    ++q.taken;
    m = q.head;
    q.head = q.tail = nullptr;
    if (m->nb_segs > 1 && !q.scatter) {
      ++q.count.too_long;
      rte_pktmbuf_free(m);
      continue;
    }
    if (q.stamp_field >= 0) {
      *RTE_MBUF_DYNFIELD(m, q.stamp_field, rte_mbuf_timestamp_t*) = stamp_to_ns(cpl.stamp);
      m->ol_flags |= q.stamp_flag;
    }
    if (q.ptp) {
      const auto* eth = rte_pktmbuf_mtod(m, const rte_ether_hdr*);
      if (eth->ether_type == rte_cpu_to_be_16(RTE_ETHER_TYPE_1588)) {
        m->ol_flags |= RTE_MBUF_F_RX_IEEE1588_PTP | RTE_MBUF_F_RX_IEEE1588_TMST;
        m->timesync = 0;
        q.adapter->rx_ptp_stamp = cpl.stamp;
        q.adapter->rx_ptp_valid = true;
      }
    }
    ++q.count.packets;
    q.count.bytes += m->pkt_len;
    pkts[got++] = m;
  }
  q.polled = got;
  // Told in batches; at once when the card has few buffers left.
  if (q.posted - q.told >= q.size / 4) q.adapter->device->rx_doorbell(q.told = q.posted);
  return got;
}

}  // namespace awing::pmd
