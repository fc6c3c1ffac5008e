// SPDX-License-Identifier: BSD-3-Clause
#include "sonet_path.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstring>

#include "files.h"
#include "hwmodel/datasheet_oc48.h"
#include "json_reader.h"
#include "sonet.h"

namespace awing::hw {

namespace {
constexpr int64_t kFrameBits = 8 * sonet::kFrameOctets;
/// An error comes back 43 bits later out of the descrambler x^43 + 1 (RFC 2615 section 4).
constexpr int64_t kEcho = 43;
/// A SONET frame is 125 us.
constexpr Ps kFrameTime = 125 * kPsPerUs;
}  // namespace

SonetPath::SonetPath(const SonetPathConfig& config) : config_(config), random_(config.seed) {
  if (config.bit_error_rate > 0) mean_gap_ = static_cast<uint64_t>(std::llround(65'536 / config.bit_error_rate));
}

/// Draws errors until one lies beyond this line bit.
void SonetPath::draw(int64_t line_bit) {
  while (mean_gap_ != 0 && drawn_ <= line_bit) {
    const uint64_t e = exponential(random_() | 1);  // 2^-32
    drawn_ += 1 + static_cast<int64_t>((static_cast<U128>(e) * mean_gap_) >> 48);
    line_.push_back(drawn_);
    const int64_t octet = drawn_ / 8, edge = octet / sonet::kLanes;
    if (sonet::is_payload(edge))
      payload_.push_back(8 * sonet::octet_at(edge, static_cast<int>(octet % sonet::kLanes)) + drawn_ % 8);
  }
}

/// Whether an error falls on payload octets from the opening flag, before `first`, to the closing one, `flag`.
bool SonetPath::damaged(int64_t first, int64_t flag, bool scrambled) {
  const int64_t from = 8 * (first - 1), to = 8 * (flag + 1);
  draw(8 * sonet::kLanes * (sonet::edge_of(flag) + 1));
  while (!payload_.empty() && payload_.front() + kEcho < from) payload_.pop_front();
  for (const int64_t bit : payload_) {
    if (bit >= to) break;
    if (bit >= from || (scrambled && bit + kEcho >= from)) return true;
    // An echo may lie in the frame though its error is before it; one behind the frame is another's.
  }
  return false;
}

void SonetPath::spoil(SonetFrame& frame) {
  const int64_t from = frame.number * kFrameBits, to = from + kFrameBits;
  draw(to);
  while (!line_.empty() && line_.front() < from) line_.pop_front();
  uint8_t b1 = 0, b3 = 0;
  std::array<uint8_t, 48> b2{};
  for (; !line_.empty() && line_.front() < to; line_.pop_front()) {
    ++bit_errors_;
    const int64_t octet = (line_.front() - from) / 8;
    const auto bit = static_cast<uint8_t>(0x80 >> ((line_.front() - from) % 8));
    const int64_t row = octet / sonet::kColumns, column = octet % sonet::kColumns;
    b1 ^= bit;
    const bool section = row < 3 && column < sonet::kTransport;
    if (!section) b2[static_cast<size_t>(column % 48)] ^= bit;
    if (column >= sonet::kTransport) b3 ^= bit;
    // A1 48 times, then A2 48 times: the two on either side of the seam are compared.
    if (row == 0 && column >= 46 && column < 50) frame.framing = false;
  }
  frame.b1 = static_cast<uint16_t>(std::popcount(b1));
  for (const uint8_t parity : b2) frame.b2 = static_cast<uint16_t>(frame.b2 + std::popcount(parity));
  frame.b3 = static_cast<uint16_t>(std::popcount(b3));
  using What = SonetFault::What;
  if (fault(What::kLos, frame.number, frame.number)) frame.light = false;
  if (fault(What::kLof, frame.number, frame.number)) frame.framing = false;
  if (fault(What::kAisP, frame.number, frame.number)) frame.ais = true;
}

bool SonetPath::fault(SonetFault::What what, int64_t first, int64_t last) const {
  for (const SonetFault& f : config_.faults)
    if (f.what == what && f.first <= last && first <= f.last) return true;
  return false;
}

void SonetPath::advance(Link& in, Link& out) {
  const Clock quanta = sonet::quantum_clock(in.line_ppm());
  Ps known = in.known_until();
  for (; !in.empty() && in.front().start < in.known_until(); in.pop()) {
    WireFrame frame = in.front();
    const int64_t edge = quanta.at_or_after(frame.start) / sonet::kLanes;
    const int64_t first = sonet::octet_at(edge, static_cast<int>(frame.lane)), flag = first + frame.line_octets;
    const int64_t from = edge / sonet::kFrameEdges, to = sonet::edge_of(flag) / sonet::kFrameEdges;
    if (fault(SonetFault::What::kLos, from, to) || fault(SonetFault::What::kAisP, from, to)) {
      ++offered_;
      ++lost_;
      in.release(frame.pos + frame.len);
      continue;
    }
    const uint64_t pos = out.next_pos();
    if (out.room(pos) < frame.len) out.evacuate(pos);
    if (out.room(pos) < frame.len) {  // not before the receiver has let go of something
      known = frame.start;
      break;
    }
    ++offered_;
    ++delivered_;
    if (damaged(first, flag, (in.line_format() & kSonetScramble) != 0)) {
      ++damaged_;
      frame.flags |= kFrameBadFcs;
    }
    std::memcpy(out.bytes(pos), in.bytes(frame.pos), frame.len);
    in.release(frame.pos + frame.len);
    frame.pos = pos;
    out.push(frame);
  }
  for (; in.next_sonet(); in.pop_sonet()) {
    SonetFrame frame = *in.next_sonet();
    spoil(frame);
    out.push_sonet(frame);
  }
  out.set_known_until(known);
}

std::vector<std::pair<std::string, uint64_t>> SonetPath::counters() const {
  return {{"offered", offered_},
          {"delivered", delivered_},
          {"lost", lost_},
          {"damaged", damaged_},
          {"bit_errors", bit_errors_}};
}

namespace {
tl::expected<SonetPathConfig, std::string> read_path(const json& root, const std::string& name) {
  const std::string where = "path=" + name;
  SonetPathConfig config;
  std::string error;
  Reader in(root, where, error);
  config.seed = in.whole("seed", 0, UINT64_MAX, 1);
  config.delay = microseconds(in.number("delay_us", 0, 1e5, 0));
  config.bit_error_rate = in.number("bit_error_rate", 0, 0.01, 0);
  if (config.bit_error_rate > 0 && config.bit_error_rate < 1e-14)
    in.fail("bit_error_rate is below 1e-14; allowed: 0, and from there to 0.01");
  if (const json* faults = in.find("faults")) {
    if (!faults->is_array() || faults->size() > 1000) in.fail("faults must be a list [...] of at most 1000");
    for (size_t i = 0; error.empty() && i < faults->size(); ++i) {
      Reader f((*faults)[i], where + ": faults[" + std::to_string(i) + "]", error);
      SonetFault fault;
      const std::string what = f.word("what", {"los", "lof", "ais-p"});
      if (what == "lof") fault.what = SonetFault::What::kLof;
      if (what == "ais-p") fault.what = SonetFault::What::kAisP;
      const Ps at = microseconds(f.number("at_us", 0, 1e12, 0)),
               end = at + microseconds(f.number("for_us", 0.001, 1e12, 125));
      fault.first = at / kFrameTime;
      fault.last = (end + kFrameTime - 1) / kFrameTime - 1;
      f.finish();
      config.faults.push_back(fault);
    }
  }
  in.finish();
  if (!error.empty()) return tl::make_unexpected(error);
  return config;
}
}  // namespace

tl::expected<SonetPathConfig, std::string> SonetPath::parse(std::string_view text, const std::string& name) {
  const auto root = parse_json(text, name);
  if (!root) return tl::make_unexpected("path=" + root.error());
  return read_path(*root, name);
}

tl::expected<std::unique_ptr<SonetPath>, std::string> SonetPath::from_file(const std::string& file) {
  const auto root = read_json(file);
  if (!root) return tl::make_unexpected("path=" + root.error());
  auto config = read_path(*root, file);
  if (!config) return tl::make_unexpected(config.error());
  return std::make_unique<SonetPath>(*config);
}

}  // namespace awing::hw
