// SPDX-License-Identifier: BSD-3-Clause
// Meters as text for people and JSON for programs. What was not measured is left out, never shown as zero.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "apcm/flow_meter.h"

namespace apcm {

/// How the two clocks of a delay belong together; printed beside every delay.
enum class ClockRelation : uint8_t { kSame, kSynchronised, kUnknown };
const char* to_string(ClockRelation relation);

/// Picoseconds with a fitting unit and four significant digits: "67.2 ns", "1.231 us".
std::string format_ps(int64_t ps);
/// Bit rate likewise: "6.000 Gb/s".
std::string format_bps(uint64_t bps);

/// One histogram of times in picoseconds as rows of "from - to | bar | count", at most `rows` of them: linear when the
/// values lie within a factor of four, so that a narrow peak shows its shape, else logarithmic, each row a factor of
/// the square root of two wide or more. `bar` columns for the longest bar. Empty histogram: one line that says so.
std::string ascii_histogram(const Histogram& histogram, int rows = 16, int bar = 40);

// Texts for people, lines ended by a newline. error_ns: bound of the error of both stamps and of the clocks together,
// nanoseconds; ErrorEstimate::kUnknownNs or more: not known. Call GapMeter::finish() before. They only read:
// thread-safe as long as nobody records.

std::string text(const SequenceMeter& meter);
std::string text(const DelayMeter& meter, ClockRelation relation, uint64_t error_ns);
/// `wire`: name of the place, for the head line.
std::string text(const GapMeter& meter, const std::string& wire);
/// All three of one stream.
std::string text(const FlowMeter& meter, ClockRelation relation, uint64_t error_ns);
/// One line without an end, for a live display: counts, rate, delay as min / p50 / p99 / max, smallest gap.
std::string summary(const FlowMeter& meter);

// The same for programs; times in picoseconds where "unit" says ps. Members that were not measured are not there.

nlohmann::json to_json(const Histogram& histogram);  ///< count, min, mean, p50, p90, p99, p99.9, max
nlohmann::json to_json(const SequenceMeter& meter);
nlohmann::json to_json(const DelayMeter& meter, ClockRelation relation, uint64_t error_ns);
nlohmann::json to_json(const GapMeter& meter);
nlohmann::json to_json(const FlowMeter& meter, ClockRelation relation, uint64_t error_ns);

}  // namespace apcm
