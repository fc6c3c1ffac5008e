// SPDX-License-Identifier: BSD-3-Clause
#include "sender.h"

#include <algorithm>
#include <cstring>

namespace apcm::stream {
namespace {

/// What the card's own stamp may be wrong by against its clock: the 10GBASE-R column of 3.2 ns.
constexpr uint64_t kCardErrorNs = 4;
/// What a launch time may differ from the start of the frame on ports that send on time but do not stamp.
constexpr uint64_t kLaunchErrorNs = 1000;
constexpr uint32_t kSsrcBase = 0xA9CB0000;

uint32_t layer_octets(const Options& o, uint32_t frame) { return o.rate_is_l2 ? l2_octets(frame) : l1_octets(frame); }

/// Layer octets of all packets of a video frame.
uint64_t octets_per_video_frame(const Options& o, const Packetiser& p) {
  uint64_t octets = 0;
  for (uint32_t i = 0; i < p.packets_per_frame(); ++i)
    octets += layer_octets(o, PacketTemplate::shape(static_cast<uint32_t>(p.packet_bytes(i))).octets);
  return octets;
}

}  // namespace

tl::expected<std::unique_ptr<Sender>, std::string> Sender::create(const Options& o, Port& port, FrameSource& source) {
  const VideoFormat& f = source.format();
  const Packetiser cut(f, PacketTemplate::max_payload(o.mtu), 0);
  if (!cut.fits()) return tl::unexpected("--mtu " + std::to_string(o.mtu) + ": no room for video in such packets");
  const uint64_t own_bps =
      static_cast<uint64_t>(static_cast<Uint128>(octets_per_video_frame(o, cut)) * 8 * f.fps_num / f.fps_den);
  uint32_t count = o.streams;
  if (count == 0)
    count = static_cast<uint32_t>(std::clamp<uint64_t>((o.rate_bps + own_bps / 2) / own_bps, 1, kMostStreams));
  if (o.udp_port + 2 * (count - 1) > 65535)
    return tl::unexpected("--udp-port " + std::to_string(o.udp_port) + ": " + std::to_string(count) +
                          " streams need two ports each above it");

  std::unique_ptr<Sender> s(new Sender(o, port, source, count));
  s->by_rate_ = o.rate_bps != 0;
  s->target_bps_ = s->by_rate_ ? o.rate_bps : own_bps * count;
  s->packet_octets_ = PacketTemplate::shape(static_cast<uint32_t>(cut.packet_bytes(0))).octets;
  const bool multicast = o.destination >> 28 == 0xe;
  const uint64_t mac = o.destination_mac.value_or(multicast ? multicast_mac(o.destination) : 0xffff'ffff'ffffu);
  for (uint32_t i = 0; i < count; ++i) {
    const auto udp = static_cast<uint16_t>(o.udp_port + 2 * i);
    const PacketAddresses ends{port.mac(), mac, o.source, o.destination, udp, udp};
    s->streams_.push_back({Packetiser(f, PacketTemplate::max_payload(o.mtu), kSsrcBase + i, o.payload_type),
                           PacketTemplate(ends, o.udp_checksum, o.exid),
                           RateSchedule(s->target_bps_, count, i, layer_octets(o, s->packet_octets_)),
                           FrameSchedule(f.fps_num, f.fps_den, cut.packets_per_frame(), count, i),
                           SdpStream{o.source, o.destination, udp, o.payload_type, f}});
  }
  return s;
}

Sender::~Sender() { abandon(); }

void Sender::abandon() {
  ready_.clear();
  counters_.abandoned += pending_;
  rte_pktmbuf_free_bulk(packets_.data(), pending_);
  pending_ = 0;
}

std::vector<SdpStream> Sender::sdp() const {
  std::vector<SdpStream> out;
  for (const Stream& s : streams_) out.push_back(s.description);
  return out;
}

std::optional<uint64_t> Sender::sent_bps() const {
  const uint64_t last = held_ ? left_ns_ : last_ns_;
  const uint64_t left = counters_.sent - std::min(held_.value_or(0), counters_.sent);
  if (last <= first_ns_ || left < 2) return std::nullopt;
  // Packets are nearly all of one size. The last one's own time is not within the span, or not surely.
  const auto octets = static_cast<uint64_t>(static_cast<Uint128>(counters_.l1_octets) * left / counters_.sent);
  if (octets <= last_l1_octets_) return std::nullopt;
  return static_cast<uint64_t>(static_cast<Uint128>(octets - last_l1_octets_) * 8'000'000'000u / (last - first_ns_));
}

void Sender::settle(uint64_t now_ns) {
  if (counters_.sent == 0 || held_ == 0) return;
  held_ = port_.in_flight();
  left_ns_ = now_ns;
}

bool Sender::begin_frame(Stream& s) {
  const auto packed = source_.frame(s.video_frame);
  if (packed.empty()) return false;
  const VideoFormat& f = source_.format();
  s.packetiser.begin_frame(packed, rtp_timestamp_90k(s.video_frame, f.fps_num, f.fps_den));
  ++s.video_frame;
  return true;
}

void Sender::start(uint64_t now_ns) {
  start_ns_ = now_ns + 2 * options_.lead_ns;
  if (options_.duration_ns != 0) end_ns_ = start_ns_ + options_.duration_ns;
  for (uint32_t i = 0; i < streams_.size(); ++i) {
    Stream& s = streams_[i];
    if (!begin_frame(s)) continue;
    ready_.push_back({by_rate_ ? s.by_rate.next_ns() : s.by_frame.next_ns(), i});
  }
  std::make_heap(ready_.begin(), ready_.end());
}

/// Builds the next packet of a stream as packets_[pending_]. False when there is no buffer.
bool Sender::make(uint32_t index, uint64_t launch_ns) {
  Stream& s = streams_[index];
  rte_mbuf* m = rte_pktmbuf_alloc(port_.pool());
  if (m == nullptr) {
    ++counters_.no_buffer;
    return false;
  }
  auto* frame = rte_pktmbuf_mtod(m, uint8_t*);
  const auto payload = static_cast<uint32_t>(s.packetiser.next(frame + PacketTemplate::kHeaders));
  Block block{s.sequence, Stamp{}, {}, static_cast<uint16_t>(index + 1)};
  if (port_.inserts_stamp()) {
    block.error = ErrorEstimate::from_ns(kCardErrorNs, false);
  } else {
    block.error = ErrorEstimate::from_ns(port_.timed_send() ? kLaunchErrorNs : software_error_ns_, false);
    block.sent = from_ns(launch_ns);
  }
  const PacketShape shape = s.frame.finish(frame, payload, block);
  m->data_len = static_cast<uint16_t>(shape.octets);
  m->pkt_len = shape.octets;
  if (port_.timed_send()) port_.set_launch(m, launch_ns);
  if (port_.inserts_stamp()) port_.set_stamp(m, {shape.stamp_offset, shape.csum_offset});
  made_[pending_] = {index, s.sequence, payload, launch_ns};
  packets_[pending_++] = m;
  ++counters_.made;
  ++s.sequence;
  if (by_rate_)
    s.by_rate.advance(layer_octets(options_, shape.octets));
  else
    s.by_frame.advance();
  return true;
}

/// Behind by more than kSlipNs: the rest of the schedule moves, so that packets keep their distances.
void Sender::slip(uint64_t now_ns) {
  const uint64_t launch = start_ns_ + ready_.front().launch_ns;
  if (launch + kSlipNs >= now_ns) return;
  const uint64_t by = now_ns - launch;
  start_ns_ += by;
  ++counters_.slips;
  counters_.slipped_ns += by;
}

uint16_t Sender::poll(uint64_t now_ns) {
  if (pending_ == 0 && !ready_.empty()) {
    slip(now_ns);
    const uint64_t horizon = now_ns + (port_.timed_send() ? options_.lead_ns : 0);
    while (pending_ < kBatch && !ready_.empty()) {
      const uint64_t launch = start_ns_ + ready_.front().launch_ns;
      if (launch >= end_ns_) {  // the earliest of all streams
        ready_.clear();
        break;
      }
      if (launch > horizon) break;
      const uint32_t index = ready_.front().stream;
      Stream& s = streams_[index];
      if (!make(index, launch)) break;
      std::pop_heap(ready_.begin(), ready_.end());
      ready_.pop_back();
      if (s.packetiser.next_bytes() == 0 && !begin_frame(s)) continue;
      ready_.push_back({by_rate_ ? s.by_rate.next_ns() : s.by_frame.next_ns(), index});
      std::push_heap(ready_.begin(), ready_.end());
    }
  }
  if (pending_ == 0) return 0;

  uint64_t before = 0;
  if (!port_.timed_send()) {
    for (uint16_t i = 0; i < pending_; ++i) {  // a reading for each: no two packets share a stamp
      const uint64_t now = port_.now_ns();
      if (i == 0) before = now;
      PacketTemplate::restamp(rte_pktmbuf_mtod(packets_[i], uint8_t*), made_[i].payload, from_ns(now));
      made_[i].launch_ns = now;
    }
  }
  // The frames belong to the port once it has taken them: their lengths are read before.
  std::array<uint32_t, kBatch> octets;
  for (uint16_t i = 0; i < pending_; ++i) octets[i] = packets_[i]->pkt_len;
  const uint16_t taken = port_.send(packets_.data(), pending_);
  if (before != 0) software_error_ns_ = std::max<uint64_t>(1000, port_.now_ns() - before);
  for (uint16_t i = 0; i < taken; ++i) {
    ++streams_[made_[i].stream].sent;
    ++counters_.sent;
    counters_.octets += octets[i];
    counters_.l1_octets += l1_octets(octets[i]);
    counters_.late += port_.timed_send() && made_[i].launch_ns < now_ns;
    last_ns_ = std::max(made_[i].launch_ns, now_ns);
    if (first_ns_ == 0) first_ns_ = last_ns_;
    last_l1_octets_ = l1_octets(octets[i]);
    order_.sent(made_[i].stream, made_[i].sequence);
  }
  counters_.retried += pending_ - taken;
  std::copy(packets_.begin() + taken, packets_.begin() + pending_, packets_.begin());
  std::copy(made_.begin() + taken, made_.begin() + pending_, made_.begin());
  pending_ = static_cast<uint16_t>(pending_ - taken);
  return taken;
}

}  // namespace apcm::stream
