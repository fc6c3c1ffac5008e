// SPDX-License-Identifier: BSD-3-Clause
// Octet stuffing with SSE and AVX2. A block without flag or escape is copied whole. In any other, eight octets at a
// time are spread or closed up by one shuffle whose pattern is looked up by the mask of the octets concerned, so the
// cost does not grow with the number of escapes.
#include "kernels.h"

#if defined(__x86_64__)
#include <immintrin.h>

#include <array>
#include <bit>

namespace mapos {

namespace {

/// By mask of the octets to be escaped: where each of up to 16 output octets comes from. 0x80: it is an escape.
struct alignas(16) Spread {
  uint8_t from[256][16];
};
constexpr Spread make_spread() {
  Spread t{};
  for (unsigned mask = 0; mask < 256; ++mask) {
    unsigned n = 0;
    for (uint8_t i = 0; i < 8; ++i) {
      if ((mask >> i & 1) != 0) t.from[mask][n++] = 0x80;
      t.from[mask][n++] = i;
    }
    while (n < 16) t.from[mask][n++] = 0;
  }
  return t;
}
constexpr Spread kSpread = make_spread();

/// By mask of the octets to be kept: where each of up to 8 output octets comes from.
struct alignas(8) Closed {
  uint8_t from[256][8];
};
constexpr Closed make_closed() {
  Closed t{};
  for (unsigned mask = 0; mask < 256; ++mask) {
    unsigned n = 0;
    for (uint8_t i = 0; i < 8; ++i)
      if ((mask >> i & 1) != 0) t.from[mask][n++] = i;
  }
  return t;
}
constexpr Closed kClosed = make_closed();

MAPOS_SSE MAPOS_INLINE __m128i load(const uint8_t* p) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p)); }
MAPOS_SSE MAPOS_INLINE void store(uint8_t* p, __m128i v) { _mm_storeu_si128(reinterpret_cast<__m128i*>(p), v); }
MAPOS_SSE MAPOS_INLINE __m128i load8(const uint8_t* p) { return _mm_loadl_epi64(reinterpret_cast<const __m128i*>(p)); }
MAPOS_SSE MAPOS_INLINE void store8(uint8_t* p, __m128i v) { _mm_storel_epi64(reinterpret_cast<__m128i*>(p), v); }

MAPOS_SSE MAPOS_INLINE __m128i is_special(__m128i v) {
  return _mm_or_si128(_mm_cmpeq_epi8(v, _mm_set1_epi8(kFlag)), _mm_cmpeq_epi8(v, _mm_set1_epi8(kEscape)));
}
MAPOS_AVX2 MAPOS_INLINE __m256i is_special(__m256i v) {
  return _mm256_or_si256(_mm256_cmpeq_epi8(v, _mm256_set1_epi8(kFlag)),
                         _mm256_cmpeq_epi8(v, _mm256_set1_epi8(kEscape)));
}
MAPOS_SSE MAPOS_INLINE uint32_t bits(__m128i v) { return static_cast<uint32_t>(_mm_movemask_epi8(v)); }
MAPOS_AVX2 MAPOS_INLINE uint32_t bits(__m256i v) { return static_cast<uint32_t>(_mm256_movemask_epi8(v)); }

/// Stuffs the low eight octets of `v`, already XORed where needed; `mask` tells which. Stores 16.
MAPOS_SSE MAPOS_INLINE uint8_t* spread8(__m128i v, uint32_t mask, uint8_t* out) {
  const __m128i from = _mm_load_si128(reinterpret_cast<const __m128i*>(kSpread.from[mask]));
  store(out, _mm_blendv_epi8(_mm_shuffle_epi8(v, from), _mm_set1_epi8(kEscape), from));
  return out + 8 + _mm_popcnt_u32(mask);
}

/// Stuffs 16 octets. Writes no further than 32 octets from `out`.
MAPOS_SSE MAPOS_INLINE uint8_t* stuff16(const uint8_t* in, uint8_t* out) {
  const __m128i v = load(in);
  const __m128i s = is_special(v);
  const uint32_t mask = bits(s);
  const __m128i x = _mm_xor_si128(v, _mm_and_si128(s, _mm_set1_epi8(kEscapeXor)));
  out = spread8(x, mask & 0xFF, out);
  return spread8(_mm_srli_si128(x, 8), mask >> 8, out);
}

/// The last octets, fewer than 16.
MAPOS_SSE MAPOS_INLINE uint8_t* stuff_rest(const uint8_t* in, size_t n, uint8_t* out) {
  if (n >= 8) {
    const __m128i v = load8(in);
    const __m128i s = is_special(v);
    out = spread8(_mm_xor_si128(v, _mm_and_si128(s, _mm_set1_epi8(kEscapeXor))), bits(s) & 0xFF, out);
    in += 8;
    n -= 8;
  }
  return out + scalar::stuff(in, n, out);
}

enum class Step : uint8_t { kGoOn, kFlag, kAbort, kByOctet };

/// Unstuffs 16 octets, or what comes before a flag among them; leaves alone a block in which an escape is escaped.
/// There is room for 16.
MAPOS_SSE MAPOS_INLINE Step unstuff16(Unstuff& u) {
  const __m128i v = load(u.in);
  const __m128i escape = _mm_cmpeq_epi8(v, _mm_set1_epi8(kEscape));
  const uint32_t flags = bits(_mm_cmpeq_epi8(v, _mm_set1_epi8(kFlag)));
  const uint32_t flag = flags & (0U - flags);  // the first
  const uint32_t taken = (flag - 1) & 0xFFFF;  // all before it
  const uint32_t escapes = bits(escape) & taken;
  const uint32_t before = u.escaped ? 1 : 0;
  const uint32_t escaped = escapes << 1 | before;
  if ((escapes & escaped) != 0) return Step::kByOctet;
  const __m128i flip = _mm_and_si128(_mm_slli_si128(escape, 1), _mm_set1_epi8(kEscapeXor));
  const __m128i x = _mm_xor_si128(v, _mm_xor_si128(flip, _mm_cvtsi32_si128(static_cast<int>(before * kEscapeXor))));
  const uint32_t keep = ~escapes & taken, low = keep & 0xFF, high = keep >> 8;
  store8(u.out, _mm_shuffle_epi8(x, load8(kClosed.from[low])));
  u.out += _mm_popcnt_u32(low);
  store8(u.out, _mm_shuffle_epi8(_mm_srli_si128(x, 8), load8(kClosed.from[high])));
  u.out += _mm_popcnt_u32(high);
  if (flag == 0) {
    u.in += 16;
    u.escaped = (escapes >> 15) != 0;
    return Step::kGoOn;
  }
  u.in += std::countr_zero(flag) + 1;
  u.escaped = false;
  return (escaped & flag) != 0 ? Step::kAbort : Step::kFlag;
}

/// 16 octets by the scalar loop.
Stop unstuff_by_octet(Unstuff& u) {
  Unstuff part{u.in, u.in + 16, u.out, u.out_end, u.escaped};
  const Stop stop = scalar::unstuff(part);
  u.in = part.in;
  u.out = part.out;
  u.escaped = part.escaped;
  return stop;
}

/// One block of 16. True: go on; false: `stop` tells why not.
MAPOS_SSE MAPOS_INLINE bool unstuff_block(Unstuff& u, Stop& stop) {
  switch (unstuff16(u)) {
    case Step::kGoOn:
      return true;
    case Step::kFlag:
      stop = Stop::kFlag;
      return false;
    case Step::kAbort:
      stop = Stop::kAbort;
      return false;
    case Step::kByOctet:
      stop = unstuff_by_octet(u);
      return stop == Stop::kInput;
  }
  return false;
}

bool room(const Unstuff& u, ptrdiff_t n) { return u.in_end - u.in >= n && u.out_end - u.out >= n; }

}  // namespace

namespace sse {

MAPOS_SSE size_t specials(const uint8_t* in, size_t n) {
  size_t count = 0;
  for (; n >= 16; in += 16, n -= 16) count += static_cast<size_t>(_mm_popcnt_u32(bits(is_special(load(in)))));
  return count + scalar::specials(in, n);
}

MAPOS_SSE size_t stuff(const uint8_t* in, size_t n, uint8_t* out) {
  uint8_t* o = out;
  for (; n >= 16; in += 16, n -= 16) o = stuff16(in, o);
  return static_cast<size_t>(stuff_rest(in, n, o) - out);
}

// Both work on a copy: the caller's structure could alias the octets, and would be read and written for each block.
MAPOS_SSE Stop unstuff(Unstuff& u) {
  Unstuff t = u;
  Stop stop = Stop::kInput;
  bool go_on = true;
  while (go_on && room(t, 16)) go_on = unstuff_block(t, stop);
  u = t;
  return go_on ? scalar::unstuff(u) : stop;
}

}  // namespace sse

namespace avx2 {

MAPOS_AVX2 size_t specials(const uint8_t* in, size_t n) {
  size_t count = 0;
  for (; n >= 32; in += 32, n -= 32)
    count +=
        static_cast<size_t>(_mm_popcnt_u32(bits(is_special(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(in))))));
  return count + scalar::specials(in, n);
}

MAPOS_AVX2 size_t stuff(const uint8_t* in, size_t n, uint8_t* out) {
  uint8_t* o = out;
  for (; n >= 32; in += 32, n -= 32) {
    const __m256i v = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(in));
    if (bits(is_special(v)) == 0) {
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(o), v);
      o += 32;
    } else {
      o = stuff16(in + 16, stuff16(in, o));
    }
  }
  if (n >= 16) {
    o = stuff16(in, o);
    in += 16;
    n -= 16;
  }
  return static_cast<size_t>(stuff_rest(in, n, o) - out);
}

MAPOS_AVX2 Stop unstuff(Unstuff& u) {
  Unstuff t = u;
  Stop stop = Stop::kInput;
  bool go_on = true;
  while (go_on && room(t, 16)) {
    while (!t.escaped && room(t, 32)) {
      const __m256i v = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(t.in));
      if (bits(is_special(v)) != 0) break;
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(t.out), v);
      t.in += 32;
      t.out += 32;
    }
    // Both halves, before a clean block is hoped for again.
    for (int half = 0; half < 2 && go_on && room(t, 16); ++half) go_on = unstuff_block(t, stop);
  }
  u = t;
  return go_on ? scalar::unstuff(u) : stop;
}

}  // namespace avx2

}  // namespace mapos
#endif
