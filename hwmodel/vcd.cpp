// SPDX-License-Identifier: BSD-3-Clause
#include "vcd.h"

#include <cerrno>
#include <cinttypes>
#include <cstring>

namespace awing::hw {

namespace {
struct Signal {
  const char* name;
  int bits;
};
enum : int { kBusUse, kBusOctets, kTxLevel, kRxLevel, kTxFrame, kRxFrame, kTxOctets, kRxOctets, kRegOffset, kRegValue };
constexpr Signal kSignals[] = {{"bus_use", 8},   {"bus_octets", 16}, {"tx_level", 32},  {"rx_level", 32}, {"tx_frame", 1},
                               {"rx_frame", 1},  {"tx_octets", 16},  {"rx_octets", 16}, {"reg_write", 16}, {"reg_value", 32}};
char code(int signal) { return static_cast<char>('!' + signal); }
}  // namespace

tl::expected<std::unique_ptr<VcdWriter>, std::string> VcdWriter::open(const std::string& file) {
  std::FILE* f = std::fopen(file.c_str(), "w");
  if (!f) return tl::make_unexpected("trace=" + file + ": cannot be written: " + std::strerror(errno));
  std::unique_ptr<VcdWriter> writer(new VcdWriter(f));
  std::fprintf(f, "$timescale 1 ps $end\n$scope module card $end\n");
  for (int i = 0; i < static_cast<int>(std::size(kSignals)); ++i)
    std::fprintf(f, "$var wire %d %c %s $end\n", kSignals[i].bits, code(i), kSignals[i].name);
  std::fprintf(f, "$upscope $end\n$enddefinitions $end\n");
  writer->at(0);
  for (int i = 0; i < static_cast<int>(std::size(kSignals)); ++i) writer->change(i, 0, kSignals[i].bits);
  return writer;
}

VcdWriter::~VcdWriter() { std::fclose(file_); }

void VcdWriter::at(Ps t) {
  if (t == now_) return;
  now_ = t;
  std::fprintf(file_, "#%" PRId64 "\n", t);
}

void VcdWriter::change(int signal, uint64_t value, int bits) {
  if (bits == 1) {
    std::fprintf(file_, "%d%c\n", value != 0, code(signal));
    return;
  }
  char text[65];
  int n = 0;
  for (int bit = bits - 1; bit >= 0; --bit)
    if (n > 0 || bit == 0 || (value >> bit & 1)) text[n++] = value >> bit & 1 ? '1' : '0';
  text[n] = 0;
  std::fprintf(file_, "b%s %c\n", text, code(signal));
}

void VcdWriter::consume(std::span<const Event> events) {
  if (!good_) return;
  const auto levels = [this](uint64_t c) {
    change(kTxLevel, c >> 32, 32);
    change(kRxLevel, c & 0xFFFFFFFF, 32);
  };
  for (const Event& e : events) {
    at(e.t);
    switch (e.type) {
      case EventType::kBusGrant:
        change(kBusUse, e.a + 1u, 8);
        change(kBusOctets, e.b, 16);
        levels(e.c);
        break;
      case EventType::kBusEnd:
        change(kBusUse, 0, 8);
        levels(e.c);
        break;
      case EventType::kRegWrite:
        change(kRegOffset, e.b, 16);
        change(kRegValue, e.c, 32);
        break;
      case EventType::kTxStart:
        change(kTxOctets, e.b, 16);
        change(kTxFrame, 1, 1);
        break;
      case EventType::kTxEnd:
        change(kTxFrame, 0, 1);
        break;
      case EventType::kRxStart:
        change(kRxOctets, e.b, 16);
        change(kRxFrame, 1, 1);
        break;
      case EventType::kRxAdmit:
      case EventType::kRxDrop:
        change(kRxFrame, 0, 1);
        break;
      case EventType::kStatus:
      case EventType::kTxFlush:
        break;
    }
  }
  if (std::ferror(file_)) good_ = false;
}

}  // namespace awing::hw
