// SPDX-License-Identifier: BSD-3-Clause
#include "hop.h"

#include <algorithm>
#include <array>
#include <bit>

#include "card.h"

namespace awing::hw {

namespace {

constexpr Ps kColumn = 3'200;                                           // 4 octets at 10 Gb/s
constexpr uint32_t kGap = 12;                                           // mean octets between frames
constexpr uint64_t kPsPerOctet = 8 * static_cast<uint64_t>(kPsPerSec);  // divided by the rate

/// ln(1 + i/256) in 2^-60, i = 0..256, by ln x = 2 artanh((x - 1) / (x + 1)).
constexpr auto kLogs = [] {
  std::array<uint64_t, 257> logs{};
  for (uint64_t i = 1; i <= 256; ++i) {
    const uint64_t z = static_cast<uint64_t>((static_cast<U128>(i) << 60) / (512 + i));
    uint64_t power = z, sum = 0;
    for (uint64_t n = 1; power != 0; n += 2) {
      sum += power / n;
      power = static_cast<uint64_t>((static_cast<U128>(power) * z) >> 60);
      power = static_cast<uint64_t>((static_cast<U128>(power) * z) >> 60);
    }
    logs[i] = 2 * sum;
  }
  return logs;
}();
/// 2^63 / (1 + i/256).
constexpr auto kInverses = [] {
  std::array<uint64_t, 256> inverses{};
  for (uint64_t i = 0; i < 256; ++i) inverses[i] = static_cast<uint64_t>((static_cast<U128>(256) << 63) / (256 + i));
  return inverses;
}();

constexpr uint64_t high(uint64_t a, uint64_t b) { return static_cast<uint64_t>((static_cast<U128>(a) * b) >> 64); }

}  // namespace

uint64_t exponential(uint64_t u) {
  // u = m 2^-zeros with m/2^63 in [1, 2); m = (1 + i/256) (1 + x) with 0 <= x < 2^-8.
  const int zeros = std::countl_zero(u);
  const uint64_t m = u << zeros;
  const uint64_t i = (m >> 55) & 0xFF;
  const uint64_t x = high(m & ((uint64_t{1} << 55) - 1), kInverses[i]) << 2;  // in 2^-64 : 63 + 63 - 64 = 62, two left
  // ln(1 + x) = x - x^2/2 + x^3/3 - x^4/4, the rest below 2^-42.
  const uint64_t x2 = high(x, x), x3 = high(x2, x), x4 = high(x2, x2);
  const uint64_t log_x = (x - x2 / 2 + x3 / 3 - x4 / 4) >> 4;  // in 2^-60
  // -ln(u / 2^64) = (zeros + 1) ln 2 - ln(m / 2^63).
  const U128 sum = static_cast<U128>(zeros + 1) * kLogs[256] - kLogs[i] - log_x;
  return static_cast<uint64_t>(sum >> 28);
}

// --- the line -------------------------------------------------------------------------------------------------------

Ps OutputLine::duration(uint32_t octets) const { return static_cast<Ps>(octets * kPsPerOctet / rate_); }

OutputLine::Sent OutputLine::send(Ps ready, uint32_t len) {
  const uint32_t octets = kPreamble + len + kFcs;
  if (rate_ == kTenGigabit) {
    const int64_t q = std::max((ready + kColumn - 1) / kColumn, earliest_);
    if (q > earliest_) idle_.deficit = 0;  // the line idled: nothing is owed
    earliest_ = q + idle_.next(len + kFcs);
    return {q * kColumn, q * kColumn + 800 * static_cast<Ps>(octets)};
  }
  Ps start = free_;
  uint64_t part = free_part_;
  if (ready > free_) start = ready, part = 0;
  const uint64_t end = part + octets * kPsPerOctet;
  const uint64_t next = end + kGap * kPsPerOctet;
  free_ = start + static_cast<Ps>(next / rate_);
  free_part_ = next % rate_;
  return {start, start + static_cast<Ps>((end + rate_ - 1) / rate_)};
}

// --- the hop --------------------------------------------------------------------------------------------------------

Hop::Hop(const HopConfig& config, uint64_t seed) : config_(config), line_(config.rate_bps), random_(seed) {
  const CrossTraffic& cross = config_.cross;
  if (cross.rate_bps == 0) return;
  const uint64_t octets = kPreamble + cross.len + kFcs + kGap;
  const auto mean = static_cast<uint64_t>((static_cast<U128>(octets * kPsPerOctet) << 12) / cross.rate_bps);
  mean_gap_ = mean;
  cross_at_ = 0;
  switch (cross.pattern) {
    case CrossTraffic::Pattern::kCbr:
      cross_at_ = static_cast<Ps>(high(random_(), mean >> 12));
      break;
    case CrossTraffic::Pattern::kPoisson:
      cross_at_ = exponential_gap();
      break;
    case CrossTraffic::Pattern::kBurst: {
      // What is left of the mean time of a burst when its frames have passed at the rate of the hop.
      const auto own = static_cast<uint64_t>((static_cast<U128>(octets * kPsPerOctet) << 12) / config_.rate_bps);
      mean_gap_ = mean > own ? (mean - own) * cross.burst : 0;
      cross_left_ = cross.burst - 1;
      cross_at_ = exponential_gap();
      break;
    }
  }
}

Ps Hop::least_duration() const { return line_.duration(kPreamble + kMinFrame + kFcs); }

Ps Hop::exponential_gap() {
  const uint64_t u = random_() | 1;  // never zero
  return static_cast<Ps>((static_cast<U128>(mean_gap_) * exponential(u)) >> (12 + 32));
}

/// Moves the next arrival by the exact time of `octets` at a rate.
void Hop::step(uint64_t octets, uint64_t rate_bps) {
  const uint64_t whole = cross_part_ + octets * kPsPerOctet;
  cross_at_ += static_cast<Ps>(whole / rate_bps);
  cross_part_ = whole % rate_bps;
}

void Hop::next_cross() {
  const CrossTraffic& cross = config_.cross;
  const uint64_t octets = kPreamble + cross.len + kFcs + kGap;
  switch (cross.pattern) {
    case CrossTraffic::Pattern::kCbr:
      step(octets, cross.rate_bps);
      break;
    case CrossTraffic::Pattern::kPoisson:
      cross_at_ += exponential_gap();
      break;
    case CrossTraffic::Pattern::kBurst:
      step(octets, config_.rate_bps);
      if (cross_left_-- != 0) break;
      cross_left_ = cross.burst - 1;
      cross_at_ += exponential_gap();
      break;
  }
}

bool Hop::enqueue(Ps t, uint32_t len, OutputLine::Sent& sent) {
  for (; !queue_.empty() && queue_.front().start <= t; queue_.pop()) queued_ -= queue_.front().octets;
  if (queued_ + len + kFcs > config_.queue_bytes) return false;
  // First in, first out, and nothing overtakes: the start is settled on arrival.
  sent = line_.send(t, len);
  if (sent.start > t) {
    queue_.push({sent.start, len + kFcs});
    queued_ += len + kFcs;
  }
  return true;
}

void Hop::run_cross(Ps t, uint64_t budget) {
  OutputLine::Sent sent;
  for (; cross_at_ < t && budget != 0; --budget) {
    ++cross_offered_;
    if (!enqueue(cross_at_, config_.cross.len, sent)) ++cross_drops_;
    next_cross();
  }
}

bool Hop::forward(Ps t, uint32_t len, OutputLine::Sent& sent) {
  run_cross(t, UINT64_MAX);
  if (enqueue(t, len, sent)) return true;
  ++drops_;
  return false;
}

}  // namespace awing::hw
