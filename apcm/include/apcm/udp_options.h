// SPDX-License-Identifier: BSD-3-Clause
// The in-band block as a UDP option (RFC 9868): it lies between the end of the UDP datagram and the end of the IP
// datagram, so the payload stays as it is and a receiver that knows nothing of it reads the stream as ever.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "apcm/block.h"

namespace apcm {

/// Experiment id of our option until one is assigned.
constexpr uint16_t kExperimentId = 0xA9CB;

/// Where things lie, in octets from the start of the IP datagram.
struct Surplus {
  uint32_t begin;     ///< end of the UDP datagram
  uint32_t checksum;  ///< option checksum (OCS), even
  uint32_t block;     ///< the block; even as surplus() lays it out, anything in what others send
  uint32_t end;       ///< end of the IP datagram

  constexpr uint32_t stamp() const { return block + Block::kStampOffset; }
};

/// Layout for an IP header of ip_header octets (options or extension headers included) and a UDP datagram of udp_length
/// octets (header and payload): at an odd offset a zero octet, then OCS, then the experimental option (127, length 20,
/// id, block). OCS and stamp lie at even offsets, so that a card can put the stamp in and mend the checksum by 16-bit
/// words. Thread-safe, no errors.
constexpr Surplus surplus(uint32_t ip_header, uint32_t udp_length) {
  const uint32_t begin = ip_header + udp_length;
  const uint32_t checksum = begin + (begin & 1);
  return {begin, checksum, checksum + 6, checksum + 6 + Block::kOctets};
}
static_assert(surplus(20, 8).stamp() % 2 == 0 && surplus(20, 9).stamp() % 2 == 0, "a card mends by 16-bit words");
static_assert(surplus(20, 8).checksum % 2 == 0 && surplus(20, 9).checksum % 2 == 0, "RFC 9868: OCS is aligned");

/// Octets the surplus area adds at most.
constexpr uint32_t kSurplusMost = 1 + 2 + 4 + Block::kOctets;

/// Writes the surplus area with its checksum; ip points to the IP datagram, which has room up to layout.end. The caller
/// sets the IP length to layout.end. OCS is the ones-complement of the sum over the area's words and its length; zero,
/// which would mean "none", is written as 0xFFFF.
void write_surplus(uint8_t* ip, const Surplus& layout, const Block& block, uint16_t experiment = kExperimentId);

/// Puts another stamp (32.32, so not into a block with the Z bit) into a written surplus area and mends the checksum by
/// the difference (RFC 1624), as a card does that stamps on send. Even and odd offsets.
void set_stamp(uint8_t* ip, const Surplus& layout, Stamp stamp);

enum class OptionStatus : uint8_t {
  kFound,        ///< the block is there and whole
  kNotUdp,       ///< not IP with UDP right behind its header, or a fragment
  kTruncated,    ///< lengths go beyond the octets there are, or contradict each other
  kNoSurplus,    ///< nothing behind the UDP datagram
  kBadChecksum,  ///< option checksum wrong: all options ignored
  kMalformed,    ///< an option's length is wrong
  kNoBlock,      ///< options are there, ours is not
  kCount
};
const char* to_string(OptionStatus status);

struct Parsed {
  OptionStatus status = OptionStatus::kNotUdp;
  Block block;                       ///< when kFound
  Surplus layout{};                  ///< when kFound
  std::span<const uint8_t> payload;  ///< UDP payload, whenever there is one (also with bad options)
  uint16_t source_port = 0, destination_port = 0;
};

/// Reads an IPv4 or IPv6 datagram; any octets, any length, nothing is read beyond them. IPv6 extension headers are not
/// followed: kNotUdp. Octets behind the datagram's length (Ethernet padding) are ignored. The IP and UDP checksums are
/// the card's matter. An OCS of zero, which RFC 9868 lets a sender without UDP checksum use for "none", is refused like
/// a wrong one: no measurement rests on octets that nothing protects. Options after ours are not looked at.
/// Thread-safe.
Parsed parse_datagram(std::span<const uint8_t> ip, uint16_t experiment = kExperimentId);

/// One count per status.
struct OptionCounters {
  std::array<uint64_t, static_cast<size_t>(OptionStatus::kCount)> by_status{};
  void count(OptionStatus s) { ++by_status[static_cast<size_t>(s)]; }
  uint64_t operator[](OptionStatus s) const { return by_status[static_cast<size_t>(s)]; }
};

}  // namespace apcm
