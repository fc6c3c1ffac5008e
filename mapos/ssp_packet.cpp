// SPDX-License-Identifier: BSD-3-Clause
#include "mapos/ssp_packet.h"

#include "mapos/big_endian.h"

namespace mapos {

std::optional<SspPacket> SspPacket::parse(std::span<const uint8_t> information) {
  if (information.size() < ssp_octets(1) || information.size() > ssp_octets(kSspMostEntries)) return std::nullopt;
  if ((information.size() - kSspHeaderOctets) % kSspEntryOctets != 0) return std::nullopt;
  return SspPacket(information);
}

SspEntry SspPacket::entry(size_t i) const {
  const uint8_t* const p = octets_.data() + ssp_octets(i);
  return {get16(p), get32(p + 4), get32(p + 8), get32(p + 16)};
}

void put_ssp_header(std::span<uint8_t> to, SspCommand command) {
  to[0] = static_cast<uint8_t>(command);
  to[1] = kSspVersion;
}

void put_ssp_entry(std::span<uint8_t> to, size_t i, const SspEntry& entry) {
  uint8_t* const p = to.data() + ssp_octets(i);
  put16(p, entry.family);
  put32(p + 4, entry.address);
  put32(p + 8, entry.mask);
  put32(p + 16, entry.metric);
}

}  // namespace mapos
