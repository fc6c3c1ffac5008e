// SPDX-License-Identifier: BSD-3-Clause
// Any octets as a line into the decoder: with each SIMD level, whole and in pieces. Invariants: all see the same frames
// and counters; each run of octets between two flags ends in exactly one counter; what was delivered goes through
// encoder and decoder again unchanged. The first octet sets up the decoder, the second cuts the pieces. A line with an
// odd first octet is closed with its right FCS, so that what is behind the check is reached.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "mapos/decoder.h"
#include "mapos/encoder.h"

namespace {

using Octets = std::vector<uint8_t>;

void require(bool holds) {
  if (!holds) std::abort();
}

std::vector<Octets> decoded(mapos::Decoder& d, std::span<const uint8_t> line, size_t piece) {
  std::vector<Octets> frames;
  while (!line.empty()) {
    std::span<const uint8_t> part = line.first(std::min(piece, line.size()));
    line = line.subspan(part.size());
    for (std::span<const uint8_t> f; d.next(part, f);) frames.emplace_back(f.begin(), f.end());
  }
  return frames;
}

uint64_t runs_between_flags(std::span<const uint8_t> line) {
  uint64_t runs = 0;
  auto at = std::ranges::find(line, mapos::kFlag);
  while (at != line.end()) {
    const auto next = std::find(++at, line.end(), mapos::kFlag);
    if (next != line.end() && next != at) ++runs;
    at = next;
  }
  return runs;
}

void through_encoder(const mapos::DecoderConfig& c, const std::vector<Octets>& frames) {
  mapos::Encoder e(c.fcs);
  mapos::Decoder d(c);
  for (const Octets& f : frames) {
    Octets line(e.room(f.size()));
    const auto n = e.frame(f, line);
    require(n.has_value());
    require(decoded(d, std::span(line).first(*n), 7) == std::vector<Octets>{f});
  }
}

void check(mapos::DecoderConfig c, std::span<const uint8_t> line, size_t piece) {
  mapos::Decoder oracle({c.version, c.fcs, c.most_information, mapos::Simd::kScalar});
  const auto frames = decoded(oracle, line, line.size());
  // A giant that has not ended is counted already; reset() counts what else has not.
  const bool pending = oracle.in_frame();
  oracle.reset();
  require(oracle.counters().frames() == runs_between_flags(line) + (pending ? 1 : 0));
  for (const mapos::Simd level : {mapos::Simd::kScalar, mapos::Simd::kSse, mapos::Simd::kAvx2})
    for (const size_t size : {piece, line.size()}) {
      c.level = level;
      mapos::Decoder d(c);
      require(decoded(d, line, size) == frames);
      d.reset();
      require(d.counters() == oracle.counters());
    }
  through_encoder(c, frames);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 3) return 0;
  mapos::DecoderConfig c;
  c.version = (data[0] & 2) != 0 ? mapos::Version::k16 : mapos::Version::kV1;
  c.fcs = (data[0] & 4) != 0 ? mapos::Fcs::k32 : mapos::Fcs::k16;
  if ((data[0] & 8) != 0) c.most_information = data[0] >> 4;
  const size_t piece = data[1] + size_t{1};
  Octets line(data + 2, data + size);
  if ((data[0] & 1) == 0) {
    check(c, line, piece);
    return 0;
  }
  // The octets as one frame.
  mapos::Encoder e(c.fcs);
  Octets out(e.room(line.size()));
  const auto n = e.frame(line, out);
  require(n.has_value() == (line.size() >= mapos::kHeaderOctets && line.size() <= mapos::kMostFrame));
  if (n) {
    require(*n == mapos::stuffed_octets(line, c.fcs) + 2);
    check(c, std::span(out).first(*n), piece);
  }
  return 0;
}
