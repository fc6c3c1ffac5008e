// SPDX-License-Identifier: BSD-3-Clause
// Two oc48 cards behind their ports, as a driver meets them, in virtual time.
#include <catch2/catch.hpp>
#include <cstdio>
#include <fstream>
#include <sstream>

#include "hwmodel/port.h"
#include "oc48_host.h"

using namespace awing::test;

namespace {

using Keys = std::vector<std::pair<const char*, std::string>>;

PortConfig config_of(const Keys& keys) {
  PortConfig config;
  for (const auto& [key, value] : keys)
    if (auto ok = set(config, key, value); !ok) FAIL(ok.error());
  return config;
}

Keys operator+(Keys a, const Keys& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

struct Station {
  explicit Station(const Keys& keys, uint32_t rx_buffer = 65'535) {
    auto opened = Port::open(config_of(Keys{{"card", "oc48"}, {"clock", "virtual"}} + keys));
    if (!opened) FAIL(opened.error());
    port = std::move(*opened);
    host = std::make_unique<Oc48Host>([this](uint32_t r, uint32_t v) { port->write(r, v); }, rx_buffer);
  }
  ~Station() { port.reset(); }  // the card reads the host's memory until it is gone
  void until(Ps t) {
    while (port->now() < t) port->poll(0, 0);
  }
  /// Frames that this card's receiver has accounted for.
  uint64_t ended() const {
    uint64_t n = 0;
    for (const Counter c : {kRxFrames, kRxFifoDrops, kRxCrcErrors, kRxFiltered, kRxOversize, kRxUndersize,
                            kRxDisabledDrops, kRxBadHeader, kRxLineDown})
      n += port->counter(c);
    return n;
  }
  std::unique_ptr<Oc48Host> host;
  std::unique_ptr<Port> port;
};

std::string contents(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

}  // namespace

TEST_CASE(
    "frames up to 65,284 octets cross in chains of descriptors, octet for octet, and both engines write one trace") {
  std::string traces[2];
  std::pair<uint64_t, uint64_t> hashes[2];
  for (const char* engine : {"fast", "reference"}) {
    const std::string vcd = std::string("oc48_port_") + engine + ".vcd";
    {
      Station a(Keys{{"engine", engine}, {"wire", "chains"}, {"trace", vcd}}, 4096);
      Station b(Keys{{"engine", engine}, {"wire", "chains"}}, 2048);
      std::vector<std::vector<uint8_t>> sent;
      for (const uint32_t len : {4u, 5u, 44u, 1504u, 4096u, 9184u, 65'283u, 65'284u}) {
        sent.push_back(frame_of(len, len > 100 ? len / 3 : 0, 4));
        REQUIRE(a.host->put(sent.back(), 3000));
        REQUIRE(b.host->put(sent.back(), 65'535));
      }
      a.host->ring();
      b.host->ring();
      // 2 x 65,284 octets, a third of them doubled, and the rest: about 200,000 octets, 0.7 ms; as many again for the
      // bus.
      std::vector<Oc48Host::Received> at_a, at_b;
      while (a.port->now() < 3 * kPsPerMs) {
        a.until(a.port->now() + 50 * kPsPerUs);
        for (auto& f : a.host->receive()) at_a.push_back(f);
        for (auto& f : b.host->receive()) at_b.push_back(f);
      }
      REQUIRE(at_a.size() == sent.size());
      REQUIRE(at_b.size() == sent.size());
      for (size_t i = 0; i < sent.size(); ++i) {
        CHECK(at_a[i].octets == sent[i]);
        CHECK(at_b[i].octets == sent[i]);
        CHECK(at_b[i].sequence == i);
      }
      CHECK(a.ended() == sent.size());
      CHECK(a.port->counter(kTxFrames) == sent.size());
      hashes[engine[0] == 'r'] = a.port->trace_hash();
    }
    traces[engine[0] == 'r'] = contents(vcd);
    std::remove(vcd.c_str());
  }
  CHECK(hashes[0] == hashes[1]);
  // Twice 75 kB out and in, in bursts of 1 kB at most, each with its grant and its end.
  CHECK(hashes[0].second > 2 * (2 * 65'284 + 2 * 9184) / 1024);
  CHECK(traces[0] == traces[1]);
  CHECK(traces[0].size() > 10'000);
}

TEST_CASE("a received stamp is that of the start, later by the cable, to half a line clock") {
  Station a(Keys{{"wire", "stamps"}, {"cable_delay_ns", "50000"}});
  Station b(Keys{{"wire", "stamps"}, {"cable_delay_ns", "50000"}});
  for (uint32_t i = 0; i < 100; ++i) REQUIRE(a.host->put(frame_of(44 + 13 * i, 0, 4, i)));
  a.host->ring();
  a.until(2 * kPsPerMs);
  a.host->reap();
  const auto got = b.host->receive();
  REQUIRE(got.size() == 100);
  REQUIRE(a.host->tx_stamps.size() == 100);
  for (size_t i = 0; i < got.size(); ++i) {
    const auto ps = static_cast<int64_t>((static_cast<I128>(got[i].stamp - a.host->tx_stamps[i]) * kPsPerSec) >> 32);
    // Both PHCs run from 0 at the same rate; 2^-32 s are 233 ps, twice truncated.
    REQUIRE(ps >= 50'000'000 - 6'430 - 466);
    REQUIRE(ps <= 50'000'000 + 6'430 + 466);
  }
}

TEST_CASE("ends that are set differently hear nothing good, and every frame is counted once") {
  for (const Keys& other : {Keys{{"fcs", "16"}}, Keys{{"scramble", "off"}}}) {
    Station a(Keys{{"wire", "mismatch"}});
    Station b(Keys{{"wire", "mismatch"}} + other);
    for (uint32_t i = 0; i < 20; ++i) a.host->put(frame_of(200, 0, 4, i));
    a.host->ring();
    a.until(kPsPerMs);
    CHECK(b.port->counter(kRxCrcErrors) == 20);
    CHECK(b.ended() == 20);
    CHECK(b.host->receive().empty());
  }
}

TEST_CASE("the receiver takes what is for it: address, broadcast, groups if asked; bad headers are counted") {
  Station a(Keys{{"wire", "filter"}});
  Station b(Keys{{"wire", "filter"}});
  struct {
    uint8_t first, second;
    Counter v1, v16;
  } const rows[] = {
      {0x23, 0x03, kRxFrames, kRxBadHeader},    {0x25, 0x03, kRxFiltered, kRxBadHeader},
      {0xFF, 0x03, kRxFrames, kRxBadHeader},    {0x81, 0x03, kRxFiltered, kRxBadHeader},
      {0x22, 0x03, kRxBadHeader, kRxFiltered},   // version 1: the low bit of the address must be 1
      {0x23, 0x13, kRxBadHeader, kRxBadHeader},  // and the control octet 03
      {0x00, 0x23, kRxBadHeader, kRxFrames},    {0xFE, 0xFF, kRxBadHeader, kRxFrames},
      {0x00, 0x22, kRxBadHeader, kRxBadHeader}, {0x80, 0x03, kRxBadHeader, kRxFiltered},
  };
  for (const bool m16 : {false, true})
    for (const auto& row : rows) {
      INFO((m16 ? "MAPOS 16 " : "version 1 ") << int{row.first} << " " << int{row.second});
      b.port->write(kMacLo, 0x0023);
      b.port->write(kControl, kCtlRxEnable | kCtlTxEnable | (m16 ? uint32_t{kCtlMapos16} : 0));
      b.until(b.port->now() + 2 * kPsPerUs);
      const Counter expected = m16 ? row.v16 : row.v1;
      const uint64_t before = b.port->counter(expected), ended = b.ended();
      auto frame = frame_of(60, 0, 4);
      frame[0] = row.first, frame[1] = row.second;
      REQUIRE(a.host->put(frame));
      a.host->ring();
      a.until(a.port->now() + 10 * kPsPerUs);
      CHECK(b.port->counter(expected) == before + 1);
      CHECK(b.ended() == ended + 1);
    }
  b.port->write(kControl, kCtlRxEnable | kCtlTxEnable | kCtlAllMulticast);
  auto group = frame_of(60, 0, 4);
  group[0] = 0x81;
  const uint64_t before = b.port->counter(kRxFrames);
  a.host->put(group);
  a.host->ring();
  a.until(a.port->now() + 10 * kPsPerUs);
  CHECK(b.port->counter(kRxFrames) == before + 1);
}

TEST_CASE("a malformed chain stops the sender until a reset; then it sends again") {
  for (const char* engine : {"fast", "reference"}) {
    Station a(Keys{{"engine", engine}});               // looped to itself
    REQUIRE(a.host->put(std::vector<uint8_t>(3, 1)));  // no room for a header
    REQUIRE(a.host->put(frame_of(100, 0, 4)));
    a.host->ring();
    a.until(50 * kPsPerUs);
    CHECK(a.port->counter(kTxBadRecord) == 1);
    CHECK(a.port->counter(kTxFrames) == 0);
    CHECK((a.port->read(kStatus) & (kStsTxError | kStsQuiet)) == (kStsTxError | kStsQuiet));
    a.port->write(kControl, 0);
    a.port->write(kCommand, kCmdReset);
    CHECK((a.port->read(kStatus) & (kStsTxError | kStsResetRefused)) == 0);
    Oc48Host again([&a](uint32_t r, uint32_t v) { a.port->write(r, v); });
    REQUIRE(again.put(frame_of(100, 0, 4)));
    again.ring();
    a.until(a.port->now() + 50 * kPsPerUs);
    CHECK(a.port->counter(kTxFrames) == 1);
    CHECK(again.receive().size() == 1);
    a.port.reset();
  }
}

TEST_CASE("what cannot be joined is refused in one line") {
  Station a(Keys{{"wire", "refuse"}});
  auto other = Port::open(config_of({{"clock", "virtual"}, {"wire", "refuse"}}));
  REQUIRE_FALSE(other);
  CHECK(other.error() == "wire=refuse: card= differs from that of the port at the other end");
}

TEST_CASE("a card that is replaced by one with another clock is heard all the same") {
  for (const char* engine : {"fast", "reference"}) {
    Station a(Keys{{"engine", engine}, {"wire", "swap"}});
    for (const char* ppm : {"200", "-200", "0"}) {
      Station b(Keys{{"engine", engine}, {"wire", "swap"}, {"ppm", ppm}});
      b.until(b.port->now() + kPsPerMs);  // the line was dark between the two; light is believed after two frames
      const uint64_t before = a.port->counter(kRxFrames);
      for (uint32_t i = 0; i < 50; ++i) REQUIRE(b.host->put(frame_of(300, 0, 4, i)));
      b.host->ring();
      b.until(b.port->now() + kPsPerMs);
      CHECK(a.port->counter(kRxFrames) == before + 50);
      CHECK(a.host->receive().size() == 50);
    }
  }
}

TEST_CASE("a dark fibre is seen, told back, and gone again by the rules, alike on both engines") {
  constexpr const char* kJson = "oc48_port_test.json";
  std::ofstream(kJson) << R"({"delay_us": 100, "faults": [{"what": "los", "at_us": 2000, "for_us": 2000}]})";
  std::vector<uint32_t> seen[2];
  for (const char* engine : {"fast", "reference"}) {
    Station a(Keys{{"engine", engine}, {"wire", "dark"}, {"path", kJson}});
    Station b(Keys{{"engine", engine}, {"wire", "dark"}});
    auto& log = seen[engine[0] == 'r'];
    const auto alarms = [&log](Station& s, double us) {
      s.until(static_cast<Ps>(us * 1e6));
      log.push_back(s.port->read(kSonetAlarms));
      return log.back();
    };
    // SONET frame 16 begins at 2000 us, ends at 2125 and is judged 100.005 us later: cable and path.
    CHECK(alarms(b, 2224) == 0);
    CHECK(b.port->link_up());
    CHECK(alarms(b, 2226) == kAlarmLos);
    CHECK_FALSE(b.port->link_up());
    // Overhead says what holds at the end of its frame: that of 17, at 2250 us, is the first with RDI-P, and the tenth
    // is judged at 2250 + 9 * 125 = 3375 us and 5 ns of cable.
    CHECK(alarms(a, 3374) == 0);
    CHECK(alarms(a, 3376) == kAlarmRdiP);
    CHECK(alarms(b, 3500) == (kAlarmLos | kAlarmOof));
    REQUIRE(a.host->put(frame_of(100, 0, 4)));  // into the dark
    a.host->ring();
    // Light is back with frame 32, at 4000 us; two frames end at 4250 and are judged at 4350.
    CHECK(alarms(b, 4349) == (kAlarmLos | kAlarmOof));
    CHECK(alarms(b, 4351) == 0);
    CHECK(b.port->link_up());
    CHECK(alarms(a, 5000) == kAlarmRdiP);
    CHECK(alarms(a, 6000) == 0);
    CHECK(b.port->read(kSonetSeen) == (kAlarmLos | kAlarmOof));
    b.port->write(kSonetSeen, kAlarmOof);
    CHECK(b.port->read(kSonetSeen) == kAlarmLos);
    REQUIRE(a.host->put(frame_of(100, 0, 4)));
    a.host->ring();
    a.until(6200 * kPsPerUs);
    CHECK(b.host->receive().size() == 1);
    uint64_t lost = 0;
    for (const auto& [name, value] : a.port->wire_counters())
      if (name == "path_lost") lost = value;
    CHECK(lost == 1);
    CHECK(a.port->counter(kTxFrames) == 2);
    CHECK(b.ended() == 1);
  }
  CHECK(seen[0] == seen[1]);
  std::remove(kJson);
}

TEST_CASE("bit errors are counted where they are found and told back to the sender") {
  constexpr const char* kJson = "oc48_port_test.json";
  std::ofstream(kJson) << R"({"bit_error_rate": 1e-6, "seed": 5})";
  std::vector<uint64_t> counts[2];
  for (const char* engine : {"fast", "reference"}) {
    Station a(Keys{{"engine", engine}, {"wire", "ber"}, {"path", kJson}});
    Station b(Keys{{"engine", engine}, {"wire", "ber"}});
    a.until(50 * kPsPerMs);
    for (const Counter c : {kB1Errors, kB2Errors, kB3Errors}) counts[engine[0] == 'r'].push_back(b.port->counter(c));
    // 400 SONET frames of 311,040 bits: 124 errors are expected, five standard deviations are 56.
    CHECK(b.port->counter(kB1Errors) > 124 - 56);
    CHECK(b.port->counter(kB1Errors) < 124 + 56);
    // What was found in the last frame or two is still on its way back.
    CHECK(a.port->counter(kReiL) <= b.port->counter(kB2Errors));
    CHECK(a.port->counter(kReiL) + 8 >= b.port->counter(kB2Errors));
    CHECK(a.port->counter(kReiP) <= b.port->counter(kB3Errors));
    CHECK(a.port->counter(kReiP) + 8 >= b.port->counter(kB3Errors));
    CHECK(a.port->counter(kB1Errors) == 0);  // the other fibre is clean
  }
  CHECK(counts[0] == counts[1]);
  std::remove(kJson);
}

TEST_CASE("labels and inserted alarms reach the far end after their number of frames") {
  Station a(Keys{{"wire", "labels"}, {"c2", "0x16"}});
  Station b(Keys{{"wire", "labels"}});
  b.until(kPsPerMs);
  CHECK(b.port->read(kSonetAlarms) == kAlarmPlmP);
  b.port->write(kSonetRxC2, 0x16);
  a.port->write(kSonetRxC2, 0x8D);
  b.until(2 * kPsPerMs);
  CHECK(b.port->read(kSonetAlarms) == 0);
  a.port->write(kSonetInsert, kInsertAisP);
  b.until(3 * kPsPerMs);
  CHECK(b.port->read(kSonetAlarms) == kAlarmAisP);
  REQUIRE(a.host->put(frame_of(100, 0, 4)));
  a.host->ring();
  b.until(4 * kPsPerMs + 500 * kPsPerUs);
  CHECK(b.port->counter(kRxLineDown) == 1);
  CHECK(b.ended() == 1);
  CHECK(a.port->read(kSonetAlarms) == kAlarmRdiP);
  a.port->write(kSonetInsert, 0);
  b.until(7 * kPsPerMs);
  CHECK(b.port->read(kSonetAlarms) == 0);
  CHECK(a.port->read(kSonetAlarms) == 0);
}
