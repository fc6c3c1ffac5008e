// SPDX-License-Identifier: BSD-3-Clause
// Where the video comes from: a Y4M file or pipe, or the built-in pattern; handed out as packed frames by number.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "apcm/y4m.h"
#include "options.h"

namespace apcm::stream {

/// Frames 0, 1, 2, ... of a video that may be looped. Several streams ask for the same frames at nearly the same time;
/// a frame stays valid until the third one after it is asked for. A looped clip of up to kCacheBytes is read and packed
/// once.
class FrameSource {
 public:
  static constexpr size_t kCacheBytes = size_t{1} << 30;

  /// Opens what the options name. Errors are one line.
  static tl::expected<FrameSource, std::string> open(const Options& options);

  const VideoFormat& format() const { return format_; }
  /// Packed frame `index`; empty after the last. On a read error it is empty too, and error() says why.
  std::span<const uint8_t> frame(uint64_t index);
  const std::string& error() const { return error_; }

 private:
  FrameSource() = default;
  bool load();

  VideoFormat format_;
  std::optional<Y4mReader> reader_;  ///< none: the pattern
  uint64_t loops_ = 1;               ///< 0: for ever
  uint64_t loop_ = 0;
  std::optional<uint64_t> limit_;  ///< frames in all
  uint64_t next_ = 0;              ///< index of the next frame to load
  bool ended_ = false;
  bool cache_whole_ = false;  ///< cache_ holds the whole clip
  std::vector<std::vector<uint8_t>> cache_;
  std::array<std::vector<uint8_t>, 4> ring_;
  std::vector<uint8_t> planar_;
  std::string error_;
};

}  // namespace apcm::stream
