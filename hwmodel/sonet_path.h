// SPDX-License-Identifier: BSD-3-Clause
// A SONET line between two oc48 cards: propagation, bit errors, and faults for a time.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>
#include <vector>

#include "hop.h"
#include "hwmodel/link.h"

namespace awing::hw {

struct SonetFault {
  enum class What : uint8_t {
    kLos,   ///< the fibre is dark
    kLof,   ///< A1 and A2 are spoilt, nothing else
    kAisP,  ///< pointer and payload envelope are all ones
  };
  What what = What::kLos;
  int64_t first = 0, last = 0;  ///< SONET frames, counted from 0 at time 0 of the sender's clock
};

struct SonetPathConfig {
  uint64_t seed = 1;
  Ps delay = 0;  ///< propagation, up to 0.1 s
  double bit_error_rate = 0;
  std::vector<SonetFault> faults;
};

/// Every line bit is flipped with the same probability. An error counts in the parity octets that cover it; it spoils
/// the MAPOS frame in whose octets or flags it lies (and, scrambled, the one in which its echo 43 payload bits later
/// lies), and framing if it lies in the four octets of A1 and A2 that a receiver compares. Errors in fill, and in
/// overhead octets that are read otherwise, change nothing but parity. Drawn from the seed by position on the line: the
/// same errors however the calls of advance() are cut. Not thread-safe.
class SonetPath {
 public:
  explicit SonetPath(const SonetPathConfig& config);

  /// Reads a JSON description; the error is one line naming the file, the key and what is allowed.
  static tl::expected<std::unique_ptr<SonetPath>, std::string> from_file(const std::string& file);
  static tl::expected<SonetPathConfig, std::string> parse(std::string_view text, const std::string& name);

  const SonetPathConfig& config() const { return config_; }
  /// Passes on what is settled on `in` (start < known_until()). The receiver's link adds the delay (Link::set_delay).
  void advance(Link& in, Link& out);

  /// offered = delivered + lost; damaged are among the delivered. Bit errors as far as SONET frames have passed.
  std::vector<std::pair<std::string, uint64_t>> counters() const;

 private:
  bool damaged(int64_t first, int64_t flag, bool scrambled);
  void spoil(SonetFrame& frame);
  void draw(int64_t line_bit);
  bool fault(SonetFault::What what, int64_t first, int64_t last) const;

  SonetPathConfig config_;
  Random random_;
  uint64_t mean_gap_ = 0;               // of errors, line bits in 2^-16; 0: none
  int64_t drawn_ = -1;                  // the last error drawn, a line bit
  std::deque<int64_t> line_, payload_;  // errors that SONET frames, and MAPOS frames, may still meet
  uint64_t offered_ = 0, delivered_ = 0, lost_ = 0, damaged_ = 0, bit_errors_ = 0;
};

}  // namespace awing::hw
