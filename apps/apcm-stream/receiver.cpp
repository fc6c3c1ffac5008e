// SPDX-License-Identifier: BSD-3-Clause
#include "receiver.h"

#include <algorithm>

#include "apcm/pgroup.h"

namespace apcm::stream {
namespace {
constexpr uint64_t kAssumedLineBps = 10'000'000'000;  ///< for ports that do not say how fast they are
constexpr uint32_t kFcs = 4;
}  // namespace

Receiver::Receiver(const Options& options, Port& port, const SendOrder* order)
    : options_(options),
      port_(port),
      order_(order),
      line_bps_(port.link_bps() != 0 ? port.link_bps() : kAssumedLineBps),
      flow_index_(65536),
      sending_wire_(line_bps_),
      receiving_wire_(line_bps_) {
  sent_.reserve(2 * kSortDepth);
}

tl::expected<std::unique_ptr<Receiver>, std::string> Receiver::create(const Options& o, Port& port,
                                                                      const std::vector<SdpStream>& streams,
                                                                      const SendOrder* order) {
  std::unique_ptr<Receiver> r(new Receiver(o, port, order));
  if (!streams.empty()) r->ours_.resize(65536);
  for (const SdpStream& s : streams) r->ours_[s.port] = true;
  if (o.out.empty()) return r;
  if (o.out_stream >= streams.size())
    return tl::unexpected("--out-stream " + std::to_string(o.out_stream) + ": there are " +
                          std::to_string(streams.size()) + " streams, counted from 0");
  const SdpStream& s = streams[o.out_stream];
  auto writer = Y4mWriter::open(o.out, s.format);
  if (!writer) return tl::unexpected("--out: " + writer.error());
  r->writer_.emplace(std::move(*writer));
  r->rebuild_port_ = s.port;
  r->format_ = s.format;
  r->depacketiser_.emplace(s.format, s.payload_type);
  r->planar_.resize(s.format.planar_bytes());
  return r;
}

uint16_t Receiver::poll() {
  std::array<rte_mbuf*, kBatch> batch;
  const uint16_t count = port_.receive(batch.data(), kBatch);
  // A port that stamps is not asked for the time here: a read of its clock costs a bus turn.
  const uint64_t now = port_.stamps_receive() ? 0 : port_.now_ns();
  for (uint16_t i = 0; i < count; ++i) take(batch[i], now);
  rte_pktmbuf_free_bulk(batch.data(), count);
  last_poll_ns_ = now;
  return count;
}

void Receiver::take(rte_mbuf* m, uint64_t poll_ns) {
  ++counters_.received;
  counters_.octets += m->pkt_len;
  Stamp received;
  if (const auto ns = port_.receive_stamp_ns(m)) {
    received = from_ns(*ns);
  } else {
    ++counters_.unstamped;
    const uint64_t now = port_.now_ns();  // for each packet: two packets never share a stamp
    if (last_poll_ns_ != 0 && poll_ns > last_poll_ns_) stamp_error_ns_.record(now - last_poll_ns_);
    received = from_ns(now);
  }
  if (m->nb_segs > 1 && rte_pktmbuf_linearize(m) != 0) {
    ++counters_.malformed;
    return;
  }
  classify({rte_pktmbuf_mtod(m, const uint8_t*), m->data_len}, received);
}

void Receiver::classify(std::span<const uint8_t> frame, Stamp received) {
  if (frame.size() < PacketTemplate::kEthernet || get_be16(frame.data() + 12) != 0x0800) {
    ++counters_.foreign;
    return;
  }
  const Parsed p = parse_datagram(frame.subspan(PacketTemplate::kEthernet), options_.exid);
  if (p.status == OptionStatus::kTruncated) {
    by_status_.count(p.status);
    ++counters_.malformed;
    return;
  }
  if (p.status == OptionStatus::kNotUdp || (!ours_.empty() && !ours_[p.destination_port])) {
    ++counters_.foreign;
    return;
  }
  by_status_.count(p.status);
  switch (p.status) {
    case OptionStatus::kFound:
      measure(p.block, received, static_cast<uint32_t>(frame.size()) + kFcs);
      break;
    case OptionStatus::kNoSurplus:
    case OptionStatus::kNoBlock:
      ++counters_.no_block;
      break;
    default:
      ++counters_.bad_block;
      break;
  }
  if (depacketiser_ && p.destination_port == rebuild_port_) rebuild(p.payload);
}

Flow* Receiver::flow_of(uint16_t session) {
  uint16_t& index = flow_index_[session];
  if (index == 0) {
    const bool known = order_ == nullptr || (session != 0 && session <= order_->streams());
    if (!known || flows_.size() == kMostStreams) return nullptr;
    flows_.push_back(std::make_unique<Flow>(session, line_bps_));
    last_sequence_.push_back(0);
    index = static_cast<uint16_t>(flows_.size());
  }
  return flows_[index - 1u].get();
}

void Receiver::measure(const Block& block, Stamp received, uint32_t octets) {
  Flow* flow = flow_of(block.session);
  if (flow == nullptr) {
    ++counters_.unknown_session;
    return;
  }
  ++counters_.measured;
  receiving_wire_.on_frame(received, octets);
  const uint64_t unique_before = flow->meter.sequence.unique();
  flow->meter.on_packet(block.sequence, block.sent, block.error, received, octets);
  delay_.on_packet(block.sent, received);
  if (options_.json) interval_.on_packet(block.sent, received);
  if (flow->meter.sequence.unique() == unique_before) return;  // a copy has its original's send stamp
  const uint32_t stream = flow_index_[block.session] - 1u;
  const uint64_t place = order_ != nullptr ? order_->place(block.session - 1u, block.sequence) : 0;
  sort_in({block.sent, place, octets, stream, block.sequence});
}

void Receiver::sort_in(const Sent& packet) {
  sent_.push_back(packet);
  for (size_t i = sent_.size() - 1;
       i > sent_first_ && static_cast<int64_t>(sent_[i - 1].stamp.v - sent_[i].stamp.v) > 0; --i)
    std::swap(sent_[i - 1], sent_[i]);
  if (sent_.size() - sent_first_ > kSortDepth) pop_sent();
  if (sent_first_ == kSortDepth) {
    sent_.erase(sent_.begin(), sent_.begin() + kSortDepth);
    sent_first_ = 0;
  }
}

/// The earliest of the sorted packets. Its gap counts when it followed the one before on the sending wire: when the
/// sender says so, else when its stream has no hole there (other streams may then have one; the gap is too long, never
/// too short).
void Receiver::pop_sent() {
  const Sent& p = sent_[sent_first_++];
  if (last_sent_) {
    const bool adjacent = order_ != nullptr ? p.place == last_sent_->place + 1
                                            : last_sequence_[p.stream] == 0 || p.sequence == last_sequence_[p.stream];
    if (!adjacent) sending_wire_.forget_last();
  }
  sending_wire_.on_frame(p.stamp, p.octets);
  last_sent_ = p;
  last_sequence_[p.stream] = p.sequence + 1;
}

void Receiver::rebuild(std::span<const uint8_t> rtp) {
  depacketiser_->push(rtp);
  write_frames();
}

void Receiver::write_frames() {
  while (const auto frame = depacketiser_->take()) {
    if (!writer_) continue;
    unpack_frame(format_, frame->packed, planar_);
    if (const auto written = writer_->write(planar_); !written) {
      error_ = written.error();
      writer_.reset();
    } else {
      ++frames_written_;
    }
  }
}

tl::expected<void, std::string> Receiver::finish() {
  while (sent_first_ < sent_.size()) pop_sent();
  sending_wire_.finish();
  receiving_wire_.finish();
  for (auto& flow : flows_) flow->meter.arrivals.finish();
  if (depacketiser_) {
    depacketiser_->flush();
    write_frames();
  }
  if (error_.empty() && writer_) {
    if (const auto closed = writer_->close(); !closed) error_ = closed.error();
  }
  if (!error_.empty()) return tl::unexpected(error_);
  return {};
}

}  // namespace apcm::stream
