// SPDX-License-Identifier: BSD-3-Clause
// Strict reading of JSON descriptions: what is not known or absurd is refused, in one line that says where.
#pragma once

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "hwmodel/time.h"

namespace awing::hw {

using nlohmann::json;

inline Ps microseconds(double us) { return static_cast<Ps>(std::llround(us * 1e6)); }

/// The text as JSON; the error is one line that begins with `where`.
inline tl::expected<json, std::string> parse_json(std::string_view text, const std::string& where) {
  try {
    return json::parse(text);
  } catch (const json::exception& e) {
    std::string why = e.what();
    std::replace(why.begin(), why.end(), '\n', ' ');
    return tl::make_unexpected(where + ": not JSON: " + why);
  }
}

/// What stands in the file of a path= key.
inline tl::expected<std::string, std::string> read_file(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) return tl::make_unexpected("path=" + file + ": cannot be read");
  std::ostringstream text;
  text << in.rdbuf();  // a folder sets failbit here; an iterator would throw
  return text.str();
}

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
