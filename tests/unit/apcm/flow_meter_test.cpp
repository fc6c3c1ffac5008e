// SPDX-License-Identifier: BSD-3-Clause
#include "apcm/flow_meter.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <random>
#include <set>
#include <vector>

using namespace apcm;

namespace {
Stamp at_ns(double ns) { return {static_cast<uint64_t>(ns * 4.294967296 + 0.5)}; }  // 2^32 / 10^9
}  // namespace

TEST_CASE("back-to-back 64-octet frames have a gap of 67.2 ns and 9.6 ns of idle, and are one burst") {
  GapMeter m;
  for (int i = 0; i < 100; ++i) m.on_frame(at_ns(i * 67.2), 64);
  m.finish();
  REQUIRE(m.start_to_start().count() == 99);
  REQUIRE(m.wire_gap_ps(64) == 67'200);                                    // (64 + 20) * 8 bit / 10^10 bit/s
  REQUIRE(std::abs(*m.smallest_ps() - 67'200) < 250);                      // a stamp unit is 233 ps
  REQUIRE(std::abs(static_cast<int64_t>(*m.idle().min()) - 9'600) < 250);  // 12 octets
  REQUIRE(m.burst_frames().count() == 1);
  REQUIRE(*m.burst_frames().max() == 100);
  REQUIRE(*m.burst_octets().max() == 6'400);
  REQUIRE(std::abs(static_cast<double>(*m.line_rate_bps()) - 1e10) < 1e7);
}

TEST_CASE("frames at half the line rate are no burst, and a pause parts bursts") {
  GapMeter m;
  double t = 0;
  for (int i = 0; i < 10; ++i) m.on_frame(at_ns(t += 2 * 1230.4), 1518);
  for (int i = 0; i < 5; ++i) m.on_frame(at_ns(t += 1230.4), 1518);
  t += 5000;
  for (int i = 0; i < 3; ++i) m.on_frame(at_ns(t += 1230.4), 1518);
  m.finish();
  // Runs: the 10th paced frame and the 5 that follow it at wire rate; then the 3.
  REQUIRE(m.burst_frames().count() == 2);
  REQUIRE(*m.burst_frames().max() == 6);
  REQUIRE(*m.burst_frames().min() == 3);
}

TEST_CASE("a pause that is forgotten gives no gap") {
  GapMeter m;
  m.on_frame(at_ns(0), 64);
  m.forget_last();
  m.on_frame(at_ns(1e6), 64);
  REQUIRE(m.start_to_start().count() == 0);
  REQUIRE_FALSE(m.smallest_ps());
}

TEST_CASE("negative delays are kept, counted and take part in minimum, mean and percentiles") {
  DelayMeter m;
  const Stamp zero{uint64_t{1} << 40};
  for (const int64_t ticks : {-3000, -1000, 2000, 6000}) m.on_packet(zero, {zero.v + static_cast<uint64_t>(ticks)});
  REQUIRE(m.count() == 4);
  REQUIRE(m.negative() == 2);
  REQUIRE(*m.min() < 0);
  REQUIRE(*m.max() > 0);
  // Ticks of 2^-32 s are 232.83 ps: the mean of the four is 1000 ticks.
  REQUIRE(std::abs(*m.mean() - 232'831) < 3);
  REQUIRE(*m.percentile(25) < *m.percentile(50));
  REQUIRE(*m.percentile(50) < 0);
  REQUIRE(*m.percentile(75) > 0);
}

TEST_CASE("loss, duplicates and reordering agree with a set of numbers, also across the wrap") {
  std::mt19937_64 random(7);
  for (const uint32_t first : {0u, 1000u, 0xFFFFF000u, 0xFFFFFFFFu}) {
    std::vector<uint32_t> order;
    for (uint32_t i = 0; i < 20'000; ++i) {
      if (i != 0 && i != 19'999 && random() % 20 == 0) continue;  // lost
      order.push_back(first + i);
      if (random() % 50 == 0) order.push_back(first + i);  // doubled
    }
    for (size_t i = 1; i + 40 < order.size(); ++i)  // late by up to 40 places
      if (random() % 30 == 0) std::swap(order[i], order[i + random() % 40]);
    SequenceMeter m;
    std::set<uint32_t> seen;
    uint64_t duplicates = 0;
    for (const uint32_t n : order) {
      duplicates += !seen.insert(n).second;
      m.on_packet(n);
      REQUIRE(m.received() == m.unique() + m.duplicates() + m.too_old());
    }
    uint64_t episodes = 0;
    for (uint32_t i = 1; i < 20'000; ++i) episodes += !seen.count(first + i) && seen.count(first + i - 1);
    REQUIRE(m.unique() == seen.size());
    REQUIRE(m.duplicates() == duplicates);
    REQUIRE(m.lost() == 20'000 - seen.size());
    REQUIRE(m.too_old() == 0);
    REQUIRE(m.reordered() > 0);
    REQUIRE(m.loss_episodes() == episodes);
  }
}

TEST_CASE("a duplicate does not hide a loss") {
  SequenceMeter m;
  for (const uint32_t n : {1u, 2u, 2u, 4u}) m.on_packet(n);
  REQUIRE(m.lost() == 1);
  REQUIRE(m.duplicates() == 1);
}

TEST_CASE("a jump of a million numbers is one episode and costs no more than the window") {
  SequenceMeter m;
  m.on_packet(10);
  m.on_packet(1'000'010);
  REQUIRE(m.lost() == 999'999);
  REQUIRE(m.loss_episodes() == 1);
  m.on_packet(11);  // far behind the window: late or double, nobody can tell
  REQUIRE(m.too_old() == 1);
}
