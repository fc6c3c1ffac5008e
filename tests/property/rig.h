// SPDX-License-Identifier: BSD-3-Clause
// A host with one or two cards, driven by a seeded random script. The same script on both engines must give the same
// trace. The driver in here is small and written apart from the DPDK driver on purpose.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "card.h"
#include "hwmodel/link.h"

namespace awing::test {

using namespace awing::hw;

std::unique_ptr<Card> make_card(Engine engine, const CardConfig& config, Link& tx, Link& rx, Ps start);

/// One random case: bus, FIFOs, mode, traffic, all drawn from the seed.
struct Case {
  explicit Case(uint64_t seed);
  uint64_t seed;
  bool loop;
  std::array<CardConfig, 2> card;
  Ps delay;
  Ps mean_step;  ///< mean host step
  int steps;
  int max_len;  ///< longest frame offered
  int burst;    ///< frames per step at most
  uint32_t stream_bytes, descriptors, rx_buffer;
  bool line_changes, launches, reads, slow_reader, bad_records, interrupts;
  uint32_t rx_min_burst, rx_flush;
  std::string describe() const;
};

/// What happened, for comparison.
struct Outcome {
  std::array<std::vector<Event>, 2> events;
  std::array<std::array<uint64_t, kCounters>, 2> counters{};
  std::vector<uint32_t> reads;  ///< values of register reads, in order
  std::array<uint64_t, 2> offered{}, received{}, received_bytes{};
  std::array<uint64_t, 2> payload_hash{};
  std::array<std::array<uint64_t, kCauses>, 2> interrupts{};  ///< what the host was told: rises of each line
};

/// Runs the case on one engine. Without a trace the fast engine takes shorter ways, which must lead to the same place.
Outcome run_case(const Case& c, Engine engine, bool traced = true);

}  // namespace awing::test
