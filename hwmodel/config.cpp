// SPDX-License-Identifier: BSD-3-Clause
#include "hwmodel/config.h"

#include <bit>
#include <charconv>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>

#include "card.h"
#include "files.h"
#include "hwmodel/datasheet.h"

namespace awing::hw {

namespace {

using Result = tl::expected<void, std::string>;

std::string refusal(std::string_view key, std::string_view value, std::string_view allowed) {
  return std::string(key) + "=" + std::string(value) + " is not allowed; allowed: " + std::string(allowed);
}

/// A whole number from the first to the last character, optionally with a k (1024) behind it.
bool number(std::string_view text, int64_t& out) {
  int64_t unit = 1;
  if (text.ends_with('k')) unit = 1024, text.remove_suffix(1);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (error != std::errc{} || end != text.data() + text.size() || text.empty()) return false;
  return !__builtin_mul_overflow(out, unit, &out);
}

struct BusKind {
  const char* name;
  CardKind card;
  uint32_t width;
  uint64_t period_ps;
};
// PCI-X 1.0 and 2.0 (mode 2: 266 is DDR, 533 is QDR at 133.33 MHz), PCI 2.2. All are whole picoseconds.
constexpr BusKind kBuses[] = {
    {"pcix66", CardKind::kAwing, 8, 15'000},  {"pcix100", CardKind::kAwing, 8, 10'000},
    {"pcix133", CardKind::kAwing, 8, 7'500},  {"pcix266", CardKind::kAwing, 16, 7'500},
    {"pcix533", CardKind::kAwing, 32, 7'500}, {"pci32-33", CardKind::kOc48, 4, 30'000},
    {"pci32-66", CardKind::kOc48, 4, 15'000}, {"pci64-33", CardKind::kOc48, 8, 30'000},
    {"pci64-66", CardKind::kOc48, 8, 15'000},
};

const char* card_name(CardKind kind) { return kind == CardKind::kOc48 ? "oc48" : "awing"; }

Result set_bus(PortConfig& c, std::string_view value) {
  std::string allowed;
  for (const BusKind& bus : kBuses) {
    if (bus.card != c.card.kind) continue;
    if (value == bus.name) {
      c.card.bus.width = bus.width;
      c.card.bus.period_num = bus.period_ps;
      c.card.bus.period_den = 1;
      return {};
    }
    allowed += (allowed.empty() ? "" : ", ") + std::string(bus.name);
  }
  return tl::make_unexpected(refusal("bus", value, allowed + " (card=" + card_name(c.card.kind) + ")"));
}

/// Another card has other defaults, so nothing of the card may have been set before.
Result set_card(PortConfig& c, std::string_view value) {
  if (value != "awing" && value != "oc48") return tl::make_unexpected(refusal("card", value, "awing, oc48"));
  const CardKind kind = value == "oc48" ? CardKind::kOc48 : CardKind::kAwing;
  if (kind == c.card.kind) return {};
  if (!(c.card == CardConfig::of(c.card.kind)))
    return tl::make_unexpected("card=" + std::string(value) + " must stand before the keys that set the card");
  c.card = CardConfig::of(kind);
  return {};
}

Result set_c2(PortConfig& c, std::string_view value) {
  const bool hex = value.starts_with("0x");
  uint32_t n = 0;
  const char *from = value.data() + (hex ? 2 : 0), *to = value.data() + value.size();
  const auto [end, error] = std::from_chars(from, to, n, hex ? 16 : 10);
  if (error != std::errc{} || end != to || n > 255)
    return tl::make_unexpected(refusal("c2", value, "0..255, 0x00..0xff"));
  c.card.sonet.c2 = n;
  return {};
}

Result set_profile(HostProfile& profile, std::string_view value) {
  if (value == "modern") {
    // Costs of one core of a 2020s server running a poll-mode driver; estimates, not measurements.
    profile = HostProfile{};
    return {};
  }
  if (value == "pc2003") {
    // 2-3 GHz Xeon of 2003: a posted write across the chipset 300 ns, driver work about 1 us a packet, an interrupt 6
    // us; estimates.
    profile = {"pc2003", 100'000, 700'000, 900'000, 300'000, 6'000'000};
    return {};
  }
  const std::string file(value);
  const auto json = read_json(file);
  if (!json) return tl::make_unexpected("profile=" + json.error() + "; allowed: modern, pc2003, or a JSON file");
  if (!json->is_object()) return tl::make_unexpected("profile=" + file + ": not a JSON object");
  HostProfile read;
  read.name = file;
  for (const auto& [key, v] : json->items()) {
    Ps* to = key == "poll_ns"             ? &read.poll
             : key == "tx_packet_ns"      ? &read.tx_packet
             : key == "rx_packet_ns"      ? &read.rx_packet
             : key == "register_write_ns" ? &read.register_write
             : key == "interrupt_ns"      ? &read.interrupt
                                          : nullptr;
    if (key == "source") continue;
    if (!to || !v.is_number_unsigned() || v.get<uint64_t>() > 1'000'000'000)
      return tl::make_unexpected(
          "profile=" + file + ": " + key + " = " + v.dump() +
          " is not allowed; allowed: poll_ns, tx_packet_ns, rx_packet_ns, register_write_ns, interrupt_ns "
          "(whole ns up to 10^9), source");
    *to = static_cast<Ps>(v.get<uint64_t>()) * kPsPerNs;
  }
  if (read.poll == 0) return tl::make_unexpected("profile=" + file + ": poll_ns must be above 0, or time would stop");
  profile = read;
  return {};
}

struct Key {
  ConfigKey doc;
  std::function<Result(PortConfig&, std::string_view)> set;
  std::optional<CardKind> only = {};  ///< the card that has this key; none: both
};

Key only(CardKind kind, Key key) {
  key.only = kind;
  return key;
}

/// A key that takes a whole number in [low, high] for which `ok` holds.
template <typename T>
Key whole(const char* name, const char* allowed, const char* meaning, T& (*field)(PortConfig&), int64_t low,
          int64_t high, bool (*ok)(int64_t) = nullptr) {
  return {{name, allowed, meaning}, [=](PortConfig& c, std::string_view v) -> Result {
            int64_t n = 0;
            if (!number(v, n) || n < low || n > high || (ok && !ok(n)))
              return tl::make_unexpected(refusal(name, v, allowed));
            field(c) = static_cast<T>(n);
            return {};
          }};
}

/// A key that takes one of a few words.
template <typename T>
Key choice(const char* name, const char* allowed, const char* meaning, T& (*field)(PortConfig&),
           std::vector<std::pair<std::string_view, T>> words) {
  return {{name, allowed, meaning}, [=](PortConfig& c, std::string_view v) -> Result {
            for (const auto& [word, value] : words)
              if (word == v) return field(c) = value, Result{};
            return tl::make_unexpected(refusal(name, v, allowed));
          }};
}

Key text(const char* name, const char* allowed, const char* meaning, std::string& (*field)(PortConfig&)) {
  return {{name, allowed, meaning}, [=](PortConfig& c, std::string_view v) -> Result {
            if (v.empty()) return tl::make_unexpected(refusal(name, v, allowed));
            field(c) = v;
            return {};
          }};
}

bool power_of_two(int64_t n) { return std::has_single_bit(static_cast<uint64_t>(n)); }
bool even(int64_t n) { return n % 2 == 0; }
bool of_16(int64_t n) { return n % 16 == 0; }
/// The steps of the PCI-X command register.
bool split_count(int64_t n) { return n <= 4 || n == 8 || n == 12 || n == 16 || n == 32; }

const std::vector<Key>& keys() {
  using C = PortConfig;
  constexpr CardKind kOc48 = CardKind::kOc48;
  static const std::vector<Key> all = {
      {{"card", "awing, oc48", "which card to model; stands first (default awing)"}, set_card},
      {{"bus", "pcix66, pcix100, pcix133, pcix266, pcix533; oc48: pci32-33, pci32-66, pci64-33, pci64-66",
        "the bus (default pcix266; oc48 pci64-66)"},
       set_bus},
      only(CardKind::kAwing,
           choice<bool>("dma", "stream, ring", "packets packed in streams, or descriptor rings (default stream)",
                        [](C& c) -> bool& { return c.card.ring_mode; }, {{"stream", false}, {"ring", true}})),
      choice<ClockMode>("clock", "tsc, virtual",
                        "model time: the time-stamp counter, or moved by software's touches "
                        "alone (default tsc)",
                        [](C& c) -> ClockMode& { return c.clock; },
                        {{"tsc", ClockMode::kTsc}, {"virtual", ClockMode::kVirtual}}),
      choice<Engine>("engine", "fast, reference", "how the model computes (default fast)",
                     [](C& c) -> Engine& { return c.engine; },
                     {{"fast", Engine::kFast}, {"reference", Engine::kReference}}),
      text("wire", "loop, a name, pcap:IN[+OUT]", "what the port is plugged into (default loop)",
           [](C& c) -> std::string& { return c.wire; }),
      text("path", "a JSON file", "the network that frames sent by this port pass (default a plain cable)",
           [](C& c) -> std::string& { return c.path; }),
      text("trace", "a file to write", "value-change dump of the card's events (default none)",
           [](C& c) -> std::string& { return c.trace; }),
      {{"profile", "modern, pc2003, a JSON file", "cost of the host's work, for clock=virtual (default modern)"},
       [](C& c, std::string_view v) { return set_profile(c.profile, v); }},
      {{"cable_delay_ns", "5..100000", "propagation of the cable (default 5: a metre of fibre)"},
       [](C& c, std::string_view v) -> Result {
         int64_t n = 0;
         if (!number(v, n) || n < kLeastDelay / kPsPerNs || n > 100'000)
           return tl::make_unexpected(refusal("cable_delay_ns", v, "5..100000"));
         c.cable_delay = n * kPsPerNs;
         return {};
       }},
      whole<int32_t>(
          "ppm", "-200..200", "offset of the card's oscillator, parts per million (default 0)",
          [](C& c) -> int32_t& { return c.card.ppm; }, -200, 200),
      whole<uint32_t>(
          "tx_fifo", "24576..524288, multiple of 16, k allowed", "send FIFO, octets (default 32k; oc48 256k)",
          [](C& c) -> uint32_t& { return c.card.tx_fifo; }, 24576, 524288, of_16),
      whole<uint32_t>(
          "rx_fifo", "24576..524288, multiple of 16, k allowed", "receive FIFO, octets (default 64k; oc48 256k)",
          [](C& c) -> uint32_t& { return c.card.rx_fifo; }, 24576, 524288, of_16),
      only(CardKind::kAwing, whole<uint32_t>(
                                 "mmrbc", "512, 1024, 2048, 4096", "maximum memory read byte count (default 4096)",
                                 [](C& c) -> uint32_t& { return c.card.bus.mmrbc; }, 512, 4096, power_of_two)),
      only(CardKind::kAwing, whole<uint32_t>(
                                 "splits", "1, 2, 3, 4, 8, 12, 16, 32", "reads outstanding at most (default 4)",
                                 [](C& c) -> uint32_t& { return c.card.bus.splits; }, 1, 32, split_count)),
      only(CardKind::kAwing,
           whole<uint32_t>(
               "completer_latency", "0..10000", "bus clocks from split response to completion (default 40)",
               [](C& c) -> uint32_t& { return c.card.bus.completer_latency; }, 0, 10'000)),
      whole<uint32_t>(
          "decode", "1..3", "bus clocks to decode an address: A, B, C (default 2)",
          [](C& c) -> uint32_t& { return c.card.bus.decode; }, 1, 3),
      whole<uint32_t>(
          "target_wait", "0..14, even; oc48: 0..12", "initial wait states of the bridge on writes (default 0)",
          [](C& c) -> uint32_t& { return c.card.bus.target_wait; }, 0, 14),
      whole<uint32_t>(
          "idle", "1..2", "turnaround clocks after each transaction (default 1)",
          [](C& c) -> uint32_t& { return c.card.bus.idle; }, 1, 2),
      whole<uint32_t>(
          "boundary", "128, 256, 512, 1024, 2048, 4096", "no burst crosses a multiple of this (default 4096)",
          [](C& c) -> uint32_t& { return c.card.bus.boundary; }, 128, 4096, power_of_two),
      whole<uint32_t>(
          "latency_timer", "0..255", "bus clocks before a burst yields to the bridge (default 64)",
          [](C& c) -> uint32_t& { return c.card.bus.latency_timer; }, 0, 255),
      whole<uint32_t>(
          "desc_cache", "8..64, even", "descriptor rings: descriptors the card holds each way (default 32)",
          [](C& c) -> uint32_t& { return c.card.desc_cache; }, 8, 64, even),
      only(kOc48, whole<uint32_t>(
                      "burst", "64..4096, a power of two", "octets the card asks for in one transaction (default 1024)",
                      [](C& c) -> uint32_t& { return c.card.bus.burst; }, 64, 4096, power_of_two)),
      only(kOc48, whole<uint32_t>(
                      "read_wait", "0..13", "initial wait states of the bridge on reads (default 8)",
                      [](C& c) -> uint32_t& { return c.card.bus.read_wait; }, 0, 13)),
      only(kOc48, whole<uint32_t>(
                      "word_wait", "0..7", "wait states of the bridge before each further data phase (default 0)",
                      [](C& c) -> uint32_t& { return c.card.bus.word_wait; }, 0, 7)),
      only(kOc48, whole<uint32_t>(
                      "retry", "0..10000",
                      "bus clocks the bridge takes to fetch what a read asks for, saying Retry (default 0: it waits)",
                      [](C& c) -> uint32_t& { return c.card.bus.retry; }, 0, 10'000)),
      only(kOc48, whole<uint32_t>(
                      "cache_line", "16, 32, 64, 128", "cache line, octets (default 32)",
                      [](C& c) -> uint32_t& { return c.card.bus.cache_line; }, 16, 128, power_of_two)),
      only(kOc48, choice<uint32_t>("mwi", "on, off", "Memory Write and Invalidate for whole cache lines (default on)",
                                   [](C& c) -> uint32_t& { return c.card.bus.mwi; }, {{"on", 1}, {"off", 0}})),
      only(kOc48,
           choice<uint32_t>("read_command", "multiple, line",
                            "Memory Read Multiple or Line: reads end at `boundary` or at each cache line "
                            "(default multiple)",
                            [](C& c) -> uint32_t& { return c.card.bus.read_command; }, {{"multiple", 2}, {"line", 1}})),
      only(kOc48, choice<uint32_t>("fcs", "16, 32", "frame check sequence, bits; both ends alike (default 32)",
                                   [](C& c) -> uint32_t& { return c.card.sonet.fcs; }, {{"16", 2}, {"32", 4}})),
      only(kOc48, choice<bool>("scramble", "on, off", "payload scrambler x^43 + 1; both ends alike (default on)",
                               [](C& c) -> bool& { return c.card.sonet.scramble; }, {{"on", true}, {"off", false}})),
      only(kOc48, {{"c2", "0..255, 0x00..0xff", "path signal label, sent and expected (default 0x8d: MAPOS)"}, set_c2}),
  };
  return all;
}

}  // namespace

CardConfig CardConfig::of(CardKind kind) {
  CardConfig card;
  card.kind = kind;
  if (kind == CardKind::kOc48) {
    card.bus.width = 8;
    card.bus.period_num = 15'000;  // 64 bit, 66.67 MHz
    card.ring_mode = true;
    card.tx_fifo = card.rx_fifo = 256 * 1024;  // three of the longest frames, so that one can arrive while one leaves
  }
  return card;
}

std::vector<ConfigKey> config_keys() {
  std::vector<ConfigKey> docs;
  for (const Key& key : keys()) docs.push_back(key.doc);
  return docs;
}

tl::expected<void, std::string> set(PortConfig& config, std::string_view key, std::string_view value) {
  for (const Key& k : keys()) {
    if (key != k.doc.name) continue;
    if (k.only && *k.only != config.card.kind)
      return tl::make_unexpected(std::string(key) + "=" + std::string(value) + ": only card=" + card_name(*k.only) +
                                 " has this key");
    return k.set(config, value);
  }
  std::string known;
  for (const Key& k : keys()) known += (known.empty() ? "" : ", ") + std::string(k.doc.name);
  return tl::make_unexpected("unknown key " + std::string(key) + "; known: " + known);
}

namespace {
Result check_oc48(const PortConfig& config) {
  const CardConfig& card = config.card;
  const auto too_small = [](const char* fifo, uint32_t size, uint32_t least) {
    return tl::make_unexpected(std::string(fifo) + "=" + std::to_string(size) +
                               " cannot hold a frame of 65284 octets; at least " + std::to_string(least));
  };
  const uint32_t frame = record_bytes(kMaxFrameOc48), tx = frame + card.bus.burst + 32;
  if (card.tx_fifo < tx) return too_small("tx_fifo", card.tx_fifo, tx);
  if (card.rx_fifo < frame) return too_small("rx_fifo", card.rx_fifo, frame);
  // PCI 2.2 section 3.5.1.1: the first data phase ends within 16 clocks of the address phase.
  if (1 + card.bus.decode + card.bus.read_wait > 15)
    return tl::make_unexpected("read_wait=" + std::to_string(card.bus.read_wait) + " is not allowed with decode=" +
                               std::to_string(card.bus.decode) + ": the first data phase would come after clock 16");
  if (card.bus.target_wait > 12)
    return tl::make_unexpected(refusal("target_wait", std::to_string(card.bus.target_wait), "0..12 (card=oc48)"));
  if (config.wire.starts_with("pcap:"))
    return tl::make_unexpected("wire=" + config.wire + ": captures are of Ethernet; card=oc48 takes loop or a name");
  return {};
}
}  // namespace

tl::expected<void, std::string> check(const PortConfig& config) {
  if (config.card.kind == CardKind::kOc48) return check_oc48(config);
  if (config.card.bus.target_wait % 2 != 0)
    return tl::make_unexpected(refusal("target_wait", std::to_string(config.card.bus.target_wait), "0..14, even"));
  const uint32_t least = kMaxFrameAny + 16 + config.card.bus.mmrbc + 32;
  if (config.card.tx_fifo < least)
    return tl::make_unexpected("tx_fifo=" + std::to_string(config.card.tx_fifo) +
                               " cannot hold a frame and a read of mmrbc=" + std::to_string(config.card.bus.mmrbc) +
                               "; at least " + std::to_string(least));
  return {};
}

}  // namespace awing::hw
