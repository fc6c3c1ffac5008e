// SPDX-License-Identifier: BSD-3-Clause
#include "apcm/pgroup.h"

#include <cstring>
#include <vector>

namespace apcm {
namespace {

uint32_t load10(const uint8_t* p) { return (p[0] | uint32_t{p[1]} << 8) & 0x3ff; }
void store10(uint8_t* p, uint32_t v) {
  p[0] = static_cast<uint8_t>(v);
  p[1] = static_cast<uint8_t>(v >> 8);
}

void put10(uint8_t* out, uint32_t cb, uint32_t y0, uint32_t cr, uint32_t y1) {
  const uint64_t bits = uint64_t{cb} << 30 | uint64_t{y0} << 20 | uint64_t{cr} << 10 | y1;
  out[0] = static_cast<uint8_t>(bits >> 32);
  const uint32_t low = __builtin_bswap32(static_cast<uint32_t>(bits));
  std::memcpy(out + 1, &low, 4);
}

uint64_t get10(const uint8_t* in) {
  uint32_t low = 0;
  std::memcpy(&low, in + 1, 4);
  return uint64_t{in[0]} << 32 | __builtin_bswap32(low);
}

void pack_line8(uint32_t width, const uint8_t* y, const uint8_t* cb, const uint8_t* cr, uint8_t* out) {
  const uint32_t pairs = width / 2;
  for (uint32_t i = 0; i < pairs; ++i) {
    out[4 * i] = cb[i];
    out[4 * i + 1] = y[2 * i];
    out[4 * i + 2] = cr[i];
    out[4 * i + 3] = y[2 * i + 1];
  }
  if (width % 2 != 0) {
    out += 4 * size_t{pairs};
    out[0] = cb[pairs];
    out[1] = y[2 * pairs];
    out[2] = cr[pairs];
    out[3] = 0;
  }
}

void pack_line10(uint32_t width, const uint8_t* y, const uint8_t* cb, const uint8_t* cr, uint8_t* out) {
  const uint32_t pairs = width / 2;
  for (uint32_t i = 0; i < pairs; ++i, out += 5)
    put10(out, load10(cb + 2 * i), load10(y + 4 * i), load10(cr + 2 * i), load10(y + 4 * i + 2));
  if (width % 2 != 0) put10(out, load10(cb + 2 * pairs), load10(y + 4 * pairs), load10(cr + 2 * pairs), 0);
}

void unpack_line8(uint32_t width, const uint8_t* in, uint8_t* y, uint8_t* cb, uint8_t* cr) {
  const uint32_t groups = (width + 1) / 2;
  for (uint32_t i = 0; i < width / 2; ++i) {
    y[2 * i] = in[4 * i + 1];
    y[2 * i + 1] = in[4 * i + 3];
  }
  if (width % 2 != 0) y[width - 1] = in[4 * (groups - 1) + 1];
  if (cb == nullptr) return;
  for (uint32_t i = 0; i < groups; ++i) {
    cb[i] = in[4 * i];
    cr[i] = in[4 * i + 2];
  }
}

void unpack_line10(uint32_t width, const uint8_t* in, uint8_t* y, uint8_t* cb, uint8_t* cr) {
  const uint32_t groups = (width + 1) / 2;
  for (uint32_t i = 0; i < groups; ++i, in += 5) {
    const uint64_t bits = get10(in);
    store10(y + 4 * size_t{i}, bits >> 20 & 0x3ff);
    if (2 * i + 1 < width) store10(y + 4 * size_t{i} + 2, bits & 0x3ff);
    if (cb == nullptr) continue;
    store10(cb + 2 * size_t{i}, bits >> 30 & 0x3ff);
    store10(cr + 2 * size_t{i}, bits >> 10 & 0x3ff);
  }
}

}  // namespace

void pack_frame(const VideoFormat& f, std::span<const uint8_t> planar, std::span<uint8_t> packed) {
  if (planar.size() != f.planar_bytes() || packed.size() != f.packed_bytes()) return;
  const size_t y_stride = f.width * f.sample_bytes();
  const size_t c_stride = f.chroma_width() * f.sample_bytes();
  const uint8_t* y = planar.data();
  const uint8_t* cb = y + f.luma_bytes();
  const uint8_t* cr = cb + f.chroma_plane_bytes();
  uint8_t* out = packed.data();
  for (uint32_t line = 0; line < f.height; ++line, out += f.line_bytes()) {
    const size_t chroma_line = f.chroma == Chroma::k420 ? line / 2 : line;
    (f.depth > 8 ? pack_line10 : pack_line8)(f.width, y + line * y_stride, cb + chroma_line * c_stride,
                                             cr + chroma_line * c_stride, out);
  }
}

void unpack_frame(const VideoFormat& f, std::span<const uint8_t> packed, std::span<uint8_t> planar) {
  if (planar.size() != f.planar_bytes() || packed.size() != f.packed_bytes()) return;
  const size_t y_stride = f.width * f.sample_bytes();
  const size_t c_stride = f.chroma_width() * f.sample_bytes();
  uint8_t* y = planar.data();
  uint8_t* cb = y + f.luma_bytes();
  uint8_t* cr = cb + f.chroma_plane_bytes();
  const uint8_t* in = packed.data();
  for (uint32_t line = 0; line < f.height; ++line, in += f.line_bytes()) {
    const bool skip_chroma = f.chroma == Chroma::k420 && line % 2 != 0;
    const size_t chroma_line = f.chroma == Chroma::k420 ? line / 2 : line;
    (f.depth > 8 ? unpack_line10 : unpack_line8)(f.width, in, y + line * y_stride,
                                                 skip_chroma ? nullptr : cb + chroma_line * c_stride,
                                                 skip_chroma ? nullptr : cr + chroma_line * c_stride);
  }
}

void draw_pattern(const VideoFormat& f, uint64_t index, std::span<uint8_t> planar) {
  if (planar.size() != f.planar_bytes()) return;
  // 75 % colour bars of BT.709 in 8-bit studio range: white, yellow, cyan, green, magenta, red, blue, black.
  static constexpr uint8_t kBars[8][3] = {{180, 128, 128}, {168, 44, 136}, {145, 147, 44}, {133, 63, 52},
                                          {63, 193, 204},  {51, 109, 212}, {28, 212, 120}, {16, 128, 128}};
  const uint32_t shift = f.depth - 8u;
  const auto store = [&](uint8_t* plane, size_t i, uint32_t v) {
    if (f.depth > 8)
      store10(plane + 2 * i, v);
    else
      plane[i] = static_cast<uint8_t>(v);
  };
  uint8_t* planes[3] = {planar.data(), planar.data() + f.luma_bytes(),
                        planar.data() + f.luma_bytes() + f.chroma_plane_bytes()};
  std::vector<uint8_t> bars;
  for (int p = 0; p < 3; ++p) {
    const uint32_t width = p == 0 ? f.width : f.chroma_width();
    const uint32_t height = p == 0 ? f.height : f.chroma_height();
    const size_t stride = width * f.sample_bytes();
    const uint64_t walk = index * 4 / (p == 0 ? 1 : 2);
    bars.resize(stride);
    for (uint32_t x = 0; x < width; ++x)
      store(bars.data(), x, uint32_t{kBars[(x + walk) % width * 8 / width][p]} << shift);
    const uint32_t ramp_from = height - height / 4;
    for (uint32_t line = 0; line < height; ++line) {
      uint8_t* out = planes[p] + line * stride;
      if (line < ramp_from) {
        std::memcpy(out, bars.data(), stride);
        continue;
      }
      const uint32_t range = 219u << shift;  // luma of studio range: 16..235
      auto step = static_cast<uint32_t>((line + index) % range);
      for (uint32_t x = 0; x < width; ++x) {
        store(out, x, p == 0 ? (16u << shift) + step : 128u << shift);
        if (++step == range) step = 0;
      }
    }
  }
}

}  // namespace apcm
