// SPDX-License-Identifier: BSD-3-Clause
// Ports of a switch and sets of them. Plain data, thread-safe.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace mapos {

/// A port by its index: 1 is the port the RFCs write 0x03, 2 is 0x05, 4 is 0x09; they count the EA bit as part of the
/// number (RFC 2173 section 2.2). 0 is the control processor, or "no port".
using Port = uint8_t;
constexpr Port kNoPort = 0;
/// Highest port index: RFC 3186 section 3.1 has switches of 127 ports.
constexpr Port kMostPort = 127;
constexpr size_t kPorts = 128;

/// As it stands in the low bits of an address: 0x09 for index 4.
constexpr uint16_t port_wire(Port p) { return static_cast<uint16_t>(p << 1 | 1); }
/// The index of a port number as the RFCs write it: 4 for 0x09.
constexpr Port port_index(uint8_t rfc_number) { return static_cast<Port>(rfc_number >> 1); }

/// The bit map of RFC 2174 section 4.2.
class PortSet {
 public:
  constexpr void set(Port p) { words_[p >> 6] |= uint64_t{1} << (p & 63); }
  constexpr void clear(Port p) { words_[p >> 6] &= ~(uint64_t{1} << (p & 63)); }
  constexpr bool test(Port p) const { return (words_[p >> 6] >> (p & 63) & 1) != 0; }
  constexpr bool empty() const { return (words_[0] | words_[1]) == 0; }
  constexpr int count() const { return std::popcount(words_[0]) + std::popcount(words_[1]); }
  constexpr PortSet without(Port p) const {
    PortSet s = *this;
    s.clear(p);
    return s;
  }
  friend constexpr PortSet operator|(PortSet a, const PortSet& b) {
    a.words_[0] |= b.words_[0];
    a.words_[1] |= b.words_[1];
    return a;
  }
  constexpr bool operator==(const PortSet&) const = default;

  /// Calls f(Port) for each port, lowest first. Ports of the set may be cleared meanwhile.
  template <typename F>
  constexpr void for_each(F&& f) const {
    for (unsigned w = 0; w < 2; ++w)
      for (uint64_t left = words_[w]; left != 0; left &= left - 1)
        f(static_cast<Port>(w * 64 + static_cast<unsigned>(std::countr_zero(left))));
  }

 private:
  std::array<uint64_t, 2> words_{};
};

}  // namespace mapos
