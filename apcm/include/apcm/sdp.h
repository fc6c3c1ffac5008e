// SPDX-License-Identifier: BSD-3-Clause
// Session descriptions (RFC 4566) of ST 2110-20 streams: the file that a receiver such as ffmpeg or GStreamer is given.
#pragma once

#include <cstdint>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "apcm/video.h"

namespace apcm {

/// One video stream of a session. Addresses are IPv4 in host order.
struct SdpStream {
  uint32_t source = 0;
  uint32_t destination = 0;
  uint16_t port = 5004;
  uint8_t payload_type = 96;
  VideoFormat format;  ///< on the wire always 4:2:2
};

/// The SDP text, lines ended by CR LF. `origin_id` is the session id of the o= line. Frame rate as "25" or "30000/1001"
/// (ST 2110-20 section 7.2). A 4:2:0 video is described as 4:2:2, as it travels, with the private fmtp parameter
/// "x-awing-source=420", from which our receiver knows how to write the file again.
std::string write_sdp(const std::string& session, uint64_t origin_id, const std::vector<SdpStream>& streams);

/// Reads the raw-video streams of an SDP text, ours or another sender's; media of other kinds are passed over. The
/// error names the line and what is wrong with it.
tl::expected<std::vector<SdpStream>, std::string> parse_sdp(const std::string& text);

/// "192.0.2.1", and back; nothing when the text is no dotted quad.
std::string ipv4_text(uint32_t address);
tl::expected<uint32_t, std::string> parse_ipv4(const std::string& text);

}  // namespace apcm
