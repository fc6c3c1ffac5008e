// SPDX-License-Identifier: BSD-3-Clause
#include "source.h"

#include "apcm/pgroup.h"

namespace apcm::stream {

tl::expected<FrameSource, std::string> FrameSource::open(const Options& o) {
  FrameSource s;
  if (o.pattern) {
    s.format_ = *o.pattern;
    s.loops_ = o.loops.value_or(1);
  } else {
    auto reader = Y4mReader::open(o.input);
    if (!reader) return tl::unexpected(reader.error());
    s.format_ = reader->format();
    s.reader_.emplace(std::move(*reader));
    // A limit in frames or seconds asks for so much video: the clip is repeated until it is reached, unless --loop says
    // how often.
    s.loops_ = o.loops.value_or(o.frames || o.duration_ns > 0 ? 0 : 1);
    if (o.input == "-" && s.loops_ != 1) {
      if (o.loops)
        return tl::unexpected(std::string("--loop: standard input cannot be read twice; write it to a file first"));
      s.loops_ = 1;
    }
  }
  s.limit_ = o.frames;
  s.planar_.resize(s.format_.planar_bytes());
  return s;
}

std::span<const uint8_t> FrameSource::frame(uint64_t index) {
  while (index >= next_ && !ended_) ended_ = !load();
  if (index >= next_ || index + ring_.size() < next_) return {};
  if (cache_whole_) return cache_[index % cache_.size()];
  return ring_[index % ring_.size()];
}

/// Makes frame next_ available. False at the end.
bool FrameSource::load() {
  if (limit_ && next_ >= *limit_) return false;
  if (cache_whole_) {
    if (next_ % cache_.size() == 0 && loops_ != 0 && next_ / cache_.size() >= loops_) return false;
    ++next_;
    return true;
  }
  auto& packed = ring_[next_ % ring_.size()];
  packed.resize(format_.packed_bytes());
  if (!reader_) {
    draw_pattern(format_, next_, planar_);
  } else {
    auto got = reader_->read(planar_);
    if (got && !*got) {
      if (reader_->frames_read() == 0) {
        error_ = "the input has no frames";
        return false;
      }
      if (loops_ != 0 && ++loop_ >= loops_) return false;
      if (loop_ <= 1 && cache_.size() == next_) {
        cache_whole_ = true;
        return load();
      }
      cache_ = {};  // the clip is too long for it
      if (const auto again = reader_->rewind(); !again) {
        error_ = again.error();
        return false;
      }
      got = reader_->read(planar_);
    }
    if (!got) {
      error_ = got.error();
      return false;
    }
  }
  pack_frame(format_, planar_, packed);
  if (reader_ && loops_ != 1 && loop_ == 0 && cache_.size() == next_ &&
      (next_ + 1) * format_.packed_bytes() <= kCacheBytes)
    cache_.push_back(packed);
  ++next_;
  return true;
}

}  // namespace apcm::stream
