// SPDX-License-Identifier: BSD-3-Clause
#include "apcm/udp_options.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <random>
#include <vector>

using namespace apcm;

namespace {

/// IPv4 and UDP headers and a payload of n octets, with the surplus area behind.
std::vector<uint8_t> datagram(uint16_t n, const Block& block) {
  const Surplus s = surplus(20, 8u + n);
  std::vector<uint8_t> ip(s.end, 0xEE);
  std::fill(ip.begin(), ip.begin() + 28, uint8_t{0});
  ip[0] = 0x45;
  put_be16(&ip[2], s.end);
  ip[9] = 17;
  put_be16(&ip[22], 5004);
  put_be16(&ip[24], 8u + n);
  for (uint32_t i = 0; i < n; ++i) ip[28 + i] = static_cast<uint8_t>(i * 7);
  write_surplus(ip.data(), s, block);
  return ip;
}

const Block kBlock{0x01020304, {0x1122334455667788}, ErrorEstimate::from_ns(100, true), 0xBEEF};

/// The sum an independent reader makes: 16-bit words from the checksum on, and the length of the area, end-around
/// carry.
uint16_t whole_sum(const std::vector<uint8_t>& ip, const Surplus& s) {
  uint64_t sum = s.end - s.begin;
  for (uint32_t i = s.checksum; i < s.end; i += 2) sum += ip[i] * 256u + (i + 1 < s.end ? ip[i + 1] : 0u);
  while (sum > 0xFFFF) sum = sum % 0x10000 + sum / 0x10000;
  return static_cast<uint16_t>(sum);
}

}  // namespace

TEST_CASE("the block comes back from a datagram of any payload length, and the payload is untouched") {
  for (uint16_t n = 0; n < 64; ++n) {
    const auto ip = datagram(n, kBlock);
    const Parsed p = parse_datagram(ip);
    REQUIRE(p.status == OptionStatus::kFound);
    REQUIRE(p.block.sequence == 0x01020304);
    REQUIRE(p.block.sent.v == 0x1122334455667788);
    REQUIRE(p.block.session == 0xBEEF);
    REQUIRE(p.payload.size() == n);
    for (uint32_t i = 0; i < n; ++i) REQUIRE(p.payload[i] == static_cast<uint8_t>(i * 7));
  }
}

TEST_CASE("checksum and stamp lie at even offsets of the datagram, whatever the payload length") {
  for (uint32_t n = 0; n < 8; ++n) {
    const Surplus s = surplus(20, 8u + n);
    REQUIRE(s.checksum % 2 == 0);
    REQUIRE(s.stamp() % 2 == 0);
    REQUIRE(s.begin == 28 + n);
  }
}

TEST_CASE("the words of the area, its checksum and its length sum to all ones") {
  for (uint16_t n = 0; n < 64; ++n) {
    const auto ip = datagram(n, kBlock);
    REQUIRE(whole_sum(ip, surplus(20, 8u + n)) == 0xFFFF);
  }
}

TEST_CASE("mending the checksum for a new stamp equals writing the area anew") {
  std::mt19937_64 random(3);
  for (int i = 0; i < 20'000; ++i) {
    const auto n = static_cast<uint16_t>(random() % 40);
    Block block = kBlock;
    block.sequence = static_cast<uint32_t>(random());
    block.sent.v = i % 3 ? random() : (i % 2 ? 0 : UINT64_MAX);
    auto ip = datagram(n, block);
    const Surplus s = surplus(20, 8u + n);
    block.sent.v = i % 5 ? random() : 0;
    set_stamp(ip.data(), s, block.sent);
    REQUIRE(whole_sum(ip, s) == 0xFFFF);
    REQUIRE(parse_datagram(ip).block.sent == block.sent);
    REQUIRE(ip == datagram(n, block));
  }
}

TEST_CASE("a flipped bit in the area is found by the checksum and the payload is still delivered") {
  const auto good = datagram(11, kBlock);
  const Surplus s = surplus(20, 19);
  for (uint32_t bit = s.checksum * 8; bit < s.end * 8; ++bit) {
    auto ip = good;
    ip[bit / 8] ^= static_cast<uint8_t>(1 << bit % 8);
    const Parsed p = parse_datagram(ip);
    REQUIRE(p.status == OptionStatus::kBadChecksum);
    REQUIRE(p.payload.size() == 11);
  }
}

TEST_CASE("every truncation and lie about lengths ends in a status, never beyond the octets given") {
  const auto good = datagram(11, kBlock);
  for (size_t n = 0; n < good.size(); ++n) {
    const std::vector<uint8_t> ip(good.begin(), good.begin() + static_cast<long>(n));
    REQUIRE(parse_datagram(ip).status != OptionStatus::kFound);
  }
  for (const int at : {2, 3, 24, 25, 0})
    for (int v = 0; v < 256; ++v) {
      auto ip = good;
      ip[static_cast<size_t>(at)] = static_cast<uint8_t>(v);
      parse_datagram(ip);  // the sanitizers watch
    }
}

TEST_CASE("a datagram without surplus has a payload and says so; another protocol is told apart") {
  auto ip = datagram(4, kBlock);
  ip.resize(32);
  put_be16(&ip[2], 32);
  REQUIRE(parse_datagram(ip).status == OptionStatus::kNoSurplus);
  ip[9] = 6;
  REQUIRE(parse_datagram(ip).status == OptionStatus::kNotUdp);
}

TEST_CASE("other options before ours are stepped over; a foreign experiment is not ours") {
  // NOP, an unknown option of length 4, then ours.
  auto ip = datagram(4, kBlock);
  const Surplus s = surplus(20, 12);
  std::vector<uint8_t> area(ip.begin() + s.checksum + 2, ip.end());
  area.insert(area.begin(), {1, 1, 200, 4, 9, 9});
  ip.resize(s.checksum + 2);
  ip.insert(ip.end(), area.begin(), area.end());
  put_be16(&ip[2], static_cast<uint32_t>(ip.size()));
  put_be16(&ip[s.checksum], 0);
  uint32_t sum = static_cast<uint32_t>(ip.size()) - s.begin;
  for (size_t i = s.checksum; i < ip.size(); i += 2) sum += ip[i] * 256u + ip[i + 1];
  while (sum >> 16) sum = (sum & 0xFFFF) + (sum >> 16);
  put_be16(&ip[s.checksum], ~sum & 0xFFFF);
  REQUIRE(parse_datagram(ip).status == OptionStatus::kFound);
  REQUIRE(parse_datagram(ip, 0x1234).status == OptionStatus::kNoBlock);
}
