// SPDX-License-Identifier: BSD-3-Clause
// A whole Ethernet frame around a UDP payload: headers from a template, then the in-band block in the UDP surplus area.
#pragma once

#include <cstdint>

#include "apcm/udp_options.h"

namespace apcm {

/// Ends of a stream. MAC addresses in the low 48 bits, everything in host order.
struct PacketAddresses {
  uint64_t source_mac = 0, destination_mac = 0;
  uint32_t source_ip = 0, destination_ip = 0;
  uint16_t source_port = 0, destination_port = 0;
};

/// The Ethernet address of an IPv4 multicast group: 01:00:5e and its low 23 bits (RFC 1112 section 6.4).
constexpr uint64_t multicast_mac(uint32_t group) { return 0x0100'5e00'0000u | (group & 0x7f'ffffu); }

/// Where things lie in a finished frame; octets from the start of the Ethernet header, frame length without FCS.
struct PacketShape {
  uint32_t octets = 0;
  uint16_t stamp_offset = 0;  ///< 8-octet stamp of the block, even
  uint16_t csum_offset = 0;   ///< option checksum, which covers it, even
};

/// Makes frames of one stream. Not thread-safe (nor has it state that changes).
class PacketTemplate {
 public:
  static constexpr uint32_t kEthernet = 14, kIp = 20, kUdp = 8;
  static constexpr uint32_t kHeaders = kEthernet + kIp + kUdp;  ///< the payload begins here

  /// Without `udp_checksum` the field is zero ("none", RFC 768), as high-rate video senders do.
  PacketTemplate(const PacketAddresses& addresses, bool udp_checksum, uint16_t experiment = kExperimentId);

  /// Largest payload whose IP packet, block included, has at most `mtu` octets; 0 when there is no room.
  static constexpr uint32_t max_payload(uint32_t mtu) {
    constexpr uint32_t kAround = kIp + kUdp + kSurplusMost;
    return mtu > kAround ? mtu - kAround : 0;
  }
  /// Shape of a frame with `payload` octets of payload.
  static constexpr PacketShape shape(uint32_t payload) {
    const Surplus s = surplus(kIp, kUdp + payload);
    return {kEthernet + s.end, static_cast<uint16_t>(kEthernet + s.stamp()),
            static_cast<uint16_t>(kEthernet + s.checksum)};
  }
  /// Completes a frame whose payload already lies at frame + kHeaders; the frame has room for shape(payload).octets.
  PacketShape finish(uint8_t* frame, uint32_t payload, const Block& block) const;
  /// Puts another send time into a finished frame.
  static void restamp(uint8_t* frame, uint32_t payload, Stamp sent) {
    set_stamp(frame + kEthernet, surplus(kIp, kUdp + payload), sent);
  }

 private:
  uint8_t headers_[kHeaders] = {};
  uint32_t ip_sum_ = 0;   ///< of the IP header without the total length
  uint32_t udp_sum_ = 0;  ///< of the pseudo-header and ports, without the lengths
  bool udp_checksum_;
  uint16_t experiment_;
};

/// Ones-complement sum of 16-bit words (RFC 1071), not folded into 16 bits nor complemented; `sum` continues one. An
/// odd last octet counts as the high half of a word.
uint64_t ones_sum(const uint8_t* octets, size_t count, uint64_t sum = 0);
/// Folds to 16 bits and complements.
uint16_t ones_complement(uint64_t sum);

}  // namespace apcm
