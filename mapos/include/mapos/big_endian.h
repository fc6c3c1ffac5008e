// SPDX-License-Identifier: BSD-3-Clause
// Most significant octet first, as all integers of the MAPOS control packets are. Plain functions, thread-safe; the
// caller sees to it that the octets are there.
#pragma once

#include <cstdint>

namespace mapos {

constexpr uint16_t get16(const uint8_t* p) { return static_cast<uint16_t>(p[0] << 8 | p[1]); }
constexpr uint32_t get32(const uint8_t* p) { return uint32_t{get16(p)} << 16 | get16(p + 2); }
constexpr void put16(uint8_t* p, uint16_t v) {
  p[0] = static_cast<uint8_t>(v >> 8);
  p[1] = static_cast<uint8_t>(v);
}
constexpr void put32(uint8_t* p, uint32_t v) {
  put16(p, static_cast<uint16_t>(v >> 16));
  put16(p + 2, static_cast<uint16_t>(v));
}

}  // namespace mapos
