// SPDX-License-Identifier: BSD-3-Clause
#include "oc48.h"

#include <algorithm>

namespace awing::hw {

uint32_t sonet_format(const SonetConfig& config) {
  return (config.fcs == 4 ? uint32_t{kSonetFcs32} : 0) | (config.scramble ? uint32_t{kSonetScramble} : 0);
}

Oc48Card::Oc48Card(const CardConfig& config, Link& tx, Link& rx, Ps start)
    : Card(config, tx, rx, start), pci_(config.bus), format_(sonet_format(config.sonet)) {
  preset(kSonetFormat, format_);
  preset(kSonetTxC2, config.sonet.c2);
  preset(kSonetRxC2, config.sonet.c2);
  tx_link_.set_line(config.ppm, format_);
}

bool Oc48Card::update(LineSettings& set, uint32_t r, uint32_t value) const {
  switch (r) {
    case kControl:
      set.control = value;
      return true;
    case kMaxFrame:
      set.max_frame = value;
      return true;
    case kMacLo:
      set.address = value & 0xFFFF;
      return true;
    case kSonetInsert:
      set.insert = value;
      return true;
    case kSonetTxC2:
      set.tx_c2 = value & 0xFF;
      return true;
    case kSonetRxC2:
      set.rx_c2 = value & 0xFF;
      return true;
    default:
      return false;
  }
}

Counter Oc48Card::judge(const uint8_t* frame, const WireFrame& wire, const LineSettings& set, bool down) const {
  if (down) return kRxLineDown;
  if (!(set.control & kCtlRxEnable)) return kRxDisabledDrops;
  // A receiver that counts another FCS, or descrambles otherwise than was scrambled, finds no good FCS.
  if ((wire.flags & kFrameBadFcs) || rx_link_.line_format() != format_) return kRxCrcErrors;
  if (wire.len < kMapHeader) return kRxUndersize;
  if (wire.len + config_.sonet.fcs > set.max_frame) return kRxOversize;
  if (set.control & kCtlMapos16) {  // RFC 2175 section 2: the low bit of the first octet 0, of the second 1
    const uint32_t address = uint32_t{frame[0]} << 8 | frame[1];
    if ((address & 0x0101) != 1) return kRxBadHeader;
    if (set.control & kCtlPromiscuous) return kRxFrames;
    if (address == set.address || address == 0xFEFF) return kRxFrames;
  } else {  // RFC 2171 section 3.1
    if (frame[1] != 0x03 || !(frame[0] & 1)) return kRxBadHeader;
    if (set.control & kCtlPromiscuous) return kRxFrames;
    if (frame[0] == set.address || frame[0] == 0xFF) return kRxFrames;
  }
  return (frame[0] & 0x80) && (set.control & kCtlAllMulticast) ? kRxFrames : kRxFiltered;
}

void Oc48Card::lose_frames() {
  for (; !rx_link_.empty(); rx_link_.pop()) {
    const WireFrame& frame = rx_link_.front();
    counters_[kRxLineDown]++;
    emit(ran_until_ + 1, Block::kRx, EventType::kRxDrop, static_cast<uint16_t>(kRxLineDown), frame.len, 0);
  }
}

Oc48Card::LineSettings Oc48Card::first_settings() const {
  LineSettings set;
  set.tx_c2 = set.rx_c2 = config_.sonet.c2;
  return set;
}

SonetFrame Oc48Card::sonet_frame(int64_t number, const LineSettings& set, const Report& seen,
                                 SonetSender& sender) const {
  const bool on = (set.control & kCtlTxEnable) != 0;
  SonetFrame frame{};
  frame.number = number;
  frame.framing = true;
  frame.light = on || sender.light;  // a frame during which the laser went off is whole
  frame.ais = (set.insert & kInsertAisP) != 0;
  frame.rdi = (set.insert & kInsertRdiP) || (seen.alarms & kAlarmsReturned);
  frame.c2 = static_cast<uint8_t>(set.tx_c2);
  frame.rei_l = static_cast<uint8_t>(std::min<uint64_t>(seen.b2 - sender.b2, 255));
  frame.rei_p = static_cast<uint8_t>(std::min<uint64_t>(seen.b3 - sender.b3, 8));
  sender = {on, sender.b2 + frame.rei_l, sender.b3 + frame.rei_p};
  return frame;
}

void Oc48Card::count(const SonetMonitor::Counts& counts) {
  counters_[kB1Errors] = counts.b1;
  counters_[kB2Errors] = counts.b2;
  counters_[kB3Errors] = counts.b3;
  counters_[kReiL] = counts.rei_l;
  counters_[kReiP] = counts.rei_p;
}

uint32_t Oc48Card::read_octets(uint64_t addr, uint32_t most) const {
  const uint32_t boundary = config_.bus.read_command == 1 ? config_.bus.cache_line : config_.bus.boundary;
  return std::min({most, config_.bus.burst, boundary - static_cast<uint32_t>(addr & (boundary - 1))});
}

uint32_t Oc48Card::write_octets(uint64_t addr, uint32_t most, bool& mwi) const {
  const uint32_t boundary = config_.bus.boundary, line = config_.bus.cache_line;
  const uint32_t n = std::min({most, config_.bus.burst, boundary - static_cast<uint32_t>(addr & (boundary - 1))});
  mwi = config_.bus.mwi && addr % line == 0 && n >= line;
  return mwi ? n - n % line : n;
}

}  // namespace awing::hw
