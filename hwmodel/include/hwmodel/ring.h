// SPDX-License-Identifier: BSD-3-Clause
// A queue in a ring that is as small as what it holds, so that its memory stays in the cache.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

namespace awing::hw {

/// A queue of plain items addressed by ever-growing indices, tail() <= i < head(). It doubles when it is full (the only
/// time it allocates) and never shrinks. No locking of its own.
template <typename T>
class GrowingRing {
 public:
  uint64_t head() const { return head_; }
  uint64_t tail() const { return tail_; }
  uint64_t size() const { return head_ - tail_; }
  bool empty() const { return head_ == tail_; }
  bool full() const { return head_ - tail_ > mask_; }
  T& operator[](uint64_t i) { return items_[i & mask_]; }
  const T& operator[](uint64_t i) const { return items_[i & mask_]; }
  const T& front() const { return items_[tail_ & mask_]; }
  void push(const T& item) {
    if (full()) [[unlikely]]
      grow();
    items_[head_++ & mask_] = item;
  }
  void pop() { ++tail_; }
  /// Lets go of everything below index i.
  void pop_to(uint64_t i) { tail_ = i; }

 private:
  void grow() {
    const uint64_t mask = 2 * mask_ + 1;
    auto larger = std::make_unique<T[]>(mask + 1);
    for (uint64_t i = tail_; i != head_; ++i) larger[i & mask] = items_[i & mask_];
    items_ = std::move(larger);
    mask_ = mask;
  }
  static constexpr uint64_t kLeast = 64;
  std::unique_ptr<T[]> items_ = std::make_unique<T[]>(kLeast);
  uint64_t mask_ = kLeast - 1, head_ = 0, tail_ = 0;
};

}  // namespace awing::hw
