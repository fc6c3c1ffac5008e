// SPDX-License-Identifier: BSD-3-Clause
#include "apcm/histogram.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <random>
#include <vector>

using apcm::Histogram;

TEST_CASE("every value lies in its bucket and buckets are narrower than 0.2 % of their values") {
  std::mt19937_64 random(1);
  for (int i = 0; i < 200'000; ++i) {
    const uint64_t v = random() >> (random() % 64);
    const uint32_t b = Histogram::index(v);
    REQUIRE(Histogram::low(b) <= v);
    REQUIRE(b < Histogram::kBuckets);
    if (b == Histogram::kBuckets - 1) continue;  // ends with the 64 bits
    REQUIRE(v < Histogram::low(b + 1));
    // The middle of a bucket is at most half its width away: 0.1 %.
    if (v >= 1024) REQUIRE((Histogram::low(b + 1) - Histogram::low(b)) * 500 <= Histogram::low(b));
  }
}

TEST_CASE("percentiles agree with a sorted list within 0.1 %, minimum, maximum, mean and count exactly") {
  std::mt19937_64 random(2);
  Histogram h;
  std::vector<uint64_t> all;
  uint64_t sum = 0;
  for (int i = 0; i < 50'000; ++i) {
    const uint64_t v = random() % (uint64_t{1} << (10 + random() % 30));
    all.push_back(v);
    sum += v;
    h.record(v);
  }
  std::sort(all.begin(), all.end());
  REQUIRE(h.count() == all.size());
  REQUIRE(*h.min() == all.front());
  REQUIRE(*h.max() == all.back());
  REQUIRE(*h.mean() == sum / all.size());
  for (const double p : {0.1, 1.0, 25.0, 50.0, 90.0, 99.0, 99.9, 100.0}) {
    const auto rank = static_cast<size_t>(std::max(1.0, std::ceil(p / 100 * static_cast<double>(all.size()))));
    const auto truth = static_cast<double>(all[rank - 1]);
    REQUIRE(std::abs(static_cast<double>(*h.percentile(p)) - truth) <= truth * 0.001 + 1);
  }
}

TEST_CASE("merging two histograms is recording both") {
  Histogram a, b, both;
  for (uint64_t v : {5u, 70'000u, 900u}) a.record(v), both.record(v);
  for (uint64_t v : {1u, 123'456'789u}) b.record(v), both.record(v);
  a.merge(b);
  REQUIRE(a.count() == 5);
  REQUIRE(*a.min() == 1);
  REQUIRE(*a.max() == 123'456'789);
  REQUIRE(*a.mean() == *both.mean());
  REQUIRE(*a.percentile(50) == *both.percentile(50));
}

TEST_CASE("an empty histogram has no minimum, mean or percentile") {
  const Histogram h;
  REQUIRE_FALSE(h.min());
  REQUIRE_FALSE(h.mean());
  REQUIRE_FALSE(h.percentile(50));
}

TEST_CASE("values of hours and days keep their percentiles within 0.1 %") {
  Histogram h;
  constexpr uint64_t kHour = 3'600'000'000'000'000;  // in picoseconds
  for (uint64_t i = 1; i <= 100; ++i) h.record(i * kHour);
  REQUIRE(std::abs(static_cast<double>(*h.percentile(50)) / (50.0 * kHour) - 1) <= 0.001);
  h.record(UINT64_MAX);
  REQUIRE(*h.percentile(100) <= *h.max());
  REQUIRE(*h.max() == UINT64_MAX);
}

TEST_CASE("walking the buckets gives every value once, in order") {
  Histogram h;
  for (uint64_t v : {3u, 3u, 5000u, 0u, 1'000'000u}) h.record(v);
  uint64_t count = 0, last = 0;
  h.each([&](uint64_t low, uint64_t high, uint64_t n) {
    REQUIRE(low >= last);
    REQUIRE(high > low);
    last = high;
    count += n;
  });
  REQUIRE(count == 5);
}
