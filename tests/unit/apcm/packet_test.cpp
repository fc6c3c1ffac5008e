// SPDX-License-Identifier: BSD-3-Clause
#include "apcm/packet.h"

#include <catch2/catch.hpp>
#include <cstring>
#include <vector>

using namespace apcm;

namespace {
const PacketAddresses kEnds{0x020000000001, 0x01005e400001, 0xc0a80001, 0xefc00001, 5004, 5006};

std::vector<uint8_t> frame_with(const PacketTemplate& t, uint32_t payload, const Block& block, PacketShape& shape) {
  std::vector<uint8_t> frame(2048, 0xcc);
  for (uint32_t i = 0; i < payload; ++i) frame.at(PacketTemplate::kHeaders + i) = static_cast<uint8_t>(i * 7);
  shape = t.finish(frame.data(), payload, block);
  frame.resize(shape.octets);
  return frame;
}
}  // namespace

TEST_CASE("the checksum of RFC 1071 section 3's example is the complement of ddf2") {
  const uint8_t octets[] = {0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7};
  CHECK(ones_complement(ones_sum(octets, 8)) == static_cast<uint16_t>(~0xddf2));
}

TEST_CASE("the Ethernet address of 239.192.0.1 is 01:00:5e:40:00:01") {
  CHECK(multicast_mac(0xefc00001) == 0x01005e400001);  // the highest of the low 24 bits is dropped: c0 becomes 40
}

TEST_CASE("headers have the addresses, lengths and a checksum that makes the IP header sum to zero") {
  for (const uint32_t payload : {8u, 9u, 1200u}) {
    PacketShape shape;
    const auto f = frame_with(PacketTemplate(kEnds, false), payload, Block{}, shape);
    const std::vector<uint8_t> ethernet{1, 0, 0x5e, 0x40, 0, 1, 2, 0, 0, 0, 0, 1, 8, 0};
    CHECK(std::equal(ethernet.begin(), ethernet.end(), f.begin()));
    CHECK(f.size() == shape.octets);
    CHECK(get_be16(&f[16]) == f.size() - 14);  // IP total length covers the surplus area
    CHECK(ones_complement(ones_sum(&f[14], 20)) == 0);
    CHECK(get_be16(&f[38]) == 8 + payload);  // UDP length does not
    CHECK(get_be16(&f[40]) == 0);
    CHECK(f[42 + 3] == 21);  // the payload was left alone
  }
}

TEST_CASE("the UDP checksum, when asked for, covers pseudo-header, header and payload (RFC 768)") {
  for (const uint32_t payload : {8u, 9u, 1201u}) {
    PacketShape shape;
    const auto f = frame_with(PacketTemplate(kEnds, true), payload, Block{}, shape);
    uint64_t sum = ones_sum(&f[26], 8, 17 + 8 + payload);  // addresses, protocol, length
    sum = ones_sum(&f[34], 8 + payload, sum);
    CHECK(ones_complement(sum) == 0);
    CHECK(get_be16(&f[40]) != 0);
  }
}

TEST_CASE("the block is found again, and the stamp lies where the shape says, at even offsets") {
  const Block block{0x01020304, Stamp{0x1122334455667788}, ErrorEstimate{true, false, 2, 3}, 9};
  for (const uint32_t payload : {8u, 9u, 1200u, 1201u}) {
    PacketShape shape;
    auto f = frame_with(PacketTemplate(kEnds, false), payload, block, shape);
    const std::vector<uint8_t> stamp{0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88};
    CHECK(std::equal(stamp.begin(), stamp.end(), f.begin() + shape.stamp_offset));
    CHECK(shape.stamp_offset % 2 == 0);
    CHECK(shape.csum_offset % 2 == 0);
    Parsed p = parse_datagram(std::span(f).subspan(14));
    REQUIRE(p.status == OptionStatus::kFound);
    CHECK(p.block.sequence == block.sequence);
    CHECK(p.block.session == 9);
    CHECK(p.payload.size() == payload);
    CHECK(p.destination_port == 5006);
    PacketTemplate::restamp(f.data(), payload, Stamp{77});
    p = parse_datagram(std::span(f).subspan(14));
    REQUIRE(p.status == OptionStatus::kFound);
    CHECK(p.block.sent.v == 77);
  }
}

TEST_CASE("a card that adds the stamp's words into a zero stamp's checksum leaves a valid block") {
  // What the card does: write 8 octets at stamp_offset, then new sum = ~(~old + the words written) (RFC 1624 with old
  // words 0).
  PacketShape shape;
  auto f = frame_with(PacketTemplate(kEnds, false), 1200, Block{5, Stamp{0}, {}, 1}, shape);
  const uint8_t stamp[8] = {0x00, 0x00, 0x00, 0x2a, 0x80, 0x00, 0x12, 0x34};
  std::memcpy(&f[shape.stamp_offset], stamp, 8);
  const auto old = static_cast<uint16_t>(~get_be16(&f[shape.csum_offset]));
  put_be16(&f[shape.csum_offset], ones_complement(ones_sum(stamp, 8, old)));
  const Parsed p = parse_datagram(std::span(f).subspan(14));
  REQUIRE(p.status == OptionStatus::kFound);
  CHECK(p.block.sent.v == 0x0000002a80001234);
}

TEST_CASE("the largest payload fills the MTU and no more, for even and odd payloads") {
  // 1500 - 20 - 8 - (1 + 2 + 4 + 16) = 1449, odd: one octet of alignment, so all 1500 are used
  CHECK(PacketTemplate::max_payload(1500) == 1449);
  CHECK(PacketTemplate::shape(1449).octets == 1514);
  CHECK(PacketTemplate::shape(1448).octets == 1512);
  CHECK(PacketTemplate::max_payload(51) == 0);
}
