// SPDX-License-Identifier: BSD-3-Clause
#include "path.h"

#include <algorithm>
#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <deque>
#include <map>
#include <random>

#include "card.h"

using namespace awing::hw;

namespace {

struct Frame {
  Ps start;
  uint32_t len;
  uint32_t flags;
  uint32_t id;  // written into its first and last octets
  friend bool operator==(const Frame&, const Frame&) = default;
};

std::ostream& operator<<(std::ostream& out, const Frame& f) {
  return out << "{" << f.start << ", " << f.len << ", " << f.flags << ", #" << f.id << "}";
}

std::unique_ptr<Path> path_of(const std::string& json) {
  auto path = Path::from_json(json, "test");
  if (!path) FAIL(path.error());
  return std::move(*path);
}

uint64_t counter(const Path& path, const std::string& name) {
  for (const auto& [key, value] : path.counters())
    if (key == name) return value;
  FAIL("no counter " << name);
  return 0;
}

/// Back-to-back or spaced frames of a card, `gap` picoseconds from start to start at least.
std::vector<Frame> traffic(size_t count, uint32_t len, Ps distance) {
  std::vector<Frame> frames;
  for (uint32_t i = 0; i < count; ++i) frames.push_back({static_cast<Ps>(i) * distance, len, 0, i});
  return frames;
}

std::vector<Frame> random_traffic(std::mt19937_64& draw, size_t count) {
  std::vector<Frame> frames;
  Ps t = 0;
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t len = draw() % 8 == 0 ? 60 + draw() % 16'000 : 60 + draw() % 1500;
    frames.push_back({t, len, 0, i});
    t += static_cast<Ps>(len + 24) * 800 + (draw() % 4 == 0 ? static_cast<Ps>(draw() % 3'000'000) : 0);
  }
  return frames;
}

/// Sends frames through a path; with `cuts`, advance() is called at random moments and `out` is emptied now and then.
std::vector<Frame> run(Path& path, const std::vector<Frame>& frames, std::mt19937_64* cuts = nullptr, Ps in_delay = 0,
                       size_t out_bytes = 1 << 20) {
  Link in(1 << 18, in_delay), out(out_bytes, 5'000);
  std::vector<Frame> got;
  uint64_t pos = 0;
  Ps promised = 0;
  const auto drain = [&] {
    for (; !out.empty(); out.pop()) {
      const WireFrame f = out.front();
      const uint8_t* data = out.bytes(f.pos);
      uint32_t first = 0, last = 0;
      std::memcpy(&first, data, 4);
      std::memcpy(&last, data + f.len - 4, 4);
      REQUIRE(first == last);
      got.push_back({f.start, f.len, f.flags, first});
      out.release(f.pos + f.len);
    }
  };
  const auto advance = [&](Ps known) {
    in.set_known_until(known);
    const uint64_t before = out.size();
    path.advance(in, out);
    for (uint64_t i = before; i < out.size(); ++i) REQUIRE(out.peek(i).start >= promised);  // known means known
    REQUIRE((in.empty() || in.front().start >= known));                                     // what is settled was taken
    promised = out.known_until();
    if (!cuts || (*cuts)() % 3 == 0) drain();
  };
  for (const Frame& f : frames) {
    if (in.size() > 100 || in.room(pos) < f.len) advance(f.start);
    if (cuts && (*cuts)() % 3 == 0) {
      const Ps from = in.known_until();
      advance(from + static_cast<Ps>((*cuts)() % static_cast<uint64_t>(f.start - from + 1)));
    }
    if (cuts && (*cuts)() % 3 == 0) advance(f.start);
    uint8_t* data = in.bytes(pos);
    std::memset(data, 0, f.len);
    std::memcpy(data, &f.id, 4);
    std::memcpy(data + f.len - 4, &f.id, 4);
    in.push({f.start, pos, f.len, f.flags});
    pos += f.len;
    if (!cuts) advance(f.start + 1);
  }
  for (int i = 0; i < 100'000 && (i == 0 || counter(path, "inside") != 0); ++i) {
    advance(in.known_until() + 100 * kPsPerMs);
    drain();
  }
  drain();
  REQUIRE(std::is_sorted(got.begin(), got.end(), [](const Frame& a, const Frame& b) { return a.start < b.start; }));
  return got;
}

}  // namespace

TEST_CASE("an empty path delays and changes nothing else") {
  auto path = path_of(R"({"delay_us": 12.5})");
  auto frames = traffic(1000, 60, 67'200);
  const auto got = run(*path, frames, nullptr, 7'000);
  for (Frame& f : frames) f.start += 7'000 + 12'500'000;
  CHECK(got == frames);
}

TEST_CASE("one 10 Gb/s hop stores each frame, then forwards it") {
  // 64 octets with FCS: the last of 72 octets arrives 57.6 ns after the start: 57600 ps = 18 columns exactly.
  auto path = path_of(R"({"hops": [{}]})");
  const auto got = run(*path, {{0, 60, 0, 0}, {1'000'000, 60, 0, 1}, {2'000'001, 1514, 0, 2}});
  REQUIRE(got.size() == 3);
  CHECK(got[0].start == 57'600);
  CHECK(got[1].start == 1'059'200);  // 1057600 is column 330.5: the next column is 331
  CHECK(got[2].start == 3'222'400);  // 2000001 + 1526 * 800 = 3220801, column 1006.5: 1007
}

TEST_CASE("a burst leaves a 10 Gb/s hop at wire rate: 67.2 ns; 1228.8 and 1232.0 ns in turn") {
  // Offered by a hop of 40 Gb/s in front, so that they queue.
  auto path = path_of(R"({"hops": [{"rate_gbps": 40}, {"rate_gbps": 10}]})");
  const auto small = run(*path, traffic(200, 60, 67'200));
  for (size_t i = 1; i < small.size(); ++i) REQUIRE(small[i].start - small[i - 1].start == 67'200);

  // All frames doubled: the line is offered twice what it carries, and is never idle.
  auto full = path_of(R"({"duplicate": 1, "hops": [{"queue_kB": 4096}]})");
  const auto large = run(*full, traffic(200, 1514, 1'230'400));
  REQUIRE(large.size() == 400);
  for (size_t i = 1; i < large.size(); ++i)
    REQUIRE(large[i].start - large[i - 1].start == (i % 2 ? 1'228'800 : 1'232'000));
}

TEST_CASE("a slower hop spaces frames by its exact octet time") {
  // 1 Gb/s: 1538 octets of 8 ns are 12304 ns. 3 Gb/s: 1538 * 8 / 3 ns = 4101.333.. ns: 3 frames in 12304 ns exactly.
  for (const auto& [rate, frames] : {std::pair{"1", 1}, {"3", 3}}) {
    auto path = path_of(std::string(R"({"hops": [{"rate_gbps": )") + rate + R"(, "queue_kB": 4096}]})");
    const auto got = run(*path, traffic(300, 1514, 1'230'400));
    REQUIRE(got.size() == 300);
    const auto n = static_cast<size_t>(frames);
    for (size_t i = n; i < got.size(); ++i) REQUIRE(got[i].start - got[i - n].start == 12'304'000);
  }
}

TEST_CASE("a full queue drops the frame that comes, and only as many as do not fit") {
  // 17 kB = 17408 octets hold 11 frames of 1518. At 1 Gb/s the first frame is on the line for 12.2 us while a frame
  // comes each 1.23 us: after the first, 11 wait. Frame 12 comes 12 * 1230.4 = 14764.8 ns after frame 0; the line took
  // frame 1 12304 ns after frame 0, so there is room again: 12 in, and frame 11, come before that, is in too.
  auto path = path_of(R"({"hops": [{"rate_gbps": 1, "queue_kB": 17}]})");
  const auto got = run(*path, traffic(40, 1514, 1'230'400));
  CHECK(counter(*path, "hop1_queue_drops") + got.size() == 40);
  // By 39 * 1230.4 = 47985.6 ns the line has taken 1 + floor(47985.6 / 12304) = 4 frames; 11 more fit: 15.
  CHECK(got.size() == 15);
}

TEST_CASE("hops agree with a naive simulation octet by octet") {
  // Oracle: every frame is an event in a list; times are fractions of 1/rate ps; queues are recounted at every arrival.
  std::mt19937_64 draw(11);
  for (int round = 0; round < 60; ++round) {
    struct Node {
      uint64_t rate;
      uint64_t queue;
    };
    std::vector<Node> nodes;
    const size_t hops = 1 + draw() % 3;
    std::string json = R"({"hops": [)";
    for (size_t i = 0; i < hops; ++i) {
      const uint64_t rates[] = {10'000, 1'000, 2'500, 3'000, 9'999};
      nodes.push_back({rates[draw() % 5] * 1'000'000, 17 + draw() % 64});
      json += std::string(i ? "," : "") + R"({"rate_gbps": )" +
              std::to_string(static_cast<double>(nodes[i].rate) / 1e9) + R"(, "queue_kB": )" +
              std::to_string(nodes[i].queue) + "}";
    }
    json += "]}";
    const auto frames = random_traffic(draw, 300);
    std::multimap<Ps, Frame> arrivals;
    for (const Frame& f : frames) arrivals.emplace(f.start + static_cast<Ps>(f.len + 12) * 800, f);
    std::vector<Frame> expected;
    uint64_t dropped = 0;
    for (size_t i = 0; i < hops; ++i) {
      const U128 rate = nodes[i].rate;
      U128 free = 0;  // in 1/rate ps
      int64_t debt = 0;
      std::vector<std::pair<U128, uint64_t>> sent;  // start in 1/rate ps, octets
      std::multimap<Ps, Frame> next;
      for (const auto& [t, f] : arrivals) {
        uint64_t waiting = 0;
        for (const auto& [start, octets] : sent)
          if (start / rate > static_cast<U128>(t)) waiting += octets;
        if (waiting + f.len + 4 > nodes[i].queue * 1024) {
          ++dropped;
          continue;
        }
        U128 start = static_cast<U128>(t) * rate;
        const U128 octet = static_cast<U128>(8) * 1'000'000'000'000;
        if (rate == 10'000'000'000) {
          const U128 column = 4 * octet;
          start = (start + column - 1) / column * column;
          if (start > free) debt = 0;
          start = std::max(start, free);
          // 802.3 46.3.1.4: drop up to 3 octets of the 12, as long as no more than 3 are owed.
          int64_t distance = 8 + f.len + 4 + 12, over = distance % 4;
          if (debt + over <= 3)
            debt += over, distance -= over;
          else
            debt -= 4 - over, distance += 4 - over;
          free = start + static_cast<U128>(distance) * octet;
        } else {
          start = std::max(start, free);
          free = start + static_cast<U128>(8 + f.len + 4 + 12) * octet;
        }
        sent.emplace_back(start, f.len + 4);
        const U128 end = start + static_cast<U128>(f.len + 12) * octet;
        if (i + 1 < hops)
          next.emplace(static_cast<Ps>((end + rate - 1) / rate), f);
        else
          expected.push_back({static_cast<Ps>(start / rate), f.len, 0, f.id});
      }
      arrivals = next;
    }
    auto path = path_of(json);
    const auto got = run(*path, frames);
    INFO(json);
    REQUIRE(got == expected);
    uint64_t drops = 0;
    for (size_t i = 1; i <= hops; ++i) drops += counter(*path, "hop" + std::to_string(i) + "_queue_drops");
    REQUIRE(drops == dropped);
  }
}

namespace {
std::string random_path(std::mt19937_64& draw) {
  const auto chance = [&] { return std::to_string(static_cast<double>(draw() % 1000) / 4000); };
  std::string json = R"({"seed": )" + std::to_string(draw()) + R"(, "delay_us": )" + std::to_string(draw() % 200);
  if (draw() % 2) json += R"(, "loss": )" + chance();
  if (draw() % 2) json += R"(, "duplicate": )" + chance();
  if (draw() % 2) json += R"(, "corrupt": )" + chance();
  if (draw() % 2)
    json += R"(, "reorder": {"probability": )" + chance() + R"(, "extra_us": )" + std::to_string(draw() % 30) + "}";
  json += R"(, "hops": [)";
  const size_t hops = draw() % 4;
  for (size_t i = 0; i < hops; ++i) {
    const char* rates[] = {"10", "1", "2.5", "7.77"};
    const char* patterns[] = {"poisson", "cbr", "burst"};
    json += std::string(i ? "," : "") + R"({"rate_gbps": )" + rates[draw() % 4] + R"(, "queue_kB": )" +
            std::to_string(17 + draw() % 100);
    if (draw() % 2)
      json += R"(, "cross": {"rate_gbps": 0.9, "pattern": ")" + std::string(patterns[draw() % 3]) + R"(", "frame": )" +
              std::to_string(64 + draw() % 3000) + R"(, "burst": )" + std::to_string(1 + draw() % 20) + "}";
    json += "}";
  }
  return json + "]}";
}
}  // namespace

TEST_CASE("how the calls are cut, and how little room is behind, changes no frame") {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    std::mt19937_64 draw(seed);
    const std::string json = random_path(draw);
    const auto frames = random_traffic(draw, 400);
    INFO(json);
    const auto whole = run(*path_of(json), frames);
    std::mt19937_64 cuts(seed + 1000);
    REQUIRE(run(*path_of(json), frames, &cuts) == whole);
    REQUIRE(run(*path_of(json), frames, &cuts, 0, 32'768) == whole);  // held inside when the link is full
  }
}

TEST_CASE("every frame is delivered or counted once") {
  for (uint64_t seed = 100; seed < 160; ++seed) {
    std::mt19937_64 draw(seed);
    const std::string json = random_path(draw);
    INFO(json);
    auto path = path_of(json);
    Link in(1 << 18, 0), out(1 << 16, 0);
    uint64_t pos = 0;
    for (const Frame& f : random_traffic(draw, 300)) {
      in.push({f.start, pos, f.len, 0});
      pos += f.len;
      in.set_known_until(f.start + 1);
      path->advance(in, out);
      uint64_t right = 0;
      std::map<std::string, uint64_t> c;
      for (const auto& [name, value] : path->counters()) {
        c[name] = value;
        if (name == "delivered" || name == "inside" || name == "lost" || name.ends_with("queue_drops")) right += value;
      }
      REQUIRE(c["offered"] + c["duplicated"] == right);
      for (int hop = 1; c.count("hop" + std::to_string(hop) + "_cross_offered"); ++hop) {
        const std::string name = "hop" + std::to_string(hop) + "_cross_";
        REQUIRE(c[name + "offered"] == c[name + "forwarded"] + c[name + "drops"]);
      }
      if (draw() % 2)
        for (; !out.empty(); out.pop()) out.release(out.front().pos + out.front().len);
    }
  }
}

TEST_CASE("loss, doubling, damage and reordering come as often as asked") {
  // 20000 draws at p = 0.25: standard deviation sqrt(20000 * 0.1875) = 61; five of them are 306.
  auto lossy = path_of(R"({"loss": 0.25})");
  CHECK(std::abs(static_cast<int>(run(*lossy, traffic(20'000, 60, 67'200)).size()) - 15'000) < 306);
  auto twice = path_of(R"({"duplicate": 0.25})");
  CHECK(std::abs(static_cast<int>(run(*twice, traffic(20'000, 60, 200'000)).size()) - 25'000) < 306);
  auto damaged = path_of(R"({"corrupt": 0.25})");
  const auto bad = run(*damaged, traffic(20'000, 60, 67'200));
  CHECK(std::abs(
            static_cast<int>(std::count_if(bad.begin(), bad.end(), [](auto& f) { return f.flags == kFrameBadFcs; })) -
            5'000) < 306);
  auto late = path_of(R"({"reorder": {"probability": 0.25, "extra_us": 1}})");
  const auto mixed = run(*late, traffic(20'000, 60, 400'000));
  CHECK(mixed.size() == 20'000);
  int overtaken = 0;  // 1 us late at 0.4 us spacing: the next one, prompt with p = 0.75, is first
  for (size_t i = 1; i < mixed.size(); ++i) overtaken += mixed[i].id < mixed[i - 1].id;
  CHECK(overtaken > 3'000);
  for (const Frame& f : mixed) {
    const Ps delay = f.start - static_cast<Ps>(f.id) * 400'000;
    REQUIRE((delay == 0 || delay == 1'000'000));
  }
  CHECK(run(*path_of(R"({"loss": 1})"), traffic(100, 60, 67'200)).empty());
}

TEST_CASE("without hops, frames that meet on the line leave at least 5 octets of idle") {
  auto path = path_of(R"({"duplicate": 1})");
  const auto got = run(*path, traffic(100, 60, 67'200));
  REQUIRE(got.size() == 200);
  for (size_t i = 1; i < got.size(); ++i) REQUIRE(got[i].start - got[i - 1].start == (72 + 5) * 800);
}

TEST_CASE("the generator is xoshiro256** seeded by splitmix64") {
  // From state {1, 2, 3, 4}: rotl(2 * 5, 7) * 9 = 11520; the others as published with the reference code.
  Random draw(1, 2, 3, 4);
  for (uint64_t expected :
       {uint64_t{11'520}, uint64_t{0}, uint64_t{1'509'978'240}, uint64_t{1'215'971'899'390'074'240}})
    CHECK(draw() == expected);
  // splitmix64 from 0 begins e220a8397b1dcdaf, 6e789e6aa1b965f4: the first output is rotl(second * 5, 7) * 9.
  CHECK(Random(0)() == std::rotl(uint64_t{0x6E789E6AA1B965F4} * 5, 7) * 9);
}

TEST_CASE("the exponential is -ln of an even number") {
  std::mt19937_64 draw(5);
  double sum = 0, squares = 0;
  const auto check = [](uint64_t u) {
    const long double exact = 64 * std::log(2.0L) - std::log(static_cast<long double>(u));
    const long double ours = static_cast<long double>(exponential(u)) / 4294967296.0L;
    REQUIRE(std::fabs(static_cast<double>(exact - ours)) < 1.0 / 2147483648.0);
  };
  for (uint64_t u : {uint64_t{1}, uint64_t{2}, uint64_t{3}, uint64_t{1} << 63, (uint64_t{1} << 63) - 1, UINT64_MAX})
    check(u);
  const int n = 200'000;
  for (int i = 0; i < n; ++i) {
    const uint64_t u = draw() | 1;
    check(u);
    const double e = static_cast<double>(exponential(u)) / 4294967296.0;
    sum += e, squares += e * e;
  }
  CHECK(sum / n == Approx(1).epsilon(0.01));      // mean 1
  CHECK(squares / n == Approx(2).epsilon(0.03));  // E[x^2] = 2
}

TEST_CASE("cross traffic runs at its rate, whatever the pattern") {
  // 4 Gb/s of 1538 octets for 100 ms: 4e8 / 12304 = 32510 frames.
  for (const char* pattern : {"poisson", "cbr", "burst"}) {
    auto path = path_of(std::string(R"({"seed": 7, "hops": [{"cross": {"rate_gbps": 4, "burst": 16, "pattern": ")") +
                        pattern + R"("}}]})");
    run(*path, traffic(2'000, 60, 50'000'000));
    const double frames = static_cast<double>(counter(*path, "hop1_cross_offered"));
    // The harness lets another 100 ms pass at the end, of which one call computes 4096 frames.
    INFO(pattern);
    CHECK(frames - 4096 == Approx(32'510).epsilon(pattern == std::string("cbr") ? 0.001 : 0.05));
    CHECK(counter(*path, "hop1_cross_drops") == 0);
  }
}

TEST_CASE("frames wait behind Poisson traffic as long as queueing theory says") {
  // M/D/1 seen by rare arrivals: W = rho S / (2 (1 - rho)). rho = 0.5, S = 1230.4 ns: 615.2 ns. Alignment to the column
  // of 3.2 ns adds 1.6 ns in the mean. Own frames are 60 octets each 50 us: 0.13 % of the line.
  auto path = path_of(R"({"hops": [{"queue_kB": 4096, "cross": {"rate_gbps": 5}}]})");
  std::mt19937_64 draw(3);
  std::vector<Frame> frames;
  Ps t = 0;
  for (uint32_t i = 0; i < 40'000; ++i) {
    frames.push_back({t, 60, 0, i});
    t += 40'000'000 + static_cast<Ps>(draw() % 20'000'000);
  }
  const auto got = run(*path, frames);
  REQUIRE(got.size() == frames.size());
  double wait = 0;
  for (size_t i = 0; i < got.size(); ++i) wait += static_cast<double>(got[i].start - frames[i].start - 57'600);
  CHECK(wait / static_cast<double>(got.size()) / 1000 == Approx(616.8).epsilon(0.03));
}

TEST_CASE("a long silence costs bounded work at once") {
  auto path = path_of(R"({"hops": [{"cross": {"rate_gbps": 9, "frame": 64}}]})");
  Link in(4096, 0), out(4096, 0);
  in.set_known_until(kForever);
  path->advance(in, out);
  CHECK(counter(*path, "hop1_cross_offered") <= 4096);
  CHECK(out.known_until() >= kForever);
}

TEST_CASE("what a description may not say is refused in one line with what is allowed") {
  const auto refused = [](const std::string& json, std::initializer_list<const char*> parts) {
    auto path = Path::from_json(json, "net.json");
    INFO(json);
    REQUIRE_FALSE(path);
    INFO(path.error());
    CHECK(path.error().find('\n') == std::string::npos);
    CHECK(path.error().find("net.json") != std::string::npos);
    for (const char* part : parts) CHECK(path.error().find(part) != std::string::npos);
  };
  refused("", {"not JSON"});
  refused("{\"seed\": 1,\n", {"not JSON", "line 2"});
  refused("[]", {"object"});
  refused(R"({"sead": 1})", {"\"sead\"", "seed, delay_us, loss"});
  refused(R"({"loss": 1.5})", {"loss", "1.5", "0 to 1"});
  refused(R"({"loss": "1"})", {"loss", "\"1\""});
  refused(R"({"delay_us": -1})", {"delay_us", "-1", "0 to 1000000"});
  refused(R"({"seed": -1})", {"seed"});
  refused(R"({"seed": 1.5})", {"seed"});
  refused(R"({"hops": {}})", {"hops", "list"});
  refused(R"({"hops": [1]})", {"hops[0]", "object"});
  refused(R"({"hops": [{}, {"rate_gbps": 0}]})", {"hops[1]", "rate_gbps", "0.001 to 10"});
  refused(R"({"hops": [{"rate_gbps": 40}]})", {"hops[0]", "rate_gbps", "40"});
  refused(R"({"hops": [{"queue_kB": 1}]})", {"queue_kB", "17 to 65536"});
  refused(R"({"hops": [{"queue": 1}]})", {"\"queue\"", "rate_gbps, queue_kB, cross"});
  refused(R"({"hops": [{"cross": {"pattern": "pareto"}}]})", {"hops[0].cross", "pareto", "poisson, cbr, burst"});
  refused(R"({"hops": [{"cross": {"frame": 63}}]})", {"frame", "63", "64 to 16384"});
  refused(R"({"hops": [{"rate_gbps": 1, "cross": {"rate_gbps": 1, "pattern": "burst"}}]})", {"burst", "below"});
  refused(R"({"reorder": {"probability": 2}})", {"reorder", "probability"});
  refused(R"({"reorder": 0.1})", {"reorder", "object"});
  CHECK_FALSE(Path::from_file("/nonexistent/net.json"));
  CHECK_FALSE(Path::from_file("/"));
}
