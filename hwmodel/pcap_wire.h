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
  /// spec: IN, IN+OUT or +OUT, the file to read and the file to write (a comma does where '+' does not: it is taken
  /// first). Reads every capture that libpcap reads (pcap in micro- and nanoseconds and either byte order, pcapng) if
  /// it holds Ethernet frames without FCS. Writes pcap with stamps in nanoseconds. Error: one line naming the file and
  /// what is wrong.
  static tl::expected<std::unique_ptr<PcapWire>, std::string> from_spec(std::string_view spec);
  ~PcapWire();
  PcapWire(const PcapWire&) = delete;
  PcapWire& operator=(const PcapWire&) = delete;

  /// The first frame of the file starts at t0, or, where that is past, as soon as it may.
  void start(Ps t0);
  /// Puts every frame that starts at `until` or before on the link. The far end is a 10GBASE-R line of its own: starts
  /// are rounded up to columns of 3.2 ns from time 0, and what would overlap starts as soon as the line is free and is
  /// counted as compressed. Frames for which the link has no room wait. Looks at 8192 records of the file at most.
  void advance(Ps until, Link& to_card);
  /// Writes down every frame on the link, with its start in model time as its stamp.
  void consume(Link& from_card);
  /// Hands what was written to the system.
  void flush();

  /// Of records read: read = sent + waiting + too_long + cut_short; and how many of those sent were padded to 60
  /// octets or compressed. Of frames that came: written, write_errors.
  std::vector<std::pair<std::string, uint64_t>> counters() const;
  /// One line about the first thing that went wrong with each file (a capture that ends in the middle of a record; a
  /// full disk); empty while all is well.
  const std::string& warning() const { return warning_; }

 private:
  PcapWire() = default;
  enum class Got : uint8_t { kFrame, kSkipped, kEnd };
  Got read_record();
  void warn(const std::string& line);
  void note_write_error();

  std::string in_name_, out_name_, warning_;
  pcap* in_ = nullptr;
  pcap* dead_ = nullptr;
  pcap_dumper* out_ = nullptr;
  bool out_failed_ = false;

  std::vector<uint8_t> next_;  // the next frame of the file; empty: none read yet
  Ps next_at_ = 0;             // when it starts, after the first record of the file
  int64_t first_s_ = 0, first_ns_ = 0;

  bool started_ = false, begun_ = false;
  Ps t0_ = 0;
  int64_t earliest_ = 0;  // column at which the line is free
  IdleDeficit idle_;
  uint64_t read_ = 0, sent_ = 0, padded_ = 0, compressed_ = 0, too_long_ = 0, cut_short_ = 0;
  uint64_t written_ = 0, write_errors_ = 0;
};

}  // namespace awing::hw
