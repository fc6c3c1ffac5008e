// SPDX-License-Identifier: BSD-3-Clause
#include "mapos/simd.h"

#include <algorithm>

#include "kernels.h"

namespace mapos {

namespace {

constexpr Kernels kScalarKernels{scalar::fcs,     scalar::specials, scalar::stuff,
                                 scalar::unstuff, scalar::scramble, scalar::descramble};
#if defined(__x86_64__)
constexpr Kernels kSseKernels{sse::fcs, sse::specials, sse::stuff, sse::unstuff, sse::scramble, sse::descramble};
constexpr Kernels kAvx2Kernels{avx2::fcs, avx2::specials, avx2::stuff, avx2::unstuff, avx2::scramble, avx2::descramble};

Simd detect() {
  __builtin_cpu_init();
  const bool sse =
      __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("popcnt") && __builtin_cpu_supports("pclmul");
  const bool avx2 =
      __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") && __builtin_cpu_supports("vpclmulqdq");
  return sse && avx2 ? Simd::kAvx2 : sse ? Simd::kSse : Simd::kScalar;
}
#else
Simd detect() { return Simd::kScalar; }
#endif

}  // namespace

Simd best_simd() {
  static const Simd best = detect();
  return best;
}

const Kernels& kernels(Simd level) {
  switch (std::min(level, best_simd())) {
#if defined(__x86_64__)
    case Simd::kAvx2:
      return kAvx2Kernels;
    case Simd::kSse:
      return kSseKernels;
#endif
    default:
      return kScalarKernels;
  }
}

}  // namespace mapos
