// SPDX-License-Identifier: BSD-3-Clause
#include "apcm/rfc4175.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

namespace apcm {
namespace {

constexpr uint32_t kPixelsPerGroup = 2;
constexpr size_t kSegmentHeader = 6;
/// So many late packets without one of a known frame mean that the sender began anew with older timestamps.
constexpr uint32_t kRestartAfter = 64;

bool newer(uint32_t a, uint32_t b) { return static_cast<int32_t>(a - b) > 0; }

}  // namespace

// ------------------------------------------------------------------------------------------------
// Packetiser
// ------------------------------------------------------------------------------------------------
Packetiser::Packetiser(const VideoFormat& format, size_t max_packet, uint32_t ssrc, uint8_t payload_type,
                       uint32_t first_sequence)
    : format_(format),
      groups_per_line_(format.chroma_width()),
      ssrc_(ssrc),
      payload_type_(payload_type),
      sequence_(first_sequence) {
  const size_t pgroup = format.pgroup_bytes();
  if (groups_per_line_ == 0 || format.height == 0 || max_packet < kRfc4175MinHeader + pgroup) return;
  max_packet = std::min<size_t>(max_packet, 65535);  // the Length field has 16 bits
  const size_t line = format.line_bytes();
  const auto whole = std::min<size_t>((max_packet - kRtpHeaderBytes - 2) / (kSegmentHeader + line), kMaxSegments);
  if (whole > 0) {
    lines_per_packet_ = static_cast<uint32_t>(whole);
    packets_per_frame_ = (format.height + lines_per_packet_ - 1) / lines_per_packet_;
  } else {
    const auto groups_that_fit = static_cast<uint32_t>((max_packet - kRfc4175MinHeader) / pgroup);
    fragments_ = (groups_per_line_ + groups_that_fit - 1) / groups_that_fit;
    packets_per_frame_ = format.height * fragments_;
  }
}

uint32_t Packetiser::segments_of(uint32_t index, Segment* out) const {
  if (fragments_ > 0) {
    const uint32_t part = index % fragments_;
    const auto begin = static_cast<uint32_t>(uint64_t{groups_per_line_} * part / fragments_);
    const auto end = static_cast<uint32_t>(uint64_t{groups_per_line_} * (part + 1) / fragments_);
    out[0] = {index / fragments_, begin, end - begin};
    return 1;
  }
  const uint32_t first = index * lines_per_packet_;
  const uint32_t count = std::min(lines_per_packet_, format_.height - first);
  for (uint32_t i = 0; i < count; ++i) out[i] = {first + i, 0, groups_per_line_};
  return count;
}

size_t Packetiser::packet_bytes(uint32_t index) const {
  std::array<Segment, kMaxSegments> segments;
  const uint32_t count = segments_of(index, segments.data());
  size_t octets = kRtpHeaderBytes + 2;
  for (uint32_t i = 0; i < count; ++i) octets += kSegmentHeader + segments[i].groups * format_.pgroup_bytes();
  return octets;
}

size_t Packetiser::max_packet_bytes() const {
  size_t most = 0;
  for (uint32_t i = 0; i < std::max(fragments_, 1u) && i < packets_per_frame_; ++i)
    most = std::max(most, packet_bytes(i));
  return most;
}

void Packetiser::begin_frame(std::span<const uint8_t> packed, uint32_t rtp_timestamp) {
  frame_ = packed.size() == format_.packed_bytes() ? packed : std::span<const uint8_t>{};
  timestamp_ = rtp_timestamp;
  index_ = 0;
}

size_t Packetiser::next(uint8_t* out) {
  if (frame_.empty() || index_ >= packets_per_frame_) return 0;
  std::array<Segment, kMaxSegments> segments;
  const uint32_t count = segments_of(index_, segments.data());
  const bool last = ++index_ == packets_per_frame_;
  write_rtp({last, payload_type_, static_cast<uint16_t>(sequence_), timestamp_, ssrc_}, out);
  put_be16(out + kRtpHeaderBytes, sequence_ >> 16);
  ++sequence_;
  const uint32_t pgroup = format_.pgroup_bytes();
  uint8_t* header = out + kRtpHeaderBytes + 2;
  uint8_t* data = header + count * kSegmentHeader;
  for (uint32_t i = 0; i < count; ++i, header += kSegmentHeader) {
    const Segment& s = segments[i];
    const size_t octets = size_t{s.groups} * pgroup;
    put_be16(header, static_cast<uint32_t>(octets));
    put_be16(header + 2, s.line);  // F = 0: progressive
    put_be16(header + 4, (i + 1 < count ? 0x8000u : 0u) | s.first_group * kPixelsPerGroup);
    std::memcpy(data, frame_.data() + size_t{s.line} * format_.line_bytes() + size_t{s.first_group} * pgroup, octets);
    data += octets;
  }
  return static_cast<size_t>(data - out);
}

// ------------------------------------------------------------------------------------------------
// Depacketiser
// ------------------------------------------------------------------------------------------------
Depacketiser::Depacketiser(const VideoFormat& format, uint8_t payload_type, std::optional<uint32_t> ssrc,
                           uint32_t window)
    : format_(format),
      payload_type_(payload_type),
      ssrc_(ssrc),
      window_(std::max(window, 1u)),
      groups_per_line_(format.chroma_width()),
      groups_(groups_per_line_ * format.height) {
  slots_.resize(window_ + 1);  // one more: a closed frame waits there to be taken
  for (auto& slot : slots_) {
    slot.packed.resize(format_.packed_bytes());
    slot.have.resize((groups_ + 63) / 64);
  }
  order_.reserve(slots_.size());
  for (uint32_t i = 0; i < slots_.size(); ++i) free_.push_back(i);
}

RtpVerdict Depacketiser::count(RtpVerdict verdict) {
  switch (verdict) {
    case RtpVerdict::kPlaced:
      ++counters_.placed;
      break;
    case RtpVerdict::kDuplicate:
      ++counters_.duplicate;
      break;
    case RtpVerdict::kLate:
      ++counters_.late;
      break;
    case RtpVerdict::kForeign:
      ++counters_.foreign;
      break;
    case RtpVerdict::kMalformed:
      ++counters_.malformed;
      break;
  }
  return verdict;
}

RtpVerdict Depacketiser::push(std::span<const uint8_t> rtp) {
  const auto packet = parse_rtp(rtp);
  if (!packet) return count(RtpVerdict::kMalformed);
  if (packet->header.payload_type != payload_type_ || (ssrc_ && packet->header.ssrc != *ssrc_))
    return count(RtpVerdict::kForeign);

  // All headers are checked before anything is placed: a packet counts whole or not at all.
  struct Segment {
    size_t first_group, groups;
  };
  std::array<Segment, 64> segments;  // RFC 4175 sets no limit; 64 lines in one packet are more than any sender's
  size_t segment_count = 0;
  const uint32_t pgroup = format_.pgroup_bytes();
  size_t at = 2;
  size_t data_octets = 0;
  bool more = true;
  while (more) {
    if (segment_count == segments.size() || at + kSegmentHeader > packet->payload.size())
      return count(RtpVerdict::kMalformed);
    const uint8_t* h = packet->payload.data() + at;
    at += kSegmentHeader;
    const uint32_t length = get_be16(h);
    const uint32_t line = get_be16(h + 2);
    const uint32_t offset = get_be16(h + 4) & 0x7fffu;
    more = (h[4] & 0x80) != 0;
    if (length % pgroup != 0 || offset % kPixelsPerGroup != 0 || line >= format_.height ||  // F set: line >= 32768
        offset / kPixelsPerGroup + length / pgroup > groups_per_line_)
      return count(RtpVerdict::kMalformed);
    segments[segment_count++] = {line * groups_per_line_ + offset / kPixelsPerGroup, length / pgroup};
    data_octets += length;
  }
  if (at + data_octets > packet->payload.size()) return count(RtpVerdict::kMalformed);

  if (!ssrc_) ssrc_ = packet->header.ssrc;
  Slot* slot = slot_for(packet->header.timestamp);
  if (slot == nullptr) return count(RtpVerdict::kLate);
  late_run_ = 0;
  uint32_t fresh = 0;
  const uint8_t* data = packet->payload.data() + at;
  for (size_t i = 0; i < segment_count; ++i) {
    const size_t octets = segments[i].groups * pgroup;
    if (octets > 0) std::memcpy(slot->packed.data() + segments[i].first_group * pgroup, data, octets);
    data += octets;
    fresh += mark(*slot, segments[i].first_group, segments[i].groups);
  }
  slot->missing_groups -= fresh;
  return count(fresh > 0 ? RtpVerdict::kPlaced : RtpVerdict::kDuplicate);
}

/// The open slot of a timestamp, opening one when it is new; nothing when its frame is gone.
Depacketiser::Slot* Depacketiser::slot_for(uint32_t timestamp) {
  size_t position = order_.size();
  for (; position > 0; --position) {
    Slot& slot = slots_[order_[position - 1]];
    if (slot.timestamp == timestamp) return slot.closed ? nullptr : &slot;
    if (newer(timestamp, slot.timestamp)) break;
  }
  if (last_out_ && !newer(timestamp, *last_out_)) {
    if (++late_run_ < kRestartAfter) return nullptr;
    flush();
    last_out_.reset();
    late_run_ = 0;
    return open_slot(order_.size(), timestamp);
  }
  // Older than all open frames: only while there is room, for it would be the first to be closed.
  if (position == 0 && !order_.empty() && (order_.size() >= window_ || slots_[order_.front()].closed)) return nullptr;
  return open_slot(position, timestamp);
}

Depacketiser::Slot* Depacketiser::open_slot(size_t position, uint32_t timestamp) {
  if (free_.empty()) {  // the oldest was closed by an earlier call and not taken: it is lost, but counted
    retire(slots_[order_.front()]);
    free_.push_back(order_.front());
    order_.erase(order_.begin());
    --position;  // at least 1: slot_for() opens nothing before a closed frame
  }
  const uint32_t index = free_.back();
  free_.pop_back();
  order_.insert(order_.begin() + static_cast<std::ptrdiff_t>(position), index);
  Slot& slot = slots_[index];
  slot.timestamp = timestamp;
  slot.closed = false;
  slot.missing_groups = groups_;
  std::fill(slot.have.begin(), slot.have.end(), 0);
  if (order_.size() > window_) slots_[order_.front()].closed = true;
  return &slot;
}

/// Sets the bits of `count` pgroups from `first`; returns how many were new.
uint32_t Depacketiser::mark(Slot& slot, size_t first, size_t count) {
  uint32_t fresh = 0;
  while (count > 0) {
    const size_t bit = first % 64;
    const size_t n = std::min<size_t>(count, 64 - bit);
    const uint64_t mask = (n == 64 ? ~uint64_t{0} : (uint64_t{1} << n) - 1) << bit;
    uint64_t& word = slot.have[first / 64];
    fresh += static_cast<uint32_t>(std::popcount(mask & ~word));
    word |= mask;
    first += n;
    count -= n;
  }
  return fresh;
}

/// Fills what is missing with black of studio range: luma 16, chroma 128, times four at 10 bits.
void Depacketiser::blacken(Slot& slot) {
  static constexpr uint8_t kBlack8[4] = {128, 16, 128, 16};
  static constexpr uint8_t kBlack10[5] = {0x80, 0x04, 0x08, 0x00, 0x40};  // 512, 64, 512, 64
  const uint8_t* black = format_.depth > 8 ? kBlack10 : kBlack8;
  const uint32_t pgroup = format_.pgroup_bytes();
  for (size_t g = 0; g < groups_; ++g)
    if ((slot.have[g / 64] >> (g % 64) & 1) == 0) std::memcpy(slot.packed.data() + g * pgroup, black, pgroup);
}

void Depacketiser::retire(const Slot& slot) {
  last_out_ = slot.timestamp;
  if (slot.missing_groups == 0) {
    ++counters_.frames_complete;
  } else {
    ++counters_.frames_incomplete;
    counters_.missing_octets += slot.missing_groups * format_.pgroup_bytes();
  }
}

std::optional<RebuiltFrame> Depacketiser::take() {
  if (order_.empty()) return std::nullopt;
  const uint32_t index = order_.front();
  Slot& slot = slots_[index];
  if (!slot.closed && slot.missing_groups > 0) return std::nullopt;
  if (slot.missing_groups > 0) blacken(slot);
  retire(slot);
  order_.erase(order_.begin());
  free_.insert(free_.begin(), index);  // taken from the back: its octets stay until all others were used
  return RebuiltFrame{slot.packed, slot.timestamp, slot.missing_groups * format_.pgroup_bytes()};
}

void Depacketiser::flush() {
  for (const uint32_t index : order_) slots_[index].closed = true;
}

}  // namespace apcm
