// SPDX-License-Identifier: BSD-3-Clause
#include "vcd.h"

#include <sys/resource.h>

#include <catch2/catch.hpp>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <map>
#include <random>
#include <sstream>
#include <vector>

using namespace awing::hw;

namespace {

constexpr const char* kFile = "vcd_test.vcd";

struct Change {
  Ps t;
  std::string value;
  friend bool operator==(const Change&, const Change&) = default;
};
std::ostream& operator<<(std::ostream& out, const Change& c) { return out << "#" << c.t << " " << c.value; }

/// A reader of value-change dumps that knows nothing of the writer: signal name -> changes.
struct Dump {
  explicit Dump(const char* file) {
    std::ifstream in(file);
    std::map<std::string, std::string> names;  // by identifier
    std::string word;
    bool header = true;
    Ps now = 0;
    while (in >> word && !in.eof()) {  // a word that ends with the file is a cut one
      if (header && word[0] == '$') {
        std::vector<std::string> body;
        for (std::string w; in >> w && w != "$end";) body.push_back(w);
        if (word == "$var") names[body.at(2)] = body.at(3), bits[body.at(3)] = std::stoi(body.at(1));
        if (word == "$timescale") timescale = body.at(0) + body.at(1);
        if (word == "$enddefinitions") header = false;
        continue;
      }
      if (word[0] == '#') {
        const Ps t = std::stoll(word.substr(1));
        monotonic &= times.empty() || t > times.back();
        times.push_back(now = t);
      } else if (word[0] == 'b' || word[0] == 's') {
        std::string id;
        if (!(in >> id) || in.eof()) break;
        changes[names.at(id)].push_back({now, word.substr(1)});
      } else {
        changes[names.at(word.substr(1))].push_back({now, word.substr(0, 1)});
      }
    }
  }
  std::map<std::string, std::vector<Change>> changes;
  std::map<std::string, int> bits;
  std::vector<Ps> times;
  std::string timescale;
  bool monotonic = true;
};

std::string binary(uint64_t v) {
  std::string text;
  do text.insert(text.begin(), v & 1 ? '1' : '0');
  while (v >>= 1);
  return text;
}

void write(const std::vector<Event>& events) {
  auto writer = VcdWriter::open(kFile);
  REQUIRE(writer);
  const size_t half = events.size() / 2;
  (*writer)->consume(std::span(events).first(half));
  (*writer)->consume(std::span(events).subspan(half));
  (*writer)->flush();
  CHECK((*writer)->good());
}

}  // namespace

TEST_CASE("a dump shows who has the bus, the FIFO levels, frames, register writes and interrupts") {
  write({{7'500, Block::kBus, EventType::kBusGrant, static_cast<uint16_t>(BusUse::kReadStream), 4096,
          uint64_t{96} << 32 | 32},
         {15'000, Block::kBus, EventType::kBusEnd, static_cast<uint16_t>(BusUse::kReadStream), 4096,
          uint64_t{128} << 32 | 32},
         {15'000, Block::kBus, EventType::kStatus, 0, 5, uint64_t{6} << 32 | 7},
         {15'000, Block::kBus, EventType::kBusGrant, static_cast<uint16_t>(BusUse::kWriteData), 64,
          uint64_t{128} << 32 | 32},
         {16'000, Block::kTx, EventType::kTxStart, 4, 60, 99},
         {17'000, Block::kRx, EventType::kRxStart, 0, 1514, 98},
         {22'500, Block::kRegs, EventType::kRegWrite, 0, 0x110, 3},
         {73'600, Block::kTx, EventType::kTxEnd, 0, 60, 0},
         {80'000, Block::kRx, EventType::kRxAdmit, 0, 1514, 1552},
         {90'000, Block::kRx, EventType::kRxStart, 0, 60, 97},
         {95'000, Block::kRx, EventType::kRxDrop, 3, 60, 1552},
         {97'500, Block::kRegs, EventType::kInterrupt, 1, 0, 5},
         {105'000, Block::kRegs, EventType::kInterrupt, 3, 1, 5},
         {112'500, Block::kRegs, EventType::kInterrupt, 2, 3, 5}});
  Dump dump(kFile);
  using Changes = std::vector<Change>;
  CHECK(dump.timescale == "1ps");
  CHECK(dump.changes["bus_use"] == Changes{{0, "z"}, {7'500, "11"}, {15'000, "z"}, {15'000, "111"}});
  CHECK(dump.changes["bus_owner"] ==
        Changes{{0, "idle"}, {7'500, "read_stream"}, {15'000, "idle"}, {15'000, "write_data"}});
  CHECK(dump.changes["tx_fifo"] == Changes{{0, "0"}, {7'500, "1100000"}, {15'000, "10000000"}});
  CHECK(dump.changes["rx_fifo"] == Changes{{0, "0"}, {7'500, "100000"}});
  CHECK(dump.changes["tx_frame"] == Changes{{0, "0"}, {16'000, "1"}, {73'600, "0"}});
  CHECK(dump.changes["rx_frame"] == Changes{{0, "0"}, {17'000, "1"}, {80'000, "0"}, {90'000, "1"}, {95'000, "0"}});
  CHECK(dump.changes["rx_octets"] == Changes{{0, "0"}, {17'000, binary(1514)}, {90'000, binary(60)}});
  CHECK(dump.changes["rx_dropped"] == Changes{{0, "0"}, {95'000, "1"}});
  CHECK(dump.changes["rx_drop_cause"] == Changes{{0, "0"}, {95'000, "11"}});
  CHECK(dump.changes["reg_offset"] == Changes{{0, "0"}, {22'500, binary(0x110)}});
  CHECK(dump.changes["reg_value"] == Changes{{0, "0"}, {22'500, "11"}});
  CHECK(dump.changes["reg_writes"] == Changes{{0, "0"}, {22'500, "1"}});
  CHECK(dump.changes["rx_interrupt"] == Changes{{0, "0"}, {97'500, "1"}, {112'500, "0"}});
  CHECK(dump.changes["tx_interrupt"] == Changes{{0, "0"}, {105'000, "1"}});
  CHECK(dump.changes["tx_done"] == Changes{{0, "0"}, {15'000, "111"}});
}

TEST_CASE("times of a dump go forward, are those of events, and values fit their signals") {
  std::mt19937_64 draw(9);
  std::vector<Event> events;
  std::vector<Ps> starts, ends;
  Ps t = 0;
  bool sending = false;
  for (int i = 0; i < 5'000; ++i) {
    t += static_cast<Ps>(draw() % 3 * 7'500 + 1);
    if (draw() % 2) {
      sending = !sending;
      (sending ? starts : ends).push_back(t);
      events.push_back({t, Block::kTx, sending ? EventType::kTxStart : EventType::kTxEnd, 0,
                        static_cast<uint32_t>(draw() % 16'000), 0});
    } else {
      const EventType types[] = {EventType::kBusEnd, EventType::kBusGrant, EventType::kStatus, EventType::kRegWrite};
      events.push_back({t, Block::kBus, types[draw() % 4], static_cast<uint16_t>(draw() % 11),
                        static_cast<uint32_t>(draw()), draw()});
    }
  }
  write(events);
  Dump dump(kFile);
  CHECK(dump.monotonic);
  size_t i = 0;
  for (Ps at : dump.times) {
    while (at != 0 && i < events.size() && events[i].t < at) ++i;
    REQUIRE((at == 0 || (i < events.size() && events[i].t == at)));
  }
  std::vector<Ps> rises, falls;
  for (size_t k = 1; k < dump.changes["tx_frame"].size(); ++k) {
    const Change& c = dump.changes["tx_frame"][k];
    (c.value == "1" ? rises : falls).push_back(c.t);
  }
  CHECK(rises == starts);
  CHECK(falls == ends);
  for (const auto& [name, changes] : dump.changes)
    for (const Change& c : changes)
      if (name != "bus_owner") REQUIRE(static_cast<int>(c.value.size()) <= dump.bits[name]);
  std::remove(kFile);
}

TEST_CASE("a dump that cannot be written says so in one line and does no harm") {
  auto nowhere = VcdWriter::open("/nonexistent/x.vcd");
  REQUIRE_FALSE(nowhere);
  CHECK(nowhere.error() == "trace=/nonexistent/x.vcd cannot be written: No such file or directory");
  // A full disk: /dev/full takes the open and refuses what is written.
  auto full = VcdWriter::open("/dev/full");
  REQUIRE_FALSE(full);
  CHECK(full.error() == "trace=/dev/full is incomplete: No space left on device");
}

TEST_CASE("a dump cut short by the disk tells it, and keeps what was written") {
  // A limit of the file size stands for a disk that fills up in the middle.
  const auto before = std::signal(SIGXFSZ, SIG_IGN);
  rlimit old{};
  getrlimit(RLIMIT_FSIZE, &old);
  auto writer = VcdWriter::open(kFile);
  REQUIRE(writer);
  rlimit small = old;
  small.rlim_cur = 65'536;
  setrlimit(RLIMIT_FSIZE, &small);
  for (Ps t = 1; t < 20'000; ++t) {
    const Event e{t, Block::kTx, t % 2 ? EventType::kTxStart : EventType::kTxEnd, 0, 60, 0};
    (*writer)->consume(std::span(&e, 1));
  }
  setrlimit(RLIMIT_FSIZE, &old);
  std::signal(SIGXFSZ, before);
  CHECK_FALSE((*writer)->good());
  CHECK((*writer)->error() == "trace=vcd_test.vcd is incomplete: File too large");
  writer->reset();
  const Dump dump(kFile);
  REQUIRE(dump.times.size() > 1'000);
  for (size_t i = 0; i < 1'000; ++i) REQUIRE(dump.times[i] == static_cast<Ps>(i));
  std::remove(kFile);
}
