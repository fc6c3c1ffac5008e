// SPDX-License-Identifier: BSD-3-Clause
#include "hwmodel/events.h"

#include <algorithm>
#include <tuple>

namespace awing::hw {

void EventLog::flush(Ps until) {
  const auto due =
      std::stable_partition(pending_.begin(), pending_.end(), [=](const Event& e) { return e.t <= until; });
  std::stable_sort(pending_.begin(), due, [](const Event& a, const Event& b) {
    return std::tie(a.t, a.block, a.type) < std::tie(b.t, b.block, b.type);
  });
  const std::span<const Event> events(pending_.data(), static_cast<size_t>(due - pending_.begin()));
  const auto mix = [this](uint64_t v, int octets) {
    for (int i = 0; i < octets; ++i) hash_ = (hash_ ^ ((v >> (8 * i)) & 0xFF)) * 0x100000001b3;
  };
  for (const Event& e : events) {
    mix(static_cast<uint64_t>(e.t), 8);
    mix(static_cast<uint64_t>(e.block), 1);
    mix(static_cast<uint64_t>(e.type), 1);
    mix(e.a, 2);
    mix(e.b, 4);
    mix(e.c, 8);
  }
  count_ += events.size();
  if (sink_) sink_(events);
  pending_.erase(pending_.begin(), due);
}

}  // namespace awing::hw
