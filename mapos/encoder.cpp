// SPDX-License-Identifier: BSD-3-Clause
#include "mapos/encoder.h"

#include <algorithm>

#include "kernels.h"

namespace mapos {

namespace {

struct FcsOctets {
  uint8_t o[4];
};
FcsOctets to_send(Fcs f, uint32_t reg) {
  const uint32_t v = fcs_value(f, reg);
  return {{static_cast<uint8_t>(v), static_cast<uint8_t>(v >> 8), static_cast<uint8_t>(v >> 16),
           static_cast<uint8_t>(v >> 24)}};
}

}  // namespace

size_t stuffed_octets(std::span<const uint8_t> frame, Fcs fcs, Simd level) {
  const Kernels& k = kernels(level);
  const FcsOctets f = to_send(fcs, k.fcs(fcs, fcs_begin(fcs), frame.data(), frame.size()));
  return frame.size() + k.specials(frame.data(), frame.size()) + octets(fcs) + scalar::specials(f.o, octets(fcs));
}

size_t Encoder::open(uint8_t* out) {
  if (in_frame_) return 0;
  in_frame_ = true;
  length_ = 0;
  reg_ = fcs_begin(fcs_);
  if (begun_) return 0;
  *out = kFlag;
  return 1;
}

size_t Encoder::close(uint8_t* out) {
  const FcsOctets f = to_send(fcs_, reg_);
  size_t n = scalar::stuff(f.o, octets(fcs_), out);
  out[n++] = kFlag;
  in_frame_ = false;
  begun_ = true;
  return n;
}

Encoded Encoder::frame(std::span<const uint8_t> frame, std::span<uint8_t> out) {
  if (in_frame_) return tl::unexpected(EncodeError::kInFrame);
  if (frame.size() < kHeaderOctets) return tl::unexpected(EncodeError::kTooShort);
  if (frame.size() > kMostFrame) return tl::unexpected(EncodeError::kTooLong);
  if (out.size() < room(frame.size())) return tl::unexpected(EncodeError::kNoRoom);
  size_t n = open(out.data());
  reg_ = k_->fcs(fcs_, reg_, frame.data(), frame.size());
  n += k_->stuff(frame.data(), frame.size(), out.data() + n);
  return n + close(out.data() + n);
}

Encoded Encoder::put(std::span<const uint8_t> piece, std::span<uint8_t> out) {
  if (piece.size() > kMostFrame - (in_frame_ ? length_ : 0)) return tl::unexpected(EncodeError::kTooLong);
  if (out.size() < room(piece.size())) return tl::unexpected(EncodeError::kNoRoom);
  const size_t n = open(out.data());
  length_ += piece.size();
  reg_ = k_->fcs(fcs_, reg_, piece.data(), piece.size());
  return n + k_->stuff(piece.data(), piece.size(), out.data() + n);
}

Encoded Encoder::end(std::span<uint8_t> out) {
  if (!in_frame_) return tl::unexpected(EncodeError::kNoFrame);
  if (length_ < kHeaderOctets) return tl::unexpected(EncodeError::kTooShort);
  if (out.size() < room(0)) return tl::unexpected(EncodeError::kNoRoom);
  return close(out.data());
}

Encoded Encoder::abort(std::span<uint8_t> out) {
  if (!in_frame_) return tl::unexpected(EncodeError::kNoFrame);
  if (out.size() < 2) return tl::unexpected(EncodeError::kNoRoom);
  out[0] = kEscape;
  out[1] = kFlag;
  in_frame_ = false;
  begun_ = true;
  return 2;
}

Encoded Encoder::fill(std::span<uint8_t> out) {
  if (in_frame_) return tl::unexpected(EncodeError::kInFrame);
  std::ranges::fill(out, kFlag);
  begun_ = begun_ || !out.empty();
  return out.size();
}

}  // namespace mapos
