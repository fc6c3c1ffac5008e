// SPDX-License-Identifier: BSD-3-Clause
#include "path.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "card.h"

namespace awing::hw {

namespace {

constexpr uint64_t kTenGigabit = 10'000'000'000;
constexpr Ps kColumn = 3'200;  // 4 octets at 10 Gb/s

/// -ln(u / 2^64) in 2^-32, by repeated squaring of the mantissa: whole numbers alone, the same on every machine.
uint64_t exponential(uint64_t u) {
  u |= 1;
  const int zeros = std::countl_zero(u);
  uint64_t m = u << zeros;  // 1.0 <= m / 2^63 < 2.0
  uint64_t log2 = 0;        // of m / 2^63, in 2^-32
  for (int bit = 31; bit >= 0; --bit) {
    m = static_cast<uint64_t>((static_cast<U128>(m) * m) >> 64);
    if (m >> 63)
      log2 |= uint64_t{1} << bit;
    else
      m <<= 1;
  }
  const uint64_t negative_log2 = (static_cast<uint64_t>(zeros + 1) << 32) - log2;
  constexpr uint64_t kLn2 = 2'977'044'472;  // ln 2 in 2^-32
  return static_cast<uint64_t>((static_cast<U128>(negative_log2) * kLn2) >> 32);
}

/// Threshold of a 64-bit draw for a probability; draw() compares with threshold - 1, so that 1.0 fits.
uint64_t threshold(double p) {
  if (p <= 0) return 0;
  const double t = std::ldexp(p, 64);
  return t >= std::ldexp(1.0, 64) ? UINT64_MAX : std::max<uint64_t>(1, static_cast<uint64_t>(t));
}

}  // namespace

// --- lines and hops -----------------------------------------------------------------------------------------------

Ps Path::Line::duration(uint32_t octets) const {
  return static_cast<Ps>(static_cast<U128>(octets) * 8 * kPsPerSec / rate_);
}

Ps Path::Line::start(Ps ready, uint32_t len) {
  if (rate_ != kTenGigabit) {
    const Ps start = std::max(ready, free_);
    free_ = start + duration(kPreamble + len + kFcs + 12);
    return start;
  }
  const int64_t q = std::max((ready + kColumn - 1) / kColumn, earliest_);
  if (q > earliest_) idle_.deficit = 0;
  earliest_ = q + idle_.next(len + kFcs);
  return q * kColumn;
}

Path::Hop::Hop(const HopConfig& config, uint64_t seed) : config_(config), line_(config.rate_bps), random_(seed) {
  cross_at_ = kForever;
  if (config_.cross.rate_bps != 0) next_cross();
}

void Path::Hop::next_cross() {
  const CrossTraffic& cross = config_.cross;
  const auto mean = static_cast<uint64_t>(static_cast<U128>(kPreamble + cross.len + kFcs + 12) * 8 * kPsPerSec /
                                          cross.rate_bps);
  switch (cross.pattern) {
    case CrossTraffic::Pattern::kCbr:
      cross_clock_ += static_cast<Ps>(mean);
      break;
    case CrossTraffic::Pattern::kPoisson:
      cross_clock_ += static_cast<Ps>((static_cast<U128>(mean) * exponential(random_())) >> 32);
      break;
    case CrossTraffic::Pattern::kBurst:
      if (cross_left_ == 0) {  // bursts come at random, each all at once
        cross_left_ = cross.burst;
        cross_clock_ += static_cast<Ps>((static_cast<U128>(mean) * cross.burst * exponential(random_())) >> 32);
      }
      --cross_left_;
      break;
  }
  cross_at_ = cross_clock_;
}

Ps Path::Hop::enqueue(Ps t, uint32_t len, uint64_t& dropped) {
  while (!queue_.empty() && queue_.front().start <= t) {
    queued_ -= queue_.front().len;
    queue_.pop_front();
  }
  if (queued_ + len > config_.queue_bytes) {
    ++dropped;
    return -1;
  }
  const Ps start = line_.start(t, len);
  if (start > t) {
    queue_.push_back({start, len});
    queued_ += len;
  }
  return start;
}

void Path::Hop::run_cross(Ps t) {
  while (cross_at_ < t) {
    ++cross_offered;
    enqueue(cross_at_, config_.cross.len, cross_drops);
    next_cross();
  }
}

Ps Path::Hop::forward(Ps t, uint32_t len) {
  run_cross(t);
  return enqueue(t, len, drops);
}

// --- the path -----------------------------------------------------------------------------------------------------

Path::Path(const PathConfig& config)
    : config_(config),
      loss_(threshold(config.loss)),
      duplicate_(threshold(config.duplicate)),
      corrupt_(threshold(config.corrupt)),
      reorder_(threshold(config.reorder)),
      random_(config.seed) {
  uint64_t n = 0;
  for (const HopConfig& hop : config_.hops) hops_.emplace_back(hop, config_.seed * 0x9E3779B97F4A7C15 + ++n);
  // A frame is stored before each hop: the first time at the sender's rate, then at the rate of the hop before.
  const uint32_t least = kPreamble + kMinFrame + kFcs;
  least_latency_ = config_.delay;
  for (size_t i = 0; i < hops_.size(); ++i)
    least_latency_ += i == 0 ? Line(kTenGigabit).duration(least) : hops_[i - 1].duration(least);
}

void Path::carry(Ps t, const uint8_t* data, uint32_t len, uint32_t flags) {
  const uint32_t octets = kPreamble + len + kFcs;
  for (size_t i = 0; i < hops_.size(); ++i) {
    t += i == 0 ? last_.duration(octets) : hops_[i - 1].duration(octets);
    t = hops_[i].forward(t, len);
    if (t < 0) return;
  }
  t += config_.delay;
  if (draw(reorder_)) {
    t += config_.reorder_extra;
    ++reordered_;
  }
  std::vector<uint8_t> copy;
  if (!spare_.empty()) {
    copy = std::move(spare_.back());
    spare_.pop_back();
  }
  copy.assign(data, data + len);
  inside_.push({t, order_++, flags, std::move(copy)});
}

void Path::take(const WireFrame& frame, const uint8_t* data, Ps t) {
  ++offered_;
  if (draw(loss_)) {
    ++lost_;
    return;
  }
  uint32_t flags = frame.flags;
  if (draw(corrupt_)) {
    flags |= kFrameBadFcs;
    ++corrupted_;
  }
  const bool twice = draw(duplicate_);
  carry(t, data, frame.len, flags);
  if (!twice) return;
  ++duplicated_;
  carry(t, data, frame.len, flags);
}

void Path::advance(Link& in, Link& out) {
  while (!in.empty()) {
    const WireFrame frame = in.front();
    take(frame, in.bytes(frame.pos), frame.start + in.delay());
    in.release(frame.pos + frame.len);
    in.pop();
  }
  // What is still to come starts at known_until or later and takes the least latency at least.
  const Ps known = in.known_until() + in.delay();
  for (Hop& hop : hops_) hop.run_cross(known);
  Ps settled = known + least_latency_;
  while (!inside_.empty() && inside_.top().t < settled) {
    const auto len = static_cast<uint32_t>(inside_.top().data.size());
    if (!out.full() && out.room(out.next_pos()) < len) out.evacuate(out.next_pos());
    if (out.full() || out.room(out.next_pos()) < len) {
      settled = inside_.top().t;
      break;
    }
    Inside frame = std::move(const_cast<Inside&>(inside_.top()));
    inside_.pop();
    std::memcpy(out.bytes(out.next_pos()), frame.data.data(), len);
    out.push({last_.start(frame.t, len), out.next_pos(), len, frame.flags, 0});
    spare_.push_back(std::move(frame.data));
    ++delivered_;
  }
  out.set_known_until(settled);
}

std::vector<std::pair<std::string, uint64_t>> Path::counters() const {
  std::vector<std::pair<std::string, uint64_t>> all{
      {"offered", offered_},     {"delivered", delivered_}, {"inside", inside_.size()},  {"lost", lost_},
      {"duplicated", duplicated_}, {"corrupted", corrupted_}, {"reordered", reordered_},
  };
  for (size_t i = 0; i < hops_.size(); ++i) {
    const std::string hop = "hop" + std::to_string(i) + "_";
    all.emplace_back(hop + "queue_drops", hops_[i].drops);
    all.emplace_back(hop + "cross_offered", hops_[i].cross_offered);
    all.emplace_back(hop + "cross_drops", hops_[i].cross_drops);
  }
  return all;
}

// --- JSON ---------------------------------------------------------------------------------------------------------

namespace {

using nlohmann::json;

/// Reads the members of an object; the first thing wrong is kept, with where it was.
class Reader {
 public:
  Reader(const json& object, std::string where, std::string& error) : object_(object), where_(std::move(where)), error_(error) {
    if (!object.is_object()) fail("must be an object");
  }
  ~Reader() {
    if (!error_.empty() || !object_.is_object()) return;
    for (const auto& [key, value] : object_.items())
      if (std::find(seen_.begin(), seen_.end(), key) == seen_.end()) {
        std::string known;
        for (const std::string& k : seen_) known += (known.empty() ? "" : ", ") + k;
        fail("unknown key \"" + key + "\"; allowed: " + known);
        return;
      }
  }
  double number(const char* key, double low, double high, double otherwise) {
    const json* v = find(key);
    if (!v) return otherwise;
    if (!v->is_number() || !(v->get<double>() >= low) || !(v->get<double>() <= high)) {
      std::ostringstream range;
      range << "\"" << key << "\" must be a number from " << low << " to " << high;
      fail(range.str());
      return otherwise;
    }
    return v->get<double>();
  }
  std::string word(const char* key, std::initializer_list<const char*> words, const char* otherwise) {
    const json* v = find(key);
    if (!v) return otherwise;
    std::string allowed;
    for (const char* w : words) {
      if (v->is_string() && v->get<std::string>() == w) return w;
      allowed += (allowed.empty() ? "" : ", ") + std::string(w);
    }
    fail("\"" + std::string(key) + "\" must be one of " + allowed);
    return otherwise;
  }
  const json* find(const char* key) {
    seen_.emplace_back(key);
    if (!object_.is_object() || !object_.contains(key)) return nullptr;
    return &object_.at(key);
  }
  void fail(const std::string& why) {
    if (error_.empty()) error_ = where_ + ": " + why;
  }

 private:
  const json& object_;
  std::string where_;
  std::string& error_;
  std::vector<std::string> seen_;
};

Ps microseconds(double us) { return static_cast<Ps>(std::llround(us * 1e6)); }
uint64_t gigabits(double gbps) { return static_cast<uint64_t>(std::llround(gbps * 1e9)); }

HopConfig read_hop(const json& object, const std::string& where, std::string& error) {
  HopConfig hop;
  Reader in(object, where, error);
  hop.rate_bps = gigabits(in.number("rate_gbps", 0.001, 1000, 10));
  hop.queue_bytes = static_cast<uint64_t>(in.number("queue_kB", 16, 1e6, 512) * 1024);
  if (const json* cross = in.find("cross")) {
    Reader c(*cross, where + ".cross", error);
    hop.cross.rate_bps = gigabits(c.number("rate_gbps", 0, 1000, 0));
    hop.cross.len = static_cast<uint32_t>(c.number("frame", 64, 16384, 1518)) - kFcs;
    hop.cross.burst = static_cast<uint32_t>(c.number("burst", 1, 100000, 32));
    const std::string pattern = c.word("pattern", {"poisson", "cbr", "burst"}, "poisson");
    hop.cross.pattern = pattern == "cbr"     ? CrossTraffic::Pattern::kCbr
                        : pattern == "burst" ? CrossTraffic::Pattern::kBurst
                                             : CrossTraffic::Pattern::kPoisson;
  }
  return hop;
}

}  // namespace

tl::expected<PathConfig, std::string> Path::parse(std::string_view text, const std::string& name) {
  json root;
  try {
    root = json::parse(text);
  } catch (const json::parse_error& e) {
    return tl::make_unexpected("path=" + name + ": not JSON, at octet " + std::to_string(e.byte));
  }
  PathConfig config;
  std::string error;
  {
    Reader in(root, "path=" + name, error);
    config.seed = static_cast<uint64_t>(in.number("seed", 0, 9e15, 1));
    config.delay = microseconds(in.number("delay_us", 0, 1e6, 0));
    config.loss = in.number("loss", 0, 1, 0);
    config.duplicate = in.number("duplicate", 0, 1, 0);
    config.corrupt = in.number("corrupt", 0, 1, 0);
    if (const json* reorder = in.find("reorder")) {
      Reader r(*reorder, "path=" + name + ": reorder", error);
      config.reorder = r.number("probability", 0, 1, 0);
      config.reorder_extra = microseconds(r.number("extra_us", 0, 1e6, 10));
    }
    if (const json* hops = in.find("hops")) {
      if (!hops->is_array()) in.fail("\"hops\" must be a list");
      for (size_t i = 0; hops->is_array() && i < hops->size(); ++i)
        config.hops.push_back(read_hop((*hops)[i], "path=" + name + ": hops[" + std::to_string(i) + "]", error));
    }
  }
  if (!error.empty()) return tl::make_unexpected(error);
  return config;
}

tl::expected<std::unique_ptr<Path>, std::string> Path::from_file(const std::string& file) {
  std::ifstream in(file);
  std::stringstream text;
  text << in.rdbuf();
  if (!in) return tl::make_unexpected("path=" + file + ": cannot be read; give a JSON file");
  auto config = parse(text.str(), file);
  if (!config) return tl::make_unexpected(config.error());
  return std::make_unique<Path>(*config);
}

}  // namespace awing::hw
