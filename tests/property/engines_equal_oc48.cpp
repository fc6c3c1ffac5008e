// SPDX-License-Identifier: BSD-3-Clause
// Property, as in engines_equal.cpp, for the oc48 card. And conservation: what a card sent without loss on the way is
// in exactly one counter of the receiver. Usage: engines_equal_oc48 [cases [first]]
#include <cinttypes>
#include <cstdio>
#include <cstdlib>

#include "rig_oc48.h"

using namespace awing::test;

namespace {

void print(const char* who, const Event& e) {
  std::printf("  %-9s t=%" PRId64 " block=%d type=%d a=%u b=%u c=%" PRIx64 "\n", who, e.t, static_cast<int>(e.block),
              static_cast<int>(e.type), e.a, e.b, e.c);
}

bool equal(const Oc48Case& c, const Oc48Outcome& ref, const Oc48Outcome& fast, bool traced = true) {
  for (size_t card = 0; card < 2; ++card) {
    const auto &r = ref.events[card], &f = fast.events[card];
    for (size_t i = 0; traced && i < std::max(r.size(), f.size()); ++i) {
      if (i < r.size() && i < f.size() && r[i] == f[i]) continue;
      std::printf("case %s\ncard %zu: event %zu of %zu (fast %zu) differs\n", c.describe().c_str(), card, i, r.size(),
                  f.size());
      for (size_t k = i < 6 ? 0 : i - 6; k < i; ++k) print("both", r[k]);
      for (size_t k = i; k < std::min(i + 3, r.size()); ++k) print("reference", r[k]);
      for (size_t k = i; k < std::min(i + 3, f.size()); ++k) print("fast", f[k]);
      return false;
    }
    for (uint32_t k = 0; k < kCountersOc48; ++k) {
      if (ref.counters[card][k] == fast.counters[card][k]) continue;
      std::printf("case %s\ncard %zu: counter %s: reference %" PRIu64 ", fast %" PRIu64 "\n", c.describe().c_str(),
                  card, counter_name(k), ref.counters[card][k], fast.counters[card][k]);
      return false;
    }
  }
  for (size_t i = 0; i < ref.reads.size() && i < fast.reads.size(); ++i)
    if (ref.reads[i] != fast.reads[i]) {
      std::printf("register read %zu: reference %08x, fast %08x\n", i, ref.reads[i], fast.reads[i]);
      break;
    }
  if (ref.reads != fast.reads || ref.hash != fast.hash || ref.received != fast.received ||
      ref.interrupts != fast.interrupts) {
    std::printf("case %s\nregister values, frames, octets or interrupts received differ\n", c.describe().c_str());
    return false;
  }
  return true;
}

/// What one end has put on the line, the other has in exactly one counter when nothing is on the way.
bool conserved(const Oc48Case& c, const Oc48Outcome& out) {
  for (size_t to = 0; to < (c.loop ? 1 : 2); ++to) {
    const auto &sent = out.counters[c.loop ? 0 : 1 - to], &got = out.counters[to];
    uint64_t ends = 0;
    for (const Counter k : {kRxFrames, kRxFifoDrops, kRxCrcErrors, kRxFiltered, kRxOversize, kRxUndersize,
                            kRxDisabledDrops, kRxBadHeader, kRxLineDown})
      ends += got[k];
    uint64_t begun = 0;
    for (const Event& e : out.events[to]) begun += e.type == EventType::kRxStart;
    // One frame may be on its way at the end.
    if (ends <= begun && begun <= ends + 1 && ends <= sent[kTxFrames] + 1) continue;
    std::printf("case %s\ncard %zu: %" PRIu64 " sent, %" PRIu64 " begun here, %" PRIu64 " in the counters\n",
                c.describe().c_str(), to, sent[kTxFrames], begun, ends);
    return false;
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  const uint64_t cases = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1000;
  const uint64_t first = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1;
  uint64_t failed = 0, events = 0, frames = 0, interrupts[2] = {};
  for (uint64_t seed = first; seed < first + cases && failed < 5; ++seed) {
    const Oc48Case c(seed);
    const Oc48Outcome ref = run_case(c, Engine::kReference);
    const Oc48Outcome fast = run_case(c, Engine::kFast);
    const Oc48Outcome blind = run_case(c, Engine::kFast, false);
    if (!equal(c, ref, fast) || !equal(c, ref, blind, false) || !conserved(c, ref)) ++failed;
    for (size_t i = 0; i < 2; ++i) {
      events += ref.events[i].size(), frames += ref.received[i];
      for (uint32_t k = 0; k < kCauses; ++k) {
        interrupts[k] += ref.interrupts[i][k];
        if (ref.interrupts[i][k] == ref.counters[i][k == kCauseReceive ? kRxInterrupts : kTxInterrupts]) continue;
        std::printf("case %s\ncard %zu: the host was told of other interrupts than were counted\n",
                    c.describe().c_str(), i);
        ++failed;
      }
    }
  }
  std::printf("%" PRIu64 " cases, %" PRIu64 " events, %" PRIu64 " frames received, %" PRIu64 " receive and %" PRIu64
              " send interrupts: %" PRIu64 " differ\n",
              cases, events, frames, interrupts[kCauseReceive], interrupts[kCauseSend], failed);
  if (cases >= 100 && (frames < 10 * cases || interrupts[kCauseReceive] < cases || interrupts[kCauseSend] < cases)) {
    std::printf("so few frames and interrupts prove nothing\n");
    return 1;
  }
  return failed ? 1 : 0;
}
