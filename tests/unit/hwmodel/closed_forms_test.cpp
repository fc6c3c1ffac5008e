// SPDX-License-Identifier: BSD-3-Clause
// What the datasheet lets one work out with a pencil, measured on two whole cards, on both engines. Every expected
// number is computed here from sections 4 to 6 of docs/datasheet.md; nothing of the model's own arithmetic is used.
#include <algorithm>
#include <catch2/catch.hpp>
#include <string>

#include "two_cards.h"

using namespace awing::test;

namespace {

constexpr Engine kEngines[] = {Engine::kFast, Engine::kReference};

// --- the bus: section 4 of the datasheet -----------------------------------------------------------------------------

/// "A data phase carries 8 octets (PCI-X 66..133), 16 (266) or 32 (533)"; 266 and 533 have the clock of 133.
struct Bus {
  const char* name;
  uint32_t width;
  Ps clock;  ///< 66.67, 100 and 133.33 MHz
};
constexpr Bus kBuses[] = {{"pcix66", 8, 15'000},
                          {"pcix100", 8, 10'000},
                          {"pcix133", 8, 7'500},
                          {"pcix266", 16, 7'500},
                          {"pcix533", 32, 7'500}};

/// Clocks of the phases: decode D, target's wait states W, idle I.
struct Phases {
  uint32_t d, w, i;
};
constexpr Phases kPhases[] = {{1, 0, 1}, {2, 0, 1}, {3, 14, 2}, {2, 6, 2}};

CardConfig card_on(const Bus& bus, const Phases& p = {2, 0, 1}) {
  PortConfig config;
  if (auto ok = set(config, "bus", bus.name); !ok) FAIL(ok.error());
  config.card.bus.decode = p.d;
  config.card.bus.target_wait = p.w;
  config.card.bus.idle = p.i;
  return config.card;
}
CardConfig fastest() { return card_on(kBuses[4]); }

std::string describe(Engine engine, const Bus& bus, const Phases& p) {
  return std::string(engine == Engine::kFast ? "fast " : "reference ") + bus.name + " D" + std::to_string(p.d) + " W" +
         std::to_string(p.w) + " I" + std::to_string(p.i);
}

std::vector<Ps> times(const std::vector<Event>& events) {
  std::vector<Ps> all;
  for (const Event& e : events) all.push_back(e.t);
  return all;
}

/// n times, `step` apart, from `first` on.
std::vector<Ps> every(Ps step, size_t n, Ps first) {
  std::vector<Ps> all;
  for (size_t i = 0; i < n; ++i) all.push_back(first + static_cast<Ps>(i) * step);
  return all;
}

/// Address, attribute, decode, waits, data phases, idle.
uint32_t write_clocks(const Bus& bus, const Phases& p, uint32_t octets) {
  return 1 + 1 + p.d + p.w + octets / bus.width + p.i;
}
/// Address, attribute, decode, split response, idle.
uint32_t request_clocks(const Phases& p) { return 1 + 1 + p.d + 1 + p.i; }
/// Address, attribute, decode, data phases, idle: the card as target needs no wait states.
uint32_t completion_clocks(const Bus& bus, const Phases& p, uint32_t octets) {
  return 1 + 1 + p.d + octets / bus.width + p.i;
}
/// Address, attribute, decode, one data phase, idle; a read has one clock of turnaround before its data.
uint32_t register_write_clocks(const Phases& p) { return 1 + 1 + p.d + 1 + p.i; }
uint32_t register_read_clocks(const Phases& p) { return 1 + 1 + p.d + 1 + 1 + p.i; }

// --- sections 5 and 6: line and clock -----------------------------------------------------------------------------

/// A column of the line: 4 octets in 3.2 ns by the card's oscillator, which is `ppm` fast. Column q begins at:
Ps column_at(int64_t q, int32_t ppm) {
  return static_cast<Ps>(static_cast<I128>(q) * 3'200'000'000 / (1'000'000 + ppm));
}
/// The first column at or after time t.
int64_t column_from(Ps t, int32_t ppm) {
  auto q = static_cast<int64_t>(static_cast<I128>(t) * (1'000'000 + ppm) / 3'200'000'000) - 1;
  while (column_at(q, ppm) < t) ++q;
  return q;
}
/// "The PHC counts 2^-64 s: each quantum adds 59,029,581,036": 32.32 seconds at column q.
uint64_t stamp_at(int64_t q) { return static_cast<uint64_t>(static_cast<U128>(q) * 59'029'581'036u >> 32); }

/// Columns from the start of the first of back-to-back frames of these sizes (octets with FCS) to the start of each.
/// Preamble 8, frame, gap 12 on average; starts lie on columns and at most 3 octets of gap are ever owed. So a start
/// lies on the last column that is not later than the sum of all that is due before it.
std::vector<int64_t> start_columns(const std::vector<uint32_t>& sizes) {
  std::vector<int64_t> columns;
  int64_t octets = 0;
  for (const uint32_t f : sizes) {
    columns.push_back(octets / 4);
    octets += 8 + f + 12;
  }
  return columns;
}

/// What a back-to-back train of frames looks like at both ends of the cable.
struct Train {
  std::vector<Event> starts;
  std::vector<Received> received;
  int64_t first = 0;  ///< column of the first start, by the sender's clock
};

constexpr uint32_t kStampOffset = 14;

/// Sends frames of these sizes (with FCS) and checks every start, lane and stamp at both ends.
Train check_train(Engine engine, const std::vector<uint32_t>& sizes, int32_t tx_ppm = 0, int32_t rx_ppm = 0,
                  Ps delay = 5'000) {
  INFO((engine == Engine::kFast ? "fast" : "reference")
       << ", first size " << sizes[0] << ", ppm " << tx_ppm << " " << rx_ppm << ", delay " << delay);
  CardConfig sender = fastest(), receiver = fastest();
  sender.tx_fifo = 65536;  // two of the longest frames and a read
  sender.ppm = tx_ppm;
  receiver.ppm = rx_ppm;
  TwoCards cards(engine, sender, receiver, delay);
  Ps length = 0;
  for (const uint32_t f : sizes) {
    cards.a().append(f - 4, 0, kStampOffset);
    length += (f + 20) * Ps{800};
  }
  cards.a().set_up(0);
  cards.b().set_up(0);
  cards.run(5 * kPsPerUs);
  cards.a().send(cards.now());
  cards.run(cards.now() + length + length / 4000 + 20 * kPsPerUs);

  Train train{cards.a().of(EventType::kTxStart), cards.b().received()};
  REQUIRE(train.starts.size() == sizes.size());
  REQUIRE(train.received.size() == sizes.size());
  train.first = column_from(train.starts[0].t, tx_ppm);
  const std::vector<int64_t> columns = start_columns(sizes);
  size_t wrong_start = 0, wrong_lane = 0, wrong_stamp = 0, wrong_inserted = 0, wrong_received = 0;
  for (size_t n = 0; n < sizes.size(); ++n) {
    const int64_t q = train.first + columns[n];
    const Ps start = column_at(q, tx_ppm);
    const Received& got = train.received[n];
    wrong_start += train.starts[n].t != start;
    wrong_lane += train.starts[n].a != 4 * (q % 2);
    wrong_stamp += train.starts[n].c != stamp_at(q);
    uint64_t inserted = 0;
    for (uint32_t i = 0; i < 8; ++i) inserted = inserted << 8 | got.octets[kStampOffset + i];
    wrong_inserted += inserted != stamp_at(q);
    // The far end sees the start at its own first column at which it is there.
    wrong_received += got.head.len != sizes[n] - 4 || got.head.sequence != n ||
                      got.head.stamp != stamp_at(column_from(start + delay, rx_ppm));
  }
  CHECK(wrong_start == 0);
  CHECK(wrong_lane == 0);
  CHECK(wrong_stamp == 0);
  CHECK(wrong_inserted == 0);
  CHECK(wrong_received == 0);
  return train;
}

std::vector<uint32_t> equal(uint32_t size, size_t n) { return std::vector<uint32_t>(n, size); }

}  // namespace

// ------------------------------------------------------------------------------------------------------------------
// Bus, writes
// ------------------------------------------------------------------------------------------------------------------

TEST_CASE("bursts of B octets move at f * B / (B/width + 2 + D + W + I)") {
  // Fifteen records of 4096 octets wait in the receive FIFO; then bursts may begin, and nothing else is on the bus.
  constexpr uint32_t kRecords = 15, kRecord = 4096;
  for (const Engine engine : kEngines)
    for (const Bus& bus : kBuses)
      for (const Phases& p : kPhases)
        for (uint32_t burst = 128; burst <= 4096; burst *= 2) {
          INFO(describe(engine, bus, p) << " B " << burst);
          CardConfig config = card_on(bus, p);
          config.bus.boundary = burst;
          TwoCards cards(engine, fastest(), config);
          for (uint32_t i = 0; i < kRecords; ++i) cards.a().append(kRecord - sizeof(TxRecord));
          cards.a().set_up(0);
          cards.b().set_up(0, 65536, UINT32_MAX);
          cards.run(5 * kPsPerUs);
          cards.a().send(cards.now());
          cards.run(70 * kPsPerUs);
          REQUIRE(cards.b().card().counter(kRxFrames) == kRecords);
          REQUIRE(cards.b().of(EventType::kBusGrant, BusUse::kWriteData).empty());
          cards.b().card().post_write(cards.now(), kRxMinBurst, 16);
          const uint32_t bursts = kRecords * kRecord / burst, clocks = write_clocks(bus, p, burst);
          cards.run(cards.now() + (bursts * clocks + 200) * bus.clock);

          const std::vector<Event> grants = cards.b().of(EventType::kBusGrant, BusUse::kWriteData);
          REQUIRE(grants.size() == bursts);
          // B octets each `clocks` clocks is the formula: (bursts - 1) * B octets in exactly that many clocks.
          CHECK(times(grants) == every(clocks * bus.clock, bursts, grants[0].t));
          // The last data phase is the last clock but the idle ones.
          CHECK(times(cards.b().of(EventType::kBusEnd, BusUse::kWriteData)) ==
                every(clocks * bus.clock, bursts, grants[0].t + (clocks - p.i - 1) * bus.clock));
          CHECK(cards.b().card().counter(kBusWriteClocks) == uint64_t{bursts} * clocks);
        }
}

TEST_CASE("a bus slower than the line is full of bursts, and what does not fit through is dropped") {
  // PCI-X 66 to 133 carry 4.27, 6.4, 8.53 Gb/s at most: less than frames of 2036 octets (records of 2048) at wire rate,
  // 10 * 2048 / 2056 = 9.96 Gb/s.
  constexpr uint32_t kFrames = 600;
  for (const Engine engine : kEngines)
    for (const Bus& bus : {kBuses[0], kBuses[1], kBuses[2]})
      for (const uint32_t burst : {512u, 4096u}) {
        const Phases p{2, 2, 1};
        INFO(describe(engine, bus, p) << " B " << burst);
        CardConfig config = card_on(bus, p);
        config.bus.boundary = burst;
        TwoCards cards(engine, fastest(), config);
        for (uint32_t i = 0; i < kFrames; ++i) cards.a().append(2032);
        cards.a().set_up(0);
        cards.b().set_up(0, 2048, 256);
        cards.run(5 * kPsPerUs);
        cards.a().send(cards.now());
        cards.run(5 * kPsPerUs + kFrames * 2056 * Ps{800});  // while the line is busy

        // Once twice the FIFO has gone through, every burst is a full one and follows the one before at once.
        const uint32_t clocks = write_clocks(bus, p, burst);
        std::vector<Event> grants = cards.b().of(EventType::kBusGrant, BusUse::kWriteData);
        grants.erase(grants.begin(), grants.begin() + 2 * config.rx_fifo / burst);
        REQUIRE(grants.size() > 300'000 / burst);
        CHECK(std::all_of(grants.begin(), grants.end(), [&](const Event& e) { return e.b == burst; }));
        CHECK(times(grants) == every(clocks * bus.clock, grants.size(), grants[0].t));

        cards.run(cards.now() + 200 * kPsPerUs);
        const Card& card = cards.b().card();
        CHECK(card.counter(kRxFifoDrops) > 0);
        CHECK(card.counter(kRxFrames) + card.counter(kRxFifoDrops) == kFrames);
        CHECK(cards.b().received().size() == card.counter(kRxFrames));
      }
}

// ------------------------------------------------------------------------------------------------------------------
// Bus, reads
// ------------------------------------------------------------------------------------------------------------------

TEST_CASE("S outstanding reads of B octets move S * B in the round trip of one, until the bus is full") {
  // One read alone: request up to the split response, L clocks, the grant one clock after the completion is ready (or
  // when the idle clocks of the request are over), the completion with its idle clocks, and the next request.
  // With S = 1 that is MMRBC / (L + MMRBC/bus_rate), L being all of these clocks but the data phases. The bus is full
  // when every clock belongs to a request or a completion.
  for (const Engine engine : kEngines)
    for (const Bus& bus : kBuses)
      for (const Phases& p : {Phases{1, 0, 1}, Phases{2, 6, 2}})
        for (const uint32_t latency : {0u, 1u, 40u, 133u})
          for (const uint32_t mmrbc : {512u, 4096u})
            for (const uint32_t splits : {1u, 2u, 3u, 8u}) {
              INFO(describe(engine, bus, p) << " L " << latency << " mmrbc " << mmrbc << " S " << splits);
              CardConfig config = card_on(bus, p);
              config.bus.mmrbc = mmrbc;
              config.bus.splits = splits;
              config.bus.completer_latency = latency;
              config.tx_fifo = 196608;  // holds all that is sent: room in the FIFO is never waited for
              TwoCards cards(engine, config, fastest());
              const uint32_t records = mmrbc == 512 ? 8 : 40, reads = records * 4096 / mmrbc;
              for (uint32_t i = 0; i < records; ++i) cards.a().append(4096 - sizeof(TxRecord));
              cards.a().set_up(0);
              cards.b().set_up(0, 16, 0, 0);
              cards.run(5 * kPsPerUs);
              cards.a().send(cards.now());
              const uint32_t request = request_clocks(p), completion = completion_clocks(bus, p, mmrbc);
              const uint32_t alone = request - p.i + std::max(latency + 1, p.i) + completion;
              const uint32_t full = request + completion;
              const uint32_t round = std::max(alone, splits * full);  // clocks in which S reads are done
              cards.run(cards.now() + (reads * alone + 200) * bus.clock);

              const std::vector<Event> grants = cards.a().of(EventType::kBusGrant, BusUse::kReadStream);
              REQUIRE(grants.size() == reads);
              CHECK(std::all_of(grants.begin(), grants.end(), [&](const Event& e) { return e.b == mmrbc; }));
              size_t wrong = 0;  // the first rounds fill the splits
              for (size_t n = 2 * splits; n + splits < reads; ++n)
                wrong += grants[n + splits].t - grants[n].t != round * bus.clock;
              if (splits == 1)
                CHECK(times(grants) == every(alone * bus.clock, reads, grants[0].t));
              else if (alone <= splits * full)  // bus-limited: no clock is lost
                for (size_t n = 2 * splits; n + 1 < reads; ++n)
                  wrong += grants[n + 1].t - grants[n].t != full * bus.clock;
              CHECK(wrong == 0);
              CHECK(cards.a().card().counter(kBusRequestClocks) == uint64_t{reads} * request);
              CHECK(cards.a().card().counter(kBusCompletionClocks) == uint64_t{reads} * completion);
            }
}

// ------------------------------------------------------------------------------------------------------------------
// Bus, registers
// ------------------------------------------------------------------------------------------------------------------

TEST_CASE("a register read takes 1 + 2 + D + 1 clocks from the bridge to its data, and 4 + D + I of the bus") {
  for (const Engine engine : kEngines)
    for (const Bus& bus : kBuses)
      for (const Phases& p : kPhases) {
        INFO(describe(engine, bus, p));
        TwoCards cards(engine, card_on(bus, p), fastest());
        Card& card = cards.a().card();
        cards.run(kPsPerUs + 1);  // off the edges
        card.post_read(cards.now(), kDeviceIdLo);
        // At the bridge with the next edge, granted one later; address, attribute, decode, turnaround; the data phase.
        const Ps bridge = (cards.now() / bus.clock + 1) * bus.clock;
        const Ps data = bridge + (1 + 1 + 1 + p.d + 1) * bus.clock;
        cards.run(data - 1);
        CHECK_FALSE(card.read_done());
        cards.run(data);
        CHECK(card.read_done());
        CHECK(card.read_value() == 0x4E495741);
        CHECK(card.counter(kBusHostClocks) == register_read_clocks(p));

        // A host that reads again and again: the bus is full.
        const size_t seen = cards.a().of(EventType::kBusEnd, BusUse::kHostRead).size();
        for (Ps t = data; cards.a().of(EventType::kBusEnd, BusUse::kHostRead).size() < seen + 20;
             cards.run(t += bus.clock))
          if (card.read_done()) card.post_read(t, kDeviceIdHi);
        const std::vector<Event> reads = cards.a().of(EventType::kBusEnd, BusUse::kHostRead);
        CHECK(times(reads) == every(register_read_clocks(p) * bus.clock, seen + 20, reads[0].t));
      }
}

TEST_CASE("a register read waits for the posted writes before it, 3 + D + I clocks each") {
  constexpr uint32_t kWrites = 9;
  for (const Engine engine : kEngines)
    for (const Bus& bus : kBuses)
      for (const Phases& p : kPhases) {
        INFO(describe(engine, bus, p));
        TwoCards cards(engine, card_on(bus, p), fastest());
        Card& card = cards.a().card();
        cards.run(kPsPerUs);
        for (uint32_t i = 0; i < kWrites; ++i) card.post_write(cards.now(), kPhcValueLo, i);
        card.post_read(cards.now(), kPhcValueLo);
        const Ps bridge = (cards.now() / bus.clock + 1) * bus.clock;
        cards.run(2 * kPsPerUs + 100 * bus.clock);
        CHECK(card.read_value() == kWrites - 1);
        // A write is done with its data phase, the last clock but the idle ones.
        CHECK(times(cards.a().of(EventType::kRegWrite)) ==
              every(register_write_clocks(p) * bus.clock, kWrites, bridge + (1 + 1 + 1 + p.d) * bus.clock));
        CHECK(times(cards.a().of(EventType::kBusEnd, BusUse::kHostRead)) ==
              std::vector<Ps>{bridge + Ps{1 + kWrites * register_write_clocks(p) + 1 + 1 + p.d + 1} * bus.clock});
        CHECK(card.counter(kBusHostClocks) == kWrites * register_write_clocks(p) + register_read_clocks(p));
      }
}

TEST_CASE("a register read in the middle of a receive burst waits for the latency timer and the next 128 octets") {
  // Data phase k (from 0) lies 2 + D + W + k clocks behind the grant. The burst ends with the first one that completes
  // 128 octets and finds the timer's clocks gone by.
  for (const Engine engine : kEngines)
    for (const Bus& bus : kBuses)
      for (const Phases& p : kPhases)
        for (const uint32_t late : {0u, 1u}) {
          INFO(describe(engine, bus, p) << ", timer runs out " << (late ? "just too late" : "just in time"));
          const uint32_t words = 128 / bus.width, lead = 2 + p.d + p.w;
          const uint32_t in_time = words * 3 - 1;  // the data phase that completes 384 octets
          CardConfig config = card_on(bus, p);
          config.bus.latency_timer = lead + in_time + late;
          TwoCards cards(engine, fastest(), config);
          for (uint32_t i = 0; i < 8; ++i) cards.a().append(4096 - sizeof(TxRecord));
          cards.a().set_up(0);
          cards.b().set_up(0, 8 * 4096, UINT32_MAX);
          cards.run(5 * kPsPerUs);
          cards.a().send(cards.now());
          // The eighth record starts the burst: find it, then read in its third clock.
          std::vector<Event> grants;
          while (grants.empty() && cards.now() < 100 * kPsPerUs) {
            cards.run(cards.now() + bus.clock);
            grants = cards.b().of(EventType::kBusGrant, BusUse::kWriteData);
          }
          REQUIRE(grants.size() == 1);
          const Ps grant = grants[0].t;
          REQUIRE(grants[0].b == 4096);
          cards.run(grant + 3 * bus.clock);
          cards.b().card().post_read(cards.now(), kDeviceIdLo);
          cards.run(cards.now() + 1000 * bus.clock);

          const uint32_t last = late ? in_time + words : in_time;
          const uint32_t clocks = lead + last + 1 + p.i;
          const std::vector<Event> ends = cards.b().of(EventType::kBusEnd, BusUse::kWriteData);
          REQUIRE_FALSE(ends.empty());
          CHECK(ends[0].b == (late ? 512 : 384));
          CHECK(ends[0].t == grant + (lead + last) * bus.clock);
          CHECK(times(cards.b().of(EventType::kBusGrant, BusUse::kHostRead)) ==
                std::vector<Ps>{grant + clocks * bus.clock});
          CHECK(times(cards.b().of(EventType::kBusEnd, BusUse::kHostRead)) ==
                std::vector<Ps>{grant + (clocks + 2 + p.d + 1) * bus.clock});
        }
}

// ------------------------------------------------------------------------------------------------------------------
// Line
// ------------------------------------------------------------------------------------------------------------------

TEST_CASE("64-octet frames back to back start 67.2 ns apart, on lanes 0 and 4 in turn") {
  for (const Engine engine : kEngines) {
    const Train train = check_train(engine, equal(64, 3000));
    CHECK(times(train.starts) == every(67'200, 3000, train.starts[0].t));
    for (size_t n = 1; n < train.starts.size(); ++n) REQUIRE(train.starts[n].a == 4 - train.starts[n - 1].a);
  }
}

TEST_CASE("1518-octet frames back to back start 1228.8 and 1232.0 ns apart in turn") {
  for (const Engine engine : kEngines) {
    const Train train = check_train(engine, equal(1518, 400));
    for (size_t n = 1; n < train.starts.size(); ++n) {
      // 1228.8 ns is 384 columns, 1232.0 is 385: the lane changes with every second frame.
      const bool odd = n % 2 == 1;
      REQUIRE(train.starts[n].t - train.starts[n - 1].t == (odd ? 1'228'800 : 1'232'000));
      REQUIRE((train.starts[n].a == train.starts[n - 1].a) == odd);
    }
  }
}

TEST_CASE("frames of any size F run at 10^10 / (8 (F + 20)) a second, each four of them exactly") {
  // Four frames of each size, one size after the other: 4 (F + 20) octets are a whole number of columns.
  for (const Engine engine : kEngines) {
    std::vector<uint32_t> sizes;
    for (uint32_t f = 64; f <= 1518; ++f) sizes.insert(sizes.end(), 4, f);
    for (const uint32_t f : {1519u, 2000u, 4097u, 9018u, 16381u, 16382u, 16383u, 16384u})
      sizes.insert(sizes.end(), 4, f);
    const Train train = check_train(engine, sizes);
    for (size_t n = 0; n + 4 < sizes.size(); n += 4) {
      const Ps t = train.starts[n + 4].t - train.starts[n].t;
      REQUIRE(I128{4} * 8 * (sizes[n] + 20) * kPsPerSec == I128{t} * 10'000'000'000);  // frames / t = the rate
    }
  }
}

TEST_CASE("frames of mixed sizes keep their columns and never owe more than three octets") {
  for (const Engine engine : kEngines) {
    std::vector<uint32_t> sizes;
    for (uint32_t i = 0, f = 64; i < 2000; ++i) sizes.push_back(f = 64 + (f * 1'103'515'245u + 12'345u) % 1455);
    check_train(engine, sizes);
    check_train(engine, sizes, 100, -100, 16'000);
  }
}

TEST_CASE("clocks that are 100 ppm off scale starts and stamps exactly") {
  for (const Engine engine : kEngines) {
    for (const auto& [tx, rx] : {std::pair{100, 0}, {-100, 0}, {0, 100}, {0, -100}, {100, -100}, {-100, 100}})
      for (const uint32_t size : {64u, 65u, 1518u, 9018u, 16384u})
        check_train(engine, equal(size, 200), tx, rx, 48'000);
    // 10001 columns of a clock 100 ppm fast take 10001 * 3.2 ns / 1.0001 = 32 us, and so do four frames of F + 20 =
    // 10001 octets; likewise 9999 columns of a clock 100 ppm slow.
    for (const auto& [size, ppm] : {std::pair{9981u, 100}, {9979u, -100}}) {
      const Train train = check_train(engine, equal(size, 81), ppm);
      for (size_t n = 0; n + 4 < train.starts.size(); ++n)
        REQUIRE(std::abs(train.starts[n + 4].t - train.starts[n].t - 32 * kPsPerUs) <= (n % 4 == 0 ? 0 : 1));
    }
  }
}

TEST_CASE("timed frames start with the column of their time, and a line that idled owes nothing") {
  // Three 1518-octet frames: two octets are owed after the first, none after the second, two after the third. Were
  // they still owed after a pause, the next three would start 1232.0 and 1228.8 ns apart, not the other way round.
  for (const Engine engine : kEngines) {
    TwoCards cards(engine, fastest(), fastest());
    std::vector<Ps> expected;
    for (int64_t i = 0; i < 50; ++i) {
      const int64_t column = 10'000 + 2'001 * i;  // 6403.2 ns apart: both lanes
      cards.a().append(1514, stamp_at(column));
      cards.a().append(1514);
      cards.a().append(1514);
      expected.push_back(column_at(column, 0));
      expected.push_back(column_at(column, 0) + 1'228'800);
      expected.push_back(column_at(column, 0) + 1'228'800 + 1'232'000);
    }
    cards.a().set_up(0);
    cards.b().set_up(0);
    cards.a().send(0);
    cards.run(400 * kPsPerUs);
    CHECK(times(cards.a().of(EventType::kTxStart)) == expected);
  }
}
