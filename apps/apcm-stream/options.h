// SPDX-License-Identifier: BSD-3-Clause
// The command line of apcm-stream, checked.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <tl/expected.hpp>

#include "apcm/video.h"

namespace apcm::stream {

struct Options {
  std::string input;                         ///< Y4M path, "-" for a pipe, empty for the pattern or for receiving only
  std::optional<apcm::VideoFormat> pattern;  ///< built-in test pattern
  std::optional<uint16_t> tx_port, rx_port;
  uint64_t rate_bps = 0;           ///< 0: the video's own rate
  bool rate_is_l2 = false;         ///< rate counts frame and FCS only, not preamble and gap
  uint32_t streams = 1;            ///< 0: as many as the rate needs at the video's own rate
  std::optional<uint64_t> loops;   ///< times through the input; 0: until stopped
  std::optional<uint64_t> frames;  ///< video frames of each stream
  uint64_t duration_ns = 0;        ///< 0: no limit
  std::string sdp;                 ///< written when sending, read when only receiving
  std::string out;                 ///< Y4M of the received video
  uint32_t out_stream = 0;
  bool json = false;
  bool quiet = false;
  bool progress = false;  ///< lines of it, to no terminal too
  uint64_t interval_ns = 1'000'000'000;
  std::optional<uint64_t> drain_ns;  ///< end when nothing came for so long
  uint64_t lead_ns = 200'000;
  uint32_t mtu = 1500;
  uint32_t source = 0x0a000001, destination = 0xefc00001;  ///< 10.0.0.1, 239.192.0.1
  uint16_t udp_port = 5004;                                ///< of stream 0; stream k has udp_port + 2k
  std::optional<uint64_t> destination_mac;  ///< 48 bits; default from the multicast group, else broadcast
  uint8_t payload_type = 96;
  bool udp_checksum = false;
  uint16_t exid = 0xA9CB;
};

/// What parse() ends in when there is nothing to run: text to print and the exit status.
struct Stop {
  std::string text;
  int status = 1;
};

/// Parses the arguments that follow "--" (argv[0] is the program). One line for every bad option.
tl::expected<Options, Stop> parse_options(int argc, char** argv);

/// "6G", "2.5M", "800k", "1000" in bits a second; nothing for other text, zero, or more than 10^12.
std::optional<uint64_t> parse_rate(const std::string& text);

}  // namespace apcm::stream
