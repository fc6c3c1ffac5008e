// SPDX-License-Identifier: BSD-3-Clause
#include "apcm/udp_options.h"

namespace apcm {

namespace {

constexpr uint8_t kEndOfList = 0, kNoOperation = 1, kExperimental = 127;
constexpr uint8_t kIpUdp = 17;
constexpr uint32_t kIpv4Header = 20, kIpv6Header = 40, kUdpHeader = 8;

/// Ones-complement sum of 16-bit words; an odd last octet counts as the high half of a word.
uint32_t sum_words(const uint8_t* p, uint32_t n) {
  uint32_t sum = 0;
  for (uint32_t i = 0; i + 1 < n; i += 2) sum += get_be16(p + i);
  if (n % 2) sum += uint32_t{p[n - 1]} << 8;
  return sum;
}

uint16_t fold(uint32_t sum) {
  while (sum >> 16) sum = (sum & 0xFFFF) + (sum >> 16);
  return static_cast<uint16_t>(sum);
}

/// Zero would mean that there is no checksum; 0xFFFF is the same number.
uint16_t complement(uint32_t sum) {
  const auto c = static_cast<uint16_t>(~fold(sum));
  return c == 0 ? 0xFFFF : c;
}

/// Looks through the options; sets the block's offset when ours is there.
OptionStatus find_block(std::span<const uint8_t> ip, uint32_t at, uint16_t experiment, uint32_t& block) {
  while (at < ip.size()) {
    const uint8_t kind = ip[at];
    if (kind == kEndOfList) break;
    if (kind == kNoOperation) {
      ++at;
      continue;
    }
    if (at + 2 > ip.size()) return OptionStatus::kMalformed;
    uint32_t length = ip[at + 1], head = 2;
    if (length == 255) {  // extended length (RFC 9868 section 10)
      if (at + 4 > ip.size()) return OptionStatus::kMalformed;
      length = get_be16(&ip[at + 2]);
      head = 4;
    }
    if (length < head || length > ip.size() - at) return OptionStatus::kMalformed;
    if (kind == kExperimental && head == 2 && length >= 4 && get_be16(&ip[at + 2]) == experiment) {
      if (length != 4 + Block::kOctets) return OptionStatus::kMalformed;
      block = at + 4;
      return OptionStatus::kFound;
    }
    at += length;
  }
  return OptionStatus::kNoBlock;
}

}  // namespace

void write_surplus(uint8_t* ip, const Surplus& layout, const Block& block, uint16_t experiment) {
  if (layout.checksum != layout.begin) ip[layout.begin] = 0;
  put_be16(ip + layout.checksum, 0);
  uint8_t* option = ip + layout.checksum + 2;
  option[0] = kExperimental;
  option[1] = 4 + Block::kOctets;
  put_be16(option + 2, experiment);
  block.encode(ip + layout.block);
  const uint32_t sum = sum_words(ip + layout.checksum, layout.end - layout.checksum) + (layout.end - layout.begin);
  put_be16(ip + layout.checksum, complement(sum));
}

void set_stamp(uint8_t* ip, const Surplus& layout, Stamp stamp) {
  uint8_t* at = ip + layout.stamp();
  uint32_t change = 0;
  for (int i = 0; i < 4; ++i) {
    const auto fresh = static_cast<uint16_t>(stamp.v >> (48 - 16 * i));
    change += static_cast<uint16_t>(~get_be16(at + 2 * i)) + uint32_t{fresh};
    put_be16(at + 2 * i, fresh);
  }
  uint32_t mend = fold(change);
  if (layout.stamp() % 2 != 0) mend = (mend & 0xFF) << 8 | mend >> 8;  // RFC 1071 section 2, byte order independence
  put_be16(ip + layout.checksum, complement(static_cast<uint16_t>(~get_be16(ip + layout.checksum)) + mend));
}

const char* to_string(OptionStatus status) {
  static constexpr const char* kNames[] = {"found",        "not_udp",   "truncated", "no_surplus",
                                           "bad_checksum", "malformed", "no_block"};
  return status < OptionStatus::kCount ? kNames[static_cast<size_t>(status)] : "?";
}

Parsed parse_datagram(std::span<const uint8_t> ip, uint16_t experiment) {
  Parsed out;
  if (ip.size() < kIpv4Header) return out;
  uint32_t header = kIpv6Header, total = 0;
  if (ip[0] >> 4 == 4) {
    if (ip[9] != kIpUdp || (get_be16(&ip[6]) & 0x3FFF) != 0) return out;
    header = (ip[0] & 15u) * 4;
    total = get_be16(&ip[2]);
  } else {
    if (ip[0] >> 4 != 6 || ip[6] != kIpUdp) return out;
    total = kIpv6Header + get_be16(&ip[4]);
  }
  out.status = OptionStatus::kTruncated;
  if (header < kIpv4Header || total > ip.size() || total < header + kUdpHeader) return out;
  const uint32_t udp = get_be16(&ip[header + 4]);
  if (udp < kUdpHeader || udp > total - header) return out;
  out.source_port = get_be16(&ip[header]);
  out.destination_port = get_be16(&ip[header + 2]);
  out.payload = ip.subspan(header + kUdpHeader, udp - kUdpHeader);
  const uint32_t begin = header + udp, checksum = begin + (begin & 1);
  if (checksum + 2 > total) {
    out.status = OptionStatus::kNoSurplus;
    return out;
  }
  out.status = OptionStatus::kBadChecksum;
  const uint16_t stored = get_be16(&ip[checksum]);
  if (checksum != begin && ip[begin] != 0) return out;
  if (stored == 0 || fold(sum_words(&ip[checksum], total - checksum) + (total - begin)) != 0xFFFF) return out;
  uint32_t block = 0;
  out.status = find_block(ip.first(total), checksum + 2, experiment, block);
  if (out.status != OptionStatus::kFound) return out;
  out.block = Block::decode(&ip[block]);
  out.layout = {begin, checksum, block, total};
  return out;
}

}  // namespace apcm
