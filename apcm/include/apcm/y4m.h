// SPDX-License-Identifier: BSD-3-Clause
// YUV4MPEG2 ("Y4M"), the raw video that ffmpeg and mjpegtools pass through pipes.
// A text header line, then for each frame a "FRAME" line and the planes Y, Cb, Cr.
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <span>
#include <string>
#include <tl/expected.hpp>

#include "apcm/video.h"

namespace apcm {

/// Parses a Y4M header line (without the newline). Accepted: progressive, C420*, C422, C420p10, C422p10, a known frame
/// rate, sides within kMaxVideoSide and frames within kMaxFrameBytes. The error says what is wrong and what to do.
tl::expected<VideoFormat, std::string> parse_y4m_header(const std::string& line);

/// The header line for `format`, without the newline.
std::string y4m_header(const VideoFormat& format);

/// Streaming reader of a file or a pipe. Not thread-safe.
class Y4mReader {
 public:
  /// `path` "-" is standard input. Reads the header.
  static tl::expected<Y4mReader, std::string> open(const std::string& path);
  /// Takes an open stream, which it closes unless it is stdin; `name` is for messages.
  static tl::expected<Y4mReader, std::string> from_stream(FILE* stream, std::string name);

  const VideoFormat& format() const { return format_; }
  uint64_t frames_read() const { return frames_; }
  /// Reads the next frame into `planar` (format().planar_bytes() octets). True: a frame; false: the stream ended
  /// between frames. An error names the file, the frame and the fault (cut off, no FRAME line, read error).
  tl::expected<bool, std::string> read(std::span<uint8_t> planar);
  /// Back to the first frame. Fails on a pipe.
  tl::expected<void, std::string> rewind();

 private:
  struct Close {
    void operator()(FILE* f) const {
      if (f != stdin) std::fclose(f);
    }
  };
  Y4mReader() = default;
  tl::expected<bool, std::string> read_line(std::string& line);

  std::unique_ptr<FILE, Close> stream_;
  std::string name_;
  VideoFormat format_;
  long first_frame_ = -1;  ///< file position after the header; -1 when the stream cannot seek
  uint64_t frames_ = 0;
};

/// Streaming writer. Not thread-safe.
class Y4mWriter {
 public:
  /// `path` "-" is standard output. Writes the header.
  static tl::expected<Y4mWriter, std::string> open(const std::string& path, const VideoFormat& format);
  /// Appends one frame of format.planar_bytes() octets.
  tl::expected<void, std::string> write(std::span<const uint8_t> planar);
  /// Flushes and closes; the only sure way to learn that the disk was full.
  tl::expected<void, std::string> close();
  uint64_t frames_written() const { return frames_; }

 private:
  struct Close {
    void operator()(FILE* f) const {
      if (f != stdout) std::fclose(f);
    }
  };
  Y4mWriter() = default;
  std::unique_ptr<FILE, Close> stream_;
  std::string name_;
  size_t frame_bytes_ = 0;
  uint64_t frames_ = 0;
};

}  // namespace apcm
