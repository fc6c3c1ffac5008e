// SPDX-License-Identifier: BSD-3-Clause
// The scrambler faster than octet by octet.
//
// The receiver's d[t] = s[t] ^ s[t-43] needs only line octets, so it runs in parallel: 43 bits are 5 octets and 3 bits.
// The sender's s[t] = d[t] ^ s[t-43] depends on itself. Written with D for "one bit later", (1 + D^43) s = d. Multiply
// both sides by (1 + D^43)(1 + D^86)(1 + D^172): squaring over GF(2) has (1 + D^344) s on the left, and 344 bits are
// exactly 43 octets. So three parallel steps on d, then s[n] = f[n] ^ s[n-43 octets], with 43 octets more than a
// vector.
#include "kernels.h"

#if defined(__x86_64__)
#include <immintrin.h>

#include <cstring>

#include "mapos/scrambler.h"

namespace mapos {

namespace {

uint64_t load_be(const uint8_t* p) {
  uint64_t v;
  std::memcpy(&v, p, 8);
  return __builtin_bswap64(v);
}
void store_be(uint8_t* p, uint64_t v) {
  v = __builtin_bswap64(v);
  std::memcpy(p, &v, 8);
}

/// Eight octets as one number, first bit highest: the first 43 bits meet those before, the other 21 the word's own.
uint64_t scramble_word(uint64_t last, uint64_t d) {
  const uint64_t t = d ^ last << 21;
  return t ^ t >> 43;
}

/// The 43 bits as the last octets of a vector, as if zeros had been sent before them.
MAPOS_SSE MAPOS_INLINE __m128i history(uint64_t last) {
  return _mm_set_epi64x(static_cast<long long>(__builtin_bswap64(last)), 0);
}
MAPOS_SSE MAPOS_INLINE uint64_t last_bits(__m128i v) {
  return __builtin_bswap64(static_cast<uint64_t>(_mm_extract_epi64(v, 1))) & kScramblerMask;
}

/// The octets k before those of `v`; `before` holds the 16 before `v`. k < 16.
template <int k>
MAPOS_SSE MAPOS_INLINE __m128i octets_before(__m128i v, __m128i before) {
  return _mm_alignr_epi8(v, before, 16 - k);
}
/// The same for 32 octets; k < 32.
template <int k>
MAPOS_AVX2 MAPOS_INLINE __m256i octets_before(__m256i v, __m256i before) {
  const __m256i middle = _mm256_permute2x128_si256(before, v, 0x21);  // 16 before
  if constexpr (k < 16)
    return _mm256_alignr_epi8(v, middle, 16 - k);
  else
    return _mm256_alignr_epi8(middle, before, 32 - k);
}

/// The stream `bits` bits late: `near` is it the whole octets late, `far` one octet more; `left` bits more are wanted.
template <int left>
MAPOS_SSE MAPOS_INLINE __m128i late(__m128i near, __m128i far) {
  const __m128i low = _mm_set1_epi8(static_cast<char>(0xFF >> left));
  return _mm_or_si128(_mm_and_si128(_mm_srli_epi16(near, left), low),
                      _mm_andnot_si128(low, _mm_slli_epi16(far, 8 - left)));
}
template <int left>
MAPOS_AVX2 MAPOS_INLINE __m256i late(__m256i near, __m256i far) {
  const __m256i low = _mm256_set1_epi8(static_cast<char>(0xFF >> left));
  return _mm256_or_si256(_mm256_and_si256(_mm256_srli_epi16(near, left), low),
                         _mm256_andnot_si256(low, _mm256_slli_epi16(far, 8 - left)));
}

/// v ^ v `bits` bits late.
template <int bits>
MAPOS_AVX2 MAPOS_INLINE __m256i add_late(__m256i v, __m256i before) {
  return _mm256_xor_si256(v,
                          late<bits % 8>(octets_before<bits / 8>(v, before), octets_before<bits / 8 + 1>(v, before)));
}

MAPOS_AVX2 MAPOS_INLINE __m256i load(const uint8_t* p) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
}
MAPOS_AVX2 MAPOS_INLINE void store(uint8_t* p, __m256i v) { _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), v); }

}  // namespace

namespace sse {

// A 64-bit word is as fast here as 16 octets would be: see the comment above for what those take.
uint64_t scramble(uint64_t last, const uint8_t* in, size_t n, uint8_t* out) {
  for (; n >= 8; in += 8, out += 8, n -= 8) {
    last = scramble_word(last, load_be(in));
    store_be(out, last);
  }
  return scalar::scramble(last & kScramblerMask, in, n, out);
}

MAPOS_SSE uint64_t descramble(uint64_t last, const uint8_t* in, size_t n, uint8_t* out) {
  __m128i before = history(last);
  for (; n >= 16; in += 16, out += 16, n -= 16) {
    const __m128i v = _mm_loadu_si128(reinterpret_cast<const __m128i*>(in));
    const __m128i d = late<3>(octets_before<5>(v, before), octets_before<6>(v, before));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out), _mm_xor_si128(v, d));
    before = v;
  }
  return scalar::descramble(last_bits(before), in, n, out);
}

}  // namespace sse

namespace avx2 {

MAPOS_AVX2 uint64_t scramble(uint64_t last, const uint8_t* in, size_t n, uint8_t* out) {
  if (n < 64) return sse::scramble(last, in, n, out);
  // What came before, as if the line had been zero until 43 bits ago: then d and each f equal s there.
  const __m256i seed = _mm256_inserti128_si256(_mm256_setzero_si256(), history(last), 1);
  __m256i d0 = seed, f0 = seed, g0 = seed, s0 = seed, s1 = _mm256_setzero_si256();
  for (; n >= 32; in += 32, out += 32, n -= 32) {
    const __m256i d = load(in);
    const __m256i f = add_late<43>(d, d0);
    const __m256i g = add_late<86>(f, f0);
    const __m256i h = add_late<172>(g, g0);
    const __m256i s = _mm256_xor_si256(h, octets_before<43 - 32>(s0, s1));
    store(out, s);
    d0 = d;
    f0 = f;
    g0 = g;
    s1 = s0;
    s0 = s;
  }
  return sse::scramble(last_bits(_mm256_extracti128_si256(s0, 1)), in, n, out);
}

MAPOS_AVX2 uint64_t descramble(uint64_t last, const uint8_t* in, size_t n, uint8_t* out) {
  __m256i before = _mm256_inserti128_si256(_mm256_setzero_si256(), history(last), 1);
  for (; n >= 32; in += 32, out += 32, n -= 32) {
    const __m256i v = load(in);
    store(out, add_late<43>(v, before));
    before = v;
  }
  return sse::descramble(last_bits(_mm256_extracti128_si256(before, 1)), in, n, out);
}

}  // namespace avx2

}  // namespace mapos
#endif
