// SPDX-License-Identifier: BSD-3-Clause
#include "hwmodel/config.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdio>
#include <fstream>
#include <string>

using namespace awing::hw;

namespace {
bool takes(const char* key, const char* value) {
  PortConfig config;
  return set(config, key, value).has_value();
}
std::string complaint(const char* key, const char* value) {
  PortConfig config;
  auto result = set(config, key, value);
  return result ? "" : result.error();
}
std::string file_with(const char* text) {
  const std::string name = "config_test_profile.json";
  std::ofstream(name) << text;
  return name;
}
}  // namespace

TEST_CASE("every bus has its width and an exact clock period") {
  struct {
    const char* name;
    uint32_t width;
    uint64_t period;
  } const buses[] = {{"pcix66", 8, 15'000},
                     {"pcix100", 8, 10'000},
                     {"pcix133", 8, 7'500},
                     {"pcix266", 16, 7'500},
                     {"pcix533", 32, 7'500}};
  for (const auto& bus : buses) {
    PortConfig config;
    REQUIRE(set(config, "bus", bus.name));
    CHECK(config.card.bus.width == bus.width);
    CHECK(config.card.bus.period_num == bus.period);
    CHECK(config.card.bus.period_den == 1);
  }
}

TEST_CASE("each key sets its own field") {
  PortConfig c;
  for (const auto& [key, value] :
       {std::pair{"wire", "c0"}, {"path", "net.json"},    {"trace", "x.vcd"},        {"dma", "ring"},
        {"clock", "virtual"},    {"engine", "reference"}, {"decode", "3"},           {"target_wait", "6"},
        {"idle", "2"},           {"mmrbc", "1024"},       {"splits", "12"},          {"completer_latency", "100"},
        {"boundary", "512"},     {"latency_timer", "32"}, {"tx_fifo", "64k"},        {"rx_fifo", "131072"},
        {"ppm", "-100"},         {"desc_cache", "16"},    {"cable_delay_ns", "500"}, {"card", "awing"},
        {"profile", "pc2003"}}) {
    INFO(key << "=" << value);
    REQUIRE(set(c, key, value));
  }
  CHECK(c.wire == "c0");
  CHECK(c.path == "net.json");
  CHECK(c.trace == "x.vcd");
  CHECK(c.card.ring_mode);
  CHECK(c.clock == ClockMode::kVirtual);
  CHECK(c.engine == Engine::kReference);
  CHECK(c.card.bus.decode == 3);
  CHECK(c.card.bus.target_wait == 6);
  CHECK(c.card.bus.idle == 2);
  CHECK(c.card.bus.mmrbc == 1024);
  CHECK(c.card.bus.splits == 12);
  CHECK(c.card.bus.completer_latency == 100);
  CHECK(c.card.bus.boundary == 512);
  CHECK(c.card.bus.latency_timer == 32);
  CHECK(c.card.tx_fifo == 65'536);
  CHECK(c.card.rx_fifo == 131'072);
  CHECK(c.card.ppm == -100);
  CHECK(c.card.desc_cache == 16);
  CHECK(c.cable_delay == 500'000);
  CHECK(c.profile.name == "pc2003");
  CHECK(check(c));
}

TEST_CASE("numbers are read strictly") {
  for (const char* bad :
       {"", " 2", "2 ", "+2", "2x", "0x2", "2.0", "0", "4", "-1", "99999999999999999999", "k", "2kk"}) {
    INFO("decode=" << bad);
    CHECK_FALSE(takes("decode", bad));
  }
  CHECK(takes("decode", "2"));
  CHECK(takes("tx_fifo", "32k"));
  for (const char* bad : {"1k", "32K", "32001", "9223372036854775807k", "1024k"}) CHECK_FALSE(takes("tx_fifo", bad));
}

TEST_CASE("values outside what the hardware allows are refused") {
  for (const auto& [key, value] : {std::pair{"mmrbc", "768"},
                                   {"mmrbc", "8192"},
                                   {"splits", "5"},
                                   {"splits", "20"},
                                   {"boundary", "64"},
                                   {"boundary", "384"},
                                   {"target_wait", "15"},
                                   {"idle", "3"},
                                   {"ppm", "201"},
                                   {"desc_cache", "9"},
                                   {"rx_fifo", "24577"},
                                   {"cable_delay_ns", "4"},
                                   {"card", "oc192"},
                                   {"burst", "128"},
                                   {"bus", "pci64-66"},
                                   {"bus", "pci"},
                                   {"dma", ""},
                                   {"clock", "TSC"},
                                   {"engine", "slow"},
                                   {"wire", ""},
                                   {"profile", "/nonexistent.json"},
                                   {"profile", "/"}}) {
    INFO(key << "=" << value);
    CHECK_FALSE(takes(key, value));
  }
}

TEST_CASE("a refusal is one line with the key, the value and what is allowed") {
  const std::string line = complaint("mmrbc", "768");
  CHECK(line.find('\n') == std::string::npos);
  for (const char* part : {"mmrbc", "768", "512, 1024, 2048, 4096"}) CHECK(line.find(part) != std::string::npos);
  const std::string unknown = complaint("mmrbcs", "768");
  CHECK(unknown.find("mmrbcs") != std::string::npos);
  CHECK(unknown.find("mmrbc, ") != std::string::npos);
}

TEST_CASE("a refused value leaves the configuration as it was") {
  PortConfig config;
  REQUIRE(set(config, "profile", "pc2003"));
  const Ps poll = config.profile.poll;
  CHECK_FALSE(set(config, "profile", file_with(R"({"poll_ns": 1, "pole_ns": 2})")));
  CHECK(config.profile.name == "pc2003");
  CHECK(config.profile.poll == poll);
}

TEST_CASE("a profile file gives costs in nanoseconds") {
  PortConfig config;
  const std::string file =
      file_with(R"({"source": "measured on a bench", "poll_ns": 40, "tx_packet_ns": 11, "rx_packet_ns": 12,
                    "register_write_ns": 13, "interrupt_ns": 14})");
  REQUIRE(set(config, "profile", file));
  CHECK(config.profile.poll == 40'000);
  CHECK(config.profile.tx_packet == 11'000);
  CHECK(config.profile.rx_packet == 12'000);
  CHECK(config.profile.register_write == 13'000);
  CHECK(config.profile.interrupt == 14'000);
  for (const char* bad : {"", "[]", "{", R"({"poll_ns": -1})", R"({"poll_ns": 1.5})", R"({"poll_ns": "1"})",
                          R"({"poll_ns": 0})", R"({"polls": 1})", R"({"poll_ns": 1e30})"}) {
    INFO(bad);
    CHECK_FALSE(set(config, "profile", file_with(bad)));
  }
  std::remove(file.c_str());
}

TEST_CASE("every listed key is known to set() and described") {
  const auto keys = config_keys();
  CHECK(keys.size() >= 20);
  for (const ConfigKey& key : keys) {
    INFO(key.name);
    CHECK(complaint(key.name, "").find("unknown key") == std::string::npos);
    CHECK(std::string(key.allowed).size() > 0);
    CHECK(std::string(key.meaning).size() > 0);
  }
}

TEST_CASE("check() refuses a send FIFO that cannot hold a frame and a read") {
  PortConfig config;
  CHECK(check(config));
  config.card.tx_fifo = 4096 + 16'384;
  auto result = check(config);
  REQUIRE_FALSE(result);
  CHECK(result.error().find("tx_fifo=20480") != std::string::npos);
}

TEST_CASE("wait states of PCI-X come in pairs") {
  PortConfig config;
  REQUIRE(set(config, "target_wait", "3"));
  CHECK_FALSE(check(config));
}

TEST_CASE("the oc48 card has its own buses and keys") {
  struct {
    const char* name;
    uint32_t width;
    uint64_t period;
  } const buses[] = {
      {"pci32-33", 4, 30'000}, {"pci32-66", 4, 15'000}, {"pci64-33", 8, 30'000}, {"pci64-66", 8, 15'000}};
  PortConfig c;
  REQUIRE(set(c, "card", "oc48"));
  CHECK(c.card.ring_mode);
  CHECK(check(c));
  for (const auto& bus : buses) {
    REQUIRE(set(c, "bus", bus.name));
    CHECK(c.card.bus.width == bus.width);
    CHECK(c.card.bus.period_num == bus.period);
  }
  for (const auto& [key, value] : {std::pair{"burst", "512"},
                                   {"read_wait", "11"},
                                   {"word_wait", "1"},
                                   {"retry", "40"},
                                   {"cache_line", "64"},
                                   {"mwi", "off"},
                                   {"read_command", "line"},
                                   {"fcs", "16"},
                                   {"scramble", "off"},
                                   {"c2", "0xCF"}}) {
    INFO(key << "=" << value);
    REQUIRE(set(c, key, value));
  }
  CHECK(c.card.bus.burst == 512);
  CHECK(c.card.bus.read_wait == 11);
  CHECK(c.card.bus.word_wait == 1);
  CHECK(c.card.bus.retry == 40);
  CHECK(c.card.bus.cache_line == 64);
  CHECK(c.card.bus.mwi == 0);
  CHECK(c.card.bus.read_command == 1);
  CHECK(c.card.sonet.fcs == 2);
  CHECK_FALSE(c.card.sonet.scramble);
  CHECK(c.card.sonet.c2 == 0xCF);
  CHECK(check(c));
  for (const auto& [key, value] : {std::pair{"bus", "pcix66"},
                                   {"mmrbc", "512"},
                                   {"splits", "1"},
                                   {"dma", "ring"},
                                   {"completer_latency", "1"},
                                   {"c2", "256"},
                                   {"c2", "0x"},
                                   {"c2", ""},
                                   {"fcs", "8"},
                                   {"read_wait", "14"},
                                   {"burst", "100"},
                                   {"card", "awing"}}) {
    INFO(key << "=" << value);
    CHECK_FALSE(set(c, key, value));
  }
  const auto complaint_of = [](const char* key, const char* value) {
    PortConfig oc48;
    REQUIRE(set(oc48, "card", "oc48"));
    REQUIRE(set(oc48, key, value));
    auto result = check(oc48);
    REQUIRE_FALSE(result);
    return result.error();
  };
  // A frame is 65,284 octets, in the FIFO 16 + 65,296; to send, a read of 1024 and 32 more must fit beside it.
  CHECK(complaint_of("tx_fifo", "66352").find("at least 66368") != std::string::npos);
  CHECK(complaint_of("rx_fifo", "65296").find("at least 65312") != std::string::npos);
  CHECK(complaint_of("wire", "pcap:a.pcap").find("Ethernet") != std::string::npos);
  // Address and turnaround, decode 2, waits: data in clock 2 + 2 - 1 + waits + 1 must be 16 at most, so 12 waits.
  CHECK(complaint_of("read_wait", "13").find("decode=2") != std::string::npos);
}
