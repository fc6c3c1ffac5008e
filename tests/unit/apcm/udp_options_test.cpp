// SPDX-License-Identifier: BSD-3-Clause
#include "apcm/udp_options.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <random>
#include <set>
#include <string>
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

TEST_CASE("a sum that makes the checksum zero is written and mended as 0xFFFF, and read as good") {
  // Choose the session so that all words but OCS, and the length, sum to 0xFFFF: then OCS is zero, which means "none".
  Block block = kBlock;
  block.session = 0;
  auto ip = datagram(6, block);
  const Surplus s = surplus(20, 14);
  // OCS is ~sum; a session of that value brings the sum to 0xFFFF.
  block.session = get_be16(&ip[s.checksum]);
  ip = datagram(6, block);
  REQUIRE(get_be16(&ip[s.checksum]) == 0xFFFF);
  REQUIRE(parse_datagram(ip).status == OptionStatus::kFound);
  // From there to another stamp and back again, by mending alone.
  const auto zero_checksum = ip;
  set_stamp(ip.data(), s, {0});
  REQUIRE(parse_datagram(ip).status == OptionStatus::kFound);
  set_stamp(ip.data(), s, block.sent);
  REQUIRE(ip == zero_checksum);
  // The stamp it has already.
  set_stamp(ip.data(), s, block.sent);
  REQUIRE(ip == zero_checksum);
}

TEST_CASE("an OCS of zero is refused, as nothing protects the block then") {
  auto ip = datagram(6, kBlock);
  put_be16(&ip[surplus(20, 14).checksum], 0);
  REQUIRE(parse_datagram(ip).status == OptionStatus::kBadChecksum);
}

TEST_CASE("a set octet where the aligning zero should be makes the options bad") {
  auto ip = datagram(5, kBlock);  // 20 + 8 + 5 is odd
  ip[33] = 1;
  REQUIRE(parse_datagram(ip).status == OptionStatus::kBadChecksum);
}

TEST_CASE("a block in IPv6, or behind IPv4 options, is found") {
  const auto v4 = datagram(10, kBlock);
  for (const uint32_t header : {24u, 60u, 40u}) {
    const bool v6 = header == 40;
    const Surplus s = surplus(header, 18);
    std::vector<uint8_t> ip(header);
    ip.insert(ip.end(), v4.begin() + 20, v4.end());
    REQUIRE(ip.size() == s.end);
    write_surplus(ip.data(), s, kBlock);
    ip[0] = v6 ? 0x60 : static_cast<uint8_t>(0x40 | header / 4);
    ip[v6 ? 6 : 9] = 17;
    put_be16(&ip[v6 ? 4 : 2], v6 ? s.end - 40 : s.end);
    const Parsed p = parse_datagram(ip);
    REQUIRE(p.status == OptionStatus::kFound);
    REQUIRE(p.payload.size() == 10);
    REQUIRE(p.block.sequence == kBlock.sequence);
    ip.pop_back();
    REQUIRE(parse_datagram(ip).status == OptionStatus::kTruncated);
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

namespace {

/// A datagram whose surplus area has these options.
std::vector<uint8_t> with_options(const std::vector<uint8_t>& options) {
  auto ip = datagram(4, kBlock);
  const Surplus s = surplus(20, 12);
  ip.resize(s.checksum + 2);
  ip.insert(ip.end(), options.begin(), options.end());
  put_be16(&ip[2], static_cast<uint32_t>(ip.size()));
  put_be16(&ip[s.checksum], 0);
  const Surplus area{s.begin, s.checksum, 0, static_cast<uint32_t>(ip.size())};
  put_be16(&ip[s.checksum], static_cast<uint16_t>(~whole_sum(ip, area)));
  return ip;
}
/// Our option behind others.
std::vector<uint8_t> then_ours(std::vector<uint8_t> before) {
  before.insert(before.end(), {127, 20, 0xA9, 0xCB});
  before.resize(before.size() + Block::kOctets);
  kBlock.encode(&before[before.size() - Block::kOctets]);
  return before;
}

}  // namespace

TEST_CASE("other options before ours are stepped over; a foreign experiment is not ours") {
  // No-operations, an unknown option of length 4, one of extended length 6 (RFC 9868 section 10), a foreign experiment.
  const auto ip = with_options(then_ours({1, 1, 66, 4, 9, 9, 66, 255, 0, 6, 9, 9, 127, 4, 0x12, 0x34}));
  REQUIRE(parse_datagram(ip).status == OptionStatus::kFound);
  REQUIRE(parse_datagram(ip, 0x4321).status == OptionStatus::kNoBlock);
  REQUIRE(parse_datagram(ip, 0x1234).status == OptionStatus::kMalformed);  // its option has no block in it
}

TEST_CASE("a block behind the end of the list is none") {
  REQUIRE(parse_datagram(with_options(then_ours({0}))).status == OptionStatus::kNoBlock);
}

TEST_CASE("options with a length too small, too large or missing are malformed") {
  for (const std::vector<uint8_t>& options : std::vector<std::vector<uint8_t>>{{66, 0},
                                                                               {66, 1},
                                                                               {66, 3},
                                                                               {66},
                                                                               {1, 66},
                                                                               {66, 255, 0},
                                                                               {66, 255, 0, 3},
                                                                               {66, 255, 1, 0},
                                                                               {127, 20, 0xA9, 0xCB}})
    REQUIRE(parse_datagram(with_options(options)).status == OptionStatus::kMalformed);
}

TEST_CASE("a stamp at an odd offset, as others may send it, is mended too") {
  std::mt19937_64 random(4);
  for (int i = 0; i < 1000; ++i) {
    auto ip = with_options(then_ours({1}));
    const Surplus layout = parse_datagram(ip).layout;
    REQUIRE(layout.stamp() % 2 == 1);
    const Stamp stamp{random()};
    set_stamp(ip.data(), layout, stamp);
    REQUIRE(whole_sum(ip, layout) == 0xFFFF);
    REQUIRE(parse_datagram(ip).block.sent == stamp);
  }
}

TEST_CASE("every status is counted by itself and has a name of its own") {
  OptionCounters counters;
  counters.count(OptionStatus::kFound);
  counters.count(OptionStatus::kMalformed);
  counters.count(OptionStatus::kMalformed);
  REQUIRE(counters[OptionStatus::kFound] == 1);
  REQUIRE(counters[OptionStatus::kMalformed] == 2);
  REQUIRE(counters[OptionStatus::kNoBlock] == 0);
  std::set<std::string> names;
  for (size_t i = 0; i < counters.by_status.size(); ++i) names.insert(to_string(static_cast<OptionStatus>(i)));
  REQUIRE(names.size() == counters.by_status.size());
}
