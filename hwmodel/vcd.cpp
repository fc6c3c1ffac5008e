// SPDX-License-Identifier: BSD-3-Clause
#include "vcd.h"

#include <cerrno>
#include <charconv>
#include <cstring>
#include <iterator>

#include "files.h"
#include "moderator.h"

namespace awing::hw {

namespace {

struct SignalInfo {
  const char* name;
  int bits;
};
constexpr SignalInfo kSignals[] = {
#define X(id, name, bits) {name, bits},
    AWING_VCD_SIGNALS(X)
#undef X
};

constexpr uint64_t kIdle = UINT64_MAX;  // value of kVcdBusUse while the bus is idle
constexpr uint64_t kUnknown = UINT64_MAX - 1;

constexpr const char* kUses[] = {"host_write",   "host_read",     "completion",    "read_stream",
                                 "read_data",    "read_tx_descs", "read_rx_descs", "write_data",
                                 "write_status", "write_rx_cpl",  "write_tx_cpl"};
static_assert(std::size(kUses) == static_cast<size_t>(BusUse::kWriteTxCpl) + 1);

/// Identifiers are single printing characters.
constexpr char code(int signal) { return static_cast<char>('!' + signal); }

}  // namespace

const char* bus_use_name(uint64_t use) { return use < std::size(kUses) ? kUses[use] : "idle"; }

tl::expected<std::unique_ptr<VcdWriter>, std::string> VcdWriter::open(const std::string& file) {
  const auto out = open_output(file);
  if (!out) return tl::make_unexpected("trace=" + out.error());
  std::unique_ptr<VcdWriter> writer(new VcdWriter(*out, file));
  writer->header();
  writer->flush();
  if (!writer->good()) return tl::make_unexpected(writer->error());
  return writer;
}

VcdWriter::~VcdWriter() {
  flush();
  std::fclose(out_);
}

void VcdWriter::write(std::string_view text) {
  if (!good()) return;
  if (std::fwrite(text.data(), 1, text.size(), out_) != text.size())
    error_ = "trace=" + file_ + " is incomplete: " + std::strerror(errno);
}

void VcdWriter::flush() {
  if (good() && std::fflush(out_) != 0) error_ = "trace=" + file_ + " is incomplete: " + std::strerror(errno);
}

void VcdWriter::header() {
  write("$version awing card model $end\n$timescale 1 ps $end\n$comment bus_use:");
  for (size_t i = 0; i < std::size(kUses); ++i) write(" " + std::to_string(i) + "=" + kUses[i]);
  write(" $end\n$scope module card $end\n");
  for (int i = 0; i < kVcdSignals; ++i) {
    const auto& [name, bits] = kSignals[i];
    const std::string type = bits == 0 ? "string 1" : "wire " + std::to_string(bits);
    write("$var " + type + " " + code(i) + " " + name + " $end\n");
  }
  write("$upscope $end\n$enddefinitions $end\n");
  values_.fill(kUnknown);
  for (int i = 0; i < kVcdSignals; ++i)
    change(static_cast<Signal>(i), i == kVcdBusUse || i == kVcdBusOwner ? kIdle : 0);
}

/// Notes the time of what follows; it is written when something changes.
void VcdWriter::at(Ps t) { event_at_ = t; }

void VcdWriter::change(Signal signal, uint64_t value) {
  if (values_[signal] == value) return;
  values_[signal] = value;
  char line[160];
  char* p = line;
  if (written_at_ != event_at_) {
    written_at_ = event_at_;
    *p++ = '#';
    p = std::to_chars(p, line + 32, event_at_).ptr;
    *p++ = '\n';
  }
  const int bits = kSignals[signal].bits;
  if (bits == 0) {
    *p++ = 's';
    const char* name = bus_use_name(value);
    const size_t n = std::strlen(name);
    std::memcpy(p, name, n);
    p += n;
    *p++ = ' ';
  } else if (bits == 1) {
    *p++ = value ? '1' : '0';
  } else {
    *p++ = 'b';
    if (value == kIdle)
      *p++ = 'z';
    else  // a value must fit its variable
      p = std::to_chars(p, line + sizeof line, value & ((uint64_t{1} << bits) - 1), 2).ptr;
    *p++ = ' ';
  }
  *p++ = code(signal);
  *p++ = '\n';
  write({line, static_cast<size_t>(p - line)});
}

void VcdWriter::event(const Event& e) {
  const auto levels = [this](uint64_t c) {
    change(kVcdTxLevel, c >> 32);
    change(kVcdRxLevel, c & 0xFFFFFFFF);
  };
  const auto bus = [this](uint64_t use) {
    change(kVcdBusUse, use);
    change(kVcdBusOwner, use);
  };
  const auto count = [this](Signal s) { change(s, (values_[s] + 1) & 0xFFFFFFFF); };
  switch (e.type) {
    case EventType::kBusGrant:
      bus(e.a);
      change(kVcdBusOctets, e.b);
      levels(e.c);
      break;
    case EventType::kBusEnd:
      bus(kIdle);
      levels(e.c);
      break;
    case EventType::kStatus:
      change(kVcdRxProduced, e.b);
      change(kVcdTxFetched, e.c >> 32);
      change(kVcdTxDone, e.c & 0xFFFFFFFF);
      break;
    case EventType::kRegWrite:
      change(kVcdRegOffset, e.b);
      change(kVcdRegValue, e.c);
      count(kVcdRegWrites);
      break;
    case EventType::kTxStart:
      change(kVcdTxOctets, e.b);
      change(kVcdTxFrame, 1);
      break;
    case EventType::kTxEnd:
      change(kVcdTxFrame, 0);
      break;
    case EventType::kTxFlush:
      count(kVcdTxFlushed);
      break;
    case EventType::kRxStart:
      change(kVcdRxOctets, e.b);
      change(kVcdRxFrame, 1);
      break;
    case EventType::kRxDrop:
      change(kVcdRxDropCause, e.a);
      count(kVcdRxDropped);
      [[fallthrough]];
    case EventType::kRxAdmit:
      change(kVcdRxFrame, 0);
      change(kVcdRxLineLevel, e.c);
      break;
    case EventType::kAlarms:
      change(kVcdAlarms, e.b);
      break;
    case EventType::kInterrupt:
      change(kVcdRxInterrupt, e.a & 1u << kCauseReceive ? 1 : 0);
      change(kVcdTxInterrupt, e.a & 1u << kCauseSend ? 1 : 0);
      break;
  }
}

void VcdWriter::consume(std::span<const Event> events) {
  for (const Event& e : events) {
    if (!good()) return;
    at(e.t);
    event(e);
  }
}

}  // namespace awing::hw
