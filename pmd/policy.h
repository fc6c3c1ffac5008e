// SPDX-License-Identifier: BSD-3-Clause
// When to look, when to sleep, when to be woken: the policies of sending and receiving, pure. They know of counts
// alone, neither of DPDK nor of a card, so the driver and an evaluation in virtual time run the same code. Plain data:
// they may lie in queues.
#pragma once

#include <algorithm>
#include <cstdint>

namespace awing::pmd {

/// What to write to a cause of the card's interrupt moderator (docs/datasheet.md, section 8).
struct Arm {
  bool write = false;  ///< false: leave it as it is
  uint32_t count = 0;  ///< how many further events raise the line; 0: none shall, mask it
};

/// How the sender learns what the card has finished.
enum class SendMode : uint8_t {
  kDeferred,   ///< it looks at each send call; no interrupt ever
  kInterrupt,  ///< a send-complete interrupt tells it; it never looks of itself
  kAdaptive,   ///< deferred, until the ring fills; then by interrupt, until it has emptied
};

/// One sender's policy. In units of the ring: descriptors, or octets of a stream. Each send call goes:
///   if (policy.look(interrupted)) reap();
///   post();
///   arm(policy.posted(used));
/// and a sender that finds no room may sleep until the interrupt while wakes() holds.
class SendPolicy {
 public:
  SendPolicy() = default;
  /// batch: completions that make an interrupt in kInterrupt, fewer when fewer are out. Water marks of kAdaptive:
  /// above `high` units in use it turns to interrupts, at `low` or below it turns back; low < high < size of the ring.
  SendPolicy(SendMode mode, uint32_t batch, uint32_t high, uint32_t low)
      : mode_(mode), batch_(batch), high_(high), low_(low) {}

  SendMode mode() const { return mode_; }
  /// At the beginning of a send call: shall the sender look what is finished? `interrupted`: the interrupt came.
  bool look(bool interrupted) {
    if (interrupted) armed_ = false;
    return !armed_;
  }
  /// At its end: `used` units are in use as far as the sender knows. What is armed stays until it comes: it counts from
  /// what the sender knew then, and is never more than what is out, so it does come.
  Arm posted(uint32_t used) {
    if (armed_ || mode_ == SendMode::kDeferred) return {};
    uint32_t count = 0;
    if (mode_ == SendMode::kInterrupt) {
      count = std::min(batch_, used);
    } else {
      filled_ = used > (filled_ ? low_ : high_);
      if (filled_) count = used - low_;
    }
    if (count == 0) {
      const bool was = unmasked_;
      unmasked_ = false;
      return {was, 0};
    }
    armed_ = unmasked_ = true;
    return {true, count};
  }
  /// An interrupt is on its way: a sender without room may sleep.
  bool wakes() const { return armed_; }
  /// The card and its rings were reset.
  void reset() { armed_ = unmasked_ = filled_ = false; }

 private:
  SendMode mode_ = SendMode::kDeferred;
  bool armed_ = false, unmasked_ = false, filled_ = false;
  uint32_t batch_ = 1, high_ = 0, low_ = 0;
};

/// One receiver's policy, in frames: an interrupt for `batch` frames or, when fewer wait, `timeout` after the first;
/// masked while polling (NAPI's way). It goes:
///   woken: mask, poll until polled() says sleep, then write Seen := frames taken, unmask, sleep.
class ReceivePolicy {
 public:
  enum class Next : uint8_t { kPoll, kSleep };

  ReceivePolicy() = default;
  /// timeout in the card's bus clocks.
  ReceivePolicy(uint32_t batch, uint32_t timeout) : batch_(batch), timeout_(timeout) {}

  uint32_t batch() const { return batch_; }
  uint32_t timeout() const { return timeout_; }
  bool masked() const { return masked_; }
  /// The receiver runs, be it through an interrupt or of itself. True: the interrupt is to be masked.
  bool woken() {
    const bool was = masked_;
    masked_ = true;
    return !was;
  }
  /// A poll found `n` frames of `budget` at most: one that was not full found the queue empty.
  Next polled(uint32_t n, uint32_t budget) const { return n < budget ? Next::kSleep : Next::kPoll; }
  /// The receiver has written Seen and unmasks.
  void sleeps() { masked_ = false; }

 private:
  uint32_t batch_ = 1, timeout_ = 0;
  bool masked_ = true;
};

}  // namespace awing::pmd
