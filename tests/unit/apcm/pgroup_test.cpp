// SPDX-License-Identifier: BSD-3-Clause
#include "apcm/pgroup.h"

#include <catch2/catch.hpp>
#include <random>
#include <vector>

using namespace apcm;

namespace {
std::vector<uint8_t> noise(const VideoFormat& f, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<uint8_t> planar(f.planar_bytes());
  for (size_t i = 0; i < planar.size(); ++i)
    planar[i] =
        static_cast<uint8_t>(f.depth > 8 && i % 2 == 1 ? random() % 4 : random());  // 10-bit words: high octet 0..3
  return planar;
}
}  // namespace

TEST_CASE("8-bit 4:2:2 is packed Cb0 Y0 Cr0 Y1 (RFC 4175 section 4.3)") {
  const VideoFormat f{4, 1, Chroma::k422, 8, 25, 1};
  const std::vector<uint8_t> planar{1, 2, 3, 4, /* Cb */ 11, 12, /* Cr */ 21, 22};
  std::vector<uint8_t> packed(f.packed_bytes());
  pack_frame(f, planar, packed);
  CHECK(packed == std::vector<uint8_t>{11, 1, 21, 2, 12, 3, 22, 4});
}

TEST_CASE("10-bit 4:2:2 is packed Cb0 Y0 Cr0 Y1 in 40 bits, most significant bit first") {
  const VideoFormat f{2, 1, Chroma::k422, 10, 25, 1};
  // Y0 = 0x155, Y1 = 0x001, Cb = 0x3ff, Cr = 0x200, little-endian words
  const std::vector<uint8_t> planar{0x55, 0x01, 0x01, 0x00, 0xff, 0x03, 0x00, 0x02};
  std::vector<uint8_t> packed(f.packed_bytes());
  pack_frame(f, planar, packed);
  // 1111111111 0101010101 1000000000 0000000001 = 11111111 11010101 01011000 00000000 00000001
  CHECK(packed == std::vector<uint8_t>{0xff, 0xd5, 0x58, 0x00, 0x01});
}

TEST_CASE("an odd last pixel fills its pgroup with zero") {
  const VideoFormat f{3, 1, Chroma::k422, 8, 25, 1};
  const std::vector<uint8_t> planar{1, 2, 3, 11, 12, 21, 22};
  std::vector<uint8_t> packed(f.packed_bytes());
  pack_frame(f, planar, packed);
  CHECK(packed == std::vector<uint8_t>{11, 1, 21, 2, 12, 3, 22, 0});
}

TEST_CASE("4:2:0 travels with each chroma line under both its luma lines") {
  const VideoFormat f{2, 3, Chroma::k420, 8, 25, 1};
  const std::vector<uint8_t> planar{1, 2, 3, 4, 5, 6, /* Cb */ 11, 12, /* Cr */ 21, 22};
  std::vector<uint8_t> packed(f.packed_bytes());
  pack_frame(f, planar, packed);
  CHECK(packed == std::vector<uint8_t>{11, 1, 21, 2, 11, 3, 21, 4, 12, 5, 22, 6});
}

TEST_CASE("packing and unpacking gives every frame back, for all formats and odd sizes") {
  for (const Chroma chroma : {Chroma::k420, Chroma::k422})
    for (const uint8_t depth : {uint8_t{8}, uint8_t{10}})
      for (const uint32_t width : {1u, 2u, 3u, 16u, 31u, 320u})
        for (const uint32_t height : {1u, 2u, 5u, 18u}) {
          const VideoFormat f{width, height, chroma, depth, 25, 1};
          const auto planar = noise(f, width * 100 + height);
          std::vector<uint8_t> packed(f.packed_bytes()), back(f.planar_bytes(), 0xee);
          pack_frame(f, planar, packed);
          unpack_frame(f, packed, back);
          CHECK(back == planar);
        }
}

TEST_CASE("neighbouring frames of the pattern differ and 10-bit samples stay within 10 bits") {
  for (const uint8_t depth : {uint8_t{8}, uint8_t{10}}) {
    const VideoFormat f{64, 32, Chroma::k422, depth, 25, 1};
    std::vector<uint8_t> a(f.planar_bytes()), b(f.planar_bytes());
    draw_pattern(f, 7, a);
    draw_pattern(f, 8, b);
    CHECK(a != b);
    if (depth == 10)
      for (size_t i = 1; i < a.size(); i += 2) REQUIRE(a[i] < 4);
  }
}
