// SPDX-License-Identifier: BSD-3-Clause
// Any octets into descrambler and scrambler. Invariants: every SIMD level, whole or in pieces, in place or apart, gives
// what the scalar loop gives; one undoes the other; a wrong seed heals after 43 bits. The first octet cuts the pieces,
// the next eight are the seed.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "mapos/scrambler.h"

namespace {

using Octets = std::vector<uint8_t>;

void require(bool holds) {
  if (!holds) std::abort();
}

template <typename Machine>
Octets run(Machine m, std::span<const uint8_t> in, size_t piece, uint64_t& state) {
  Octets out(in.begin(), in.end());
  bool in_place = true;
  for (size_t at = 0; at < in.size(); at += piece, in_place = !in_place) {
    const size_t n = std::min(piece, in.size() - at);
    if (in_place)
      m.run(std::span(out).subspan(at, n));
    else
      m.run(in.subspan(at, n), out.data() + at);
  }
  state = m.state();
  return out;
}

template <typename Machine>
Octets check(std::span<const uint8_t> in, uint64_t seed, size_t piece) {
  uint64_t state = 0;
  const Octets expected = run(Machine(seed, mapos::Simd::kScalar), in, in.size() + 1, state);
  for (const mapos::Simd level : {mapos::Simd::kScalar, mapos::Simd::kSse, mapos::Simd::kAvx2})
    for (const size_t size : {piece, in.size() + 1}) {
      uint64_t s = 0;
      require(run(Machine(seed, level), in, size, s) == expected);
      require(s == state);
    }
  return expected;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 9) return 0;
  uint64_t seed = 0, state = 0;
  std::memcpy(&seed, data + 1, 8);
  const std::span<const uint8_t> in(data + 9, size - 9);
  const size_t piece = data[0] + size_t{1};
  const Octets plain = check<mapos::Descrambler>(in, seed, piece), line = check<mapos::Scrambler>(in, seed, piece);
  require(std::ranges::equal(run(mapos::Scrambler(seed), plain, size, state), in));
  const Octets wrong = run(mapos::Descrambler(~seed), line, size, state);
  for (size_t i = 6; i < in.size(); ++i) require(wrong[i] == in[i]);
  return 0;
}
