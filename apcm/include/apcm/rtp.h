// SPDX-License-Identifier: BSD-3-Clause
// The RTP fixed header, RFC 3550 section 5.1.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "apcm/bytes.h"
#include "apcm/wide.h"

namespace apcm {

constexpr size_t kRtpHeaderBytes = 12;

/// RTP fixed header. Plain data.
struct RtpHeader {
  bool marker = false;
  uint8_t payload_type = 96;  ///< 7 bits
  uint16_t sequence = 0;
  uint32_t timestamp = 0;
  uint32_t ssrc = 0;
};

/// Writes 12 octets at `out`: version 2, no padding, no extension, no CSRC.
inline void write_rtp(const RtpHeader& h, uint8_t* out) {
  out[0] = 0x80;
  out[1] = static_cast<uint8_t>((h.marker ? 0x80 : 0) | (h.payload_type & 0x7f));
  put_be16(out + 2, h.sequence);
  put_be32(out + 4, h.timestamp);
  put_be32(out + 8, h.ssrc);
}

/// A parsed packet: the header and what it carries after CSRC list and extension, without padding.
struct RtpPacket {
  RtpHeader header;
  std::span<const uint8_t> payload;
};

/// Parses any octets; nothing when they are no RTP packet of version 2 with consistent lengths.
inline std::optional<RtpPacket> parse_rtp(std::span<const uint8_t> in) {
  if (in.size() < kRtpHeaderBytes || in[0] >> 6 != 2) return std::nullopt;
  size_t begin = kRtpHeaderBytes + size_t{in[0] & 0x0fu} * 4;
  size_t end = in.size();
  if ((in[0] & 0x10) != 0) {  // header extension, section 5.3.1: 4 octets, then its length in words
    if (begin + 4 > end) return std::nullopt;
    begin += 4 + size_t{get_be16(in.data() + begin + 2)} * 4;
  }
  if ((in[0] & 0x20) != 0) {  // padding: its last octet counts it, itself included
    const size_t padding = in[end - 1];
    if (padding == 0 || padding > end) return std::nullopt;
    end -= padding;
  }
  if (begin > end) return std::nullopt;
  RtpPacket p;
  p.header.marker = (in[1] & 0x80) != 0;
  p.header.payload_type = in[1] & 0x7f;
  p.header.sequence = get_be16(in.data() + 2);
  p.header.timestamp = get_be32(in.data() + 4);
  p.header.ssrc = get_be32(in.data() + 8);
  p.payload = in.subspan(begin, end - begin);
  return p;
}

/// RTP timestamp of frame `index` at fps_num/fps_den on a 90 kHz clock from `base`, truncated (RFC 4175 section 4.1).
constexpr uint32_t rtp_timestamp_90k(uint64_t index, uint32_t fps_num, uint32_t fps_den, uint32_t base = 0) {
  const auto ticks = static_cast<Uint128>(index) * 90000u * fps_den / fps_num;
  return base + static_cast<uint32_t>(ticks);
}

}  // namespace apcm
