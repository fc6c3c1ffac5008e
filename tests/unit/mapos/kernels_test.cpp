// SPDX-License-Identifier: BSD-3-Clause
// The SIMD loops equal the scalar ones, which the other tests hold against the RFCs.
#include "kernels.h"

#include <catch2/catch.hpp>

#include "octets.h"

using namespace mapos;
using test::Octets;

namespace {
const unsigned kDensities[] = {0, 2, 40, 128, 256};
}

TEST_CASE("what this machine cannot run is said, since it is then not compared") {
  if (best_simd() != Simd::kAvx2) WARN("this processor has no AVX2 with VPCLMULQDQ: those loops are not tested here");
  REQUIRE(kernels(Simd::kScalar).fcs == scalar::fcs);
}

TEST_CASE("FCS: every level equals the scalar one at every length, alignment and register") {
  std::mt19937 random(11);
  const Octets all = test::payload(random, 1200);
  for (const Simd level : {Simd::kSse, Simd::kAvx2})
    for (const Fcs f : {Fcs::k16, Fcs::k32})
      for (size_t n = 0; n < 1100; ++n) {
        const uint8_t* in = all.data() + n % 37;
        const uint32_t reg = static_cast<uint32_t>(random()) & fcs_begin(f);
        REQUIRE(kernels(level).fcs(f, reg, in, n) == scalar::fcs(f, reg, in, n));
      }
}

TEST_CASE("stuffing: every level equals the scalar one and writes no further than twice the input") {
  std::mt19937 random(12);
  for (const Simd level : {Simd::kSse, Simd::kAvx2})
    for (const unsigned density : kDensities)
      for (size_t n = 0; n < 300; ++n) {
        const Octets in = test::payload(random, n, density);
        Octets a(2 * n + 64, 0xA5), b(2 * n + 64, 0xA5);
        const size_t na = scalar::stuff(in.data(), n, a.data()), nb = kernels(level).stuff(in.data(), n, b.data());
        REQUIRE(na == nb);
        REQUIRE(std::equal(a.begin(), a.begin() + static_cast<ptrdiff_t>(na), b.begin()));
        REQUIRE(std::all_of(b.begin() + static_cast<ptrdiff_t>(2 * n), b.end(), [](uint8_t o) { return o == 0xA5; }));
        REQUIRE(kernels(level).specials(in.data(), n) == na - n);
        REQUIRE(scalar::specials(in.data(), n) == na - n);
      }
}

TEST_CASE("unstuffing: every level equals the scalar one on any octets, in any room, after any octet") {
  std::mt19937 random(13);
  for (const Simd level : {Simd::kSse, Simd::kAvx2})
    for (const unsigned density : kDensities)
      for (int round = 0; round < 2000; ++round) {
        const size_t n = random() % 200, room = random() % 250;
        const Octets in = test::payload(random, n, density);
        const bool escaped = random() % 2 != 0;
        Octets a(room + 64, 0xA5), b(room + 64, 0xA5);
        Unstuff ua{in.data(), in.data() + n, a.data(), a.data() + room, escaped};
        Unstuff ub{in.data(), in.data() + n, b.data(), b.data() + room, escaped};
        for (;;) {  // on and on over flags and aborts, so that loops start anywhere
          const Stop sa = scalar::unstuff(ua), sb = kernels(level).unstuff(ub);
          REQUIRE(sa == sb);
          REQUIRE(ua.in == ub.in);
          REQUIRE(ua.escaped == ub.escaped);
          REQUIRE(ua.out - a.data() == ub.out - b.data());
          REQUIRE(std::equal(a.data(), ua.out, b.data()));
          REQUIRE(ub.in_end == in.data() + n);
          if (sa == Stop::kInput || sa == Stop::kFull) break;
        }
        REQUIRE(std::all_of(b.begin() + static_cast<ptrdiff_t>(room), b.end(), [](uint8_t o) { return o == 0xA5; }));
      }
}
