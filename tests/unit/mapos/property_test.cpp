// SPDX-License-Identifier: BSD-3-Clause
// Properties over generated lines. The receiver is held against another one, written over whole lines instead of
// octets.
#include <rapidcheck.h>
#include <catch2/catch.hpp>
#include <numeric>
#include <optional>

#include "mapos/scrambler.h"
#include "octets.h"

using namespace mapos;
using test::Frames;
using test::Octets;

namespace {

rc::Gen<uint8_t> any_octet() {
  return rc::gen::weightedOneOf<uint8_t>({{6, rc::gen::arbitrary<uint8_t>()},
                                          {1, rc::gen::element(kFlag, kEscape)},
                                          {1, rc::gen::element<uint8_t>(0x01, 0x03, 0x5D, 0x5E)}});
}
rc::Gen<Octets> any_octets() { return rc::gen::container<Octets>(any_octet()); }
rc::Gen<Version> any_version() { return rc::gen::element(Version::kV1, Version::k16); }
rc::Gen<Fcs> any_fcs() { return rc::gen::element(Fcs::k16, Fcs::k32); }
rc::Gen<Simd> any_level() { return rc::gen::elementOf(test::kLevels); }

Octets any_frame(Version v) {
  const auto number = *rc::gen::inRange<uint16_t>(0, v == Version::kV1 ? 64 : 8192);
  Octets f(kHeaderOctets);
  put_header(f.data(), {*rc::gen::element(*Address::unicast(v, number), *Address::group(v, number)),
                        *rc::gen::arbitrary<uint16_t>()});
  test::append(f, *any_octets());
  return f;
}

/// Calls `f` with the pieces of `v`, cut at generated places.
template <typename F>
void in_pieces(std::span<const uint8_t> v, F&& f) {
  while (!v.empty()) {
    const size_t n = *rc::gen::inRange<size_t>(1, v.size() + 1);
    f(v.first(n));
    v = v.subspan(n);
  }
}

struct Received {
  Frames frames;
  DecoderCounters counters;
};

/// Bit by bit: nothing of the library's tables or vectors.
bool fcs_is_right(Fcs fcs, const Octets& v) {
  uint32_t r = fcs_begin(fcs);
  for (const uint8_t o : v)
    for (int i = 0; i < 8; ++i) {
      const bool one = ((r ^ o >> i) & 1) != 0;
      r = r >> 1 ^ (one ? (fcs == Fcs::k16 ? 0x8408U : 0xEDB88320U) : 0);
    }
  return r == (fcs == Fcs::k16 ? 0xF0B8U : 0xDEBB20E3U);
}

/// One frame's octets between two flags, escapes still in: the counter it ends in.
uint64_t DecoderCounters::*judge(const DecoderConfig& c, const Octets& raw, Octets& frame) {
  bool escape = false;
  for (const uint8_t o : raw) {
    if (!escape && o == kEscape) {
      escape = true;
    } else {
      frame.push_back(escape ? o ^ 0x20 : o);
      escape = false;
    }
  }
  const size_t fcs = octets(c.fcs);
  if (frame.size() > 4 + c.most_information + fcs) return &DecoderCounters::giant;
  if (escape) return &DecoderCounters::aborted;
  if (frame.size() < 4 + fcs) return &DecoderCounters::short_frame;
  if (!fcs_is_right(c.fcs, frame)) return &DecoderCounters::bad_fcs;
  const bool v1 = c.version == Version::kV1;
  if (v1 && frame[1] != 3) return &DecoderCounters::bad_control;
  if (v1 ? frame[0] % 2 == 0 : frame[0] % 2 == 1 || frame[1] % 2 == 0) return &DecoderCounters::bad_address;
  frame.resize(frame.size() - fcs);
  return &DecoderCounters::good;
}

/// What a receiver makes of a whole line; what stands after the last flag has not ended.
Received received(const DecoderConfig& c, const Octets& line) {
  Received r;
  auto at = std::find(line.begin(), line.end(), kFlag);
  r.counters.hunted = static_cast<uint64_t>(at - line.begin());
  if (at == line.end()) return r;
  for (;;) {
    const auto next = std::find(++at, line.end(), kFlag);
    const Octets raw(at, next);
    Octets frame;
    if (!raw.empty()) {
      const auto counter = judge(c, raw, frame);
      // A giant is known before it ends.
      if (next != line.end() || counter == &DecoderCounters::giant) ++(r.counters.*counter);
      if (next != line.end() && counter == &DecoderCounters::good) r.frames.push_back(frame);
    }
    if (next == line.end()) return r;
    at = next;
  }
}

}  // namespace

TEST_CASE("what goes in comes out: frames whole or in pieces, fill, aborts, the line cut anywhere, scrambled or not") {
  REQUIRE(rc::check([] {
    const auto version = *any_version();
    const auto fcs = *any_fcs();
    Encoder e(fcs, *any_level());
    Octets line;
    Frames sent;
    uint64_t aborts = 0;
    const int steps = *rc::gen::inRange(0, 12);
    for (int i = 0; i < steps; ++i) {
      const int step = *rc::gen::inRange(0, 5);
      if (step == 0) {
        RC_ASSERT(test::add(line, *rc::gen::inRange<size_t>(0, 5), [&](auto out) { return e.fill(out); }).has_value());
        continue;
      }
      const Octets frame = any_frame(version);
      const size_t before = line.size();
      if (step >= 3) {
        RC_ASSERT(test::add_frame(line, e, frame).has_value());
      } else {
        in_pieces(frame, [&](auto piece) {
          RC_ASSERT(test::add(line, e.room(piece.size()), [&](auto out) { return e.put(piece, out); }).has_value());
        });
        RC_ASSERT(
            test::add(line, e.room(0), [&](auto out) { return step == 1 ? e.abort(out) : e.end(out); }).has_value());
      }
      if (step == 1) {
        ++aborts;
        continue;
      }
      sent.push_back(frame);
      // Between the flags, of which the first may have been there before.
      RC_ASSERT(line.size() - before - stuffed_octets(frame, fcs) == (before == 0 ? 2U : 1U));
    }
    const bool scrambled = *rc::gen::arbitrary<bool>();
    const auto seed = *rc::gen::arbitrary<uint64_t>();
    Scrambler s(seed, *any_level());
    Descrambler u(seed, *any_level());
    if (scrambled) s.run(line);
    Decoder d({.version = version, .fcs = fcs, .level = *any_level()});
    Frames got;
    in_pieces(line, [&](auto piece) {
      Octets p(piece.begin(), piece.end());
      if (scrambled) u.run(p);
      test::decode(d, p, got);
    });
    RC_ASSERT(got == sent);
    RC_ASSERT(d.counters() == (DecoderCounters{.good = sent.size(), .aborted = aborts}));
  }));
}

TEST_CASE("any line, cut anywhere: frames and counters are those of the other receiver, so each frame is in one") {
  uint64_t ended[8] = {};
  REQUIRE(rc::check([&] {
    const DecoderConfig c{.version = *any_version(),
                          .fcs = *any_fcs(),
                          .most_information = *rc::gen::inRange<size_t>(0, 60),
                          .level = *any_level()};
    // Noise, and frames that are good or have one octet changed, with and without a flag between.
    Octets line;
    const int parts = *rc::gen::inRange(0, 12);
    for (int i = 0; i < parts; ++i) {
      Octets part = *any_octets();
      if (*rc::gen::inRange(0, 4) != 0) {
        Octets frame = any_frame(*any_version());
        if (*rc::gen::inRange(0, 4) == 0) frame[*rc::gen::inRange<size_t>(0, 2)] = *any_octet();
        part = test::encoded(frame, c.fcs);
        if (*rc::gen::inRange(0, 6) == 0) part[*rc::gen::inRange<size_t>(0, part.size())] = *any_octet();
      }
      test::append(line, part);
    }
    Decoder d(c);
    Frames got;
    in_pieces(line, [&](auto piece) { test::decode(d, piece, got); });
    const Received expected = received(c, line);
    RC_ASSERT(got == expected.frames);
    RC_ASSERT(d.counters() == expected.counters);
    const auto& k = d.counters();
    const uint64_t now[] = {k.good,    k.short_frame, k.giant,       k.aborted,
                            k.bad_fcs, k.bad_control, k.bad_address, k.hunted};
    for (size_t i = 0; i < 8; ++i) ended[i] += now[i];
    // In numbers too: what stands between flags, counted.
    RC_ASSERT(std::accumulate(now, now + 7, uint64_t{0}) == k.frames());
  }));
  for (const uint64_t n : ended) CHECK(n != 0);  // the lines were of all kinds
}
