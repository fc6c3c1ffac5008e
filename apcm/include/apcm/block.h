// SPDX-License-Identifier: BSD-3-Clause
// The in-band block: sequence number and send time of a packet, in the layout of a STAMP sender packet's first 16
// octets (RFC 8762 section 4.2.1 with the session id of RFC 8972 section 3), network order.
#pragma once

#include <cstdint>

#include "apcm/bytes.h"
#include "apcm/stamp.h"

namespace apcm {

struct Block {
  static constexpr uint32_t kOctets = 16;
  static constexpr uint32_t kStampOffset = 4;  ///< of the timestamp in the block

  uint32_t sequence = 0;
  Stamp sent;
  ErrorEstimate error;
  uint16_t session = 0;

  /// Writes kOctets octets at p.
  void encode(uint8_t* p) const {
    put_be32(p, sequence);
    put_be32(p + 4, static_cast<uint32_t>(sent.v >> 32));
    put_be32(p + 8, static_cast<uint32_t>(sent.v));
    put_be16(p + 12, error.encode());
    put_be16(p + 14, session);
  }
  /// Reads kOctets octets at p.
  static Block decode(const uint8_t* p) {
    return {get_be32(p),
            {uint64_t{get_be32(p + 4)} << 32 | get_be32(p + 8)},
            ErrorEstimate::decode(get_be16(p + 12)),
            get_be16(p + 14)};
  }
};

}  // namespace apcm
