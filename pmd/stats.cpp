// SPDX-License-Identifier: BSD-3-Clause
// Statistics. Every packet ends in exactly one counter:
//   offered to us on the wire = ipackets + imissed + ierrors + rx_filtered + rx_in_flight
//     imissed  = rx_fifo_drops + rx_disabled_drops + rx_stop_drops
//     ierrors  = rx_crc_errors + rx_undersize_errors + rx_oversize_errors + rx_too_long_drops
//   accepted by tx_burst      = opackets + oerrors;  opackets = tx_frames + tx_flushed + tx_in_flight
//     oerrors  = packets whose length or flags were bad
#include <cinttypes>
#include <cstring>

#include "driver.h"

namespace awing::pmd {

namespace {

uint64_t card(const Shared& s, hw::Counter c) { return s.card[c] - s.card_base[c]; }

/// With those of queues that were released.
RxCounts rx_counts(rte_eth_dev* dev) {
  RxCounts n = shared_of(dev)->rx_past;
  if (const RxQueue* q = rxq(dev))
    n = {n.packets + q->count.packets, n.bytes + q->count.bytes, n.nombuf + q->count.nombuf,
         n.too_long + q->count.too_long};
  return n;
}
TxCounts tx_counts(rte_eth_dev* dev) {
  TxCounts n = shared_of(dev)->tx_past;
  if (const TxQueue* q = txq(dev))
    n = {n.packets + q->count.packets, n.bytes + q->count.bytes, n.errors + q->count.errors};
  return n;
}

uint64_t rx_in_flight(const Shared& s, const RxCounts& n) {
  return card(s, hw::kRxFrames) + s.rx_carried - n.packets - n.too_long - s.rx_stop_drops;
}
uint64_t tx_in_flight(const Shared& s, const TxCounts& n) {
  return n.packets + s.tx_carried - card(s, hw::kTxFrames) - card(s, hw::kTxFlushed);
}

constexpr const char* kOwn[] = {"rx_stop_drops", "rx_too_long_drops", "rx_in_flight", "tx_in_flight", "model_lag_ns"};

}  // namespace

void refresh(Adapter& adapter) {
  for (uint32_t c = 0; c < hw::kCounters; ++c)
    adapter.shared->card[c] = adapter.device->counter(static_cast<hw::Counter>(c));
}

int stats_get(rte_eth_dev* dev, rte_eth_stats* stats) {
  if (primary()) refresh(*adapter_of(dev));
  const Shared& s = *shared_of(dev);
  stats->imissed = card(s, hw::kRxFifoDrops) + card(s, hw::kRxDisabledDrops) + s.rx_stop_drops;
  stats->ierrors = card(s, hw::kRxCrcErrors) + card(s, hw::kRxUndersize) + card(s, hw::kRxOversize);
  const RxCounts rx = rx_counts(dev);
  stats->ipackets = stats->q_ipackets[0] = rx.packets;
  stats->ibytes = stats->q_ibytes[0] = rx.bytes;
  stats->rx_nombuf = rx.nombuf;
  stats->ierrors += rx.too_long;
  stats->q_errors[0] = rx.too_long;
  const TxCounts tx = tx_counts(dev);
  stats->opackets = stats->q_opackets[0] = tx.packets;
  stats->obytes = stats->q_obytes[0] = tx.bytes;
  stats->oerrors = tx.errors;
  return 0;
}

int stats_reset(rte_eth_dev* dev) {
  if (!primary()) return -EPERM;
  Adapter& adapter = *adapter_of(dev);
  refresh(adapter);
  Shared& s = *adapter.shared;
  s.rx_carried = rx_in_flight(s, rx_counts(dev));
  s.tx_carried = tx_in_flight(s, tx_counts(dev));
  s.rx_past = {};
  s.tx_past = {};
  std::memcpy(s.card_base, s.card, sizeof s.card_base);
  s.rx_stop_drops = 0;
  adapter.more_base = adapter.device->more_counters();
  if (RxQueue* q = rxq(dev)) q->count = {};
  if (TxQueue* q = txq(dev)) q->count = {};
  return 0;
}

int xstats_get_names(rte_eth_dev* dev, rte_eth_xstat_name* names, unsigned size) {
  unsigned n = 0;
  const auto add = [&](const char* name) {
    if (names && n < size) snprintf(names[n].name, sizeof names[n].name, "%s", name);
    ++n;
  };
  for (uint32_t c = 0; c < hw::kCounters; ++c)
    add(c == hw::kRxFrames   ? "rx_admitted_packets"
        : c == hw::kRxBytes  ? "rx_admitted_bytes"
        : c == hw::kTxFrames ? "tx_line_packets"
        : c == hw::kTxBytes  ? "tx_line_bytes"
                             : hw::kCounterNames[c]);
  for (const char* name : kOwn) add(name);
  if (primary())
    for (const auto& [name, value] : adapter_of(dev)->device->more_counters()) add(name.c_str());
  return static_cast<int>(n);
}

int xstats_get(rte_eth_dev* dev, rte_eth_xstat* stats, unsigned size) {
  if (primary()) refresh(*adapter_of(dev));
  const Shared& s = *shared_of(dev);
  const RxCounts rx = rx_counts(dev);
  const TxCounts tx = tx_counts(dev);
  unsigned n = 0;
  const auto add = [&](uint64_t value) {
    if (stats && n < size) stats[n] = {n, value};
    ++n;
  };
  for (uint32_t c = 0; c < hw::kCounters; ++c) add(card(s, static_cast<hw::Counter>(c)));
  add(s.rx_stop_drops);
  add(rx.too_long);
  add(rx_in_flight(s, rx));
  add(tx_in_flight(s, tx));
  add(primary() ? adapter_of(dev)->device->lag_ns() : 0);
  if (primary()) {
    const auto more = adapter_of(dev)->device->more_counters();
    const auto& base = adapter_of(dev)->more_base;
    for (size_t i = 0; i < more.size(); ++i) add(more[i].second - (i < base.size() ? base[i].second : 0));
  }
  return static_cast<int>(n);
}

}  // namespace awing::pmd
