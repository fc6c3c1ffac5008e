// SPDX-License-Identifier: BSD-3-Clause
// Wires, paths and traces behind a whole port, as a driver meets them.
#include <time.h>
#include <x86intrin.h>

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
    for (int polls = 0; polls < 300; ++polls) card.port->poll(0, 0);
    CHECK(card.port->link_up());
    CHECK(card.port->counter(kTxFrames) == 10);
    CHECK(card.port->counter(kRxFifoDrops) + card.port->counter(kRxFrames) == 10);
    if (config.engine == Engine::kReference) CHECK(card.port->lag() > 100 * kPsPerMs);  // and it is told
  }
}

TEST_CASE("registers of a card that cannot keep up are read in bounded time, and an idle hour costs nothing") {
  for (const char* engine : {"fast", "reference"}) {
    INFO(engine);
    PortConfig config = config_of({{"clock", "tsc"}, {"engine", engine}});
    config.tsc_hz = 1'000'000;  // an hour of it in a second and a half
    Sender card(config);
    card.send(10, 60);
    for (int reads = 0; reads < 300; ++reads) REQUIRE(card.port->read(kFirstBlock) == 0x100);
    CHECK(card.port->read(kCounterBase + 8 * kTxFrames) == 10);
  }
}

TEST_CASE("a larger card may join a wire whose other card holds frames") {
  const std::string wire = "grow";
  Sender waiting(config_of({{"clock", "virtual"}, {"wire", wire}}));
  {
    Sender sender(config_of({{"clock", "virtual"}, {"wire", wire}}));
    sender.until(1 * kPsPerUs);
    sender.send(300, 60);  // nobody gives the other card room for them: they stay in its FIFO
    sender.until(100 * kPsPerUs);
    REQUIRE(waiting.port->counter(kRxFrames) == 300);
  }
  Sender larger(config_of({{"clock", "virtual"}, {"wire", wire}, {"tx_fifo", "512k"}}));
  // Now it gets room: the records come out as they were sent.
  std::vector<uint8_t> room(2 * 65536);
  const auto base = (reinterpret_cast<uint64_t>(room.data()) + 4095) & ~uint64_t{4095};
  waiting.port->write(kRxBaseLo, static_cast<uint32_t>(base));
  waiting.port->write(kRxBaseHi, static_cast<uint32_t>(base >> 32));
  waiting.port->write(kRxSize, 65536);
  waiting.until(waiting.port->now() + 100 * kPsPerUs);
  uint32_t good = 0;
  for (uint32_t i = 0; i < 300; ++i) {
    RxRecord head;
    std::memcpy(&head, reinterpret_cast<const uint8_t*>(base) + i * record_bytes(60), sizeof head);
    good += head.len == 60 && head.sequence == i;
  }
  CHECK(good == 300);
  waiting.port.reset();  // before the room it writes to
}

TEST_CASE("two ports cannot write one file, nor a port write what it reads") {
  {
    Sender card(config_of({{"clock", "virtual"}, {"wire", std::string("pcap:+") + kPcap}}));
    card.until(1 * kPsPerUs);
    card.send(3, 60);
    card.until(50 * kPsPerUs);
  }
  const auto refusal = [](std::initializer_list<std::pair<const char*, std::string>> keys) {
    const auto opened = Port::open(config_of(keys));
    return opened ? std::string("taken") : opened.error();
  };
  const std::string both = std::string("pcap:") + kPcap + "+" + kPcap;
  CHECK(refusal({{"clock", "virtual"}, {"wire", both}}) ==
        std::string("wire=pcap: ") + kPcap + " cannot be written: another port or program uses it");
  Sender again(config_of({{"clock", "virtual"}, {"wire", std::string("pcap:") + kPcap}}));
  again.until(50 * kPsPerUs);
  CHECK(again.wire()["pcap_sent"] == 3);  // it is still whole
  Sender traced(config_of({{"clock", "virtual"}, {"trace", kVcd}}));
  CHECK(refusal({{"clock", "virtual"}, {"trace", kVcd}}).ends_with("another port or program uses it"));
  std::remove(kPcap);
  std::remove(kVcd);
}

TEST_CASE("what a port asks of a wire that exists must fit it") {
  Sender first(config_of({{"clock", "virtual"}, {"wire", "fit"}}));
  const auto refusal = [](const char* key, const char* value) {
    const auto opened = Port::open(config_of({{"clock", "virtual"}, {"wire", "fit"}, {key, value}}));
    return opened ? std::string("taken") : opened.error();
  };
  CHECK(refusal("profile", "pc2003") == "wire=fit: profile= differs from that of the port at the other end");
  CHECK(refusal("clock", "tsc").find("tsc") != std::string::npos);
  CHECK(refusal("cable_delay_ns", "99") == "wire=fit: cable_delay_ns= differs from that of the port at the other end");
}

TEST_CASE("JSON that is nested to crash is refused in one line") {
  const std::string deep(200'000, '[');
  std::ofstream(kJson) << "{\"seed\":" << deep << std::string(deep.size(), ']') << "}";
  for (const char* key : {"path", "profile"}) {
    PortConfig config = config_of({{"clock", "virtual"}});
    auto ok = set(config, key, kJson);
    std::string why;
    if (!ok)
      why = ok.error();
    else if (auto port = Port::open(config); !port)
      why = port.error();
    INFO(why);
    CHECK(why.find("nested more than 32 deep") != std::string::npos);
    CHECK(why.find('\n') == std::string::npos);
  }
  std::remove(kJson);
}

TEST_CASE("the rate of the time-stamp counter is measured well") {
  // Held against another clock over a longer stretch.
  const auto now = [] {
    timespec t{};
    clock_gettime(CLOCK_MONOTONIC_RAW, &t);
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
  };
  // A look is interrupted now and then on a busy machine: one good one is enough.
  bool close = false;
  for (int tries = 0; tries < 20 && !close; ++tries) {
    const double a = now();
    const uint64_t from = __rdtsc();
    const timespec rest{0, 100'000'000};
    nanosleep(&rest, nullptr);
    const double b = now();
    const uint64_t to = __rdtsc();
    close = static_cast<double>(measured_tsc_hz()) == Approx(static_cast<double>(to - from) / (b - a)).epsilon(0.0002);
  }
  CHECK(close);
}
