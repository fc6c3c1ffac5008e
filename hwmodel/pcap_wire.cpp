// SPDX-License-Identifier: BSD-3-Clause
#include "pcap_wire.h"

#include <pcap/pcap.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "card.h"
#include "files.h"

namespace awing::hw {

namespace {
constexpr Ps kColumn = 3'200;  // 4 octets at 10 Gb/s
constexpr int kRecordsPerCall = 8192;

/// libpcap repeats the name of the file; say it once.
std::string reason(std::string_view why, const std::string& file) {
  if (why.starts_with(file + ": ")) why.remove_prefix(file.size() + 2);
  std::string line(why);
  std::replace(line.begin(), line.end(), '\n', ' ');
  return line;
}
}  // namespace

tl::expected<std::unique_ptr<PcapWire>, std::string> PcapWire::from_spec(std::string_view spec) {
  size_t at = spec.find(',');
  if (at == std::string_view::npos) at = spec.find('+');
  std::unique_ptr<PcapWire> wire(new PcapWire);
  wire->in_name_ = spec.substr(0, at);
  if (at != std::string_view::npos) wire->out_name_ = spec.substr(at + 1);
  const std::string &in = wire->in_name_, &out = wire->out_name_;
  if (in.empty() && out.empty())
    return tl::make_unexpected("wire=pcap: names no file; allowed: pcap:IN, pcap:IN+OUT, pcap:+OUT");
  if (!in.empty()) {
    // Opened here, so that "-" is a file like any other and not the standard input.
    const auto opened = open_input(in);
    if (!opened) return tl::make_unexpected("wire=pcap: " + opened.error());
    std::FILE* file = *opened;
    char why[PCAP_ERRBUF_SIZE] = "";
    wire->in_ = pcap_fopen_offline_with_tstamp_precision(file, PCAP_TSTAMP_PRECISION_NANO, why);
    if (!wire->in_) {
      std::fclose(file);
      return tl::make_unexpected("wire=pcap: " + in + " is not a capture: " + reason(why, in));
    }
    if (const int type = pcap_datalink(wire->in_); type != DLT_EN10MB) {
      const char* name = pcap_datalink_val_to_name(type);
      return tl::make_unexpected("wire=pcap: " + in + " holds frames of link type " +
                                 (name ? std::string(name) : std::to_string(type)) + "; allowed: EN10MB (Ethernet)");
    }
  }
  if (!out.empty()) {
    const auto opened = open_output(out);
    if (!opened) return tl::make_unexpected("wire=pcap: " + opened.error());
    std::FILE* file = *opened;
    wire->dead_ = pcap_open_dead_with_tstamp_precision(DLT_EN10MB, 65'535, PCAP_TSTAMP_PRECISION_NANO);
    wire->out_ = wire->dead_ ? pcap_dump_fopen(wire->dead_, file) : nullptr;
    if (!wire->out_) {
      std::fclose(file);
      return tl::make_unexpected("wire=pcap: " + out + " cannot be written");
    }
    wire->flush();
    if (wire->out_failed_) return tl::make_unexpected(wire->warning_);
  }
  return wire;
}

PcapWire::~PcapWire() {
  if (out_) pcap_dump_close(out_);
  if (dead_) pcap_close(dead_);
  if (in_) pcap_close(in_);
}

void PcapWire::warn(const std::string& line) { warning_ += (warning_.empty() ? "" : "; ") + line; }

// --- from the file to the card --------------------------------------------------------------------------------------

void PcapWire::start(Ps t0) {
  t0_ = t0;
  started_ = true;
}

PcapWire::Got PcapWire::read_record() {
  pcap_pkthdr* head = nullptr;
  const u_char* data = nullptr;
  const int got = in_ ? pcap_next_ex(in_, &head, &data) : PCAP_ERROR_BREAK;
  if (got <= 0) {
    if (got == PCAP_ERROR)
      warn("wire=pcap: " + in_name_ + " is damaged after " + std::to_string(read_) +
           " frames, which are used: " + reason(pcap_geterr(in_), in_name_));
    if (in_) pcap_close(in_);
    in_ = nullptr;
    return Got::kEnd;
  }
  const int64_t s = head->ts.tv_sec, ns = head->ts.tv_usec;  // opened in nanoseconds
  if (read_++ == 0) first_s_ = s, first_ns_ = ns;
  // A stamp before the first (or no stamp at all) does not move time back; one 26 days later is never reached.
  const I128 after = (static_cast<I128>(s) - first_s_) * kPsPerSec + (static_cast<I128>(ns) - first_ns_) * kPsPerNs;
  next_at_ = static_cast<Ps>(std::clamp<I128>(after, 0, kForever));
  if (head->len > kMaxFrameAny) return ++too_long_, Got::kSkipped;
  if (head->caplen < head->len) return ++cut_short_, Got::kSkipped;
  next_.assign(data, data + head->caplen);
  return Got::kFrame;
}

void PcapWire::advance(Ps until, Link& to_card) {
  if (!started_) return to_card.set_known_until(until + 1);
  if (!begun_) {  // what the card was told to be silent stays silent
    begun_ = true;
    t0_ = std::max(t0_, to_card.known_until());
    earliest_ = (t0_ + kColumn - 1) / kColumn;
  }
  Ps known = until + 1;
  for (int records = 0;; ++records) {
    if (records == kRecordsPerCall) {
      known = earliest_ * kColumn;  // the rest in the next call
      break;
    }
    if (next_.empty()) {
      const Got got = read_record();
      if (got == Got::kEnd) break;
      if (got == Got::kSkipped) continue;
      if (next_.size() < kMinFrame) {
        next_.resize(kMinFrame);
        ++padded_;
      }
    }
    const int64_t wanted = (t0_ + next_at_ + kColumn - 1) / kColumn;
    const int64_t q = std::max(wanted, earliest_);
    if (q * kColumn > until) break;
    const auto len = static_cast<uint32_t>(next_.size());
    const uint64_t pos = to_card.next_pos();
    if (to_card.room(pos) < len) to_card.evacuate(pos);
    if (to_card.room(pos) < len) {
      known = q * kColumn;
      break;
    }
    compressed_ += q > wanted;
    if (q > earliest_) idle_.deficit = 0;
    earliest_ = q + idle_.next(len + kFcs);
    std::memcpy(to_card.bytes(pos), next_.data(), len);
    to_card.push({q * kColumn, pos, len, 0});
    ++sent_;
    next_.clear();
  }
  to_card.set_known_until(known);
}

// --- from the card to the file --------------------------------------------------------------------------------------

void PcapWire::note_write_error() {
  if (!out_failed_) warn("wire=pcap: " + out_name_ + " is incomplete: " + std::strerror(errno));
  out_failed_ = true;
}

void PcapWire::consume(Link& from_card) {
  for (; !from_card.empty(); from_card.pop()) {
    const WireFrame frame = from_card.front();
    if (out_ && !out_failed_) {
      pcap_pkthdr head{};
      head.ts.tv_sec = frame.start / kPsPerSec;
      head.ts.tv_usec = frame.start % kPsPerSec / kPsPerNs;  // nanoseconds, as the file says
      head.caplen = head.len = frame.len;
      pcap_dump(reinterpret_cast<u_char*>(out_), &head, from_card.bytes(frame.pos));
      if (std::ferror(pcap_dump_file(out_))) note_write_error();
    }
    if (out_) ++(out_failed_ ? write_errors_ : written_);
    from_card.release(frame.pos + frame.len);
  }
}

void PcapWire::flush() {
  if (out_ && !out_failed_ && pcap_dump_flush(out_) != 0) note_write_error();
}

std::vector<std::pair<std::string, uint64_t>> PcapWire::counters() const {
  return {{"read", read_},
          {"sent", sent_},
          {"waiting", next_.empty() ? 0 : 1},
          {"padded", padded_},
          {"compressed", compressed_},
          {"too_long", too_long_},
          {"cut_short", cut_short_},
          {"written", written_},
          {"write_errors", write_errors_}};
}

}  // namespace awing::hw
