// SPDX-License-Identifier: BSD-3-Clause
#include <rte_ether.h>
#include <rte_kvargs.h>

#include <bit>
#include <charconv>
#include <cstring>

#include "driver.h"

namespace awing::pmd {

namespace {

bool octets(std::string_view text, uint32_t& out) {
  uint32_t unit = 1;
  if (text.ends_with('k')) unit = 1024, text.remove_suffix(1);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (error != std::errc{} || end != text.data() + text.size() || out > (1u << 30) / unit) return false;
  out *= unit;
  return true;
}

bool whole(std::string_view text, uint32_t low, uint32_t high, uint32_t& out) {
  uint32_t n = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (error != std::errc{} || end != text.data() + text.size() || n < low || n > high) return false;
  out = n;
  return true;
}

constexpr std::pair<std::string_view, SendMode> kSendModes[] = {
    {"interrupt", SendMode::kInterrupt}, {"deferred", SendMode::kDeferred}, {"adaptive", SendMode::kAdaptive}};

int refuse(const std::string& why) {
  AWING_LOG(ERR, "%s", why.c_str());
  return -EINVAL;
}

int set_one(const std::string& key, const std::string& value, Adapter& adapter, rte_ether_addr& mac) {
  if (key == "mac") {
    if (rte_ether_unformat_addr(value.c_str(), &mac) != 0 || !rte_is_valid_assigned_ether_addr(&mac))
      return refuse("mac=" + value + " is not allowed; allowed: a unicast address like 02:00:00:00:00:01");
    return 0;
  }
  if (key == "rx_stream" || key == "tx_stream") {
    uint32_t& size = key == "rx_stream" ? adapter.rx_stream : adapter.tx_stream;
    if (!octets(value, size) || !std::has_single_bit(size) || size < 65536 || size > (1u << 26))
      return refuse(key + "=" + value + " is not allowed; allowed: a power of two from 64k to 65536k octets");
    return 0;
  }
  if (key == "tx_mode") {
    for (const auto& [word, mode] : kSendModes)
      if (value == word) return adapter.tx_mode = mode, 0;
    return refuse("tx_mode=" + value + " is not allowed; allowed: interrupt, deferred, adaptive");
  }
  if (key == "rx_batch") {
    if (!whole(value, 1, 65535, adapter.rx_batch))
      return refuse("rx_batch=" + value + " is not allowed; allowed: 1 to 65535 packets");
    return 0;
  }
  if (key == "rx_timeout_us") {
    if (!whole(value, 0, 1'000'000, adapter.rx_timeout_us))
      return refuse("rx_timeout_us=" + value + " is not allowed; allowed: 0 to 1000000 microseconds");
    return 0;
  }
  if (auto ok = hw::set(adapter.config, key, value); !ok) {
    std::string why = ok.error();
    if (why.starts_with("unknown key")) why += ", mac, rx_stream, tx_stream, tx_mode, rx_batch, rx_timeout_us";
    return refuse(why);
  }
  return 0;
}

}  // namespace

int parse_devargs(const char* args, Adapter& adapter, rte_ether_addr& mac) {
  if (!args || !*args) return 0;
  rte_kvargs* list = rte_kvargs_parse(args, nullptr);
  if (!list) return refuse(std::string("cannot read the device arguments \"") + args + "\"; write key=value,key=value");
  int status = 0;
  for (unsigned i = 0; i < list->count && status == 0; ++i) {
    const rte_kvargs_pair& pair = list->pairs[i];
    status = pair.value && *pair.value ? set_one(pair.key, pair.value, adapter, mac)
                                       : refuse(std::string("key ") + pair.key + " has no value; write key=value");
  }
  rte_kvargs_free(list);
  if (status != 0) return status;
  if (auto ok = hw::check(adapter.config); !ok) return refuse(ok.error());
  if (adapter.config.card.kind != hw::CardKind::kAwing)
    return refuse("card=oc48 is in the model but not in this driver yet; allowed: awing");
  if (adapter.rx_batch > 1 && adapter.rx_timeout_us == 0)
    return refuse("rx_batch=" + std::to_string(adapter.rx_batch) +
                  " needs rx_timeout_us= above 0: without it every packet interrupts at once");
  return 0;
}

}  // namespace awing::pmd
