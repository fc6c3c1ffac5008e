// SPDX-License-Identifier: BSD-3-Clause
// What the tests of the frame layer share: octets from hex, payloads, a line of the encoder, a decoder run.
#pragma once

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "mapos/decoder.h"
#include "mapos/encoder.h"

namespace test {

using Octets = std::vector<uint8_t>;
using Frames = std::vector<Octets>;

inline Octets hex(std::string_view text) {
  Octets v;
  std::string digits;
  for (const char c : text)
    if (std::isxdigit(static_cast<unsigned char>(c)) != 0) digits += c;
  for (size_t i = 0; i + 1 < digits.size(); i += 2)
    v.push_back(static_cast<uint8_t>(std::stoul(digits.substr(i, 2), nullptr, 16)));
  return v;
}

/// n octets, of which about `per_256` in 256 are flags or escapes; 2 is what random data has.
inline Octets payload(std::mt19937& random, size_t n, unsigned per_256 = 2) {
  Octets v(n);
  for (auto& o : v) {
    const uint32_t r = random();
    o = static_cast<uint8_t>(r >> 8);
    if ((r & 0xFF) < per_256) o = (r >> 16 & 1) != 0 ? mapos::kFlag : mapos::kEscape;
  }
  return v;
}

inline void append(Octets& to, std::span<const uint8_t> what) { to.insert(to.end(), what.begin(), what.end()); }

/// Calls `write` with a buffer of `room` octets and appends what it wrote.
template <typename F>
mapos::Encoded add(Octets& line, size_t room, F&& write) {
  Octets buffer(room);
  const mapos::Encoded n = write(std::span<uint8_t>(buffer));
  if (n) append(line, std::span(buffer).first(*n));
  return n;
}
inline mapos::Encoded add_frame(Octets& line, mapos::Encoder& e, std::span<const uint8_t> frame) {
  return add(line, e.room(frame.size()), [&](auto out) { return e.frame(frame, out); });
}

/// The line of a fresh encoder with this one frame: flag, body, flag.
inline Octets encoded(std::span<const uint8_t> frame, mapos::Fcs fcs, mapos::Simd level = mapos::best_simd()) {
  mapos::Encoder e(fcs, level);
  Octets line;
  if (!add_frame(line, e, frame)) throw std::runtime_error("encoder refused");
  return line;
}

/// Appends the frames that come out of these octets.
inline void decode(mapos::Decoder& d, std::span<const uint8_t> line, Frames& frames) {
  for (std::span<const uint8_t> f; d.next(line, f);) frames.emplace_back(f.begin(), f.end());
}

inline const std::vector<mapos::Simd> kLevels{mapos::Simd::kScalar, mapos::Simd::kSse, mapos::Simd::kAvx2};

}  // namespace test
