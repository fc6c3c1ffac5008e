// SPDX-License-Identifier: BSD-3-Clause
#include "mapos/scrambler.h"

#include "kernels.h"

namespace mapos {

void Scrambler::run(std::span<const uint8_t> in, uint8_t* out) {
  last_ = k_->scramble(last_, in.data(), in.size(), out);
}

void Descrambler::run(std::span<const uint8_t> in, uint8_t* out) {
  last_ = k_->descramble(last_, in.data(), in.size(), out);
}

}  // namespace mapos
