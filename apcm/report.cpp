// SPDX-License-Identifier: BSD-3-Clause
#include "apcm/report.h"

#include <algorithm>
#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <vector>

namespace apcm {

namespace {

template <typename... Args>
std::string print(const char* format, Args... args) {
  char line[512];
  std::snprintf(line, sizeof line, format, args...);
  return line;
}

std::string scaled(double value, double unit, const char* name) {
  const double v = value / unit;
  const int digits = std::fabs(v) >= 1000 ? 0 : std::fabs(v) >= 100 ? 1 : std::fabs(v) >= 10 ? 2 : 3;
  return print("%.*f %s", digits, v, name);
}

/// A histogram's value as a time.
int64_t as_time(uint64_t ps) { return static_cast<int64_t>(std::min<uint64_t>(ps, INT64_MAX)); }

constexpr double kPercentiles[] = {50, 90, 99, 99.9};
constexpr const char* kPercentileNames[] = {"p50", "p90", "p99", "p99.9"};

}  // namespace

const char* to_string(ClockRelation relation) {
  switch (relation) {
    case ClockRelation::kSame:
      return "same clock";
    case ClockRelation::kSynchronised:
      return "synchronised clocks";
    default:
      return "relation of the clocks unknown";
  }
}

std::string format_ps(int64_t ps) {
  const double v = static_cast<double>(ps), size = std::fabs(v);
  if (size < 1e3) return print("%" PRId64 " ps", ps);
  if (size < 1e6) return scaled(v, 1e3, "ns");
  if (size < 1e9) return scaled(v, 1e6, "us");
  if (size < 1e12) return scaled(v, 1e9, "ms");
  return scaled(v, 1e12, "s");
}

std::string format_bps(uint64_t bps) {
  const auto v = static_cast<double>(bps);
  if (v < 1e6) return scaled(v, 1e3, "kb/s");
  if (v < 1e9) return scaled(v, 1e6, "Mb/s");
  return scaled(v, 1e9, "Gb/s");
}

std::string ascii_histogram(const Histogram& histogram, int rows, int bar) {
  if (histogram.count() == 0) return "  (nothing measured)\n";
  const uint64_t min = *histogram.min(), max = *histogram.max();
  const bool linear = max / 4 < min;
  const double low = static_cast<double>(std::max<uint64_t>(linear ? 0 : 1, min));
  const double high = static_cast<double>(max) + 1;
  // Logarithmic rows are no narrower than a factor of sqrt(2), linear ones than the buckets.
  const double span = linear ? high - low : std::max(std::log(high / low), 1e-9);
  const double most_rows =
      linear ? Histogram::index(max) - Histogram::index(min) + 1 : std::ceil(span / (std::log(2.0) / 2));
  const int n = std::max(1, static_cast<int>(std::min<double>(rows, most_rows)));
  std::vector<uint64_t> counts(static_cast<size_t>(n));
  histogram.each([&](uint64_t from, uint64_t, uint64_t count) {
    const double at = std::max(static_cast<double>(from), low);
    const double place = (linear ? at - low : std::log(at / low)) / span;
    counts[static_cast<size_t>(std::clamp(static_cast<int>(place * n), 0, n - 1))] += count;
  });
  const uint64_t most = *std::max_element(counts.begin(), counts.end());
  std::string out;
  for (int i = 0; i < n; ++i) {
    const auto edge = [&](int k) {
      const double v = linear ? low + span * k / n : low * std::exp(span * k / n);
      return v < 9e18 ? static_cast<int64_t>(v) : INT64_MAX;
    };
    const uint64_t c = counts[static_cast<size_t>(i)];
    const auto width = static_cast<size_t>((c * static_cast<uint64_t>(bar) + most - 1) / most);
    out += print("  %10s - %-10s |", format_ps(edge(i)).c_str(), format_ps(edge(i + 1)).c_str());
    out += std::string(width, '#') + std::string(static_cast<size_t>(bar) - width, ' ');
    out += print("| %" PRIu64 "\n", c);
  }
  return out;
}

std::string text(const SequenceMeter& m) {
  return print("packets   received %" PRIu64 ", lost %" PRIu64 " of %" PRIu64 " in %" PRIu64
               " episodes, duplicates %" PRIu64 ", reordered %" PRIu64 " (by %" PRIu64
               " at most), too late to tell %" PRIu64 "\n",
               m.received(), m.lost(), m.expected(), m.loss_episodes(), m.duplicates(), m.reordered(),
               m.reorder_extent(), m.too_old());
}

std::string text(const DelayMeter& m, ClockRelation relation, uint64_t error_ns) {
  if (m.count() == 0) return "delay     (nothing measured)\n";
  const std::string error =
      error_ns >= ErrorEstimate::kUnknownNs ? "unknown" : "at most " + std::to_string(error_ns) + " ns";
  std::string out =
      print("delay     one way, start of frame to start of frame; %s, error %s\n", to_string(relation), error.c_str());
  out += "          min " + format_ps(*m.min()) + "  mean " + format_ps(*m.mean());
  for (size_t i = 0; i < std::size(kPercentiles); ++i)
    out += print("  %s ", kPercentileNames[i]) + format_ps(*m.percentile(kPercentiles[i]));
  out += "  max " + format_ps(*m.max());
  if (m.negative()) out += print("  NEGATIVE %" PRIu64 ": the clocks disagree", m.negative());
  return out + "\n";
}

std::string text(const GapMeter& m, const std::string& wire) {
  std::string out = "gaps      " + wire + ", start to start";
  if (const auto rate = m.line_rate_bps()) out += "; " + format_bps(*rate) + " of the line on average";
  out += "\n" + ascii_histogram(m.start_to_start());
  if (const auto smallest = m.smallest_ps()) {
    out += "          smallest " + format_ps(*smallest);
    if (m.line_known())
      out += ", wire-rate gap of that size (" + std::to_string(m.smallest_frame()) + " octets) " +
             format_ps(m.wire_gap_ps(m.smallest_frame()));
    out += "\n";
  }
  if (const auto idle = m.idle().min())
    out += "          idle, end of frame to start: min " + format_ps(as_time(*idle)) + "  mean " +
           format_ps(as_time(*m.idle().mean())) + "  max " + format_ps(as_time(*m.idle().max())) + "\n";
  if (const auto longest = m.burst_frames().max())
    out += print("          bursts at line rate: %" PRIu64 ", of %" PRIu64 " frames on average, %" PRIu64
                 " at most (%" PRIu64 " octets at most)\n",
                 m.burst_frames().count(), *m.burst_frames().mean(), *longest, *m.burst_octets().max());
  else
    out +=
        m.line_known() ? "          bursts at line rate: none\n" : "          line rate unknown: bursts not measured\n";
  if (m.overlaps())
    out += print("          frames that overlap, so their stamps are not the wire's: %" PRIu64 "\n", m.overlaps());
  if (m.out_of_order()) out += print("          stamps out of order: %" PRIu64 "\n", m.out_of_order());
  return out;
}

std::string text(const FlowMeter& m, ClockRelation relation, uint64_t error_ns) {
  return text(m.sequence) + text(m.delay, relation, error_ns) + text(m.arrivals, "this stream at the receiver");
}

std::string summary(const FlowMeter& m) {
  const SequenceMeter& s = m.sequence;
  if (s.received() == 0) return "nothing received";
  std::string out = print("received %" PRIu64 "  lost %" PRIu64, s.received(), s.lost());
  if (s.lost()) out += print(" (%.2g %%)", 100 * static_cast<double>(s.lost()) / static_cast<double>(s.expected()));
  if (s.duplicates()) out += print("  duplicates %" PRIu64, s.duplicates());
  if (s.reordered()) out += print("  reordered %" PRIu64, s.reordered());
  if (const auto rate = m.arrivals.line_rate_bps()) out += "  line " + format_bps(*rate);
  if (m.delay.count())
    out += "  delay " + format_ps(*m.delay.min()) + " / " + format_ps(*m.delay.percentile(50)) + " / " +
           format_ps(*m.delay.percentile(99)) + " / " + format_ps(*m.delay.max());
  if (m.delay.negative()) out += print("  NEGATIVE %" PRIu64, m.delay.negative());
  if (const auto gap = m.arrivals.smallest_ps()) out += "  gap >= " + format_ps(*gap);
  return out;
}

nlohmann::json to_json(const Histogram& h) {
  nlohmann::json j{{"count", h.count()}};
  if (h.count() == 0) return j;
  j["min"] = *h.min();
  j["mean"] = *h.mean();
  for (size_t i = 0; i < std::size(kPercentiles); ++i) j[kPercentileNames[i]] = *h.percentile(kPercentiles[i]);
  j["max"] = *h.max();
  return j;
}

nlohmann::json to_json(const SequenceMeter& m) {
  return {{"received", m.received()},          {"unique", m.unique()},
          {"expected", m.expected()},          {"lost", m.lost()},
          {"duplicates", m.duplicates()},      {"too_old", m.too_old()},
          {"reordered", m.reordered()},        {"reorder_extent", m.reorder_extent()},
          {"loss_episodes", m.loss_episodes()}};
}

nlohmann::json to_json(const DelayMeter& m, ClockRelation relation, uint64_t error_ns) {
  nlohmann::json j{{"count", m.count()},
                   {"negative", m.negative()},
                   {"clocks", to_string(relation)},
                   {"unit", "ps"},
                   {"convention", "start of frame to start of frame"}};
  if (error_ns < ErrorEstimate::kUnknownNs) j["error_ns"] = error_ns;
  if (m.count() == 0) return j;
  j["min"] = *m.min();
  j["mean"] = *m.mean();
  for (size_t i = 0; i < std::size(kPercentiles); ++i) j[kPercentileNames[i]] = *m.percentile(kPercentiles[i]);
  j["max"] = *m.max();
  return j;
}

nlohmann::json to_json(const GapMeter& m) {
  nlohmann::json j{{"frames", m.frames()},
                   {"octets", m.octets()},
                   {"unit", "ps"},
                   {"start_to_start", to_json(m.start_to_start())},
                   {"idle", to_json(m.idle())},
                   {"burst_frames", to_json(m.burst_frames())},
                   {"burst_octets", to_json(m.burst_octets())},
                   {"out_of_order", m.out_of_order()},
                   {"overlaps", m.overlaps()}};
  if (const auto rate = m.line_rate_bps()) j["line_rate_bps"] = *rate;
  if (const auto smallest = m.smallest_ps()) {
    j["smallest"] = *smallest;
    j["smallest_frame"] = m.smallest_frame();
    if (m.line_known()) j["wire_gap"] = m.wire_gap_ps(m.smallest_frame());
  }
  return j;
}

nlohmann::json to_json(const FlowMeter& m, ClockRelation relation, uint64_t error_ns) {
  nlohmann::json j{{"sequence", to_json(m.sequence)},
                   {"delay", to_json(m.delay, relation, error_ns)},
                   {"arrivals", to_json(m.arrivals)},
                   {"unsynchronised", m.unsynchronised}};
  if (m.delay.count() && m.worst_send_error_ns < ErrorEstimate::kUnknownNs)
    j["worst_send_error_ns"] = m.worst_send_error_ns;
  return j;
}

}  // namespace apcm
