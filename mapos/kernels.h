// SPDX-License-Identifier: BSD-3-Clause
// The inner loops behind encoder, decoder, scrambler and FCS, once per SIMD level. Raw pointers on purpose: these are
// the loops, their callers have checked the room. All are thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>

#include "mapos/fcs.h"
#include "mapos/frame.h"

namespace mapos {

/// What an unstuffing loop works on; it moves `in`, `out` and `escaped` on.
struct Unstuff {
  const uint8_t* in;
  const uint8_t* in_end;
  uint8_t* out;
  uint8_t* out_end;
  bool escaped;  // the octet before `in` was an escape
};
/// Why it stopped.
enum class Stop : uint8_t {
  kInput,  ///< no octets left
  kFlag,   ///< a flag, which is taken
  kAbort,  ///< escape and flag, which are taken
  kFull,   ///< an octet for which there is no room; it is taken
};

struct Kernels {
  /// Register after n octets.
  uint32_t (*fcs)(Fcs f, uint32_t reg, const uint8_t* in, size_t n);
  /// Flags and escapes among n octets.
  size_t (*specials)(const uint8_t* in, size_t n);
  /// Stuffs n octets to `out`, which has room for 2 n; returns the octets written.
  size_t (*stuff)(const uint8_t* in, size_t n, uint8_t* out);
  Stop (*unstuff)(Unstuff& u);
  /// n octets; `last`: the line's 43 bits before them, the latest in bit 0. Returns those after them. In place or
  /// apart.
  uint64_t (*scramble)(uint64_t last, const uint8_t* in, size_t n, uint8_t* out);
  uint64_t (*descramble)(uint64_t last, const uint8_t* in, size_t n, uint8_t* out);
};

// By level and subject.
namespace scalar {
uint32_t fcs(Fcs f, uint32_t reg, const uint8_t* in, size_t n);
size_t specials(const uint8_t* in, size_t n);
size_t stuff(const uint8_t* in, size_t n, uint8_t* out);
Stop unstuff(Unstuff& u);
uint64_t scramble(uint64_t last, const uint8_t* in, size_t n, uint8_t* out);
uint64_t descramble(uint64_t last, const uint8_t* in, size_t n, uint8_t* out);
}  // namespace scalar

#if defined(__x86_64__)
// Functions carry the instructions they need as an attribute, so that no others in the program get compiled with them.
#define MAPOS_SSE [[gnu::target("sse4.2,popcnt,pclmul")]]
#define MAPOS_AVX2 [[gnu::target("avx2,popcnt,bmi,pclmul,vpclmulqdq")]]
#define MAPOS_INLINE [[gnu::always_inline]] inline

namespace sse {
uint32_t fcs(Fcs f, uint32_t reg, const uint8_t* in, size_t n);
size_t specials(const uint8_t* in, size_t n);
size_t stuff(const uint8_t* in, size_t n, uint8_t* out);
Stop unstuff(Unstuff& u);
uint64_t scramble(uint64_t last, const uint8_t* in, size_t n, uint8_t* out);
uint64_t descramble(uint64_t last, const uint8_t* in, size_t n, uint8_t* out);
}  // namespace sse

namespace avx2 {
uint32_t fcs(Fcs f, uint32_t reg, const uint8_t* in, size_t n);
size_t specials(const uint8_t* in, size_t n);
size_t stuff(const uint8_t* in, size_t n, uint8_t* out);
Stop unstuff(Unstuff& u);
uint64_t scramble(uint64_t last, const uint8_t* in, size_t n, uint8_t* out);
uint64_t descramble(uint64_t last, const uint8_t* in, size_t n, uint8_t* out);
}  // namespace avx2
#endif

}  // namespace mapos
