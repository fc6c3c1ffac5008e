// SPDX-License-Identifier: BSD-3-Clause
// Strict reading of JSON descriptions: what is not known or absurd is refused, in one line that says where.
#pragma once

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "hwmodel/time.h"

namespace awing::hw {

using nlohmann::json;

inline Ps microseconds(double us) { return static_cast<Ps>(std::llround(us * 1e6)); }

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

}  // namespace awing::hw
