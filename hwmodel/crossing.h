// SPDX-License-Identifier: BSD-3-Clause
// Two flip-flops between clock domains, for the reference engines.
#pragma once

#include "hwmodel/time.h"

namespace awing::hw {

/// A value stored in one clock domain and read in the other through two flip-flops: seen at the reader's second
/// edge strictly after the store. capture() is called once at every edge of the reader, before seen().
template <typename T>
class Crossing {
 public:
  const T& value() const { return now_; }
  void store(const T& v, Ps t) {
    if (t != stored_) before_ = now_, stored_ = t;
    now_ = v;
  }
  void capture(Ps t) {
    seen_ = first_;
    first_ = stored_ < t ? now_ : before_;
  }
  const T& seen() const { return seen_; }
  void reset(const T& v) { now_ = before_ = first_ = seen_ = v; }

 private:
  T now_{}, before_{}, first_{}, seen_{};
  Ps stored_ = -1;
};

}  // namespace awing::hw
