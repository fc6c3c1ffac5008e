// SPDX-License-Identifier: BSD-3-Clause
// How fast an engine is without DPDK around it: one card, its line looped to itself, both directions at full load for a
// given stretch of model time. Prints "CASE MCLK_PER_S FRAMES_SENT FRAMES_RECEIVED DROPS".
// A bus of legacy PCI is that of the oc48 card (rings alone).
// Usage: bench_engines fast|reference stream|ring LEN MODEL_US BUS
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "domain.h"
#include "hwmodel/config.h"

using namespace awing::hw;

namespace {

uint8_t* memory(size_t bytes) {
  auto* p = static_cast<uint8_t*>(std::aligned_alloc(4096, bytes));
  std::memset(p, 0, bytes);
  return p;
}

struct Host {
  Card& card;
  bool ring;
  uint32_t len;
  uint32_t stream = 1 << 17, descs = 512;
  uint8_t *tx = memory(1 << 17), *rx = memory(1 << 17), *buffer = memory(1 << 14), *buffers = memory(size_t{512} << 14);
  StatusRecord* status = reinterpret_cast<StatusRecord*>(memory(4096));
  TxCompletion* tx_cpl = reinterpret_cast<TxCompletion*>(memory(1 << 14));
  RxCompletion* rx_cpl = reinterpret_cast<RxCompletion*>(memory(1 << 14));
  uint32_t produced = 0, consumed = 0, tx_done = 0, tx_seen = 0, rx_seen = 0;

  void base(uint32_t reg, const void* p) {
    card.post_write(0, reg, static_cast<uint32_t>(reinterpret_cast<uint64_t>(p)));
    card.post_write(0, reg + 4, static_cast<uint32_t>(reinterpret_cast<uint64_t>(p) >> 32));
  }
  void init() {
    base(kTxBaseLo, tx);
    base(kRxBaseLo, rx);
    base(kStatusAddrLo, status);
    base(kTxCplBaseLo, tx_cpl);
    base(kRxCplBaseLo, rx_cpl);
    card.post_write(0, kTxSize, ring ? descs : stream);
    card.post_write(0, kRxSize, ring ? descs : stream);
    card.post_write(0, kMaxFrame, 16384);
    const uint32_t mode = ring ? uint32_t{kCtlRingMode} : 0;
    card.post_write(0, kControl, mode);
    card.post_write(0, kCommand, kCmdReset);
    card.post_write(0, kControl, mode | kCtlRxEnable | kCtlTxEnable | kCtlPromiscuous);
    if (!ring) {  // the frames are all alike: write the records once, the ring then repeats them
      const uint32_t size = record_bytes(len);
      stream_frames = stream / size;
      for (uint32_t at = 0; at + size <= stream; at += size) {
        const TxRecord head{static_cast<uint16_t>(len), 0, 0, kNoChecksum, 0};
        std::memcpy(tx + at, &head, sizeof head);
      }
    }
    for (uint32_t i = 0; i < descs && ring; ++i) {
      const RxDescriptor d{reinterpret_cast<uint64_t>(buffers + (size_t{i} << 14)), 16384, 0};
      std::memcpy(rx + i * sizeof d, &d, sizeof d);
      const TxDescriptor t{
          reinterpret_cast<uint64_t>(buffer), static_cast<uint16_t>(len), kTxEndOfPacket, 0, kNoChecksum, 0, 0};
      std::memcpy(tx + i * sizeof t, &t, sizeof t);
    }
    if (ring) card.post_write(0, kRxConsumer, descs);
  }
  uint32_t stream_frames = 0;

  void put_header(uint32_t at) {
    const TxRecord head{static_cast<uint16_t>(len), 0, 0, kNoChecksum, 0};
    std::memcpy(tx + (at & (stream - 1)), &head, sizeof head);
  }
  void step(Ps now) {
    if (ring) {
      while ((tx_cpl[tx_seen & (descs - 1)].flags & 1) == ((tx_seen / descs) % 2 == 0))
        tx_done = tx_cpl[tx_seen++ & (descs - 1)].done;
      if (tx_done + descs != produced) card.post_write(now, kTxProducer, produced = tx_done + descs);
      const uint32_t before = rx_seen;
      while (((rx_cpl[rx_seen & (descs - 1)].flags & kRxPhase) != 0) == ((rx_seen / descs) % 2 == 0)) ++rx_seen;
      if (rx_seen != before) card.post_write(now, kRxConsumer, rx_seen + descs);
      return;
    }
    const uint32_t size = record_bytes(len);
    const uint32_t before = produced;
    while (produced + size - status->tx_fetched <= stream) {
      put_header(produced);
      produced += size;
    }
    if (produced != before) card.post_write(now, kTxProducer, produced);
    if (status->rx_produced != consumed) card.post_write(now, kRxConsumer, consumed = status->rx_produced);
  }
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 6) {
    std::fprintf(stderr, "usage: bench_engines fast|reference stream|ring LEN_WITH_FCS MODEL_US BUS\n");
    return 2;
  }
  PortConfig config;
  const bool oc48 = std::strncmp(argv[5], "pcix", 4) != 0;
  for (const auto& [key, value] : {std::pair<const char*, const char*>{"card", oc48 ? "oc48" : "awing"},
                                   {"engine", argv[1]},
                                   {oc48 ? "fcs" : "dma", oc48 ? "32" : argv[2]},
                                   {"bus", argv[5]}})
    if (auto ok = set(config, key, value); !ok) {
      std::fprintf(stderr, "%s\n", ok.error().c_str());
      return 2;
    }
  const auto len = static_cast<uint32_t>(std::atoi(argv[3])) - 4;
  const Ps length = std::atoll(argv[4]) * kPsPerUs;
  Link link(oc48 ? 1 << 19 : 1 << 17, kLeastDelay);
  const std::unique_ptr<Card> card = make_card(config.engine, config.card, link, link, 0);
  Host host{*card, config.card.ring_mode, len};
  host.init();
  if (oc48) std::memcpy(host.buffer, "\x03\x03\x00\x21", 4);  // a MAPOS header
  Ps now = 5 * kPsPerUs;
  card->run(now, now);
  constexpr Ps kStep = 2 * kPsPerUs;
  const auto begin = std::chrono::steady_clock::now();
  for (const Ps end = now + length; now < end; now += kStep) {
    host.step(now);
    card->run(now + kStep, now + kStep);
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  uint64_t drops = 0;
  for (const Counter c :
       {kRxFifoDrops, kRxCrcErrors, kRxFiltered, kRxOversize, kRxUndersize, kRxDisabledDrops, kTxFlushed, kRxBadHeader})
    drops += card->counter(c);
  std::printf("%s %.3f %llu %llu %llu\n", argv[1],
              static_cast<double>(length) / (oc48 ? 12860.082 : 6400) / seconds / 1e6,
              static_cast<unsigned long long>(card->counter(kTxFrames)),
              static_cast<unsigned long long>(card->counter(kRxFrames)), static_cast<unsigned long long>(drops));
}
