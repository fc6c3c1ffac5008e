// SPDX-License-Identifier: BSD-3-Clause
#include "mapos/fcs.h"

#include <array>

namespace mapos {

namespace {

/// Table of a reflected CRC.
template <typename T>
constexpr std::array<T, 256> table(T polynomial) {
  std::array<T, 256> t{};
  for (unsigned i = 0; i < 256; ++i) {
    T v = static_cast<T>(i);
    for (int bit = 0; bit < 8; ++bit) v = static_cast<T>(v & 1 ? (v >> 1) ^ polynomial : v >> 1);
    t[i] = v;
  }
  return t;
}
constexpr auto kTable16 = table<uint16_t>(0x8408);      // x^16 + x^12 + x^5 + 1
constexpr auto kTable32 = table<uint32_t>(0xEDB88320);  // the polynomial of IEEE 802.3

template <typename T>
T run(std::span<const uint8_t> octets, const std::array<T, 256>& t) {
  T fcs = static_cast<T>(~T{0});
  for (const uint8_t o : octets) fcs = static_cast<T>((fcs >> 8) ^ t[(fcs ^ o) & 0xFF]);
  return fcs;
}

}  // namespace

uint16_t fcs16(std::span<const uint8_t> octets) { return static_cast<uint16_t>(~run(octets, kTable16)); }
uint32_t fcs32(std::span<const uint8_t> octets) { return ~run(octets, kTable32); }
bool fcs16_good(std::span<const uint8_t> octets) { return run(octets, kTable16) == 0xF0B8; }
bool fcs32_good(std::span<const uint8_t> octets) { return run(octets, kTable32) == 0xDEBB20E3; }

}  // namespace mapos
