// SPDX-License-Identifier: BSD-3-Clause
// Octet by octet, as the RFCs say it: what the other levels must equal.
#include <array>

#include "kernels.h"
#include "mapos/scrambler.h"

namespace mapos::scalar {

namespace {

/// Table of a reflected CRC.
constexpr std::array<uint32_t, 256> table(uint32_t polynomial) {
  std::array<uint32_t, 256> t{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t v = i;
    for (int bit = 0; bit < 8; ++bit) v = (v & 1) != 0 ? (v >> 1) ^ polynomial : v >> 1;
    t[i] = v;
  }
  return t;
}
constexpr auto kTable16 = table(0x8408);       // x^16 + x^12 + x^5 + 1
constexpr auto kTable32 = table(0xEDB8'8320);  // the polynomial of IEEE 802.3

bool special(uint8_t o) { return o == kFlag || o == kEscape; }

}  // namespace

uint32_t fcs(Fcs f, uint32_t reg, const uint8_t* in, size_t n) {
  const auto& t = f == Fcs::k16 ? kTable16 : kTable32;
  for (size_t i = 0; i < n; ++i) reg = (reg >> 8) ^ t[(reg ^ in[i]) & 0xFF];
  return reg;
}

size_t specials(const uint8_t* in, size_t n) {
  size_t count = 0;
  for (size_t i = 0; i < n; ++i) count += special(in[i]) ? 1 : 0;
  return count;
}

size_t stuff(const uint8_t* in, size_t n, uint8_t* out) {
  uint8_t* o = out;
  for (size_t i = 0; i < n; ++i) {
    if (special(in[i])) {
      *o++ = kEscape;
      *o++ = in[i] ^ kEscapeXor;
    } else {
      *o++ = in[i];
    }
  }
  return static_cast<size_t>(o - out);
}

Stop unstuff(Unstuff& u) {
  while (u.in != u.in_end) {
    const uint8_t o = *u.in++;
    const bool escaped = u.escaped;
    u.escaped = false;
    if (o == kFlag) return escaped ? Stop::kAbort : Stop::kFlag;
    if (o == kEscape && !escaped) {
      u.escaped = true;
      continue;
    }
    if (u.out == u.out_end) return Stop::kFull;
    *u.out++ = escaped ? o ^ kEscapeXor : o;
  }
  return Stop::kInput;
}

// The first bit of an octet meets the bit 43 before it, which is bit 42 of `last`; the octet's eight lie at 42..35.
uint64_t scramble(uint64_t last, const uint8_t* in, size_t n, uint8_t* out) {
  for (size_t i = 0; i < n; ++i) {
    out[i] = static_cast<uint8_t>(in[i] ^ last >> 35);
    last = (last << 8 | out[i]) & kScramblerMask;
  }
  return last;
}

uint64_t descramble(uint64_t last, const uint8_t* in, size_t n, uint8_t* out) {
  for (size_t i = 0; i < n; ++i) {
    const uint8_t line = in[i];
    out[i] = static_cast<uint8_t>(line ^ last >> 35);
    last = (last << 8 | line) & kScramblerMask;
  }
  return last;
}

}  // namespace mapos::scalar
