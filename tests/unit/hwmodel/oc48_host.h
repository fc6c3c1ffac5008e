// SPDX-License-Identifier: BSD-3-Clause
// A small host for an oc48 card, behind a Port or a bare Card.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <vector>

#include "hwmodel/datasheet_oc48.h"
#include "mapos/fcs.h"

namespace awing::test {

using namespace awing::hw;

/// Rings of kDescs descriptors, one frame per kSlot octets. Registers are written through `write`.
struct Oc48Host {
  static constexpr uint32_t kDescs = 512, kSlot = 66'048;
  using Write = std::function<void(uint32_t reg, uint32_t value)>;

  explicit Oc48Host(Write w, uint32_t rx_buffer = 65'535) : write(std::move(w)), buffer(rx_buffer) {
    base(kTxBaseLo, tx);
    base(kRxBaseLo, rx);
    base(kTxCplBaseLo, tx_cpl);
    base(kRxCplBaseLo, rx_cpl);
    write(kTxSize, kDescs);
    write(kRxSize, kDescs);
    write(kCommand, kCmdReset);
    write(kControl, kCtlRxEnable | kCtlTxEnable | kCtlPromiscuous);
    post_rx(kDescs);
  }
  ~Oc48Host() {
    for (void* p : all) std::free(p);
  }
  Oc48Host(const Oc48Host&) = delete;
  Oc48Host& operator=(const Oc48Host&) = delete;

  template <typename T>
  T* memory(size_t bytes) {
    all.push_back(std::aligned_alloc(4096, (bytes + 4095) & ~size_t{4095}));
    std::memset(all.back(), 0, bytes);
    return static_cast<T*>(all.back());
  }
  void base(uint32_t reg, const void* p) {
    write(reg, static_cast<uint32_t>(reinterpret_cast<uint64_t>(p)));
    write(reg + 4, static_cast<uint32_t>(reinterpret_cast<uint64_t>(p) >> 32));
  }
  void post_rx(uint32_t n) {
    for (; n > 0; --n, ++posted_rx) {
      const uint32_t slot = posted_rx % kDescs;
      rx[slot] = {reinterpret_cast<uint64_t>(rx_memory + size_t{slot} * kSlot), buffer, 0};
    }
    write(kRxConsumer, posted_rx);
  }
  /// Puts a frame in the ring, in one descriptor for each `piece` octets; false: no room.
  bool put(const std::vector<uint8_t>& frame, uint32_t piece = 65'535, uint16_t flags = 0) {
    const auto len = static_cast<uint32_t>(frame.size()), n = (len + piece - 1) / piece;
    reap();
    if (posted_tx + n - tx_done > kDescs) return false;
    for (uint32_t done = 0; done < len; done += piece, ++posted_tx) {
      const uint32_t part = std::min(piece, len - done), slot = posted_tx % kDescs;
      uint8_t* at = tx_memory + size_t{slot} * kSlot;
      std::memcpy(at, &frame[done], part);
      tx[slot] = {reinterpret_cast<uint64_t>(at),
                  static_cast<uint16_t>(part),
                  static_cast<uint16_t>(flags | (done + part == len ? uint16_t{kTxEndOfPacket} : uint16_t{0})),
                  0,
                  kNoChecksum,
                  0,
                  0};
    }
    return true;
  }
  void ring() { write(kTxProducer, posted_tx); }
  void reap() {
    for (; (tx_cpl[tx_seen % kDescs].flags & 1) == (tx_seen / kDescs % 2 == 0); ++tx_seen) {
      tx_done = tx_cpl[tx_seen % kDescs].done;
      tx_stamps.push_back(tx_cpl[tx_seen % kDescs].stamp);
    }
  }
  struct Received {
    std::vector<uint8_t> octets;
    uint64_t stamp;
    uint32_t sequence;
  };
  std::vector<Received> receive() {
    std::vector<Received> got;
    uint32_t n = 0;
    for (;; ++n, ++rx_seen) {
      const uint32_t slot = rx_seen % kDescs;
      const RxCompletion& cpl = rx_cpl[slot];
      if (((cpl.flags & kRxPhase) != 0) != (rx_seen / kDescs % 2 == 0)) break;
      const uint8_t* at = rx_memory + size_t{slot} * kSlot;
      open.octets.insert(open.octets.end(), at, at + cpl.len);
      open.stamp = cpl.stamp;
      open.sequence = cpl.sequence;
      if (!(cpl.flags & kRxEndOfPacket)) continue;
      got.push_back(open);
      open = {};
    }
    if (n) post_rx(n);
    return got;
  }

  Write write;
  uint32_t buffer;
  std::vector<void*> all;
  TxDescriptor* tx = memory<TxDescriptor>(kDescs * sizeof(TxDescriptor));
  RxDescriptor* rx = memory<RxDescriptor>(kDescs * sizeof(RxDescriptor));
  TxCompletion* tx_cpl = memory<TxCompletion>(kDescs * sizeof(TxCompletion));
  RxCompletion* rx_cpl = memory<RxCompletion>(kDescs * sizeof(RxCompletion));
  uint8_t* tx_memory = memory<uint8_t>(size_t{kDescs} * kSlot);
  uint8_t* rx_memory = memory<uint8_t>(size_t{kDescs} * kSlot);
  uint32_t posted_tx = 0, posted_rx = 0, tx_done = 0, tx_seen = 0, rx_seen = 0;
  std::vector<uint64_t> tx_stamps;
  Received open{};
};

/// A version 1 frame of `len` octets that has exactly `escapes` octets to be stuffed, none of them in its FCS.
inline std::vector<uint8_t> frame_of(uint32_t len, uint32_t escapes, uint32_t fcs_octets, uint32_t salt = 0) {
  std::vector<uint8_t> f(len);
  f[0] = 0x03, f[1] = 0x03, f[2] = 0x00, f[3] = 0x21;
  for (uint32_t i = 4; i < len; ++i) f[i] = static_cast<uint8_t>((i * 7 + salt) % 120);
  for (uint32_t i = 0; i < escapes; ++i) f[len - 1 - i] = i % 2 ? 0x7D : 0x7E;
  if (len > 4 + escapes)
    for (;; f[4] = static_cast<uint8_t>((f[4] + 1) % 120)) {
      uint32_t fcs = fcs_octets == 4 ? mapos::fcs32(f) : mapos::fcs16(f);
      bool clean = true;
      for (uint32_t i = 0; i < fcs_octets; ++i, fcs >>= 8) clean &= (fcs & 0xFF) != 0x7D && (fcs & 0xFF) != 0x7E;
      if (clean) break;
    }
  return f;
}

}  // namespace awing::test
