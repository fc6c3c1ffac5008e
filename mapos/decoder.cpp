// SPDX-License-Identifier: BSD-3-Clause
#include "mapos/decoder.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "kernels.h"

namespace mapos {

Decoder::Decoder(const DecoderConfig& c)
    : k_(&kernels(c.level)),
      version_(c.version),
      fcs_(c.fcs),
      most_(kHeaderOctets + std::min(c.most_information, kMostInformation) + octets(c.fcs)),
      buffer_(std::make_unique<uint8_t[]>(most_)) {}

bool Decoder::next(std::span<const uint8_t>& line, std::span<const uint8_t>& frame) {
  const uint8_t* in = line.data();
  const uint8_t* const in_end = in + line.size();
  bool delivered = false;
  while (in != in_end && !delivered) {
    if (state_ != State::kIn) {  // up to the next flag nothing counts
      const void* flag = std::memchr(in, kFlag, static_cast<size_t>(in_end - in));
      const uint8_t* const stop = flag != nullptr ? static_cast<const uint8_t*>(flag) : in_end;
      if (state_ == State::kHunt) counters_.hunted += static_cast<uint64_t>(stop - in);
      in = stop;
      if (in == in_end) break;
      ++in;
      state_ = State::kIn;
      length_ = 0;
    }
    if (length_ == 0 && !escaped_)
      while (in != in_end && *in == kFlag) ++in;  // fill: so a frame that ends has an octet
    Unstuff u{in, in_end, buffer_.get() + length_, buffer_.get() + most_, escaped_};
    const Stop stop = k_->unstuff(u);
    in = u.in;
    escaped_ = u.escaped;
    length_ = static_cast<size_t>(u.out - buffer_.get());
    switch (stop) {
      case Stop::kInput:
        break;
      case Stop::kFlag:
        delivered = end(frame);
        break;
      case Stop::kAbort:
        ++counters_.aborted;
        length_ = 0;
        break;
      case Stop::kFull:
        ++counters_.giant;
        state_ = State::kSkip;
        break;
    }
  }
  line = line.subspan(static_cast<size_t>(in - line.data()));
  return delivered;
}

bool Decoder::end(std::span<const uint8_t>& frame) {
  const size_t n = std::exchange(length_, 0);
  if (n < kHeaderOctets + octets(fcs_)) {
    ++counters_.short_frame;
    return false;
  }
  if (!fcs_good(fcs_, k_->fcs(fcs_, fcs_begin(fcs_), buffer_.get(), n))) {
    ++counters_.bad_fcs;
    return false;
  }
  const std::span<const uint8_t> whole(buffer_.get(), n - octets(fcs_));
  if (const auto header = parse_header(version_, whole); !header) {
    ++(header.error() == HeaderError::kControl ? counters_.bad_control : counters_.bad_address);
    return false;
  }
  ++counters_.good;
  frame = whole;
  return true;
}

void Decoder::reset() {
  // A giant has been counted already.
  if (state_ == State::kIn && (length_ != 0 || escaped_)) ++counters_.cut_off;
  state_ = State::kHunt;
  length_ = 0;
  escaped_ = false;
}

}  // namespace mapos
