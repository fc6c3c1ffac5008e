// SPDX-License-Identifier: BSD-3-Clause
// Planar 4:2:2 (and 4:2:0) frames to and from the pixel groups of RFC 4175 section 4.3.
// A packed frame is height() lines of line_bytes() octets, each line pgroups of two pixels:
//   8 bits:  Cb0 Y0 Cr0 Y1, one octet each (UYVY)
//   10 bits: Cb0 Y0 Cr0 Y1, 10 bits each, most significant bit first, 5 octets
// 4:2:0 travels as 4:2:2: each chroma line is sent for both its luma lines, so taking the chroma of the even lines at
// the receiver gives back the 4:2:0 frame bit for bit. (No interpolation: the aim is to carry, not to convert well.)
#pragma once

#include <cstdint>
#include <span>

#include "apcm/video.h"

namespace apcm {

/// Packs `planar` (format.planar_bytes()) into `packed` (format.packed_bytes()). Spans of another size: does nothing.
/// Of 16-bit words in 10-bit video the low 10 bits count. Thread-safe (no state).
void pack_frame(const VideoFormat& format, std::span<const uint8_t> planar, std::span<uint8_t> packed);

/// The inverse: exact for 4:2:2 and for 4:2:0.
void unpack_frame(const VideoFormat& format, std::span<const uint8_t> packed, std::span<uint8_t> planar);

/// Fills `planar` with frame `index` of a moving pattern: eight 75 % colour bars that walk left, and a running luma
/// ramp in the lowest quarter, so that neighbouring frames differ.
void draw_pattern(const VideoFormat& format, uint64_t index, std::span<uint8_t> planar);

}  // namespace apcm
