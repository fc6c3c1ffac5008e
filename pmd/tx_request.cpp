// SPDX-License-Identifier: BSD-3-Clause
// What a packet asks of the card on its way out (launch time, stamp, latch), and which packets cannot go at all.
// The card stops at a malformed record, so nothing that the datasheet forbids may reach it.
#include <rte_errno.h>

#include "driver.h"

namespace awing::pmd {

TxRefusal tx_request(const TxQueue& q, const rte_mbuf& m, hw::TxRecord& head) {
  if (m.pkt_len == 0 || m.pkt_len > hw::kMaxFrameAny) return TxRefusal::kLength;
  if (m.ol_flags & q.launch_flag) {
    head.flags |= hw::kTxLaunchTime;
    head.launch_time = ns_to_stamp(*RTE_MBUF_DYNFIELD(&m, q.launch_field, const rte_mbuf_timestamp_t*));
  }
  if (m.ol_flags & RTE_MBUF_F_TX_IEEE1588_TMST) head.flags |= hw::kTxLatchStamp;
  if (m.ol_flags & q.insert_flag) {
    const auto* field = RTE_MBUF_DYNFIELD(&m, q.insert_field, const StampField*);
    const uint32_t stamp = field->stamp_offset, csum = field->csum_offset;
    if (stamp % 2 != 0 || stamp + 8 > head.len) return TxRefusal::kStampOffset;
    if (csum != hw::kNoChecksum && (csum % 2 != 0 || csum + 2 > head.len)) return TxRefusal::kChecksumOffset;
    head.flags |= hw::kTxInsertStamp;
    head.stamp_offset = field->stamp_offset;
    head.csum_offset = field->csum_offset;
  }
  return TxRefusal::kNone;
}

TxRefusal tx_segments(const TxQueue& q, const rte_mbuf& m) {
  if (m.nb_segs >= q.size) return TxRefusal::kSegments;  // one descriptor may be needed for padding
  for (const rte_mbuf* s = &m; s; s = s->next)
    if (s->data_len == 0) return TxRefusal::kSegments;
  return TxRefusal::kNone;
}

void tx_refuse(TxQueue& q, TxRefusal why) {
  ++q.count.errors;
  const uint32_t bit = 1u << static_cast<unsigned>(why);
  if (q.warned & bit) return;
  q.warned |= bit;
  const char* text = why == TxRefusal::kLength        ? "its length is 0 or beyond what the card sends"
                     : why == TxRefusal::kSegments    ? "it has an empty segment, or more segments than the ring"
                     : why == TxRefusal::kStampOffset ? "the stamp is at an odd offset or does not fit the frame"
                                                      : "the checksum is at an odd offset or not in the frame";
  AWING_LOG(WARNING, "port %u: a packet is dropped: %s (told once, counted in oerrors)", q.adapter->dev->data->port_id,
            text);
}

uint16_t tx_prepare(void* queue, rte_mbuf** pkts, uint16_t n) {
  const TxQueue& q = *static_cast<const TxQueue*>(queue);
  for (uint16_t i = 0; i < n; ++i) {
    hw::TxRecord head{static_cast<uint16_t>(RTE_MAX(pkts[i]->pkt_len, hw::kMinFrame)), 0, 0, hw::kNoChecksum, 0};
    if (tx_request(q, *pkts[i], head) != TxRefusal::kNone ||
        (q.descs && tx_segments(q, *pkts[i]) != TxRefusal::kNone)) {
      rte_errno = EINVAL;
      return i;
    }
  }
  return n;
}

}  // namespace awing::pmd
