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

TEST_CASE("at line rate a run of 64-octet frames is one burst although whole nanoseconds make gaps of 67 and 68") {
  GapMeter m;
  for (uint64_t i = 0; i < 1000; ++i) m.on_frame(from_ns((i * 672 + 5) / 10), 64);  // 67.2 ns, rounded
  m.finish();
  REQUIRE(m.burst_frames().count() == 1);
  REQUIRE(*m.burst_frames().max() == 1000);
}

TEST_CASE("at line rate a run of 65-octet frames is one burst although starts wait for their columns") {
  // 85 octets each; starts on 4-octet columns of 3.2 ns: after n frames the n * 85th octet, rounded up to a column.
  GapMeter m;
  for (uint64_t i = 0; i < 1000; ++i) m.on_frame(at_ns(static_cast<double>((i * 85 + 3) / 4) * 3.2), 65);
  m.finish();
  REQUIRE(m.burst_frames().count() == 1);
  REQUIRE(*m.burst_frames().max() == 1000);
}

TEST_CASE("a long stream of small frames at 97 % of the line rate is no burst") {
  GapMeter m;
  for (int i = 0; i < 1000; ++i) m.on_frame(at_ns(i * 67.2 / 0.97), 64);
  m.finish();
  // The first few gaps cannot be told from rounding: 67.2 / 0.97 - 67.2 / 0.99 = 1.4 ns each, 3.4 ns are allowed.
  REQUIRE(m.burst_frames().count() == 1);
  REQUIRE(*m.burst_frames().max() == 3);
}

TEST_CASE("99.5 % of the line rate is a burst, 98 % of it is none, for long frames") {
  for (const double share : {0.995, 0.98}) {
    GapMeter m;
    for (int i = 0; i < 1000; ++i) m.on_frame(at_ns(i * 1230.4 / share), 1518);  // (1518 + 20) * 0.8 ns
    m.finish();
    REQUIRE(m.burst_frames().max().value_or(0) == (share > 0.99 ? 1000u : 0u));
  }
}

TEST_CASE("frames that overlap are counted as such and give no idle gap of zero") {
  GapMeter m;
  m.on_frame(at_ns(0), 1518);
  m.on_frame(at_ns(100), 1518);   // 1518 octets last 1.2 us
  m.on_frame(at_ns(2000), 1518);  // idle: 1900 - (1518 + 8) * 0.8 = 679.2 ns
  m.finish();
  REQUIRE(m.overlaps() == 1);
  REQUIRE(m.idle().count() == 1);
  REQUIRE(std::abs(static_cast<int64_t>(*m.idle().min()) - 679'200) < 500);
  REQUIRE(m.start_to_start().count() == 2);
}

TEST_CASE("on a line of unknown rate gaps are measured, idle gaps and bursts are not") {
  GapMeter m(0);
  for (int i = 0; i < 10; ++i) m.on_frame(at_ns(i * 67.2), 64);
  m.finish();
  REQUIRE_FALSE(m.line_known());
  REQUIRE(m.start_to_start().count() == 9);
  REQUIRE(m.idle().count() == 0);
  REQUIRE(m.burst_frames().count() == 0);
}

TEST_CASE("a stamp before the one before is counted and gives no gap") {
  GapMeter m;
  m.on_frame(at_ns(1000), 64);
  m.on_frame(at_ns(900), 64);
  m.on_frame(at_ns(1900), 64);
  REQUIRE(m.out_of_order() == 1);
  REQUIRE(m.start_to_start().count() == 1);
}

TEST_CASE("a frame time at 2.4 Gb/s, which is no whole number of picoseconds, is rounded to the nearest") {
  REQUIRE(GapMeter(2'400'000'000).wire_gap_ps(64) == 280'000);  // 84 * 8 / 2.4 = 280 ns
  REQUIRE(GapMeter(2'400'000'000).wire_gap_ps(65) == 283'333);  // 283.3333 ns
  REQUIRE(GapMeter(2'400'000'000).wire_gap_ps(66) == 286'667);  // 286.6667 ns
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

TEST_CASE("any order of any numbers, jumps and stragglers included, agrees with sets of all numbers seen") {
  std::mt19937_64 random(11);
  constexpr int64_t kWindow = SequenceMeter::kWindow;
  for (int round = 0; round < 60; ++round) {
    SequenceMeter m;
    int64_t at =
        static_cast<int64_t>(random() % 3 ? 0xFFFFFF00u + random() % 256 : random() % 1000) + (int64_t{1} << 40);
    std::set<int64_t> seen;
    int64_t high = at, low = at;
    uint64_t duplicates = 0, too_old = 0, reordered = 0, extent = 0, received = 0;
    for (int i = 0; i < 3000; ++i) {
      const uint64_t dice = random() % 100;
      int64_t n = at;
      if (i != 0 && dice < 80)
        n = high + 1 + static_cast<int64_t>(dice < 10 ? random() % 5 : 0);
      else if (i != 0 && dice < 98)
        n = high - static_cast<int64_t>(random() % 50);
      else if (i != 0 && dice < 99)
        n = high - kWindow + 3 - static_cast<int64_t>(random() % 6);  // at the window's edge
      else if (i != 0)
        n = high + kWindow - 3 + static_cast<int64_t>(random() % 6);
      m.on_packet(static_cast<uint32_t>(n));
      ++received;
      if (i == 0 || n > high) {
        seen.insert(n);
        high = n;
      } else if (n <= high - kWindow) {
        ++too_old;
      } else if (!seen.insert(n).second) {
        ++duplicates;
      } else {
        ++reordered;
        extent = std::max(extent, static_cast<uint64_t>(high - n));
        low = std::min(low, n);
      }
    }
    uint64_t episodes = 0;
    for (auto i = seen.begin(), next = std::next(i); next != seen.end(); ++i, ++next) episodes += *next != *i + 1;
    REQUIRE(m.received() == received);
    REQUIRE(m.unique() == seen.size());
    REQUIRE(m.duplicates() == duplicates);
    REQUIRE(m.too_old() == too_old);
    REQUIRE(m.unique() + m.duplicates() + m.too_old() == received);
    REQUIRE(m.expected() == static_cast<uint64_t>(high - low + 1));
    REQUIRE(m.lost() == m.expected() - seen.size());
    REQUIRE(m.reordered() == reordered);
    REQUIRE(m.reorder_extent() == extent);
    REQUIRE(m.loss_episodes() == episodes);
  }
}

TEST_CASE("a random permutation of the window's numbers loses nothing, wherever the numbers wrap") {
  std::mt19937_64 random(12);
  for (const uint32_t first : {5u, 0xFFFF8000u, 0xFFFFFFFFu}) {
    std::vector<uint32_t> order(SequenceMeter::kWindow);
    for (uint32_t i = 0; i < order.size(); ++i) order[i] = first + i;
    std::shuffle(order.begin(), order.end(), random);
    SequenceMeter m;
    for (const uint32_t n : order) m.on_packet(n);
    REQUIRE(m.unique() == order.size());
    REQUIRE(m.lost() == 0);
    REQUIRE(m.loss_episodes() == 0);
    REQUIRE(m.too_old() + m.duplicates() == 0);
  }
}

TEST_CASE("nothing seen is nothing expected, lost or episodic") {
  const SequenceMeter m;
  REQUIRE(m.expected() == 0);
  REQUIRE(m.lost() == 0);
  REQUIRE(m.loss_episodes() == 0);
}

TEST_CASE("an invalid error estimate makes the stream's error unknown") {
  FlowMeter m;
  m.on_packet(1, at_ns(0), ErrorEstimate::from_ns(100, true), at_ns(50), 64);
  REQUIRE(m.worst_send_error_ns < 110);
  REQUIRE(m.unsynchronised == 0);
  m.on_packet(2, at_ns(100), ErrorEstimate::decode(0), at_ns(150), 64);
  REQUIRE(m.worst_send_error_ns == ErrorEstimate::kUnknownNs);
  REQUIRE(m.unsynchronised == 1);
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
