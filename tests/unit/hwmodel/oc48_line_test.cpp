// SPDX-License-Identifier: BSD-3-Clause
// The oc48 card against closed forms: frame rates of the line, bandwidth of the bus.
#include <catch2/catch.hpp>
#include <numeric>

#include "fast_oc48.h"
#include "oc48_host.h"
#include "reference_oc48.h"

using namespace awing::test;

namespace {

/// A card whose line is looped to itself, and its host. The trace is kept.
struct Looped {
  Looped(Engine engine, const CardConfig& c)
      : config(c),
        link(1 << 19, 20'000),
        card(engine == Engine::kReference ? std::unique_ptr<Card>(new ReferenceOc48(config, link, link, 0))
                                          : std::unique_ptr<Card>(new FastOc48(config, link, link, 0))),
        host([this](uint32_t reg, uint32_t value) { card->post_write(now, reg, value); }) {
    log.set_sink([this](std::span<const Event> e) { events.insert(events.end(), e.begin(), e.end()); });
    card->set_log(&log);
    advance(20 * kPsPerUs);
  }
  void advance(Ps by) {
    card->run(now + by, now + by);
    now += by;
    log.flush(now);
  }
  CardConfig config;
  Link link;
  Ps now = 0;
  std::vector<Event> events;
  EventLog log;
  std::unique_ptr<Card> card;
  Oc48Host host;
};

CardConfig card_of(uint32_t fcs) {
  CardConfig c = CardConfig::of(CardKind::kOc48);
  c.sonet.fcs = fcs;
  return c;
}

}  // namespace

TEST_CASE("frames leave at the closed-form rate of the line, with and without stuffing") {
  struct {
    uint32_t ip, fcs;         // octets of IP packet and FCS
    uint64_t plain, stuffed;  // frames a second: 299.52e6 / (4 + ip + fcs + 1), and each octet 2/256 likely to double
  } const rows[] = {{40, 4, 6'112'653, 6'066'228},
                    {64, 4, 4'103'014, 4'071'640},
                    {1500, 4, 198'489, 196'951},
                    {65'280, 4, 4'588, 4'552},
                    {40, 2, 6'372'766, 6'324'408}};
  const auto engine = GENERATE(Engine::kFast, Engine::kReference);
  for (const auto& row : rows) {
    const uint32_t between = 4 + row.ip + row.fcs;  // octets between the flags
    // The fewest frames of which 2/256 of the octets are a whole number.
    const uint32_t period = 128 / std::gcd(between, 128u);
    for (const bool stuffed : {false, true}) {
      INFO(row.ip << " octets of IP, FCS-" << 8 * row.fcs << (stuffed ? ", stuffed" : ""));
      const uint32_t escapes = stuffed ? period * between / 128 : 0;  // in each period
      CardConfig c = card_of(row.fcs);
      c.bus.period_num = 1500;  // ten times as fast as PCI, so that the line is what limits
      Looped loop(engine, c);
      const uint32_t periods = row.ip > 10'000 ? 3 : 5;
      uint32_t sent = 0;
      for (uint32_t i = 0; i < periods * period; ++i) {
        const uint32_t mine = escapes * (i % period + 1) / period - escapes * (i % period) / period;
        const auto frame = frame_of(4 + row.ip, mine, row.fcs, i);
        while (!loop.host.put(frame)) {
          loop.host.ring();
          loop.advance(20 * kPsPerUs);
          loop.host.receive();
        }
        ++sent;
      }
      loop.host.ring();
      while (loop.card->counter(kRxFrames) < sent) {
        loop.advance(20 * kPsPerUs);
        loop.host.receive();
        REQUIRE(loop.now < 100 * kPsPerMs);
      }
      // Where in the payload each frame starts: the edge is known by its time, the octet by the lane.
      const Clock quanta = sonet::quantum_clock(0);
      std::vector<int64_t> at[2];
      for (const Event& e : loop.events) {
        const bool rx = e.type == EventType::kRxStart;
        if (!rx && e.type != EventType::kTxStart) continue;
        const int64_t edge = quanta.at_or_after(e.t - (rx ? 20'000 : 0)) / 4;
        at[rx].push_back(sonet::octet_at(edge, e.a));
      }
      REQUIRE(at[0].size() == sent);
      CHECK(at[1] == at[0]);
      // From the second period on the line is never idle: a period takes all its octets and one flag a frame.
      const int64_t takes = int64_t{period} * (between + 1) + escapes;
      uint32_t held = 0;
      for (size_t i = sent - 1; i >= period; --i, ++held)
        if (at[0][i] - at[0][i - period] != takes) break;
      CHECK(held >= period);
      const auto t = static_cast<uint64_t>(takes);
      CHECK((299'520'000ull * period + t / 2) / t == (stuffed ? row.stuffed : row.plain));
    }
  }
}

TEST_CASE("a burst of B octets takes B / 8 and its overhead in bus clocks: BW = f B / (B / 8 + O)") {
  // O: address 1, turnaround 1, decode 2 (the first data phase may lie in its second clock), waits 8, idle 1.
  constexpr int64_t kOverhead = 1 + 1 + (2 - 1) + 8 + 1;
  static_assert(kOverhead == 12);
  const auto engine = GENERATE(Engine::kFast, Engine::kReference);
  for (const uint32_t burst : {64u, 256u, 1024u, 4096u}) {
    CardConfig c = card_of(4);
    c.bus.burst = burst;
    Looped loop(engine, c);
    loop.host.write(kControl, kCtlTxEnable);  // nothing is received, so the bus is the read engine's alone
    loop.host.put(frame_of(65'284, 0, 4));
    loop.host.ring();
    loop.advance(400 * kPsPerUs);
    std::vector<Ps> grants;
    for (const Event& e : loop.events)
      if (e.type == EventType::kBusGrant && e.a == static_cast<uint16_t>(BusUse::kReadData)) grants.push_back(e.t);
    REQUIRE(grants.size() == (65'284 + burst - 1) / burst);
    for (size_t i = 1; i < grants.size(); ++i)
      REQUIRE(grants[i] - grants[i - 1] == (burst / 8 + kOverhead) * Ps{15'000});
  }
}

TEST_CASE("a frame over overhead columns is longer in time") {
  // 1040 words of payload a row: a frame of 65,284 octets, 65,288 with FCS, passes 15 rows, or 16 by its phase.
  Looped loop(Engine::kReference, card_of(4));
  loop.host.put(frame_of(65'284, 0, 4));
  loop.host.ring();
  loop.advance(600 * kPsPerUs);
  Ps start = 0, end = 0;
  int lane = 0;
  for (const Event& e : loop.events) {
    if (e.type == EventType::kTxStart) start = e.t, lane = e.a;
    if (e.type == EventType::kTxEnd) end = e.t;
  }
  REQUIRE(end > start);
  // The walk: one edge after the other, four octets on each that is payload.
  const Clock quanta = sonet::quantum_clock(0);
  int64_t edge = quanta.at_or_after(start) / 4, left = 65'288 - (4 - lane);
  while (left >= 0) left -= (++edge % 1080 >= 40) ? 4 : 0;
  CHECK(end == quanta.at(4 * edge));
  // 65,288 octets at 299.52 Moctet/s take 217.98 us; the phase moves that by less than one row's overhead, 0.52 us.
  CHECK(end - start > 217'400'000);
  CHECK(end - start < 218'600'000);
}
