// SPDX-License-Identifier: BSD-3-Clause
// Where the payload octets of an STS-48c / STM-16c line lie: payload octet number <-> line clock edge and lane, in
// closed form both ways. RFC 4842 appendix A gives the counts of columns.
#pragma once

#include <cstdint>

#include "hwmodel/time.h"

namespace awing::hw::sonet {

// A frame is 9 rows of 4320 columns, sent row by row, 125 us. Of each row 144 columns are transport overhead; the
// payload envelope begins behind it (pointer fixed at 522, so J1 stands in the first row) with one column of path
// overhead and 15 of fixed stuff; 4160 are payload.
constexpr int64_t kRows = 9, kColumns = 4320, kTransport = 144, kPath = 1, kStuff = 15;
constexpr int64_t kPayloadColumns = kColumns - kTransport - kPath - kStuff;
constexpr int64_t kFrameOctets = kRows * kColumns;           ///< 38,880
constexpr int64_t kPayloadOctets = kRows * kPayloadColumns;  ///< 37,440 each 125 us
static_assert(kPayloadOctets == 37'440);

// The framer moves four octets, a word, at each edge of the 77.76 MHz line clock; lane 0 goes out first. Overhead and
// payload both fill whole words, so an edge carries one or the other.
constexpr int64_t kLanes = 4;
constexpr int64_t kRowEdges = kColumns / kLanes, kRowWords = kPayloadColumns / kLanes;
constexpr int64_t kRowOverhead = kRowEdges - kRowWords;  ///< edges of overhead at the start of a row: 40
constexpr int64_t kFrameEdges = kRows * kRowEdges;       ///< 9720
static_assert((kTransport + kPath + kStuff) % kLanes == 0 && kPayloadColumns % kLanes == 0);

/// 77.76 MHz is 10^12 / (3125000 / 243) Hz; a quantum is the time of one octet, a quarter of that. Edge k is quantum
/// 4 k.
constexpr uint64_t kQuantumNum = 781'250, kQuantumDen = 243;

// Edges, words and octets count from 0, the first edge of a frame; all arguments are at least 0 and below 2^60.
// Thread-safe.

/// Does this edge carry payload?
constexpr bool is_payload(int64_t edge) {
  return static_cast<uint64_t>(edge) % kRowEdges >= static_cast<uint64_t>(kRowOverhead);
}

/// Edge that carries payload word w.
constexpr int64_t edge_of_word(int64_t w) {
  const uint64_t row = static_cast<uint64_t>(w) / kRowWords;
  return w + kRowOverhead * static_cast<int64_t>(row + 1);
}

/// The first payload word whose edge is `edge` or later.
constexpr int64_t word_from(int64_t edge) {
  const uint64_t row = static_cast<uint64_t>(edge) / kRowEdges, at = static_cast<uint64_t>(edge) % kRowEdges;
  const uint64_t in_row = at < static_cast<uint64_t>(kRowOverhead) ? 0 : at - kRowOverhead;
  return static_cast<int64_t>(row * kRowWords + in_row);
}

/// Payload octet p: the edge that carries it, and its lane (0..3) there.
constexpr int64_t edge_of(int64_t p) { return edge_of_word(p >> 2); }
constexpr int lane_of(int64_t p) { return static_cast<int>(p & 3); }

/// Payload octet in this lane of a payload edge.
constexpr int64_t octet_at(int64_t edge, int lane) { return 4 * word_from(edge) + lane; }

/// Clock of the octets of a line that is off by `ppm` parts per million, +-200.
Clock quantum_clock(int32_t ppm);

}  // namespace awing::hw::sonet
