// SPDX-License-Identifier: BSD-3-Clause
// One direction of a cable: frames in order of their start, and the bytes they carry.
#pragma once

#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>

#include "hwmodel/ring.h"
#include "hwmodel/time.h"

namespace awing::hw {

enum FrameFlags : uint32_t {
  kFrameBadFcs = 1u << 0,  ///< the frame check sequence does not fit the frame (a line error)
};

/// A frame on the wire.
struct WireFrame {
  Ps start;        ///< picosecond at which the Start octet leaves the sender
  uint64_t pos;    ///< where its octets lie: Link::bytes(pos)
  uint32_t len;    ///< octets from destination address to end of payload, without FCS (60 and up; oc48: 4 and up)
  uint32_t flags;  ///< FrameFlags
  /// oc48: octets on the line between the flags, FCS and escapes counted, and the lane (0..3) of the first of them in
  /// the word that leaves the sender at `start`.
  uint32_t line_octets = 0, lane = 0;
};

/// oc48: what the overhead of one SONET frame says, and what its parity octets found. Known when the frame ends.
struct SonetFrame {
  int64_t number;       ///< of the frame, from 0 at time 0 of the sender's clock
  bool light = false;   ///< the laser was on
  bool framing = true;  ///< A1 and A2 are what they should be
  bool ais = false;     ///< all ones in H1, H2 and the payload envelope
  bool rdi = false;     ///< G1 bit 5
  uint8_t c2 = 0;
  uint16_t b1 = 0, b2 = 0, b3 = 0;  ///< violations, 0..8, 0..384, 0..8
  uint8_t rei_l = 0, rei_p = 0;     ///< M1, G1 bits 1..4
};

/// A ring of bytes mapped twice in a row, so that any `size` octets from any position are contiguous.
/// The constructor throws std::bad_alloc when the kernel refuses the mapping. size is rounded up to a
/// power of two of at least a page.
class MirrorRing {
 public:
  explicit MirrorRing(size_t size);
  ~MirrorRing();
  MirrorRing(const MirrorRing&) = delete;
  MirrorRing& operator=(const MirrorRing&) = delete;

  uint8_t* at(uint64_t pos) const { return base_ + (pos & mask_); }
  size_t size() const { return mask_ + 1; }

 private:
  uint8_t* base_;
  size_t mask_;
};

/// One direction of a cable. The sender appends frames in order of start; the receiver takes them in order.
/// Used inside one domain, by whichever thread advances it: no locking of its own.
///
/// Positions count octets since the link was made and never wrap (64 bit). The sender may write octets at any
/// position from write_pos() on that lies below release_pos() + capacity(); it owns the position counter.
class Link {
 public:
  /// store_bytes: octets of frames that may be on the way or waiting at the receiver at one time.
  /// delay: propagation in picoseconds, added by the receiver.
  Link(size_t store_bytes, Ps delay_ps) : store_(std::make_unique<MirrorRing>(store_bytes)), delay_(delay_ps) {}

  /// Gives the link room for at least `store_bytes`; what lies there lies elsewhere then, at the positions it had. Not
  /// while data flows on another thread.
  void grow(size_t store_bytes) {
    if (store_bytes <= store_->size()) return;
    if (evacuate_) evacuate_();  // a receiver may point at frames that wait
    auto larger = std::make_unique<MirrorRing>(store_bytes);
    std::memcpy(larger->at(released_), store_->at(released_), store_->size());
    store_ = std::move(larger);
  }

  // --- sender -----------------------------------------------------------------------------------
  uint8_t* bytes(uint64_t pos) const { return store_->at(pos); }
  /// Octets that may be written from position pos on without touching what the receiver still needs.
  uint64_t room(uint64_t pos) const { return released_ + store_->size() - pos; }
  /// Said by an oc48 sender before its first frame: how far its clock is off, and how its line is set (SonetFormat).
  void set_line(int32_t ppm, uint32_t format) { ppm_ = ppm, format_ = format; }
  /// Called by a sender short of room, whose own unsent octets begin at position `oldest`.
  void evacuate(uint64_t oldest) {
    if (evacuate_) evacuate_();
    released_ = empty() ? oldest : front().pos;
  }
  /// Where the next frame may lie: behind the last one pushed.
  uint64_t next_pos() const { return next_pos_; }
  /// Appends a frame whose octets were written at frame.pos. Frames must come in order of start.
  void push(const WireFrame& frame) {
    frames_.push(frame);
    next_pos_ = frame.pos + frame.len;
  }
  /// oc48: SONET frames in order of their numbers, each when it has ended.
  void push_sonet(const SonetFrame& frame) { sonet_.push(frame); }
  /// Every frame with start < known_until() has been pushed, and every SONET frame that ended before: the receiver may
  /// look that far ahead.
  void set_known_until(Ps t) { known_until_ = t > known_until_ ? t : known_until_; }

  // --- receiver ---------------------------------------------------------------------------------
  Ps known_until() const { return known_until_; }
  Ps delay() const { return delay_; }
  int32_t line_ppm() const { return ppm_; }
  uint32_t line_format() const { return format_; }
  bool empty() const { return frames_.empty(); }
  uint64_t size() const { return frames_.size(); }
  const WireFrame& front() const { return frames_.front(); }
  /// The i-th frame not yet popped; i < size().
  const WireFrame& peek(uint64_t i) const { return frames_[frames_.tail() + i]; }
  void pop() { frames_.pop(); }
  /// SONET frame `number` if it has been pushed; lets go of it and of those before.
  std::optional<SonetFrame> take_sonet(int64_t number) {
    while (!sonet_.empty() && sonet_.front().number < number) sonet_.pop();
    if (sonet_.empty() || sonet_.front().number != number) return std::nullopt;
    const SonetFrame frame = sonet_.front();
    sonet_.pop();
    return frame;
  }
  /// The next SONET frame, for what stands between sender and receiver.
  const SonetFrame* next_sonet() const { return sonet_.empty() ? nullptr : &sonet_.front(); }
  void pop_sonet() { sonet_.pop(); }
  /// Propagation of what is plugged in between; before the receiver is told of a new sender.
  void set_delay(Ps delay_ps) { delay_ = delay_ps; }
  /// What the receiver does when the sender needs the room in which frames wait: it moves them away.
  void set_evacuate(std::function<void()> evacuate) { evacuate_ = std::move(evacuate); }
  /// The receiver needs no octet below position pos any more.
  void release(uint64_t pos) { released_ = pos; }

 private:
  std::unique_ptr<MirrorRing> store_;
  GrowingRing<WireFrame> frames_;
  GrowingRing<SonetFrame> sonet_;
  uint64_t released_ = 0, next_pos_ = 0;
  std::function<void()> evacuate_;
  Ps known_until_ = 0;
  Ps delay_;
  int32_t ppm_ = 0;
  uint32_t format_ = 0;
};

}  // namespace awing::hw
