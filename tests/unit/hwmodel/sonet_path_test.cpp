// SPDX-License-Identifier: BSD-3-Clause
#include "sonet_path.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <map>

#include "hwmodel/datasheet_oc48.h"
#include "sonet.h"

using namespace awing::hw;

namespace {

std::map<std::string, uint64_t> counters(const SonetPath& path) {
  std::map<std::string, uint64_t> all;
  for (const auto& [name, value] : path.counters()) all[name] = value;
  return all;
}

/// Whole SONET frames through a path, each with `each` MAPOS frames of `octets` octets on the line.
struct Carried {
  std::vector<SonetFrame> sonet;
  std::vector<WireFrame> frames;
  std::map<std::string, uint64_t> counters;
};
Carried carry(const SonetPathConfig& config, int64_t frames, int each, uint32_t octets, bool scrambled,
              int64_t cut = 1) {
  Link in(1 << 20, 0), out(1 << 20, 0);
  in.set_line(0, scrambled ? uint32_t{kSonetScramble} : 0);
  SonetPath path(config);
  const Clock quanta = sonet::quantum_clock(0);
  Carried got;
  const auto drain = [&] {
    path.advance(in, out);
    while (const auto* f = out.next_sonet()) got.sonet.push_back(*f), out.pop_sonet();
    for (; !out.empty(); out.pop()) got.frames.push_back(out.front()), out.release(out.front().pos + out.front().len);
  };
  for (int64_t f = 0; f < frames; ++f) {
    for (int i = 0; i < each; ++i) {
      const int64_t p = f * sonet::kPayloadOctets + 1 + i * (sonet::kPayloadOctets / each);
      in.push(
          {quanta.at(4 * sonet::edge_of(p)), in.next_pos(), 100, 0, octets, static_cast<uint32_t>(sonet::lane_of(p))});
    }
    in.push_sonet({f, true, true, false, false, 0x8D, 0, 0, 0, 0, 0});
    in.set_known_until(quanta.at((f + 1) * sonet::kFrameOctets));
    if (f % cut == 0) drain();
  }
  drain();
  got.counters = counters(path);
  return got;
}

/// Within five standard deviations of a Poisson count.
bool about(uint64_t count, double expected) {
  return std::abs(static_cast<double>(count) - expected) < 5 * std::sqrt(expected);
}

}  // namespace

TEST_CASE("bit errors come at the rate asked for, and each parity octet finds those under it") {
  SonetPathConfig config;
  config.bit_error_rate = 1e-7;
  const int64_t n = 80'000;  // ten seconds: 24,883,200,000 bits, 2488 errors
  const Carried got = carry(config, n, 0, 0, false, 7);
  uint64_t b1 = 0, b2 = 0, b3 = 0, framing = 0;
  for (const SonetFrame& f : got.sonet) b1 += f.b1, b2 += f.b2, b3 += f.b3, framing += !f.framing;
  REQUIRE(got.sonet.size() == static_cast<size_t>(n));
  const auto errors = got.counters.at("bit_errors");
  CHECK(about(errors, 2488.3));
  // Two errors under one parity bit hide each other: in 1 frame of 32 that has one is a second, 1 in 8 of these fits.
  CHECK(b1 <= errors);
  CHECK((errors - b1) % 2 == 0);
  CHECK(b1 > errors * 97 / 100);
  // Line parity leaves out the section's rows: 3 of 144 columns; path parity all transport overhead.
  CHECK(about(b2, 2488.3 * (38'880 - 3 * 144) / 38'880));
  CHECK(about(b3, 2488.3 * 37'584 / 38'880));
  CHECK(framing <= 10);  // 4 octets of 38,880: 0.26 expected
}

TEST_CASE("a frame is spoilt by an error in its octets or flags, and scrambled by an echo too") {
  SonetPathConfig config;
  config.bit_error_rate = 1e-5;
  for (const bool scrambled : {false, true}) {
    // 20 frames of 1000 octets each 125 us, far from each other; with their two flags 8016 bits; an echo reaches 43
    // bits further.
    const Carried got = carry(config, 2000, 20, 1000, scrambled);
    const double bits = 8016 + (scrambled ? 43 : 0);
    uint64_t bad = 0;
    for (const WireFrame& f : got.frames) bad += (f.flags & kFrameBadFcs) != 0;
    CHECK(about(bad, 40'000 * (1 - std::exp(-1e-5 * bits))));
    CHECK(got.counters.at("damaged") == bad);
    CHECK(got.counters.at("offered") == 40'000);
    CHECK(got.counters.at("delivered") == 40'000);
  }
}

TEST_CASE("the same errors come however the calls are cut; another seed has others") {
  SonetPathConfig config;
  config.bit_error_rate = 1e-5;
  const auto flags = [&](int64_t cut) {
    std::vector<uint32_t> all;
    for (const WireFrame& f : carry(config, 500, 10, 2000, true, cut).frames) all.push_back(f.flags);
    return all;
  };
  const auto once = flags(1);
  CHECK(once == flags(13));
  config.seed = 2;
  CHECK(once != flags(1));
}

TEST_CASE("faults mark their SONET frames; payload is lost in darkness and under AIS, not under spoilt framing") {
  for (const auto what : {SonetFault::What::kLos, SonetFault::What::kLof, SonetFault::What::kAisP}) {
    SonetPathConfig config;
    config.faults.push_back({what, 3, 5});
    const Carried got = carry(config, 10, 4, 500, false);
    const bool lof = what == SonetFault::What::kLof;
    for (const SonetFrame& f : got.sonet) {
      const bool in = f.number >= 3 && f.number <= 5;
      CHECK(f.light == !(in && what == SonetFault::What::kLos));
      CHECK(f.framing == !(in && lof));
      CHECK(f.ais == (in && what == SonetFault::What::kAisP));
    }
    CHECK(got.frames.size() == (lof ? 40u : 28u));
    CHECK(got.counters.at("lost") == (lof ? 0u : 12u));
    CHECK(got.counters.at("offered") == 40);
  }
}

TEST_CASE("a description of a line is read strictly") {
  const auto good = SonetPath::parse(R"({"seed": 9, "delay_us": 12.5, "bit_error_rate": 1e-9,
    "faults": [{"what": "los", "at_us": 1000, "for_us": 250}, {"what": "ais-p", "at_us": 1001, "for_us": 124}]})",
                                     "x");
  REQUIRE(good);
  CHECK(good->seed == 9);
  CHECK(good->delay == 12'500'000);
  // 1000..1250 us are SONET frames 8 and 9; 1001..1125 lie in frame 8.
  REQUIRE(good->faults.size() == 2);
  CHECK((good->faults[0].first == 8 && good->faults[0].last == 9));
  CHECK((good->faults[1].first == 8 && good->faults[1].last == 8));
  for (const auto& [text, part] : {std::pair{"[", "not JSON"},
                                   {"[]", "must be an object"},
                                   {R"({"hops": []})", "unknown key"},
                                   {R"({"bit_error_rate": 0.1})", "bit_error_rate is 0.1"},
                                   {R"({"bit_error_rate": 1e-20})", "below 1e-14"},
                                   {R"({"delay_us": 1e6})", "delay_us is 1000000"},
                                   {R"({"faults": {}})", "faults must be a list"},
                                   {R"({"faults": [{"what": "lop"}]})", "what is \"lop\"; allowed: los, lof, ais-p"},
                                   {R"({"faults": [{"what": "los", "for": 1}]})", "unknown key"}}) {
    INFO(text);
    const auto bad = SonetPath::parse(text, "x");
    REQUIRE_FALSE(bad);
    CHECK(bad.error().starts_with("path=x"));
    CHECK(bad.error().find(part) != std::string::npos);
    CHECK(bad.error().find('\n') == std::string::npos);
  }
}
