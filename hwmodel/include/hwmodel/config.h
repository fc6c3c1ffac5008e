// SPDX-License-Identifier: BSD-3-Clause
// Everything one can choose about a modelled card: named parameters with defaults, set by key=value.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "hwmodel/time.h"

namespace awing::hw {

/// Which card. They differ in bus, line and frames; docs/datasheet.md and docs/datasheet-oc48.md tell.
enum class CardKind : uint8_t { kAwing, kOc48 };

/// The bus in clocks. Defaults are those of PCI-X 266; see docs/datasheet.md for the phases.
struct BusConfig {
  uint32_t width = 16;         ///< octets per bus clock: 8 (PCI-X 66..133), 16 (266, DDR), 32 (533, QDR); PCI: 4, 8
  uint64_t period_num = 7500;  ///< clock period = num/den ps; 7500 ps = 133.33 MHz
  uint64_t period_den = 1;
  uint32_t decode = 2;              ///< clocks from attribute phase to the target's response: 1 (A), 2 (B), 3 (C)
  uint32_t target_wait = 0;         ///< initial wait states of the target, clocks, even (PCI-X inserts them in pairs)
  uint32_t idle = 1;                ///< turnaround clocks after each transaction, 1..2
  uint32_t mmrbc = 4096;            ///< maximum memory read byte count: 512, 1024, 2048, 4096
  uint32_t splits = 4;              ///< reads that may be outstanding: 1, 2, 3, 4, 8, 12, 16, 32
  uint32_t completer_latency = 40;  ///< clocks from the split response to the completion being ready
  uint32_t boundary = 4096;         ///< a burst never crosses a multiple of this many octets (bridge), 128..4096
  uint32_t latency_timer =
      64;  ///< clocks after which a burst yields to a waiting bridge; PCI-X: a write, at the next 128-octet boundary

  // Legacy PCI alone (the oc48 card).
  uint32_t burst = 1024;   ///< octets that the card asks for at most in one transaction: 64..4096
  uint32_t read_wait = 8;  ///< initial wait states of the bridge on reads, 0..13 (16 clocks to the first data phase)
  uint32_t word_wait = 0;  ///< wait states of the bridge before each further data phase, 0..7
  uint32_t retry =
      0;  ///< clocks that the bridge takes to fetch what a read asks for, answering Retry until then; 0 = it waits
  uint32_t cache_line = 32;  ///< octets: 16, 32, 64, 128
  uint32_t mwi = 1;          ///< 1: whole cache lines are written with Memory Write and Invalidate
  /// Where the bridge disconnects reads: 1 at the next cache line (Memory Read Line), 2 at `boundary` (Memory Read
  /// Multiple).
  uint32_t read_command = 2;
  bool operator==(const BusConfig&) const = default;
};

/// How the oc48 card's line is set. Both ends must agree; nothing on the line tells.
struct SonetConfig {
  uint32_t fcs = 4;      ///< octets of FCS: 2, 4
  bool scramble = true;  ///< payload scrambler x^43 + 1
  uint32_t c2 = 0x8D;    ///< path signal label sent and expected at the start; 0x8D is MAPOS (RFC 3186 section 2.3.1)
  bool operator==(const SonetConfig&) const = default;
};

struct CardConfig {
  /// The card of this kind with everything at its default.
  static CardConfig of(CardKind kind);

  CardKind kind = CardKind::kAwing;
  BusConfig bus;
  SonetConfig sonet;         ///< oc48 alone
  bool ring_mode = false;    ///< descriptor rings instead of streams; always on the oc48 card
  uint32_t tx_fifo = 32768;  ///< send FIFO, octets, multiple of 16, at least 24576
  uint32_t rx_fifo = 65536;  ///< receive FIFO, octets, multiple of 16, at least 24576 (oc48: must hold a frame)
  int32_t ppm = 0;           ///< line clock and PHC oscillator offset, parts per million, +-200
  uint32_t desc_cache = 32;  ///< ring mode: descriptors the card holds, each direction, 8..64, even
  uint64_t phc_start = 0;    ///< PHC at time 0, seconds
  bool operator==(const CardConfig&) const = default;
};

enum class ClockMode : uint8_t { kTsc, kVirtual };
enum class Engine : uint8_t { kFast, kReference };

/// Cost of what software does, for clock=virtual. Picoseconds.
struct HostProfile {
  std::string name = "modern";
  Ps poll = 30'000;            ///< a poll of a queue, found something or not
  Ps tx_packet = 12'000;       ///< posting one packet
  Ps rx_packet = 15'000;       ///< reaping one packet
  Ps register_write = 20'000;  ///< the processor's side of a posted write
  Ps interrupt = 2'000'000;    ///< an interrupt: entry, service, exit
  bool operator==(const HostProfile&) const = default;
};

struct PortConfig {
  CardConfig card;
  Engine engine = Engine::kFast;
  ClockMode clock = ClockMode::kTsc;
  HostProfile profile;
  std::string wire = "loop";  ///< loop, a cable's name, or pcap:IN[,OUT]
  std::string path;           ///< JSON file: the network that frames sent by this port pass; empty = plain cable
  std::string trace;          ///< .vcd file; empty = none
  Ps cable_delay = 5'000;     ///< propagation of a plain cable, ps (1 m of fibre is 5 ns)
  uint64_t tsc_hz = 0;        ///< rate of the time-stamp counter, for clock=tsc
};

struct ConfigKey {
  const char* name;
  const char* allowed;  ///< for people: what values the key takes
  const char* meaning;
};

/// The keys set() takes, for help texts, documentation and drivers' parameter strings.
std::vector<ConfigKey> config_keys();

/// Sets one key. The error is one line naming the key, the value and what is allowed.
tl::expected<void, std::string> set(PortConfig& config, std::string_view key, std::string_view value);

/// Checks what can only be judged with all keys set (sizes against each other).
tl::expected<void, std::string> check(const PortConfig& config);

}  // namespace awing::hw
