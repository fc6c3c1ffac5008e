// SPDX-License-Identifier: BSD-3-Clause
#include "device.h"

#include <cstdio>

namespace awing::pmd {

namespace {
struct Known {
  uint32_t type, version, offset;
  const char* name;
};
constexpr Known kKnown[] = {
    {hw::kBlockControl, 1, hw::kCtrlType, "control"},       {hw::kBlockDma, 1, hw::kDmaType, "DMA"},
    {hw::kBlockClock, 1, hw::kClockType, "clock"},          {hw::kBlockInterrupt, 1, hw::kIntrType, "interrupt"},
    {hw::kBlockCounters, 1, hw::kCountersType, "counters"},
};
}  // namespace

std::string check_blocks(Device& device) {
  char text[160];
  const uint64_t id = device.read(hw::kDeviceIdLo) | uint64_t{device.read(hw::kDeviceIdHi)} << 32;
  if (id != hw::kDeviceIdAwing) {
    std::snprintf(text, sizeof text, "device id %016llx is not an awing card (%016llx)",
                  static_cast<unsigned long long>(id), static_cast<unsigned long long>(hw::kDeviceIdAwing));
    return text;
  }
  unsigned found = 0;
  uint32_t offset = device.read(hw::kFirstBlock);
  for (int hops = 0; offset != 0; ++hops) {
    if (hops == 16 || offset % 4 != 0 || offset > hw::kBarBytes - 12) {
      std::snprintf(text, sizeof text, "the list of register blocks is broken at offset %#x", offset);
      return text;
    }
    const uint32_t type = device.read(offset), version = device.read(offset + 4);
    for (const Known& known : kKnown) {
      if (known.type != type) continue;
      if (known.version != version) {
        std::snprintf(text, sizeof text,
                      "register block %s has version %u, this driver knows version %u: use a driver for it", known.name,
                      version, known.version);
        return text;
      }
      if (known.offset != offset) {
        std::snprintf(text, sizeof text, "register block %s is at offset %#x, this driver knows it at %#x", known.name,
                      offset, known.offset);
        return text;
      }
      found |= 1u << (&known - kKnown);
    }
    offset = device.read(offset + 8);
  }
  for (const Known& known : kKnown)
    if (!(found & (1u << (&known - kKnown)))) return std::string("the card has no register block ") + known.name;
  return {};
}

}  // namespace awing::pmd
