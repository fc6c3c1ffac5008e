// SPDX-License-Identifier: BSD-3-Clause
#include "pcap_wire.h"

#include <pcap/pcap.h>

#include <algorithm>
#include <cstring>

#include "card.h"

namespace awing::hw {

namespace {
constexpr Ps kColumn = 3'200;
}

tl::expected<std::unique_ptr<PcapWire>, std::string> PcapWire::from_spec(std::string_view spec) {
  const size_t plus = spec.find('+');
  const std::string in(spec.substr(0, plus));
  const std::string out(plus == std::string_view::npos ? std::string_view{} : spec.substr(plus + 1));
  if (in.empty() && out.empty()) return tl::make_unexpected("wire=pcap: needs a file: pcap:IN, pcap:IN+OUT or pcap:+OUT");
  std::unique_ptr<PcapWire> wire(new PcapWire);
  char why[PCAP_ERRBUF_SIZE] = "";
  if (!in.empty()) {
    wire->in_ = pcap_open_offline_with_tstamp_precision(in.c_str(), PCAP_TSTAMP_PRECISION_NANO, why);
    if (!wire->in_) return tl::make_unexpected("wire=pcap: " + in + " cannot be used: " + why);
    if (pcap_datalink(wire->in_) != DLT_EN10MB)
      return tl::make_unexpected("wire=pcap: " + in + " holds frames of another kind (link type " +
                                 std::to_string(pcap_datalink(wire->in_)) + "); only Ethernet can be sent");
    wire->read_next();
  }
  if (!out.empty()) {
    wire->dead_ = pcap_open_dead_with_tstamp_precision(DLT_EN10MB, 65535, PCAP_TSTAMP_PRECISION_NANO);
    wire->out_ = pcap_dump_open(wire->dead_, out.c_str());
    if (!wire->out_) return tl::make_unexpected("wire=pcap: " + out + " cannot be written: " + pcap_geterr(wire->dead_));
  }
  return wire;
}

PcapWire::~PcapWire() {
  if (out_) pcap_dump_close(out_);
  if (dead_) pcap_close(dead_);
  if (in_) pcap_close(in_);
}

void PcapWire::start(Ps t0) {
  t0_ = t0;
  earliest_ = t0 / kColumn + 1;
  started_ = true;
}

void PcapWire::read_next() {
  have_next_ = false;
  for (;;) {
    pcap_pkthdr* head = nullptr;
    const u_char* data = nullptr;
    const int got = pcap_next_ex(in_, &head, &data);
    if (got < 0) {
      if (got == PCAP_ERROR) ++read_errors_;  // a file cut short: what came before it was used
      return;
    }
    const int64_t ns = int64_t{head->ts.tv_sec} * 1'000'000'000 + head->ts.tv_usec;
    if (!first_seen_) first_ns_ = ns;
    first_seen_ = true;
    if (head->caplen < head->len || head->len > kMaxFrameAny || head->len < 14) {
      ++skipped_;
      continue;
    }
    next_.assign(data, data + head->caplen);
    if (next_.size() < kMinFrame) {
      next_.resize(kMinFrame);
      ++padded_;
    }
    next_at_ = (ns - first_ns_) * kPsPerNs;
    have_next_ = true;
    return;
  }
}

void PcapWire::advance(Ps until, Link& to_card) {
  // Frames begin on the columns of the far end's own line.
  Ps known = until + 1;
  while (started_ && have_next_) {
    const int64_t wanted = (t0_ + std::max<Ps>(next_at_, 0)) / kColumn + 1;
    const int64_t q = std::max(wanted, earliest_);
    if (q * kColumn > until) break;
    const auto len = static_cast<uint32_t>(next_.size());
    if (!to_card.full() && to_card.room(to_card.next_pos()) < len) to_card.evacuate(to_card.next_pos());
    if (to_card.full() || to_card.room(to_card.next_pos()) < len) {
      known = q * kColumn;
      break;
    }
    if (q > wanted) ++compressed_;
    if (q > earliest_) idle_.deficit = 0;
    earliest_ = q + idle_.next(len + kFcs);
    std::memcpy(to_card.bytes(to_card.next_pos()), next_.data(), len);
    to_card.push({q * kColumn, to_card.next_pos(), len, 0, 0});
    ++sent_;
    read_next();
  }
  to_card.set_known_until(known);
}

void PcapWire::consume(Link& from_card) {
  for (; !from_card.empty(); from_card.pop()) {
    const WireFrame frame = from_card.front();
    from_card.release(frame.pos + frame.len);
    if (!out_) continue;
    const int64_t ns = frame.start / kPsPerNs;
    pcap_pkthdr head{};
    head.ts.tv_sec = ns / 1'000'000'000;
    head.ts.tv_usec = static_cast<suseconds_t>(ns % 1'000'000'000);
    head.caplen = head.len = frame.len;
    pcap_dump(reinterpret_cast<u_char*>(out_), &head, from_card.bytes(frame.pos));
    if (ferror(pcap_dump_file(out_)))
      ++write_errors_;
    else
      ++written_;
  }
}

std::vector<std::pair<std::string, uint64_t>> PcapWire::counters() const {
  return {{"sent", sent_},           {"padded", padded_},         {"compressed", compressed_}, {"skipped", skipped_},
          {"read_errors", read_errors_}, {"written", written_}, {"write_errors", write_errors_}};
}

}  // namespace awing::hw
