// SPDX-License-Identifier: BSD-3-Clause
// A far end made of files: frames of a capture arrive with their recorded gaps, what the card sends is written down.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>
#include <vector>

#include "hwmodel/link.h"
#include "mac.h"

struct pcap;
struct pcap_dumper;

namespace awing::hw {

/// Not thread-safe: used inside one domain.
class PcapWire {
 public:
  /// spec: IN[+OUT], the file to read and the file to write; either may be empty. Any capture libpcap reads, of
  /// Ethernet frames. Error: one line naming the file and what is wrong.
  static tl::expected<std::unique_ptr<PcapWire>, std::string> from_spec(std::string_view spec);
  ~PcapWire();

  /// The first frame arrives at time t0.
  void start(Ps t0);
  /// Puts every frame that starts before `until` on the link; a line of 10 Gb/s: what would overlap is sent as soon as
  /// the line is free and counted as compressed.
  void advance(Ps until, Link& to_card);
  /// Writes down every frame on the link, with model time as its stamp.
  void consume(Link& from_card);

  /// Of frames read: sent, padded to 60, compressed, skipped (too long, cut short by the capture's snap length),
  /// read_errors; of frames written: written, write_errors.
  std::vector<std::pair<std::string, uint64_t>> counters() const;

 private:
  PcapWire() = default;
  void read_next();

  pcap* in_ = nullptr;
  pcap* dead_ = nullptr;
  pcap_dumper* out_ = nullptr;
  bool started_ = false, have_next_ = false, first_seen_ = false;
  Ps t0_ = 0, next_at_ = 0;
  int64_t first_ns_ = 0;
  std::vector<uint8_t> next_;
  int64_t earliest_ = 0;
  IdleDeficit idle_;
  uint64_t sent_ = 0, padded_ = 0, compressed_ = 0, skipped_ = 0, read_errors_ = 0, written_ = 0, write_errors_ = 0;
};

}  // namespace awing::hw
