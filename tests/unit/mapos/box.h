// SPDX-License-Identifier: BSD-3-Clause
// What tests read of an Outbox.
#pragma once

#include "mapos/outbox.h"
#include "octets.h"

namespace test {

/// Frames and events in the box, which is emptied.
inline Frames sent(mapos::Outbox& out) {
  Frames f;
  for (size_t i = 0; i < out.frames(); ++i) f.emplace_back(out.frame(i).octets.begin(), out.frame(i).octets.end());
  out.clear();
  return f;
}
inline std::vector<mapos::Event> events(mapos::Outbox& out) {
  std::vector<mapos::Event> e(out.events().begin(), out.events().end());
  out.clear();
  return e;
}
inline std::span<const uint8_t> information(const Octets& frame) {
  return std::span(frame).subspan(mapos::kHeaderOctets);
}

}  // namespace test
