// SPDX-License-Identifier: BSD-3-Clause
// Takes packets from a port, measures every one that carries our block, and rebuilds the video of one stream.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <tl/expected.hpp>
#include <utility>
#include <vector>

#include "apcm/flow_meter.h"
#include "apcm/rfc4175.h"
#include "apcm/sdp.h"
#include "apcm/udp_options.h"
#include "apcm/y4m.h"
#include "options.h"
#include "port.h"
#include "sender.h"

namespace apcm::stream {

/// Every packet received ends in exactly one of those marked "ends".
struct ReceiverCounters {
  uint64_t received = 0;   ///< frames from the port
  uint64_t measured = 0;   ///< ends: a block of a session we know
  uint64_t foreign = 0;    ///< ends: not UDP over IPv4, or to another address or port
  uint64_t malformed = 0;  ///< ends: lengths that contradict each other, or a frame in pieces that cannot be joined
  uint64_t no_block = 0;   ///< ends: ours by address, but without the block
  uint64_t bad_block = 0;  ///< ends: option checksum wrong or options malformed
  uint64_t unknown_session = 0;  ///< ends: a session the sender has not, or more than kMostStreams
  uint64_t unstamped = 0;        ///< of `received`: the card gave no stamp, software's was taken
  uint64_t octets = 0;           ///< of all frames, without FCS
};

/// One session.
struct Flow {
  Flow(uint16_t id, uint64_t line_bps) : session(id), meter(line_bps) {}
  uint16_t session;
  FlowMeter meter;
};

class Receiver {
 public:
  static constexpr uint16_t kBatch = 64;

  /// `streams`: what is expected (from the sender or an SDP); none: any UDP packet with a block. `order`: the sender's,
  /// when it is in this process.
  static tl::expected<std::unique_ptr<Receiver>, std::string> create(const Options& options, Port& port,
                                                                     const std::vector<SdpStream>& streams,
                                                                     const SendOrder* order);

  /// Takes and measures what has come. Returns the number of packets.
  uint16_t poll();
  /// Hands out the frames still open and closes the file.
  tl::expected<void, std::string> finish();

  const ReceiverCounters& counters() const { return counters_; }
  const OptionCounters& options() const { return by_status_; }
  const std::vector<std::unique_ptr<Flow>>& flows() const { return flows_; }
  const GapMeter& sending_wire() const { return sending_wire_; }
  const GapMeter& receiving_wire() const { return receiving_wire_; }
  const DelayMeter& delay() const { return delay_; }  ///< of all streams
  /// Delay of the packets since the last call.
  DelayMeter take_interval() { return std::exchange(interval_, {}); }
  uint64_t line_bps() const { return line_bps_; }
  const Depacketiser* rebuilt() const { return depacketiser_ ? &*depacketiser_ : nullptr; }
  uint64_t frames_written() const { return frames_written_; }
  /// Set when the file could not be written; rebuilding has ended then.
  const std::string& error() const { return error_; }
  /// What software's receive stamps may be late by: time between two polls, ns. Empty histogram: the card's were used.
  const Histogram& stamp_error_ns() const { return stamp_error_ns_; }

 private:
  /// Packets in the order of their send stamps, although they may arrive in another: a short sorted list.
  struct Sent {
    Stamp stamp;
    uint64_t place;
    uint32_t octets, stream, sequence;
  };
  static constexpr size_t kSortDepth = 1024;

  Receiver(const Options& options, Port& port, const SendOrder* order);
  void take(rte_mbuf* m, uint64_t poll_ns);
  void classify(std::span<const uint8_t> frame, Stamp received);
  void measure(const Block& block, Stamp received, uint32_t octets);
  void sort_in(const Sent& packet);
  void pop_sent();
  void rebuild(std::span<const uint8_t> rtp);
  void write_frames();
  Flow* flow_of(uint16_t session);

  const Options& options_;
  Port& port_;
  const SendOrder* order_;
  uint64_t line_bps_;
  std::vector<bool> ours_;  ///< by UDP port; empty: all
  std::vector<std::unique_ptr<Flow>> flows_;
  std::vector<uint16_t> flow_index_;  ///< session to index + 1
  ReceiverCounters counters_;
  OptionCounters by_status_;
  GapMeter sending_wire_, receiving_wire_;
  DelayMeter delay_, interval_;
  std::vector<Sent> sent_;
  size_t sent_first_ = 0;
  std::optional<Sent> last_sent_;
  std::vector<uint32_t> last_sequence_;
  uint64_t last_poll_ns_ = 0;
  Histogram stamp_error_ns_;
  // --- rebuilding
  uint16_t rebuild_port_ = 0;
  VideoFormat format_;
  std::optional<Depacketiser> depacketiser_;
  std::optional<Y4mWriter> writer_;
  std::vector<uint8_t> planar_;
  uint64_t frames_written_ = 0;
  std::string error_;
};

}  // namespace apcm::stream
