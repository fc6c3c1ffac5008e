// SPDX-License-Identifier: BSD-3-Clause
// No wake-up is lost: a host that follows the policies and a card with the real moderator, in every order their steps
// can take. Writes of the host are posted: they lie in a queue until the card takes them, however late. A state in
// which nobody can take a step and work is left is a lost wake-up. Hosts with a seeded error show that the search finds
// one.
#include "policy.h"

#include <catch2/catch.hpp>
#include <cstring>
#include <optional>
#include <string>
#include <type_traits>
#include <unordered_set>
#include <vector>

#include "moderator.h"

using namespace awing::hw;
using namespace awing::pmd;

namespace {

/// Errors that a driver or a card could have.
enum class Fault {
  kNone,
  kAckOnArrival,     ///< the acknowledgement wipes out all there is when it arrives (write one to clear)
  kAckUntaken,       ///< the host acknowledges what is there as it falls asleep, not what it has taken
  kBatchAlone,       ///< no time-out
  kMoreThanIsOut,    ///< the sender waits for more completions than frames are out
  kUnmaskAfterLook,  ///< edge-triggered: what came while masked is not shown when unmasked
};

/// Posted writes on their way, oldest first, and what is the same for both directions.
struct Base {
  enum Reg : uint8_t { kEnable, kCount, kSeen, kDoorbell };
  struct Write {
    Reg reg;
    uint8_t value;
  };
  Moderator card;
  int64_t now = 1;
  Write posted[12] = {};
  uint8_t n_posted = 0;
  bool signal = false;  // what an eventfd holds
  uint8_t memory = 0;   // what the card has told: the host reads it without delay
  Fault fault = Fault::kNone;

  void post(Reg reg, uint32_t value) {
    REQUIRE(n_posted < std::size(posted));
    posted[n_posted++] = {reg, static_cast<uint8_t>(value)};
  }
  /// Time goes on by one edge; lines that rise are signalled.
  void tick() {
    ++now;
    while (card.next_change() <= now) {
      const uint32_t before = card.taken(), at_edge = card.take(card.next_change());
      if (at_edge & ~before) signal = true;
    }
  }
  /// The bridge holds so many writes and no more: then the host waits until the card has taken some.
  bool bridge_full() const { return n_posted + 4u > std::size(posted); }
  bool timer() const { return card.next_change() < Moderator::kNever; }
  Write pop() {
    const Write w = posted[0];
    std::memmove(posted, posted + 1, sizeof posted - sizeof posted[0]);
    posted[--n_posted] = {};
    return w;
  }
  void take_write(Cause c, const Write& w) {
    if (w.reg == kEnable) {
      // The faulty card: what is already there does not count as a rise.
      if (fault == Fault::kUnmaskAfterLook && w.value) card.set_seen(c, card.told(c), now);
      card.enable(c, w.value != 0, now);
    }
    if (w.reg == kCount) card.set_count(c, w.value, now);
    if (w.reg == kSeen) card.set_seen(c, fault == Fault::kAckOnArrival ? card.told(c) : w.value, now);
  }
};

/// A receiver: batch, time-out, and frames that arrive one by one.
struct Receive : Base {
  enum Phase : uint8_t { kPolling, kSeenNext, kUnmaskNext, kAsleep };
  ReceivePolicy policy;
  Phase phase = kPolling;
  uint8_t to_come = 0, taken = 0, budget = 2, sleeps = 0;

  Receive(uint32_t batch, uint32_t timeout, uint8_t frames, Fault f) : policy(batch, timeout), to_come(frames) {
    fault = f;
    card.set_count(kCauseReceive, batch, 0);
    card.set_timeout(kCauseReceive, f == Fault::kBatchAlone ? UINT32_MAX : timeout, 0);
  }
  bool done() const { return to_come == 0 && taken == memory; }

  static constexpr int kSteps = 4;
  std::optional<Receive> step(int which) const {
    Receive s = *this;
    switch (which) {
      case 0:  // a frame is delivered
        if (to_come == 0) return {};
        --s.to_come;
        s.card.tell(kCauseReceive, ++s.memory, now);
        break;
      case 1:  // the card takes a write
        if (n_posted == 0) return {};
        s.take_write(kCauseReceive, s.pop());
        break;
      case 2:  // time passes; without a timer running that changes nothing
        if (!timer() || (fault == Fault::kBatchAlone && card.next_change() - now > 1000)) return {};
        break;
      default:
        if (bridge_full() || !s.host()) return {};
        return s;
    }
    s.tick();
    return s;
  }
  bool host() {
    switch (phase) {
      case kPolling: {
        const auto n = std::min<uint8_t>(budget, static_cast<uint8_t>(memory - taken));
        taken = static_cast<uint8_t>(taken + n);
        if (policy.polled(n, budget) == ReceivePolicy::Next::kSleep) phase = kSeenNext;
        return true;
      }
      case kSeenNext:
        post(kSeen, fault == Fault::kAckUntaken ? memory : taken);
        phase = kUnmaskNext;
        return true;
      case kUnmaskNext:
        post(kEnable, 1);
        policy.sleeps();
        phase = kAsleep;
        ++sleeps;
        return true;
      default:
        if (!signal) return false;
        signal = false;
        if (policy.woken()) post(kEnable, 0);
        phase = kPolling;
        return true;
    }
  }
};

/// A sender with a ring of a few descriptors.
struct Send : Base {
  enum Phase : uint8_t { kLook, kPost, kWait };
  static constexpr uint8_t kSize = 4;
  SendPolicy policy;
  Phase phase = kLook;
  uint8_t to_send, burst, produced = 0, known = 0;  // host; known: finished as far as it knows
  uint8_t rung = 0, finished = 0, count = 1;        // card; last Count written
  uint8_t waits = 0;

  Send(SendMode mode, uint32_t batch, uint32_t high, uint32_t low, uint8_t frames, uint8_t at_once, Fault f)
      : policy(mode, batch, high, low), to_send(frames), burst(at_once) {
    fault = f;
    card.set_timeout(kCauseSend, UINT32_MAX, 0);  // the count alone must do
  }
  /// All is sent; by interrupts alone, all is reclaimed too. Deferred leaves the last ones to the next send call.
  bool done() const {
    return to_send == 0 && (policy.mode() != SendMode::kInterrupt || (known == produced && finished == produced));
  }

  static constexpr int kSteps = 3;
  std::optional<Send> step(int which) const {
    Send s = *this;
    switch (which) {
      case 0:  // a descriptor is done
        if (finished == rung) return {};
        s.memory = ++s.finished;
        s.card.tell(kCauseSend, s.finished, now);
        break;
      case 1:
        if (n_posted == 0) return {};
        if (const Write w = s.pop(); w.reg == kDoorbell)
          s.rung = w.value;
        else
          s.take_write(kCauseSend, w);
        break;
      default:
        if (bridge_full() || !s.host()) return {};
        return s;
    }
    s.tick();
    s.tick();  // a line held down by a write is free again: a write takes more than one clock
    return s;
  }
  bool host() {
    switch (phase) {
      case kWait:
        if (!signal) {
          // Nothing to wait for: it polls, when there is something new to see.
          if (policy.wakes() || memory == known || (to_send == 0 && policy.mode() != SendMode::kInterrupt))
            return false;
        }
        phase = kLook;
        return true;
      case kLook: {
        const bool interrupted = signal;
        signal = false;
        if (policy.look(interrupted)) known = memory;
        phase = kPost;
        return true;
      }
      default: {
        const auto n = std::min({burst, to_send, static_cast<uint8_t>(kSize - (produced - known))});
        produced = static_cast<uint8_t>(produced + n);
        to_send = static_cast<uint8_t>(to_send - n);
        if (n) post(kDoorbell, produced);
        Arm arm = policy.posted(static_cast<uint32_t>(produced - known));
        if (fault == Fault::kMoreThanIsOut && arm.count) arm.count = kSize + 1;
        if (arm.write && arm.count == 0) post(kEnable, 0);
        if (arm.write && arm.count != 0) {
          post(kSeen, known);
          post(kCount, arm.count);
          post(kEnable, 1);
        }
        // A full ring makes it wait; so does having nothing left.
        phase = to_send == 0 || n == 0 ? kWait : kLook;
        if (phase == kWait) ++waits;
        return true;
      }
    }
  }
};

/// What a search saw.
struct Found {
  uint64_t states = 0, ends = 0, lost = 0;
  unsigned most_waits = 0;
};

template <typename S>
std::string key(const S& s) {
  static_assert(std::is_trivially_copyable_v<S>);
  return {reinterpret_cast<const char*>(&s), sizeof s};
}

/// Visits every state that can be reached. Equal octets are equal states; padding can only make it visit more.
template <typename S>
Found explore(const S& start) {
  Found found;
  std::unordered_set<std::string> seen;
  std::vector<S> open{start};
  while (!open.empty() && found.lost == 0) {
    const S s = open.back();
    open.pop_back();
    if (!seen.insert(key(s)).second) continue;
    ++found.states;
    REQUIRE(found.states < 20'000'000);
    bool any = false;
    for (int i = 0; i < S::kSteps; ++i)
      if (auto next = s.step(i)) {
        any = true;
        open.push_back(*next);
      }
    if constexpr (requires { s.sleeps; })
      found.most_waits = std::max<unsigned>(found.most_waits, s.sleeps);
    else
      found.most_waits = std::max<unsigned>(found.most_waits, s.waits);
    if (any) continue;
    ++found.ends;
    if (!s.done()) ++found.lost;
  }
  return found;
}

}  // namespace

TEST_CASE("batched receive: whatever the order, a sleeper is woken until it has taken every frame") {
  for (const uint32_t batch : {1u, 2u, 3u})
    for (const uint32_t timeout : {0u, 1u, 4u}) {
      const Found f = explore(Receive(batch, timeout, 6, Fault::kNone));
      INFO("batch " << batch << " time-out " << timeout << ": " << f.states << " states, " << f.ends << " ends");
      CHECK(f.lost == 0);
      CHECK(f.states > 1000);
      CHECK(f.ends > 0);
      CHECK(f.most_waits >= 6);  // there are orders in which it sleeps before each frame
    }
}

TEST_CASE("the search finds a receiver's lost wake-up") {
  CHECK(explore(Receive(1, 0, 3, Fault::kAckOnArrival)).lost > 0);
  CHECK(explore(Receive(1, 0, 3, Fault::kAckUntaken)).lost > 0);
  CHECK(explore(Receive(1, 0, 3, Fault::kUnmaskAfterLook)).lost > 0);
  CHECK(explore(Receive(2, 4, 3, Fault::kBatchAlone)).lost > 0);
}

TEST_CASE("sending: whatever the order, a full ring empties and every frame goes") {
  for (const uint8_t burst : {uint8_t{1}, uint8_t{4}}) {
    for (const uint32_t batch : {1u, 2u, 8u}) {
      const Found f = explore(Send(SendMode::kInterrupt, batch, 0, 0, 6, burst, Fault::kNone));
      INFO("interrupt, batch " << batch << ": " << f.states << " states, " << f.ends << " ends");
      CHECK(f.lost == 0);
      CHECK(f.ends > 0);
    }
    for (const uint32_t high : {1u, 2u, 3u})
      for (uint32_t low = 0; low < high; ++low) {
        const Found f = explore(Send(SendMode::kAdaptive, 1, high, low, 6, burst, Fault::kNone));
        INFO("adaptive, marks " << high << "/" << low << ": " << f.states << " states, " << f.ends << " ends");
        CHECK(f.lost == 0);
        CHECK(f.ends > 0);
        CHECK(f.most_waits >= 1);
      }
    CHECK(explore(Send(SendMode::kDeferred, 1, 0, 0, 7, burst, Fault::kNone)).lost == 0);
  }
}

TEST_CASE("the search finds a sender's lost wake-up") {
  for (const SendMode mode : {SendMode::kInterrupt, SendMode::kAdaptive}) {
    CHECK(explore(Send(mode, 1, 3, 1, 7, 4, Fault::kMoreThanIsOut)).lost > 0);
    CHECK(explore(Send(mode, 2, 3, 1, 7, 4, Fault::kAckOnArrival)).lost > 0);
  }
}

TEST_CASE("adaptive: interrupts only between the high mark and the low one") {
  SendPolicy p(SendMode::kAdaptive, 1, 12, 4);
  CHECK(p.look(false));
  CHECK_FALSE(p.posted(12).write);  // at the mark: not above it
  CHECK(p.look(false));
  const Arm arm = p.posted(13);
  CHECK(arm.write);
  CHECK(arm.count == 13 - 4);
  CHECK_FALSE(p.look(false));  // by interrupt now: no look
  CHECK_FALSE(p.posted(16).write);
  CHECK(p.look(true));
  const Arm again = p.posted(7);  // fewer than the high mark, more than the low one: still by interrupt
  CHECK(again.write);
  CHECK(again.count == 7 - 4);
  CHECK(p.look(true));
  const Arm off = p.posted(4);  // down at the low mark: masked, and deferred again
  CHECK(off.write);
  CHECK(off.count == 0);
  CHECK_FALSE(p.posted(12).write);
  CHECK(p.look(false));
}

TEST_CASE("deferred never arms, interrupt-driven never looks of itself") {
  SendPolicy deferred(SendMode::kDeferred, 1, 12, 4);
  SendPolicy driven(SendMode::kInterrupt, 8, 12, 4);
  for (uint32_t used : {1u, 16u, 16u}) {
    CHECK(deferred.look(false));
    CHECK_FALSE(deferred.posted(used).write);
  }
  CHECK(driven.posted(3).count == 3);  // no more than are out
  for (int i = 0; i < 3; ++i) {
    CHECK_FALSE(driven.look(false));
    CHECK_FALSE(driven.posted(16).write);
  }
  CHECK(driven.look(true));
  CHECK(driven.posted(13).count == 8);
}

TEST_CASE("a receiver polls on while polls are full, and is masked until it sleeps") {
  ReceivePolicy p(32, 1000);
  CHECK(p.polled(32, 32) == ReceivePolicy::Next::kPoll);
  CHECK(p.polled(31, 32) == ReceivePolicy::Next::kSleep);
  CHECK(p.masked());
  p.sleeps();
  CHECK_FALSE(p.masked());
  CHECK(p.woken());
  CHECK_FALSE(p.woken());  // masked already
}
