// SPDX-License-Identifier: BSD-3-Clause
// What a video is: the few facts that the reader, the packetiser and the SDP all need.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace apcm {

/// Chroma subsampling of planar Y'CbCr frames.
enum class Chroma : uint8_t {
  k420,  ///< chroma halved both ways
  k422,  ///< chroma halved horizontally
};

/// Largest width and height: RFC 4175 section 4.2 has 15 bits for line number and pixel offset.
constexpr uint32_t kMaxVideoSide = 32767;
/// Largest planar frame accepted. 7680x4320 10-bit 4:2:2 has 132,710,400 octets.
constexpr size_t kMaxFrameBytes = size_t{256} << 20;

/// Format of one progressive video. Plain data.
struct VideoFormat {
  uint32_t width = 0;   ///< luma samples in a line
  uint32_t height = 0;  ///< lines
  Chroma chroma = Chroma::k422;
  uint8_t depth = 8;     ///< bits per sample, 8 or 10
  uint32_t fps_num = 0;  ///< frames per second, numerator
  uint32_t fps_den = 0;  ///< and denominator
  uint32_t par_num = 1;  ///< width of a pixel to
  uint32_t par_den = 1;  ///< its height; 0:0 unknown

  friend bool operator==(const VideoFormat&, const VideoFormat&) = default;

  constexpr uint32_t chroma_width() const { return (width + 1) / 2; }
  constexpr uint32_t chroma_height() const { return chroma == Chroma::k420 ? (height + 1) / 2 : height; }
  /// Octets of one sample in a planar frame: 10-bit samples lie in 16-bit little-endian words, as in Y4M.
  constexpr size_t sample_bytes() const { return depth > 8 ? 2 : 1; }
  constexpr size_t luma_bytes() const { return size_t{width} * height * sample_bytes(); }
  constexpr size_t chroma_plane_bytes() const { return size_t{chroma_width()} * chroma_height() * sample_bytes(); }
  /// Octets of a planar frame: Y, then Cb, then Cr, no padding.
  constexpr size_t planar_bytes() const { return luma_bytes() + 2 * chroma_plane_bytes(); }

  /// Octets of the 4:2:2 pgroup of two pixels (RFC 4175 section 4.3): 4 at 8 bits, 5 at 10 bits.
  constexpr uint32_t pgroup_bytes() const { return depth > 8 ? 5 : 4; }
  /// Octets of one line as pgroups; an odd last pixel fills a pgroup with zero.
  constexpr uint32_t line_bytes() const { return chroma_width() * pgroup_bytes(); }
  constexpr size_t packed_bytes() const { return size_t{line_bytes()} * height; }
};

/// "1920x1080 10-bit 4:2:2 25/1 fps", for messages and reports.
std::string describe(const VideoFormat& format);

}  // namespace apcm
