// SPDX-License-Identifier: BSD-3-Clause
#include "hwmodel/config.h"

#include <bit>
#include <charconv>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <sstream>

#include "card.h"
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
  uint32_t width;
  uint64_t period_ps;
};
// PCI-X 1.0 and 2.0 (mode 2: 266 is DDR, 533 is QDR at 133.33 MHz). 66.67, 100, 133.33 MHz are whole picoseconds.
constexpr BusKind kBuses[] = {
    {"pcix66", 8, 15'000},  {"pcix100", 8, 10'000}, {"pcix133", 8, 7'500},
    {"pcix266", 16, 7'500}, {"pcix533", 32, 7'500},
};

Result set_profile(HostProfile& profile, std::string_view value) {
  if (value == "modern") {
    // Costs of one core of a 2020s server running a poll-mode driver; estimates, not measurements.
    profile = HostProfile{};
    return {};
  }
  if (value == "pc2003") {
    // 2-3 GHz Xeon of 2003: a posted write across the chipset 300 ns, driver work about 1 us a packet; estimates.
    profile = {"pc2003", 100'000, 700'000, 900'000, 300'000};
    return {};
  }
  const std::string file(value);
  std::ifstream in(file);
  if (!in) return tl::make_unexpected(refusal("profile", value, "modern, pc2003, or a readable JSON file"));
  std::ostringstream text;
  text << in.rdbuf();
  const auto json = nlohmann::json::parse(text.str(), nullptr, false);
  if (!json.is_object()) return tl::make_unexpected("profile=" + file + ": not a JSON object");
  HostProfile read;
  read.name = file;
  for (const auto& [key, v] : json.items()) {
    Ps* to = key == "poll_ns"             ? &read.poll
             : key == "tx_packet_ns"      ? &read.tx_packet
             : key == "rx_packet_ns"      ? &read.rx_packet
             : key == "register_write_ns" ? &read.register_write
                                          : nullptr;
    if (key == "source") continue;
    if (!to || !v.is_number_unsigned() || v.get<uint64_t>() > 1'000'000'000)
      return tl::make_unexpected("profile=" + file + ": " + key + " = " + v.dump() +
                                 " is not allowed; allowed: poll_ns, tx_packet_ns, rx_packet_ns, register_write_ns "
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
};

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
  static const std::vector<Key> all = {
      {{"card", "awing", "which card to model"},
       [](C&, std::string_view v) -> Result {
         if (v == "awing") return {};
         return tl::make_unexpected(refusal("card", v, "awing"));
       }},
      {{"bus", "pcix66, pcix100, pcix133, pcix266, pcix533", "the bus, 64 bit wide (default pcix266)"},
       [](C& c, std::string_view v) -> Result {
         for (const BusKind& bus : kBuses)
           if (v == bus.name) return c.card.bus.width = bus.width, c.card.bus.period_num = bus.period_ps, Result{};
         return tl::make_unexpected(refusal("bus", v, "pcix66, pcix100, pcix133, pcix266, pcix533"));
       }},
      choice<bool>("dma", "stream, ring", "packets packed in streams, or descriptor rings (default stream)",
                   [](C& c) -> bool& { return c.card.ring_mode; }, {{"stream", false}, {"ring", true}}),
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
          "tx_fifo", "24576..524288, multiple of 16, k allowed", "send FIFO, octets (default 32k)",
          [](C& c) -> uint32_t& { return c.card.tx_fifo; }, 24576, 524288, of_16),
      whole<uint32_t>(
          "rx_fifo", "24576..524288, multiple of 16, k allowed", "receive FIFO, octets (default 64k)",
          [](C& c) -> uint32_t& { return c.card.rx_fifo; }, 24576, 524288, of_16),
      whole<uint32_t>(
          "mmrbc", "512, 1024, 2048, 4096", "maximum memory read byte count (default 4096)",
          [](C& c) -> uint32_t& { return c.card.bus.mmrbc; }, 512, 4096, power_of_two),
      whole<uint32_t>(
          "splits", "1, 2, 3, 4, 8, 12, 16, 32", "reads outstanding at most (default 4)",
          [](C& c) -> uint32_t& { return c.card.bus.splits; }, 1, 32, split_count),
      whole<uint32_t>(
          "completer_latency", "0..10000", "bus clocks from split response to completion (default 40)",
          [](C& c) -> uint32_t& { return c.card.bus.completer_latency; }, 0, 10'000),
      whole<uint32_t>(
          "decode", "1..3", "bus clocks to decode an address: A, B, C (default 2)",
          [](C& c) -> uint32_t& { return c.card.bus.decode; }, 1, 3),
      whole<uint32_t>(
          "target_wait", "0..14, even", "initial wait states of the bridge as target (default 0)",
          [](C& c) -> uint32_t& { return c.card.bus.target_wait; }, 0, 14, even),
      whole<uint32_t>(
          "idle", "1..2", "turnaround clocks after each transaction (default 1)",
          [](C& c) -> uint32_t& { return c.card.bus.idle; }, 1, 2),
      whole<uint32_t>(
          "boundary", "128, 256, 512, 1024, 2048, 4096", "no burst crosses a multiple of this (default 4096)",
          [](C& c) -> uint32_t& { return c.card.bus.boundary; }, 128, 4096, power_of_two),
      whole<uint32_t>(
          "latency_timer", "0..255", "bus clocks before a write burst yields to the bridge (default 64)",
          [](C& c) -> uint32_t& { return c.card.bus.latency_timer; }, 0, 255),
      whole<uint32_t>(
          "desc_cache", "8..64, even", "ring mode: descriptors the card holds each way (default 32)",
          [](C& c) -> uint32_t& { return c.card.desc_cache; }, 8, 64, even),
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
    card.tx_fifo = card.rx_fifo = 128 * 1024;
  }
  return card;
}

std::vector<ConfigKey> config_keys() {
  std::vector<ConfigKey> docs;
  for (const Key& key : keys()) docs.push_back(key.doc);
  return docs;
}

tl::expected<void, std::string> set(PortConfig& config, std::string_view key, std::string_view value) {
  for (const Key& k : keys())
    if (key == k.doc.name) return k.set(config, value);
  std::string known;
  for (const Key& k : keys()) known += (known.empty() ? "" : ", ") + std::string(k.doc.name);
  return tl::make_unexpected("unknown key " + std::string(key) + "; known: " + known);
}

tl::expected<void, std::string> check(const PortConfig& config) {
  const uint32_t least = kMaxFrameAny + 16 + config.card.bus.mmrbc + 32;
  if (config.card.tx_fifo < least)
    return tl::make_unexpected("tx_fifo=" + std::to_string(config.card.tx_fifo) +
                               " cannot hold a frame and a read of mmrbc=" + std::to_string(config.card.bus.mmrbc) +
                               "; at least " + std::to_string(least));
  return {};
}

}  // namespace awing::hw
