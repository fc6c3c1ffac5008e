// SPDX-License-Identifier: BSD-3-Clause
// A host with one or two oc48 cards, driven by a seeded random script; the sibling of rig.h.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "hwmodel/link.h"
#include "oc48.h"
#include "sonet_path.h"

namespace awing::test {

using namespace awing::hw;

/// One random case: bus, FIFOs, line, traffic, all drawn from the seed.
struct Oc48Case {
  explicit Oc48Case(uint64_t seed);
  uint64_t seed;
  bool loop;
  std::array<CardConfig, 2> card;
  Ps delay, start;  ///< start: when the cards are plugged in
  Ps mean_step;     ///< mean host step
  int steps;
  int max_len;  ///< longest frame offered
  int burst;    ///< frames per step at most
  int escapes;  ///< per cent of octets that are flags and escapes
  uint32_t descriptors, rx_buffer, segments;
  bool line_changes, reads, slow_reader, bad_records, interrupts;
  bool early;                           ///< traffic before the line is up
  std::array<SonetPathConfig, 2> path;  ///< of what each card sends
  bool paths;
  std::string describe() const;
};

/// What happened, for comparison.
struct Oc48Outcome {
  std::array<std::vector<Event>, 2> events;
  std::array<std::array<uint64_t, kCountersOc48>, 2> counters{};
  std::vector<uint32_t> reads;  ///< values of register reads, in order
  std::array<uint64_t, 2> offered{}, received{}, received_bytes{};
  std::array<uint64_t, 2> hash{};                             ///< over completions and received octets
  std::array<std::array<uint64_t, kCauses>, 2> interrupts{};  ///< what the host was told: rises of each line
};

Oc48Outcome run_case(const Oc48Case& c, Engine engine, bool traced = true);

}  // namespace awing::test
