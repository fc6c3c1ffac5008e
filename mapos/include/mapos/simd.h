// SPDX-License-Identifier: BSD-3-Clause
// Which instructions the inner loops use. All levels give the same octets; the scalar one is what the tests hold the
// others against.
#pragma once

#include <cstdint>

namespace mapos {

enum class Simd : uint8_t {
  kScalar,  ///< octet by octet
  kSse,     ///< SSE4.2 with PCLMULQDQ: 16 octets at a time
  kAvx2,    ///< AVX2 with VPCLMULQDQ: 32 octets at a time
};

/// The best level this processor (and the system, for the wide registers) has. Thread-safe.
Simd best_simd();

/// The inner loops of a level; private to the library.
struct Kernels;
/// Loops of that level, or of the best one below that this processor has. Lives for ever. Thread-safe.
const Kernels& kernels(Simd level);

}  // namespace mapos
