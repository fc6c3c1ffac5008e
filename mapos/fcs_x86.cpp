// SPDX-License-Identifier: BSD-3-Clause
// FCS by carry-less multiplication. The octets are a polynomial over GF(2), first bit highest; what is wanted is
// its remainder by P after multiplication by x^32. A vector far from the end is replaced by an equal one (modulo P)
// nearer to it: its two halves times x^distance mod P, which fits into one vector. What is left at the end is reduced
// by Barrett's method. The 16-bit FCS takes the same way with x^16 P, whose remainder is x^16 times the one wanted: in
// the reflected register those are its low 16 bits.
//
// Reflected: bit i of a w-bit register is the coefficient of x^(w-1-i). The product of two 64-bit registers, read as
// one of 128 bits, is then x times the product of the polynomials; the constants are a power less for it.
#include "kernels.h"

#if defined(__x86_64__)
#include <immintrin.h>

namespace mapos {

namespace {

/// x^n mod P as a 64-bit register; P without its x^32 as a reflected 32-bit one.
constexpr uint64_t power(uint32_t p, unsigned n) {
  uint32_t r = 0x8000'0000;
  for (unsigned i = 0; i < n; ++i) r = (r >> 1) ^ ((r & 1) != 0 ? p : 0);
  return uint64_t{r} << 32;
}

/// The quotient of x^64 by P as a register of 33 bits.
constexpr uint64_t quotient(uint32_t p) {
  uint64_t q = 1;  // x^32
  uint32_t r = p;  // x^32 mod P
  for (int i = 1; i <= 32; ++i) {
    const bool one = (r & 1) != 0;  // the coefficient of x^31, which the next step lifts to x^32
    q |= uint64_t{one} << i;
    r = (r >> 1) ^ (one ? p : 0);
  }
  return q;
}

/// Multipliers that move a vector `bits` towards the end: for its first half, and its second.
struct Shift {
  uint64_t first, second;
};
constexpr Shift shift(uint32_t p, unsigned bits) { return {power(p, bits + 63), power(p, bits - 1)}; }

struct Constants {
  uint32_t p;
  Shift by128 = shift(p, 128), by256 = shift(p, 256), by384 = shift(p, 384), by512 = shift(p, 512),
        by768 = shift(p, 768), by1024 = shift(p, 1024);
  uint64_t x95 = power(p, 95), x63 = power(p, 63);
  uint64_t mu = quotient(p), whole = uint64_t{p} << 1 | 1;
};
constexpr Constants k16{0x8408};
constexpr Constants k32{0xEDB8'8320};
static_assert(k32.mu == 0x1'F701'1641 && k32.whole == 0x1'DB71'0641);

MAPOS_SSE MAPOS_INLINE __m128i load(const uint8_t* p) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p)); }
MAPOS_SSE MAPOS_INLINE __m128i both(Shift s) {
  return _mm_set_epi64x(static_cast<long long>(s.second), static_cast<long long>(s.first));
}
MAPOS_SSE MAPOS_INLINE __m128i one(uint64_t v) { return _mm_cvtsi64_si128(static_cast<long long>(v)); }

/// v moved by the distance of k, plus `to`.
MAPOS_SSE MAPOS_INLINE __m128i fold(__m128i v, __m128i k, __m128i to) {
  return _mm_xor_si128(_mm_xor_si128(_mm_clmulepi64_si128(v, k, 0x00), _mm_clmulepi64_si128(v, k, 0x11)), to);
}
MAPOS_AVX2 MAPOS_INLINE __m256i fold(__m256i v, __m256i k, __m256i to) {
  return _mm256_xor_si256(_mm256_xor_si256(_mm256_clmulepi64_epi128(v, k, 0x00), _mm256_clmulepi64_epi128(v, k, 0x11)),
                          to);
}

/// x^32 v mod P, as a 32-bit register.
MAPOS_SSE MAPOS_INLINE uint32_t reduce(__m128i v, const Constants& c) {
  // 128 bits and 32 zeros to 96 bits, to 64, to 32.
  __m128i t = _mm_xor_si128(_mm_clmulepi64_si128(v, one(c.x95), 0x00), _mm_slli_si128(_mm_srli_si128(v, 8), 4));
  t = _mm_xor_si128(_mm_clmulepi64_si128(t, one(c.x63), 0x00), t);
  const auto u = static_cast<uint64_t>(_mm_extract_epi64(t, 1));
  const __m128i q = _mm_clmulepi64_si128(one(u & 0xFFFF'FFFF), one(c.mu), 0x00);
  const __m128i r =
      _mm_clmulepi64_si128(one(static_cast<uint64_t>(_mm_cvtsi128_si64(q)) & 0xFFFF'FFFF), one(c.whole), 0x00);
  return static_cast<uint32_t>((u ^ static_cast<uint64_t>(_mm_cvtsi128_si64(r))) >> 32);
}

/// Shuffle patterns. Read at k they bring the first k octets of a vector to its end, behind zeros; at 16 + k the others
/// to its begin, before zeros.
alignas(16) constexpr uint8_t kMove[48] = {0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
                                           0x80, 0x80, 0x80, 0x80, 0,    1,    2,    3,    4,    5,    6,    7,
                                           8,    9,    10,   11,   12,   13,   14,   15,   0x80, 0x80, 0x80, 0x80,
                                           0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80};

/// A vector that stands for all octets before `in`; n octets are left, a multiple of 16.
struct Begun {
  __m128i v;
  const uint8_t* in;
  size_t n;
};
/// What is more than a multiple of 16 octets is taken first, behind zeros, which change no remainder. The register is
/// added to the first four octets of the input, wherever they come to lie. n >= 16.
MAPOS_SSE MAPOS_INLINE Begun begin(uint32_t reg, const uint8_t* in, size_t n, const Constants& c) {
  const __m128i r = _mm_cvtsi32_si128(static_cast<int>(reg));
  const size_t odd = n % 16;
  const __m128i v = _mm_shuffle_epi8(_mm_xor_si128(load(in), r), load(kMove + odd));
  const __m128i over = _mm_shuffle_epi8(r, load(kMove + 16 + odd));
  return {fold(v, both(c.by128), _mm_xor_si128(load(in + odd), over)), in + odd + 16, n - odd - 16};
}

/// The rest by four vectors in parallel, then one.
MAPOS_SSE MAPOS_INLINE uint32_t finish(Begun b, const Constants& c) {
  const __m128i by128 = both(c.by128);
  if (b.n >= 48 + 64) {
    const __m128i by512 = both(c.by512);
    __m128i v0 = b.v, v1 = load(b.in), v2 = load(b.in + 16), v3 = load(b.in + 32);
    for (b.in += 48, b.n -= 48; b.n >= 64; b.in += 64, b.n -= 64) {
      v0 = fold(v0, by512, load(b.in));
      v1 = fold(v1, by512, load(b.in + 16));
      v2 = fold(v2, by512, load(b.in + 32));
      v3 = fold(v3, by512, load(b.in + 48));
    }
    b.v = fold(v0, both(c.by384), fold(v1, both(c.by256), fold(v2, by128, v3)));
  }
  for (; b.n != 0; b.in += 16, b.n -= 16) b.v = fold(b.v, by128, load(b.in));
  return reduce(b.v, c);
}

MAPOS_AVX2 MAPOS_INLINE __m256i load256(const uint8_t* p) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
}
MAPOS_AVX2 MAPOS_INLINE __m256i twice(Shift s) { return _mm256_broadcastsi128_si256(both(s)); }

/// As many octets as there are by four double vectors in parallel.
MAPOS_AVX2 MAPOS_INLINE void fold_wide(Begun& b, const Constants& c) {
  const __m256i by1024 = twice(c.by1024);
  __m256i v0 = _mm256_inserti128_si256(_mm256_castsi128_si256(b.v), load(b.in), 1);
  __m256i v1 = load256(b.in + 16), v2 = load256(b.in + 48), v3 = load256(b.in + 80);
  for (b.in += 112, b.n -= 112; b.n >= 128; b.in += 128, b.n -= 128) {
    v0 = fold(v0, by1024, load256(b.in));
    v1 = fold(v1, by1024, load256(b.in + 32));
    v2 = fold(v2, by1024, load256(b.in + 64));
    v3 = fold(v3, by1024, load256(b.in + 96));
  }
  const __m256i v = fold(v0, twice(c.by768), fold(v1, twice(c.by512), fold(v2, twice(c.by256), v3)));
  b.v = fold(_mm256_castsi256_si128(v), both(c.by128), _mm256_extracti128_si256(v, 1));
}

}  // namespace

namespace sse {

MAPOS_SSE uint32_t fcs(Fcs f, uint32_t reg, const uint8_t* in, size_t n) {
  if (n < 16) return scalar::fcs(f, reg, in, n);
  const Constants& c = f == Fcs::k16 ? k16 : k32;
  return finish(begin(reg, in, n, c), c);
}

}  // namespace sse

namespace avx2 {

MAPOS_AVX2 uint32_t fcs(Fcs f, uint32_t reg, const uint8_t* in, size_t n) {
  if (n < 16) return scalar::fcs(f, reg, in, n);
  const Constants& c = f == Fcs::k16 ? k16 : k32;
  Begun b = begin(reg, in, n, c);
  if (b.n >= 112 + 128) fold_wide(b, c);
  return finish(b, c);
}

}  // namespace avx2

}  // namespace mapos
#endif
