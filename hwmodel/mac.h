// SPDX-License-Identifier: BSD-3-Clause
// Idle between frames on a 10GBASE-R line: starts lie on 4-octet columns, the mean gap is 12 octets.
#pragma once

#include <cstdint>

namespace awing::hw {

/// Deficit idle count (IEEE 802.3 clause 46.3.1.4). Plain data; not thread-safe.
struct IdleDeficit {
  uint32_t deficit = 0;  ///< octets of idle owed, 0..3

  /// Quanta (4 octets, 3.2 ns) from the start of a frame of `octets` (with FCS) to the earliest next start.
  /// The nominal distance is 8 + octets + 12; where that is no multiple of 4 it is shortened while at most 3 octets
  /// are owed, else lengthened.
  constexpr uint32_t next(uint32_t octets) {
    const uint32_t over = octets % 4;
    if (deficit + over <= 3) {
      deficit += over;
      return (octets + 20) / 4;
    }
    deficit -= 4 - over;
    return (octets + 20) / 4 + 1;
  }
};

}  // namespace awing::hw
