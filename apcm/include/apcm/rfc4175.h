// SPDX-License-Identifier: BSD-3-Clause
// RFC 4175: uncompressed video over RTP, progressive 4:2:2 of 8 or 10 bits (see pgroup.h). Sans-I/O: octets in, octets
// out.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "apcm/rtp.h"
#include "apcm/video.h"

namespace apcm {

/// Scan line segments in one packet; ST 2110-20 allows three.
constexpr uint32_t kMaxSegments = 3;
/// RTP header, extended sequence number, one scan line header: what precedes the video of a one-segment packet.
constexpr size_t kRfc4175MinHeader = kRtpHeaderBytes + 2 + 6;

/// Cuts packed frames into RTP packets that never exceed a size.
/// A line that does not fit is cut into fragments that differ by at most one pgroup, so that packets have one size
/// (which is what makes gap figures readable); short lines travel up to three in a packet. Not thread-safe.
class Packetiser {
 public:
  /// `max_packet` octets of RTP header and payload; at least kRfc4175MinHeader + one pgroup, else fits() is false.
  Packetiser(const VideoFormat& format, size_t max_packet, uint32_t ssrc, uint8_t payload_type = 96,
             uint32_t first_sequence = 0);

  bool fits() const { return fragments_ > 0 || lines_per_packet_ > 0; }
  uint32_t packets_per_frame() const { return packets_per_frame_; }
  /// Octets of RTP packet `index` (0..packets_per_frame()-1) of every frame.
  size_t packet_bytes(uint32_t index) const;
  size_t max_packet_bytes() const;

  /// Starts a frame: `packed` (format.packed_bytes() octets) must stay valid until the last next().
  void begin_frame(std::span<const uint8_t> packed, uint32_t rtp_timestamp);
  /// Octets of the next packet of the frame; 0 when the frame is finished or none was begun.
  size_t next_bytes() const { return frame_.empty() || index_ >= packets_per_frame_ ? 0 : packet_bytes(index_); }
  /// Writes the next packet, next_bytes() octets, at `out`, which must hold them; returns their number.
  size_t next(uint8_t* out);
  /// Extended sequence number of the next packet.
  uint32_t sequence() const { return sequence_; }

 private:
  struct Segment {
    uint32_t line, first_group, groups;
  };
  uint32_t segments_of(uint32_t index, Segment* out) const;

  VideoFormat format_;
  uint32_t groups_per_line_;
  uint32_t fragments_ = 0;         ///< packets for one line; 0 when whole lines share packets
  uint32_t lines_per_packet_ = 0;  ///< else
  uint32_t packets_per_frame_ = 0;
  uint32_t ssrc_;
  uint8_t payload_type_;
  uint32_t sequence_;
  uint32_t timestamp_ = 0;
  uint32_t index_ = 0;
  std::span<const uint8_t> frame_;
};

/// Where a packet given to the depacketiser ended. Each ends in exactly one.
enum class RtpVerdict : uint8_t {
  kPlaced,     ///< at least one pgroup was new
  kDuplicate,  ///< well formed, but nothing in it was new
  kLate,       ///< of a frame that has been handed out or given up
  kForeign,    ///< another SSRC or payload type
  kMalformed,  ///< no RTP, or headers that contradict themselves or the format
};

struct DepacketiserCounters {
  uint64_t placed = 0, duplicate = 0, late = 0, foreign = 0, malformed = 0;
  uint64_t frames_complete = 0, frames_incomplete = 0;
  uint64_t missing_octets = 0;  ///< of packed video, in the incomplete frames
};

/// A frame that is ready.
struct RebuiltFrame {
  std::span<const uint8_t> packed;  ///< valid until the next push() or take(); missing pgroups are black
  uint32_t rtp_timestamp = 0;
  size_t missing_octets = 0;
};

/// Rebuilds packed frames from RTP packets in any order, with loss, duplicates and garbage. Frames come out in the
/// order of their timestamps. Up to `window` frames are open at once; a packet of a newer one closes the oldest. Not
/// thread-safe.
class Depacketiser {
 public:
  explicit Depacketiser(const VideoFormat& format, uint8_t payload_type = 96, std::optional<uint32_t> ssrc = {},
                        uint32_t window = 3);

  /// Takes one RTP packet (the UDP payload). Without a configured SSRC the first well-formed packet sets it.
  RtpVerdict push(std::span<const uint8_t> rtp);
  /// The next frame that is complete or closed, oldest first. Call after each push until it returns nothing: a closed
  /// frame not taken before it must make room is counted but lost.
  std::optional<RebuiltFrame> take();
  /// Closes all open frames: the stream has ended.
  void flush();
  const DepacketiserCounters& counters() const { return counters_; }

 private:
  struct Slot {
    std::vector<uint8_t> packed;
    std::vector<uint64_t> have;  ///< one bit for each pgroup
    size_t missing_groups = 0;
    uint32_t timestamp = 0;
    bool closed = false;
  };
  Slot* slot_for(uint32_t timestamp);
  Slot* open_slot(size_t position, uint32_t timestamp);
  uint32_t mark(Slot& slot, size_t first, size_t count);
  void blacken(Slot& slot);
  void retire(const Slot& slot);
  RtpVerdict count(RtpVerdict verdict);

  VideoFormat format_;
  uint8_t payload_type_;
  std::optional<uint32_t> ssrc_;
  uint32_t window_;
  size_t groups_per_line_, groups_;
  std::vector<Slot> slots_;      ///< pool
  std::vector<uint32_t> order_;  ///< indices of slots in use, oldest timestamp first
  std::vector<uint32_t> free_;
  std::optional<uint32_t> last_out_;  ///< timestamp of the newest frame handed out or lost
  uint32_t late_run_ = 0;             ///< late packets in succession: a sender that restarted
  DepacketiserCounters counters_;
};

}  // namespace apcm
