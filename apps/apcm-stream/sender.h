// SPDX-License-Identifier: BSD-3-Clause
// Sends the streams: cuts frames into packets, gives each its launch time, and keeps the port supplied a little ahead
// of it.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "apcm/pacing.h"
#include "apcm/packet.h"
#include "apcm/rfc4175.h"
#include "apcm/sdp.h"
#include "options.h"
#include "port.h"
#include "source.h"

namespace apcm::stream {

constexpr uint32_t kMostStreams = 256;

/// The order in which packets of all streams were given to the port, so that a receiver in the same process can tell
/// whether two packets followed each other on the sending wire. Remembers 65,536 packets of each stream.
class SendOrder {
 public:
  explicit SendOrder(uint32_t streams) : order_(size_t{streams} << 16) {}
  uint32_t streams() const { return static_cast<uint32_t>(order_.size() >> 16); }
  void sent(uint32_t stream, uint32_t sequence) { order_[size_t{stream} << 16 | (sequence & 0xffff)] = next_++; }
  uint64_t place(uint32_t stream, uint32_t sequence) const {
    return order_[size_t{stream} << 16 | (sequence & 0xffff)];
  }

 private:
  std::vector<uint64_t> order_;
  uint64_t next_ = 1;
};

/// Every packet made ends in `sent`; the others count what happened on the way.
struct SenderCounters {
  uint64_t made = 0;
  uint64_t sent = 0;
  uint64_t octets = 0;      ///< of frames sent, without FCS
  uint64_t l1_octets = 0;   ///< of the line they take
  uint64_t retried = 0;     ///< refused by a full port and offered again, once per packet and attempt
  uint64_t abandoned = 0;   ///< made, but never taken by the port before the end
  uint64_t late = 0;        ///< given to the port after their launch time
  uint64_t no_buffer = 0;   ///< attempts to make a packet that found no free buffer
  uint64_t slips = 0;       ///< times the schedule was moved because we could not keep up
  uint64_t slipped_ns = 0;  ///< by so much in all
};

class Sender {
 public:
  /// How far behind its schedule the sender may fall before it moves the schedule instead of sending faster than the
  /// rate.
  static constexpr uint64_t kSlipNs = 1'000'000;
  static constexpr uint16_t kBatch = 32;

  static tl::expected<std::unique_ptr<Sender>, std::string> create(const Options& options, Port& port,
                                                                   FrameSource& source);
  ~Sender();
  Sender(const Sender&) = delete;
  Sender& operator=(const Sender&) = delete;

  uint32_t streams() const { return static_cast<uint32_t>(streams_.size()); }
  std::vector<SdpStream> sdp() const;
  const SendOrder& order() const { return order_; }
  uint64_t sent_by(uint32_t stream) const { return streams_[stream].sent; }
  /// Rate of all streams together, bits of layer 1 (or 2, as the options say) a second.
  uint64_t target_bps() const { return target_bps_; }
  uint32_t packet_octets() const { return packet_octets_; }  ///< of the usual packet, without FCS

  /// Schedules the first packet shortly after `now_ns`.
  void start(uint64_t now_ns);
  /// Makes and posts what is due. Returns the packets that the port took.
  uint16_t poll(uint64_t now_ns);
  /// No more packets; those made but not taken by the port are counted as abandoned.
  void abandon();
  bool done() const { return ready_.empty() && pending_ == 0; }
  /// Asks the port, when all was given to it, whether all has left: sent_bps() is then known.
  void settle(uint64_t now_ns);
  /// Layer 1 rate from the first packet to the last, nothing before two packets were sent. By what has left the port at
  /// the last settle(); when left_known() is false, by what was given to the port, which may run ahead of its line by
  /// as much as the port holds.
  std::optional<uint64_t> sent_bps() const;
  bool left_known() const { return !port_.timed_send() || held_.has_value(); }
  const SenderCounters& counters() const { return counters_; }

 private:
  struct Stream {
    Packetiser packetiser;
    PacketTemplate frame;
    RateSchedule by_rate;
    FrameSchedule by_frame;
    SdpStream description;
    uint32_t sequence = 0;
    uint64_t video_frame = 0;
    uint64_t sent = 0;
  };
  struct Ready {  ///< a stream and the launch time of its next packet after start_ns_
    uint64_t launch_ns;
    uint32_t stream;
    bool operator<(const Ready& o) const {
      return launch_ns != o.launch_ns ? launch_ns > o.launch_ns : stream > o.stream;
    }
  };
  struct Made {
    uint32_t stream, sequence, payload;
    uint64_t launch_ns;
  };

  Sender(const Options& options, Port& port, FrameSource& source, uint32_t streams)
      : options_(options), port_(port), source_(source), order_(streams) {}
  bool begin_frame(Stream& s);
  bool make(uint32_t index, uint64_t launch_ns);
  void slip(uint64_t now_ns);

  const Options& options_;
  Port& port_;
  FrameSource& source_;
  std::vector<Stream> streams_;
  SendOrder order_;
  std::vector<Ready> ready_;  ///< heap, earliest on top
  std::array<rte_mbuf*, kBatch> packets_{};
  std::array<Made, kBatch> made_{};
  uint16_t pending_ = 0;
  bool by_rate_ = false;
  uint64_t target_bps_ = 0;
  uint32_t packet_octets_ = 0;
  uint64_t start_ns_ = 0;
  uint64_t end_ns_ = UINT64_MAX;  ///< no packet is launched then or later, however late the schedule is
  uint64_t first_ns_ = 0, last_ns_ = 0, last_l1_octets_ = 0;  ///< of the packets sent: not before these times
  std::optional<uint64_t> held_;                              ///< packets that the port still held at left_ns_
  uint64_t left_ns_ = 0;
  uint64_t software_error_ns_ = 1000;  ///< how long the last hand-over to the port took
  SenderCounters counters_;
};

}  // namespace apcm::stream
