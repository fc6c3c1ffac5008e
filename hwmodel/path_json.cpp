// SPDX-License-Identifier: BSD-3-Clause
// The JSON description of a path. Every key is optional; what is not known or absurd is refused.
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "card.h"
#include "files.h"
#include "path.h"

namespace awing::hw {

namespace {

using nlohmann::json;

/// Reads the members of one object. The first thing wrong is kept in `error`, with where it was.
class Reader {
 public:
  Reader(const json& object, std::string where, std::string& error)
      : object_(object), where_(std::move(where)), error_(error) {
    if (!object.is_object()) fail("must be an object {...}");
  }
  const json* find(const char* key) {
    known_.emplace_back(key);
    if (!object_.is_object()) return nullptr;
    const auto it = object_.find(key);
    return it == object_.end() ? nullptr : &*it;
  }
  double number(const char* key, double low, double high, double otherwise) {
    const json* v = find(key);
    if (!v) return otherwise;
    if (v->is_number() && v->get<double>() >= low && v->get<double>() <= high) return v->get<double>();
    return refuse(key, *v, "a number from ", low, high), otherwise;
  }
  uint64_t whole(const char* key, uint64_t low, uint64_t high, uint64_t otherwise) {
    const json* v = find(key);
    if (!v) return otherwise;
    if (v->is_number_unsigned() && v->get<uint64_t>() >= low && v->get<uint64_t>() <= high) return v->get<uint64_t>();
    return refuse(key, *v, "a whole number from ", low, high), otherwise;
  }
  std::string word(const char* key, std::initializer_list<const char*> words) {
    const json* v = find(key);
    if (!v) return *words.begin();
    std::string allowed;
    for (const char* w : words) {
      if (v->is_string() && v->get<std::string>() == w) return w;
      allowed += (allowed.empty() ? "" : ", ") + std::string(w);
    }
    fail(std::string(key) + " is " + show(*v) + "; allowed: " + allowed);
    return *words.begin();
  }
  /// To be called when all keys were asked for: whatever else is there is refused.
  void finish() {
    if (!object_.is_object()) return;
    for (const auto& item : object_.items()) {
      if (std::find(known_.begin(), known_.end(), item.key()) != known_.end()) continue;
      std::string allowed;
      for (const std::string& k : known_) allowed += (allowed.empty() ? "" : ", ") + k;
      return fail("unknown key " + show(item.key()) + "; allowed: " + allowed);
    }
  }
  void fail(const std::string& why) {
    if (error_.empty()) error_ = where_ + ": " + why;
  }

 private:
  static std::string show(const json& v) {
    std::string text = v.dump();  // one line: control characters are escaped
    if (text.size() > 60) text = text.substr(0, 57) + "...";
    return text;
  }
  template <typename T>
  void refuse(const char* key, const json& v, const char* kind, T low, T high) {
    std::ostringstream line;
    line.precision(15);
    line << key << " is " << show(v) << "; allowed: " << kind << low << " to " << high;
    fail(line.str());
  }

  const json& object_;
  std::string where_;
  std::string& error_;
  std::vector<std::string> known_;
};

Ps microseconds(double us) { return static_cast<Ps>(std::llround(us * 1e6)); }
uint64_t gigabits(double gbps) { return static_cast<uint64_t>(std::llround(gbps * 1e9)); }

CrossTraffic read_cross(const json& object, const std::string& where, uint64_t hop_bps, std::string& error) {
  CrossTraffic cross;
  Reader in(object, where, error);
  cross.rate_bps = gigabits(in.number("rate_gbps", 0.001, 400, 1));
  cross.len = static_cast<uint32_t>(in.whole("frame", kMinFrame + kFcs, kMaxFrameAny + kFcs, 1518)) - kFcs;
  cross.burst = static_cast<uint32_t>(in.whole("burst", 1, 4096, 32));
  const std::string pattern = in.word("pattern", {"poisson", "cbr", "burst"});
  if (pattern == "cbr") cross.pattern = CrossTraffic::Pattern::kCbr;
  if (pattern == "burst") cross.pattern = CrossTraffic::Pattern::kBurst;
  if (pattern == "burst" && cross.rate_bps >= hop_bps)
    in.fail("rate_gbps with pattern burst must be below the rate_gbps of the hop");
  in.finish();
  return cross;
}

HopConfig read_hop(const json& object, const std::string& where, bool last, std::string& error) {
  HopConfig hop;
  Reader in(object, where, error);
  // The last line ends at a card of 10 Gb/s.
  hop.rate_bps = gigabits(in.number("rate_gbps", 0.001, last ? 10 : 400, 10));
  hop.queue_bytes = in.whole("queue_kB", 17, 65536, 512) * 1024;  // at least the longest frame
  if (const json* cross = in.find("cross")) hop.cross = read_cross(*cross, where + ".cross", hop.rate_bps, error);
  in.finish();
  return hop;
}

tl::expected<PathConfig, std::string> read_path(const json& root, const std::string& name) {
  const std::string where = "path=" + name;
  PathConfig config;
  std::string error;
  Reader in(root, where, error);
  config.seed = in.whole("seed", 0, UINT64_MAX, 1);
  config.delay = microseconds(in.number("delay_us", 0, 1e6, 0));
  config.loss = in.number("loss", 0, 1, 0);
  config.duplicate = in.number("duplicate", 0, 1, 0);
  config.corrupt = in.number("corrupt", 0, 1, 0);
  if (const json* reorder = in.find("reorder")) {
    Reader r(*reorder, where + ": reorder", error);
    config.reorder = r.number("probability", 0, 1, 0);
    config.reorder_extra = microseconds(r.number("extra_us", 0, 1e6, 10));
    r.finish();
  }
  if (const json* hops = in.find("hops")) {
    if (!hops->is_array() || hops->size() > 16) in.fail("hops must be a list [...] of at most 16");
    const size_t n = error.empty() ? hops->size() : 0;
    for (size_t i = 0; i < n; ++i)
      config.hops.push_back(read_hop((*hops)[i], where + ": hops[" + std::to_string(i) + "]", i + 1 == n, error));
  }
  in.finish();
  if (!error.empty()) return tl::make_unexpected(error);
  return config;
}

}  // namespace

tl::expected<PathConfig, std::string> Path::parse(std::string_view text, const std::string& name) {
  const auto root = parse_json(text, name);
  if (!root) return tl::make_unexpected("path=" + root.error());
  return read_path(*root, name);
}

tl::expected<std::unique_ptr<Path>, std::string> Path::from_json(std::string_view text, const std::string& name) {
  auto config = parse(text, name);
  if (!config) return tl::make_unexpected(config.error());
  return std::make_unique<Path>(*config);
}

tl::expected<std::unique_ptr<Path>, std::string> Path::from_file(const std::string& file) {
  const auto root = read_json(file);
  if (!root) return tl::make_unexpected("path=" + root.error());
  auto config = read_path(*root, file);
  if (!config) return tl::make_unexpected(config.error());
  return std::make_unique<Path>(*config);
}

}  // namespace awing::hw
