// SPDX-License-Identifier: BSD-3-Clause
// Statistics. Every packet ends in exactly one counter:
//   offered to us on the wire = ipackets + imissed + ierrors + rx_filtered + rx_in_flight
//     imissed  = rx_fifo_drops + rx_disabled_drops + rx_stop_drops
//     ierrors  = rx_crc_errors + rx_undersize_errors + rx_oversize_errors + rx_too_long_drops
//   accepted by tx_burst      = opackets + oerrors;  opackets = tx_frames + tx_flushed + tx_in_flight
//     oerrors  = packets whose length or flags were bad
// After a reset the packets in flight at that moment are on one side alone; the levels (..._in_flight) are never reset.
#include <atomic>
#include <cstring>
#include <string_view>

#include "driver.h"

namespace awing::pmd {

namespace {

uint64_t card(const Shared& s, hw::Counter c) { return s.card[c] - s.card_base[c]; }

/// Of all queues there were, ever. The counts belong to the threads that send and receive: nobody else writes them.
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

/// One look at everything, while packets move: what is later on a packet's way is read later on its way out and earlier
/// on its way in, so that no packet is seen behind a place it was not seen to pass.
struct Look {
  explicit Look(rte_eth_dev* dev) : shared(*shared_of(dev)), rx(rx_counts(dev)) {
    std::atomic_thread_fence(std::memory_order_acq_rel);
    if (primary()) refresh(*adapter_of(dev));
    std::atomic_thread_fence(std::memory_order_acq_rel);
    tx = tx_counts(dev);
  }
  RxCounts rx_since() const {
    const RxCounts& b = shared.rx_base;
    return {rx.packets - b.packets, rx.bytes - b.bytes, rx.nombuf - b.nombuf, rx.too_long - b.too_long};
  }
  TxCounts tx_since() const {
    const TxCounts& b = shared.tx_base;
    return {tx.packets - b.packets, tx.bytes - b.bytes, tx.errors - b.errors};
  }
  // Levels, whatever was reset. A send queue is counted behind its doorbell: then the card may be ahead for a moment.
  uint64_t rx_in_flight() const {
    return above(shared.card[hw::kRxFrames], rx.packets + rx.too_long + shared.rx_stop_drops);
  }
  uint64_t tx_in_flight() const { return above(tx.packets, shared.card[hw::kTxFrames] + shared.card[hw::kTxFlushed]); }
  uint64_t rx_stop_drops() const { return shared.rx_stop_drops - shared.rx_stop_base; }

  const Shared& shared;
  RxCounts rx;
  TxCounts tx;

 private:
  static uint64_t above(uint64_t a, uint64_t b) { return a > b ? a - b : 0; }
};

/// Levels of the wire: what is there now, not what has passed.
bool is_level(std::string_view name) { return name.ends_with("_inside") || name.ends_with("_waiting"); }

constexpr const char* kOwn[] = {"rx_stop_drops", "rx_too_long_drops", "rx_in_flight", "tx_in_flight", "model_lag_ns"};

}  // namespace

void refresh(Adapter& adapter) {
  for (uint32_t c = 0; c < hw::kCounters; ++c)
    adapter.shared->card[c] = adapter.device->counter(static_cast<hw::Counter>(c));
}

int stats_get(rte_eth_dev* dev, rte_eth_stats* stats) {
  const Look look(dev);
  const Shared& s = look.shared;
  const RxCounts rx = look.rx_since();
  const TxCounts tx = look.tx_since();
  stats->imissed = card(s, hw::kRxFifoDrops) + card(s, hw::kRxDisabledDrops) + look.rx_stop_drops();
  stats->ierrors = card(s, hw::kRxCrcErrors) + card(s, hw::kRxUndersize) + card(s, hw::kRxOversize) + rx.too_long;
  stats->ipackets = stats->q_ipackets[0] = rx.packets;
  stats->ibytes = stats->q_ibytes[0] = rx.bytes;
  stats->rx_nombuf = rx.nombuf;
  stats->q_errors[0] = rx.too_long;
  stats->opackets = stats->q_opackets[0] = tx.packets;
  stats->obytes = stats->q_obytes[0] = tx.bytes;
  stats->oerrors = tx.errors;
  return 0;
}

int stats_reset(rte_eth_dev* dev) {
  if (!primary()) return -EPERM;
  const Look look(dev);
  Shared& s = *shared_of(dev);
  s.rx_base = look.rx;
  s.tx_base = look.tx;
  s.rx_stop_base = s.rx_stop_drops;
  std::memcpy(s.card_base, s.card, sizeof s.card_base);
  Adapter& adapter = *adapter_of(dev);
  adapter.more_base = adapter.device->more_counters();
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
  const Look look(dev);
  const Shared& s = look.shared;
  unsigned n = 0;
  const auto add = [&](uint64_t value) {
    if (stats && n < size) stats[n] = {n, value};
    ++n;
  };
  for (uint32_t c = 0; c < hw::kCounters; ++c) add(card(s, static_cast<hw::Counter>(c)));
  add(look.rx_stop_drops());
  add(look.rx_since().too_long);
  add(look.rx_in_flight());
  add(look.tx_in_flight());
  add(primary() ? adapter_of(dev)->device->lag_ns() : 0);
  if (primary()) {
    const auto more = adapter_of(dev)->device->more_counters();
    const auto& base = adapter_of(dev)->more_base;
    for (size_t i = 0; i < more.size(); ++i)
      add(more[i].second - (i < base.size() && !is_level(more[i].first) ? base[i].second : 0));
  }
  return static_cast<int>(n);
}

}  // namespace awing::pmd
