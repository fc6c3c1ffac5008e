// SPDX-License-Identifier: BSD-3-Clause
// What the fuzz targets of the protocol engines share: input taken apart into steps, and a check that ends the run.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <span>

namespace fuzz {

inline void require(bool holds) {
  if (!holds) std::abort();
}

/// The input as a list of steps: an octet that says what to do, one for the time that passes, one for the length, then
/// so many octets.
class Steps {
 public:
  explicit Steps(std::span<const uint8_t> input) : left_(input) {}
  bool next() {
    if (left_.size() < 3) return false;
    what = left_[0];
    // Mostly little, now and then seconds or a minute.
    ns = int64_t{left_[1]} * (left_[1] < 128 ? 1'000 : 500'000'000);
    const size_t n = std::min<size_t>(left_[2] * size_t{2}, left_.size() - 3);
    octets = left_.subspan(3, n);
    left_ = left_.subspan(3 + n);
    return true;
  }
  uint8_t what = 0;
  int64_t ns = 0;
  std::span<const uint8_t> octets;

 private:
  std::span<const uint8_t> left_;
};

}  // namespace fuzz
