// SPDX-License-Identifier: BSD-3-Clause
// The in-band block: sequence number and send time of a packet, in the layout of a STAMP sender packet's first 16
// octets (RFC 8762 section 4.2.1 with the session id of RFC 8972 section 3), network order.
#pragma once

#include <cstdint>

#include "apcm/bytes.h"
#include "apcm/stamp.h"

namespace apcm {

/// The stamp counts from the epoch of the sender's clock (see Stamp), as its receiver is a monitor of the same fleet;
/// a peer that wants NTP's epoch adds kNtpEpoch seconds. Plain data, no errors, thread-safe.
struct Block {
  static constexpr uint32_t kOctets = 16;
  static constexpr uint32_t kStampOffset = 4;  ///< of the timestamp in the block

  uint32_t sequence = 0;
  Stamp sent;  ///< 32.32 seconds whatever format was on the wire
  ErrorEstimate error;
  uint16_t session = 0;

  /// Writes kOctets octets at p, the stamp in the format that error.ptp_format names.
  void encode(uint8_t* p) const {
    const uint64_t stamp = error.ptp_format ? to_ptp(sent) : sent.v;
    put_be32(p, sequence);
    put_be32(p + kStampOffset, static_cast<uint32_t>(stamp >> 32));
    put_be32(p + kStampOffset + 4, static_cast<uint32_t>(stamp));
    put_be16(p + 12, error.encode());
    put_be16(p + 14, session);
  }
  /// Reads kOctets octets at p, whatever they are; the Z bit of the error estimate says how to read the stamp.
  static Block decode(const uint8_t* p) {
    const uint64_t stamp = uint64_t{get_be32(p + kStampOffset)} << 32 | get_be32(p + kStampOffset + 4);
    const ErrorEstimate error = ErrorEstimate::decode(get_be16(p + 12));
    return {get_be32(p), error.ptp_format ? from_ptp(stamp) : Stamp{stamp}, error, get_be16(p + 14)};
  }
};

}  // namespace apcm
