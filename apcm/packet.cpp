// SPDX-License-Identifier: BSD-3-Clause
#include "apcm/packet.h"

#include <cstring>

namespace apcm {
namespace {

constexpr uint16_t kEtherTypeIpv4 = 0x0800;
constexpr uint8_t kProtocolUdp = 17, kTimeToLive = 64;
constexpr uint16_t kDontFragment = 0x4000;  // so that the identification may be zero (RFC 6864 section 4.1)

void put_mac(uint8_t* p, uint64_t mac) {
  for (int i = 0; i < 6; ++i) p[i] = static_cast<uint8_t>(mac >> (40 - 8 * i));
}

}  // namespace

uint64_t ones_sum(const uint8_t* octets, size_t count, uint64_t sum) {
  size_t i = 0;
  for (; i + 1 < count; i += 2) sum += get_be16(octets + i);
  if (i < count) sum += uint64_t{octets[i]} << 8;
  return sum;
}

uint16_t ones_complement(uint64_t sum) {
  while (sum >> 16 != 0) sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<uint16_t>(~sum);
}

PacketTemplate::PacketTemplate(const PacketAddresses& a, bool udp_checksum, uint16_t experiment)
    : udp_checksum_(udp_checksum), experiment_(experiment) {
  put_mac(headers_, a.destination_mac);
  put_mac(headers_ + 6, a.source_mac);
  put_be16(headers_ + 12, kEtherTypeIpv4);
  uint8_t* ip = headers_ + kEthernet;
  ip[0] = 0x45;
  put_be16(ip + 6, kDontFragment);
  ip[8] = kTimeToLive;
  ip[9] = kProtocolUdp;
  put_be32(ip + 12, a.source_ip);
  put_be32(ip + 16, a.destination_ip);
  put_be16(ip + kIp, a.source_port);
  put_be16(ip + kIp + 2, a.destination_port);
  ip_sum_ = static_cast<uint32_t>(ones_sum(ip, kIp));
  udp_sum_ = static_cast<uint32_t>(ones_sum(ip + 12, 12, kProtocolUdp));  // addresses and ports lie side by side
}

PacketShape PacketTemplate::finish(uint8_t* frame, uint32_t payload, const Block& block) const {
  std::memcpy(frame, headers_, kHeaders);
  uint8_t* ip = frame + kEthernet;
  uint8_t* udp = ip + kIp;
  const uint32_t udp_length = kUdp + payload;
  const Surplus layout = surplus(kIp, udp_length);
  put_be16(ip + 2, layout.end);
  put_be16(ip + 10, ones_complement(uint64_t{ip_sum_} + layout.end));
  put_be16(udp + 4, udp_length);
  if (udp_checksum_) {
    const uint16_t sum =
        ones_complement(ones_sum(frame + kHeaders, payload, uint64_t{udp_sum_} + 2 * uint64_t{udp_length}));
    put_be16(udp + 6, sum == 0 ? 0xffff : sum);
  }
  write_surplus(ip, layout, block, experiment_);
  return shape(payload);
}

}  // namespace apcm
