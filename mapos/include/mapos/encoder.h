// SPDX-License-Identifier: BSD-3-Clause
// Frames to line octets: FCS, octet stuffing, flags, abort and fill (RFC 2171 sections 3.1 and 3.2, RFC 1662 section
// 4). On the line each frame is its stuffed octets and a closing flag; that flag opens the next frame too, so a line of
// frames back to back is 7E, body, 7E, body, 7E. The octets then go through the Scrambler, if the line has one, and
// into the SONET payload envelope row by row (RFC 2615 section 3).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <tl/expected.hpp>

#include "mapos/fcs.h"
#include "mapos/frame.h"

namespace mapos {

enum class EncodeError : uint8_t {
  kNoRoom,    ///< `out` is smaller than the room asked for
  kTooLong,   ///< the frame would exceed kMostFrame octets
  kTooShort,  ///< the frame has fewer than kHeaderOctets octets
  kNoFrame,   ///< end() or abort() without a frame
  kInFrame,   ///< frame() or fill() inside a frame
};
/// Octets written, or why nothing was written and nothing changed.
using Encoded = tl::expected<size_t, EncodeError>;

/// Octets between two flags of a frame (address to last information octet) of these contents: exact, FCS and escapes
/// counted, flags not. Any size; thread-safe.
size_t stuffed_octets(std::span<const uint8_t> frame, Fcs fcs, Simd level = best_simd());
/// The most it can be for any frame of n octets.
constexpr size_t stuffed_octets_most(size_t n, Fcs fcs) { return 2 * (n + octets(fcs)); }

/// One line's sender. Works into the caller's memory, allocates nothing. One thread at a time.
class Encoder {
 public:
  explicit Encoder(Fcs fcs, Simd level = best_simd()) : k_(&kernels(level)), fcs_(fcs) {}

  /// Room that frame() asks for with a frame of n octets, put() with a piece of n, end() with n = 0.
  constexpr size_t room(size_t n) const { return 1 + stuffed_octets_most(n, fcs_) + 1; }

  /// A whole frame: opening flag if it is the first on the line, stuffed octets and FCS, closing flag.
  Encoded frame(std::span<const uint8_t> frame, std::span<uint8_t> out);

  /// The same in pieces cut anywhere: put() any number of times, then end(). The first put() opens the frame, even with
  /// no octets. Same octets as frame().
  Encoded put(std::span<const uint8_t> piece, std::span<uint8_t> out);
  Encoded end(std::span<uint8_t> out);
  /// Gives up the open frame, as a sender does whose data did not come in time: escape, flag (RFC 1662 section 4.2;
  /// RFC 2171 names no sequence). Writes 2 octets.
  Encoded abort(std::span<uint8_t> out);

  /// Inter-frame fill: as many flags as `out` has octets.
  Encoded fill(std::span<uint8_t> out);

  bool in_frame() const { return in_frame_; }
  Fcs fcs() const { return fcs_; }

 private:
  size_t open(uint8_t* out);
  size_t close(uint8_t* out);

  const Kernels* k_;
  Fcs fcs_;
  bool begun_ = false;  // a flag has been sent: between frames the line then stands at one
  bool in_frame_ = false;
  size_t length_ = 0;  // of the open frame
  uint32_t reg_ = 0;   // its FCS so far
};

}  // namespace mapos
