// SPDX-License-Identifier: BSD-3-Clause
// Any octets into the parser of the UDP options, twice: as an IP datagram, and as the surplus area of one whose lengths
// and option checksum are right, so that the search through the options is reached. Invariants: what is found lies
// inside the datagram; the payload too; a stamp that is put into a found block is read back with a good checksum.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "apcm/udp_options.h"

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

apcm::OptionStatus check(std::vector<uint8_t> ip) {
  const apcm::Parsed p = apcm::parse_datagram(ip);
  require(p.status < apcm::OptionStatus::kCount);
  if (!p.payload.empty())
    require(p.payload.data() >= ip.data() && p.payload.data() + p.payload.size() <= ip.data() + ip.size());
  if (p.status != apcm::OptionStatus::kFound) return p.status;
  const apcm::Surplus& s = p.layout;
  require(s.begin <= s.checksum && s.checksum + 2 <= s.block && s.block + apcm::Block::kOctets <= s.end);
  require(s.end <= ip.size() && s.checksum % 2 == 0);
  require(p.payload.data() + p.payload.size() == ip.data() + s.begin);
  if (!p.block.error.ptp_format) {
    const apcm::Stamp stamp{~p.block.sent.v * 0x9E3779B97F4A7C15};
    apcm::set_stamp(ip.data(), s, stamp);
    const apcm::Parsed again = apcm::parse_datagram(ip);
    require(again.status == apcm::OptionStatus::kFound && again.block.sent == stamp);
  }
  return p.status;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  check({data, data + size});

  if (size < 1 || size > 60'000) return 0;
  const uint32_t payload = data[0] % 8, begin = 28 + payload, ocs = begin + begin % 2;
  std::vector<uint8_t> ip(ocs + 2);
  ip.insert(ip.end(), data + 1, data + size);
  ip[0] = 0x45;
  ip[9] = 17;
  apcm::put_be16(&ip[2], static_cast<uint32_t>(ip.size()));
  apcm::put_be16(&ip[24], 8 + payload);
  uint64_t sum = ip.size() - begin;
  for (size_t i = ocs; i < ip.size(); ++i) sum += uint64_t{ip[i]} << (i % 2 == 0 ? 8 : 0);
  while (sum >> 16 != 0) sum = (sum & 0xFFFF) + (sum >> 16);
  apcm::put_be16(&ip[ocs], sum == 0xFFFF ? 0xFFFF : static_cast<uint16_t>(~sum));
  const apcm::OptionStatus status = check(ip);
  require(status == apcm::OptionStatus::kFound || status == apcm::OptionStatus::kNoBlock ||
          status == apcm::OptionStatus::kMalformed);
  return 0;
}
