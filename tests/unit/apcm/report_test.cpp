// SPDX-License-Identifier: BSD-3-Clause
#include "apcm/report.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <sstream>
#include <vector>

using namespace apcm;

namespace {

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

/// The counts at the ends of an ASCII histogram's rows.
std::vector<uint64_t> row_counts(const std::string& text) {
  std::vector<uint64_t> counts;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) counts.push_back(std::stoull(line.substr(line.rfind('|') + 1)));
  return counts;
}
uint64_t sum(const std::vector<uint64_t>& v) {
  uint64_t s = 0;
  for (const uint64_t x : v) s += x;
  return s;
}

/// 64-octet frames every 100 ns that take 1 us; number 3 is lost.
FlowMeter measured(ErrorEstimate error) {
  FlowMeter m;
  for (uint32_t i = 0; i < 10; ++i)
    if (i != 3) m.on_packet(i, from_ns(uint64_t{i} * 100), error, from_ns(uint64_t{i} * 100 + 1000), 64);
  m.arrivals.finish();
  return m;
}

}  // namespace

TEST_CASE("times and rates have the unit that fits and four digits") {
  CHECK(format_ps(999) == "999 ps");
  CHECK(format_ps(67'200) == "67.20 ns");
  CHECK(format_ps(-1'230'400) == "-1.230 us");
  CHECK(format_ps(33'366'700'000) == "33.37 ms");
  CHECK(format_ps(2'000'000'000'000) == "2.000 s");
  CHECK(format_bps(5'940'000'000) == "5.940 Gb/s");
  CHECK(format_bps(1'500'000) == "1.500 Mb/s");
}

TEST_CASE("every value is in one row of the ASCII histogram, narrow or wide") {
  for (const uint64_t widest : {uint64_t{1}, uint64_t{70'000}, uint64_t{1} << 40, uint64_t{INT64_MAX}}) {
    Histogram h;
    for (uint64_t i = 0; i <= 1000; ++i) h.record(60'000 + widest / 1000 * i);
    const auto counts = row_counts(ascii_histogram(h, 16));
    CHECK(counts.size() <= 16);
    CHECK(sum(counts) == 1001);
  }
}

TEST_CASE("a narrow peak is spread over linear rows, a wide range over rows that grow") {
  Histogram narrow, wide;
  for (uint64_t i = 0; i < 1600; ++i) narrow.record(60'000 + 10 * i);  // 60 to 76 ns, evenly: 16 rows of 100 each
  const auto even = row_counts(ascii_histogram(narrow, 16));
  REQUIRE(even.size() == 16);
  // A bucket is 64 ps wide there, so up to 7 values lie on the wrong side of each edge.
  for (const uint64_t c : even) CHECK((c >= 86 && c <= 114));
  for (uint64_t v = 1000; v <= 1'024'000; v *= 2) wide.record(v);  // 11 values, 10 doublings: at most 20 rows
  const auto octaves = row_counts(ascii_histogram(wide, 100));
  CHECK(octaves.size() <= 21);
  CHECK(*std::max_element(octaves.begin(), octaves.end()) == 1);
}

TEST_CASE("what was not measured is left out of the text and of the JSON, not shown as zero") {
  const FlowMeter nothing;
  CHECK(summary(nothing) == "nothing received");
  CHECK(has(text(nothing, ClockRelation::kUnknown, 0), "nothing measured"));
  const auto j = to_json(nothing, ClockRelation::kUnknown, 0);
  CHECK(j["delay"]["count"] == 0);
  for (const char* name : {"min", "mean", "p50", "max"}) CHECK_FALSE(j["delay"].contains(name));
  CHECK_FALSE(j["arrivals"].contains("smallest"));
  CHECK_FALSE(j["arrivals"].contains("line_rate_bps"));
  CHECK_FALSE(j.contains("worst_send_error_ns"));
  CHECK(j.dump().find("null") == std::string::npos);  // what NaN would become
}

TEST_CASE("the JSON of a stream has its counts, delays and gaps") {
  const auto j = to_json(measured(ErrorEstimate::from_ns(100, true)), ClockRelation::kSynchronised, 250);
  CHECK(j["sequence"]["received"] == 9);
  CHECK(j["sequence"]["expected"] == 10);
  CHECK(j["sequence"]["lost"] == 1);
  CHECK(j["sequence"]["loss_episodes"] == 1);
  CHECK(std::abs(j["delay"]["min"].get<int64_t>() - 1'000'000) < 250);  // 1 us; a stamp unit is 233 ps
  CHECK(j["delay"]["error_ns"] == 250);
  CHECK(j["delay"]["clocks"] == "synchronised clocks");
  CHECK(j["delay"]["convention"] == "start of frame to start of frame");
  CHECK(std::abs(j["arrivals"]["start_to_start"]["min"].get<int64_t>() - 100'000) < 250);
  // 100 ns - (64 + 8) * 0.8 ns
  CHECK(std::abs(j["arrivals"]["idle"]["min"].get<int64_t>() - 42'400) < 250);
  CHECK(j["arrivals"]["wire_gap"] == 67'200);
  CHECK(j["unsynchronised"] == 0);
  CHECK(j["worst_send_error_ns"] == ErrorEstimate{true, false, 1, 215}.ns());
}

TEST_CASE("the text says convention, clocks and error beside the delay") {
  const std::string t = text(measured({}), ClockRelation::kSame, 8);
  CHECK(has(t, "start of frame to start of frame; same clock, error at most 8 ns"));
  CHECK(has(t, "lost 1 of 10 in 1 episodes"));
  CHECK(has(t, "wire-rate gap of that size (64 octets) 67.20 ns"));
  CHECK(has(t, "bursts at line rate: none"));
  CHECK(has(t, "idle, end of frame to start: min 42."));  // 42.4 ns within a stamp unit of 0.233 ns
}

TEST_CASE("an unknown error is called unknown") {
  const FlowMeter m = measured(ErrorEstimate::decode(0));
  CHECK(has(text(m, ClockRelation::kUnknown, ErrorEstimate::kUnknownNs + 1), "error unknown"));
  const auto j = to_json(m, ClockRelation::kUnknown, ErrorEstimate::kUnknownNs);
  CHECK_FALSE(j["delay"].contains("error_ns"));
  CHECK_FALSE(j.contains("worst_send_error_ns"));
  CHECK(j["unsynchronised"] == 9);
}

TEST_CASE("negative delays are shown and flagged") {
  FlowMeter m;
  m.on_packet(1, from_ns(5000), {}, from_ns(3000), 64);
  CHECK(has(text(m, ClockRelation::kUnknown, 1), "NEGATIVE 1"));
  CHECK(has(text(m, ClockRelation::kUnknown, 1), "min -2.000 us"));
  CHECK(has(summary(m), "NEGATIVE 1"));
  CHECK(to_json(m, ClockRelation::kUnknown, 1)["delay"]["negative"] == 1);
}

TEST_CASE("the live summary is one line with loss, delay and smallest gap") {
  const std::string s = summary(measured({}));
  CHECK_FALSE(has(s, "\n"));
  CHECK(has(s, "received 9  lost 1 (10 %)"));
  CHECK(has(s, "delay 1.000 us / "));
  CHECK(has(s, "gap >= "));
}

TEST_CASE("on a line of unknown rate the report says so and shows no wire-rate gap") {
  GapMeter m(0);
  for (uint64_t i = 0; i < 3; ++i) m.on_frame(from_ns(i * 100), 64);
  CHECK(has(text(m, "here"), "line rate unknown"));
  CHECK_FALSE(has(text(m, "here"), "wire-rate"));
  CHECK_FALSE(to_json(m).contains("wire_gap"));
}

TEST_CASE("overlapping frames are told") {
  GapMeter m;
  for (uint64_t i = 0; i < 3; ++i) m.on_frame(from_ns(i * 100), 1518);
  CHECK(has(text(m, "here"), "overlap"));
  CHECK(to_json(m)["overlaps"] == 2);
}
