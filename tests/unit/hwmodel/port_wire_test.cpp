// SPDX-License-Identifier: BSD-3-Clause
// Wires, paths and traces behind a whole port, as a driver meets them.
#include <catch2/catch.hpp>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>

#include "hwmodel/port.h"

using namespace awing::hw;

namespace {

PortConfig config_of(std::initializer_list<std::pair<const char*, std::string>> keys) {
  PortConfig config;
  for (const auto& [key, value] : keys)
    if (auto ok = set(config, key, value); !ok) FAIL(ok.error());
  return config;
}

/// A port that has a send stream of n equal frames in it.
struct Sender {
  static constexpr uint32_t kStream = 1 << 20;
  explicit Sender(const PortConfig& config) {
    auto opened = Port::open(config);
    if (!opened) FAIL(opened.error());
    port = std::move(*opened);
    memory = static_cast<uint8_t*>(std::aligned_alloc(4096, kStream));
    std::memset(memory, 0, kStream);
    const auto base = reinterpret_cast<uint64_t>(memory);
    port->write(kTxBaseLo, static_cast<uint32_t>(base));
    port->write(kTxBaseHi, static_cast<uint32_t>(base >> 32));
    port->write(kTxSize, kStream);
    port->write(kControl, kCtlTxEnable | kCtlRxEnable | kCtlPromiscuous);
  }
  ~Sender() {
    port.reset();  // the card reads this memory until it is gone
    std::free(memory);
  }
  void send(uint32_t frames, uint32_t len) {
    for (uint32_t i = 0; i < frames; ++i) {
      const TxRecord head{static_cast<uint16_t>(len), 0, 0, kNoChecksum, 0};
      std::memcpy(memory + posted, &head, sizeof head);
      posted += record_bytes(len);
    }
    port->tx_doorbell(posted);
  }
  /// Polls until model time t.
  void until(Ps t) {
    while (port->now() < t) port->poll(0, 0);
  }
  uint64_t arrived() const {
    return port->counter(kRxFrames) + port->counter(kRxFifoDrops) + port->counter(kRxCrcErrors);
  }
  std::map<std::string, uint64_t> wire() const {
    std::map<std::string, uint64_t> all;
    for (const auto& [name, value] : port->wire_counters()) all[name] = value;
    return all;
  }
  std::unique_ptr<Port> port;
  uint8_t* memory;
  uint32_t posted = 0;
};

constexpr const char* kJson = "port_wire_test.json";
constexpr const char* kVcd = "port_wire_test.vcd";
constexpr const char* kPcap = "port_wire_test.pcap";

}  // namespace

TEST_CASE("every frame sent into a path arrives at the card or is counted, on both engines alike") {
  std::ofstream(kJson) << R"({"seed": 3, "delay_us": 30, "loss": 0.05, "duplicate": 0.05, "corrupt": 0.05,
    "reorder": {"probability": 0.05, "extra_us": 4},
    "hops": [{"rate_gbps": 10, "queue_kB": 32, "cross": {"rate_gbps": 3, "pattern": "burst"}}, {"rate_gbps": 5, "queue_kB": 32}]})";
  std::pair<uint64_t, uint64_t> traces[2];
  for (const char* engine : {"fast", "reference"}) {
    Sender card(config_of({{"clock", "virtual"}, {"engine", engine}, {"path", kJson}, {"trace", kVcd}}));
    card.until(1 * kPsPerUs);
    card.send(500, 700);
    card.until(kPsPerMs);
    auto wire = card.wire();
    INFO(engine);
    CHECK(wire["path_offered"] == 500);
    CHECK(wire["path_inside"] == 0);
    CHECK(wire["path_offered"] + wire["path_duplicated"] ==
          wire["path_delivered"] + wire["path_lost"] + wire["path_hop1_queue_drops"] + wire["path_hop2_queue_drops"]);
    CHECK(wire["path_hop2_queue_drops"] > 0);
    CHECK(card.arrived() == wire["path_delivered"]);
    CHECK(card.port->counter(kRxCrcErrors) > 0);
    traces[engine[0] == 'r'] = card.port->trace_hash();
  }
  CHECK(traces[0] == traces[1]);
  std::remove(kJson);
  std::remove(kVcd);
}

TEST_CASE("what one port writes to a capture another port receives from it") {
  {
    Sender card(config_of({{"clock", "virtual"}, {"wire", std::string("pcap:+") + kPcap}}));
    card.until(1 * kPsPerUs);
    card.send(300, 60);
    card.until(200 * kPsPerUs);
    CHECK(card.wire()["pcap_written"] == 300);
  }
  {
    Sender card(config_of({{"clock", "virtual"}, {"wire", std::string("pcap:") + kPcap}}));
    card.until(200 * kPsPerUs);
    CHECK(card.wire()["pcap_sent"] == 300);
    CHECK(card.arrived() == 300);
  }
  std::remove(kPcap);
}

TEST_CASE("a port refuses a path, a capture or a trace it cannot use") {
  for (const auto& [key, value] :
       {std::pair{"path", "/nonexistent.json"}, {"wire", "pcap:/nonexistent.pcap"}, {"trace", "/nonexistent/x.vcd"}}) {
    auto port = Port::open(config_of({{"clock", "virtual"}, {key, value}}));
    REQUIRE_FALSE(port);
    CHECK(port.error().find("/nonexistent") != std::string::npos);
  }
}

TEST_CASE("what the host did before its clock slipped still happens in order, and soon") {
  // A time-stamp counter of 1 MHz: the host's time runs thousands of times faster than any machine can follow.
  for (const char* engine : {"fast", "reference"}) {
    INFO(engine);
    PortConfig config = config_of({{"clock", "tsc"}, {"engine", engine}});
    config.tsc_hz = 1'000'000;
    Sender card(config);
    card.send(10, 60);
    for (int polls = 0; polls < 20; ++polls) card.port->poll(0, 0);
    CHECK(card.port->link_up());
    CHECK(card.port->counter(kTxFrames) == 10);
    CHECK(card.port->counter(kRxFifoDrops) + card.port->counter(kRxFrames) == 10);
    CHECK(card.port->lag() > 100 * kPsPerMs);  // and it is told: 40 us of a 2.5 GHz counter are so much
  }
}
