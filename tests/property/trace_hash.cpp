// SPDX-License-Identifier: BSD-3-Clause
// Prints the hash of the event trace of fixed runs in virtual time. The same lines must come from every compiler, at
// every optimisation, each time; and both engines must give the same ones, or the exit status is 1.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <string>
#include <utility>

#include "hwmodel/port.h"

using namespace awing::hw;

namespace {

using Keys = std::initializer_list<std::pair<const char*, std::string>>;

[[noreturn]] void fail(const std::string& why) {
  std::fprintf(stderr, "trace_hash: %s\n", why.c_str());
  std::exit(2);
}

/// The host's side of one port: all of its memory is given once, and what a run sends is drawn from a seed.
class Host {
 public:
  static constexpr uint32_t kStream = 1 << 20, kDescriptors = 256, kBuffer = 2048;

  Host(Keys keys, bool ring, uint32_t seed) : ring_(ring), random_(seed) {
    PortConfig config;
    for (const auto& [key, value] : keys)
      if (auto ok = set(config, key, value); !ok) fail(ok.error());
    auto opened = Port::open(config);
    if (!opened) fail(opened.error());
    port_ = std::move(*opened);
    address(kTxBaseLo, tx());
    address(kRxBaseLo, rx());
    if (ring) {
      address(kTxCplBaseLo, tx_cpl());
      address(kRxCplBaseLo, rx_cpl());
    } else {
      address(kStatusAddrLo, status());
    }
    port_->write(kTxSize, ring ? kDescriptors : kStream);
    port_->write(kRxSize, ring ? kDescriptors : kStream);
    port_->write(kMaxFrame, 16384);
    port_->write(kControl, ring ? uint32_t{kCtlRingMode} : 0);
    port_->write(kCommand, kCmdReset);
    port_->write(kControl, (ring ? uint32_t{kCtlRingMode} : 0) | kCtlTxEnable | kCtlRxEnable | kCtlPromiscuous);
    if (!ring) return;
    for (uint32_t i = 0; i < kDescriptors; ++i) {
      const RxDescriptor desc{reinterpret_cast<uint64_t>(buffers() + size_t{i} * kBuffer), kBuffer, 0};
      std::memcpy(rx() + i * sizeof desc, &desc, sizeof desc);
    }
    port_->rx_doorbell(kDescriptors);
  }

  void step() {
    const uint32_t frames = draw(ring_ ? 3 : 12);
    for (uint32_t i = 0; i < frames; ++i) send(60 + draw(draw(2) == 0 ? 100 : 1455));
    port_->tx_doorbell(posted_);
    if (!ring_) port_->rx_doorbell(reinterpret_cast<const StatusRecord*>(status())->rx_produced);
    if (draw(8) == 0) reads_ = reads_ * 31 + port_->read(kPhcLo);
    port_->poll(frames, frames);
  }
  void until(Ps t) {
    while (port_->now() < t) port_->poll(0, 0);
  }
  Ps now() const { return port_->now(); }
  std::string result() const {
    const auto [hash, count] = port_->trace_hash();
    char line[96];
    std::snprintf(line, sizeof line, "%016llx, %llu events, %llu frames received, reads %08x",
                  static_cast<unsigned long long>(hash), static_cast<unsigned long long>(count),
                  static_cast<unsigned long long>(port_->counter(kRxFrames)), reads_);
    return line;
  }

 private:
  uint32_t draw(uint32_t below) {
    random_ = random_ * 1'664'525 + 1'013'904'223;
    return (random_ >> 8) % below;
  }
  void address(uint32_t lo, const uint8_t* p) {
    const auto a = reinterpret_cast<uint64_t>(p);
    port_->write(lo, static_cast<uint32_t>(a));
    port_->write(lo + 4, static_cast<uint32_t>(a >> 32));
  }
  void send(uint32_t len) {
    const uint16_t flags = draw(4) == 0 ? kTxInsertStamp : draw(8) == 0 ? kTxLaunchTime : 0;
    const uint64_t launch = (static_cast<uint64_t>(port_->now()) / 1000 + draw(3000)) * 4'294'967'296 / 1'000'000'000;
    if (ring_) {
      if (posted_ == kDescriptors) return;
      const TxDescriptor desc{reinterpret_cast<uint64_t>(buffers()),
                              static_cast<uint16_t>(len),
                              static_cast<uint16_t>(flags | kTxEndOfPacket),
                              20,
                              kNoChecksum,
                              launch,
                              0};
      std::memcpy(tx() + posted_++ * sizeof desc, &desc, sizeof desc);
    } else {
      if (posted_ + record_bytes(len) > kStream) return;
      const TxRecord head{static_cast<uint16_t>(len), flags, 20, kNoChecksum, launch};
      std::memcpy(tx() + posted_, &head, sizeof head);
      posted_ += record_bytes(len);
    }
  }

  // Five regions of kStream octets each.
  uint8_t* region(size_t i) const { return memory_.get() + i * kStream; }
  uint8_t* tx() const { return region(0); }
  uint8_t* rx() const { return region(1); }
  uint8_t* tx_cpl() const { return region(2); }
  uint8_t* rx_cpl() const { return region(2) + kStream / 2; }
  uint8_t* status() const { return region(3); }
  uint8_t* buffers() const { return region(4); }

  struct Free {
    void operator()(uint8_t* p) const { std::free(p); }
  };
  static uint8_t* zeroed() {
    auto* p = static_cast<uint8_t*>(std::aligned_alloc(4096, 5 * kStream));
    if (!p) fail("no memory");
    std::memset(p, 0, 5 * kStream);
    return p;
  }

  const bool ring_;
  uint32_t random_, posted_ = 0, reads_ = 0;
  std::unique_ptr<uint8_t, Free> memory_{zeroed()};  // outlives the card that reads and writes it
  std::unique_ptr<Port> port_;
};

/// Two cards of different buses and clocks, a lossy network one way and a plain cable back, both ways at once.
std::string run(const std::string& engine, bool ring, const std::string& path) {
  const std::string dma = ring ? "ring" : "stream", trace = "/dev/null";
  Host a({{"clock", "virtual"},
          {"wire", "hash"},
          {"trace", trace},
          {"engine", engine},
          {"dma", dma},
          {"path", path},
          {"ppm", "37"}},
         ring, 1);
  Host b({{"clock", "virtual"},
          {"wire", "hash"},
          {"trace", trace},
          {"engine", engine},
          {"dma", dma},
          {"ppm", "-52"},
          {"bus", "pcix100"},
          {"decode", "3"},
          {"target_wait", "2"},
          {"idle", "2"},
          {"mmrbc", "1024"},
          {"splits", "2"}},
         ring, 2);
  while (a.now() < 500 * kPsPerUs) {
    a.step();
    b.step();
  }
  a.until(700 * kPsPerUs);
  return dma + " a: " + a.result() + "\n" + dma + " b: " + b.result() + "\n";
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) fail("usage: trace_hash FILE (a file that it may write and remove)");
  std::ofstream(argv[1]) << R"({"seed": 9, "delay_us": 20, "loss": 0.03, "duplicate": 0.02, "corrupt": 0.03,
    "reorder": {"probability": 0.05, "extra_us": 3},
    "hops": [{"rate_gbps": 6, "queue_kB": 64, "cross": {"rate_gbps": 2, "pattern": "burst"}}]})";
  std::string lines[2];
  for (const bool ring : {false, true})
    for (const int engine : {0, 1}) lines[engine] += run(engine == 0 ? "fast" : "reference", ring, argv[1]);
  std::remove(argv[1]);
  std::fputs(lines[0].c_str(), stdout);
  if (lines[0] == lines[1]) return 0;
  std::fprintf(stderr, "trace_hash: the reference engine differs:\n%s", lines[1].c_str());
  return 1;
}
