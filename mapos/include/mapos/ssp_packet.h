// SPDX-License-Identifier: BSD-3-Clause
// Packets of the Switch-Switch Protocol (RFC 2174 section 5.1; 16-bit addresses: RFC 2175 section 4). Plain functions,
// thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace mapos {

enum class SspCommand : uint8_t { kRequest = 1, kResponse = 2 };

constexpr uint8_t kSspVersion = 1;
constexpr uint16_t kSspRouteFamily = 2;        ///< address family identifier of a route
constexpr uint16_t kSspUnspecifiedFamily = 0;  ///< in a request: all routes, please
constexpr size_t kSspHeaderOctets = 4;
constexpr size_t kSspEntryOctets = 20;
constexpr size_t kSspMostEntries = 25;  ///< so a packet stays within 512 octets
constexpr uint32_t kSspInfinity = 16;   ///< unreachable; 17 to 31 is poisoned reverse, metric + 16

struct SspEntry {
  uint16_t family;
  uint32_t address;  ///< right-aligned, and so the mask
  uint32_t mask;
  uint32_t metric;
};

/// A packet in a received frame. The octets stay the frame's.
class SspPacket {
 public:
  /// None if it is not a header and 1 to 25 whole entries.
  static std::optional<SspPacket> parse(std::span<const uint8_t> information);
  uint8_t command() const { return octets_[0]; }  ///< not necessarily one of SspCommand
  uint8_t version() const { return octets_[1]; }
  size_t entries() const { return (octets_.size() - kSspHeaderOctets) / kSspEntryOctets; }
  /// i < entries(). Fields that must be zero are not looked at.
  SspEntry entry(size_t i) const;

 private:
  explicit SspPacket(std::span<const uint8_t> octets) : octets_(octets) {}
  std::span<const uint8_t> octets_;
};

constexpr size_t ssp_octets(size_t entries) { return kSspHeaderOctets + entries * kSspEntryOctets; }
/// `to` has ssp_octets(n) octets, all zero; i < n.
void put_ssp_header(std::span<uint8_t> to, SspCommand command);
void put_ssp_entry(std::span<uint8_t> to, size_t i, const SspEntry& entry);

}  // namespace mapos
