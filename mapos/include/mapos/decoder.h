// SPDX-License-Identifier: BSD-3-Clause
// Line octets to frames: the receiver of RFC 1662 sections 3.1, 4.2 and 4.3 with the discards of RFC 2171 section 3.1
// and RFC 2175 section 2. Octets come descrambled.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "mapos/fcs.h"
#include "mapos/frame.h"

namespace mapos {

/// Every frame ends in exactly one of the first eight. A frame is what stands between two flags, if that is at least
/// one octet; two flags in a row are fill.
struct DecoderCounters {
  uint64_t good = 0;         ///< delivered
  uint64_t short_frame = 0;  ///< fewer octets than header and FCS; not an FCS error (RFC 1662 section 4.3)
  uint64_t giant = 0;        ///< more information octets than allowed
  uint64_t aborted = 0;      ///< ended by escape, flag (RFC 1662 section 4.2); not an FCS error
  uint64_t bad_fcs = 0;
  uint64_t bad_control = 0;  ///< good FCS, control field not 0x03 (version 1)
  uint64_t bad_address = 0;  ///< good FCS, EA bits wrong; also a frame of the other version
  uint64_t cut_off = 0;      ///< reset() came inside the frame

  uint64_t hunted = 0;  ///< octets thrown away before the first flag after the start or a reset; not a frame

  uint64_t frames() const {
    return good + short_frame + giant + aborted + bad_fcs + bad_control + bad_address + cut_off;
  }
  bool operator==(const DecoderCounters&) const = default;
};

struct DecoderConfig {
  Version version = Version::kV1;
  Fcs fcs = Fcs::k16;
  size_t most_information = kMostInformation;  ///< octets; more makes a frame a giant
  Simd level = best_simd();
};

/// One line's receiver. Holds one frame of the largest size, allocated at the start and never after. One thread at a
/// time.
class Decoder {
 public:
  explicit Decoder(const DecoderConfig& config);

  /// Takes octets off the front of `line` until a good frame is complete, which it puts in `frame` (address to last
  /// information octet, no FCS) and returns true, or none are left (false). The frame lies in the decoder until the
  /// next call. Input may be cut anywhere. Any octet after an escape is taken XOR 0x20 (RFC 1662 section 4.2).
  ///   for (std::span<const uint8_t> f; decoder.next(line, f);) take(f);
  bool next(std::span<const uint8_t>& line, std::span<const uint8_t>& frame);

  /// The line was lost: what there is of a frame is thrown away and counted, and the next flag is waited for.
  void reset();

  const DecoderCounters& counters() const { return counters_; }
  /// Have octets of a frame come that has not ended yet?
  bool in_frame() const { return state_ == State::kSkip || (state_ == State::kIn && (length_ != 0 || escaped_)); }

 private:
  enum class State : uint8_t { kHunt, kIn, kSkip };
  bool end(std::span<const uint8_t>& frame);

  const Kernels* k_;
  Version version_;
  Fcs fcs_;
  State state_ = State::kHunt;
  bool escaped_ = false;  // the last octet was an escape
  size_t most_;           // octets, FCS included
  size_t length_ = 0;     // of the frame so far
  std::unique_ptr<uint8_t[]> buffer_;
  DecoderCounters counters_;
};

}  // namespace mapos
