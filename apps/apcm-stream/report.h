// SPDX-License-Identifier: BSD-3-Clause
// What apcm-stream tells: progress and intervals while it runs, the final report as text or JSON.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "apcm/report.h"
#include "receiver.h"
#include "sender.h"

namespace apcm::stream {

/// How the clocks behind send and receive stamps belong together.
struct ClockReading {
  ClockRelation relation = ClockRelation::kUnknown;
  int64_t offset_ns = 0;    ///< receiving port's clock minus sending port's, read between two readings of the latter
  uint64_t bracket_ns = 0;  ///< half the time between those two
  std::string text() const;
};
/// Ports may be the same; `receive` or `send` may be null (relation unknown).
ClockReading read_clocks(const Port* send, const Port* receive);

/// All that a report is made of. Pointers are null for a side that does not take part.
struct Run {
  const Options* options = nullptr;
  const VideoFormat* format = nullptr;
  const Port* tx = nullptr;
  const Port* rx = nullptr;
  const Sender* sender = nullptr;
  const Receiver* receiver = nullptr;
  ClockReading clocks;
  uint64_t begin_ns = 0, end_ns = 0;  ///< port time
  double host_seconds = 0;            ///< wall-clock time it took
  bool interrupted = false;
  /// How wrong a delay may be: what both stamps' errors add up to, ns.
  uint64_t error_ns() const;
};

std::string final_text(const Run& run);
nlohmann::json final_json(const Run& run);

/// Totals at an interval's end, from which the next one's differences are made.
struct Totals {
  uint64_t at_ns = 0, sent = 0, sent_l1 = 0, received = 0;
};
/// One line of JSON for the interval `before`..`now`.
nlohmann::json interval_json(const Run& run, const Totals& before, const Totals& now, const DelayMeter& delay);
/// One line of progress without newline.
std::string progress(const Run& run, uint64_t now_ns, uint64_t lost);
uint64_t lost_packets(const Receiver& receiver);

}  // namespace apcm::stream
