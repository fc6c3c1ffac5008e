// SPDX-License-Identifier: BSD-3-Clause
// Any octets as a sequence of RTP packets into the depacketiser, and as SDP and Y4M header. The input is read as
// records: one octet of action, two of length, then the packet. Invariants: every packet ends in one counter, frames
// have the format's size, no more octets are missing than a frame has.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "apcm/rfc4175.h"
#include "apcm/sdp.h"
#include "apcm/y4m.h"

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

void take_all(apcm::Depacketiser& d, const apcm::VideoFormat& f) {
  while (const auto frame = d.take()) {
    require(frame->packed.size() == f.packed_bytes());
    require(frame->missing_octets <= f.packed_bytes());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  (void)apcm::parse_sdp(text);
  (void)apcm::parse_y4m_header(text);

  const apcm::VideoFormat format{18, 5, apcm::Chroma::k422, static_cast<uint8_t>(size % 2 == 0 ? 8 : 10), 25, 1};
  apcm::Depacketiser depacketiser(format);
  uint64_t pushed = 0;
  std::span<const uint8_t> rest(data, size);
  while (rest.size() > 3) {
    const uint8_t action = rest[0];
    const size_t length = std::min<size_t>(rest[1] << 8 | rest[2], rest.size() - 3);
    depacketiser.push(rest.subspan(3, length));
    ++pushed;
    if ((action & 1) != 0) take_all(depacketiser, format);
    if (action == 0xfe) depacketiser.flush();
    rest = rest.subspan(3 + length);
  }
  depacketiser.flush();
  take_all(depacketiser, format);
  const auto& c = depacketiser.counters();
  require(c.placed + c.duplicate + c.late + c.foreign + c.malformed == pushed);
  return 0;
}
