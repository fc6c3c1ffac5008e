// SPDX-License-Identifier: BSD-3-Clause
#include "pcap_wire.h"

#include <sys/resource.h>

#include <catch2/catch.hpp>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <map>

#include "card.h"

using namespace awing::hw;

namespace {

constexpr const char* kIn = "pcap_wire_test_in.pcap";
constexpr const char* kOut = "pcap_wire_test_out.pcap";

/// Octets of a file, put together by hand.
struct Octets {
  bool big = false;  // byte order
  std::string bytes;
  Octets& put(uint64_t v, int n) {
    for (int i = 0; i < n; ++i) bytes += static_cast<char>(v >> (8 * (big ? n - 1 - i : i)));
    return *this;
  }
  Octets& header(uint32_t magic, uint32_t link_type = 1) {
    return put(magic, 4).put(2, 2).put(4, 2).put(0, 4).put(0, 4).put(65'535, 4).put(link_type, 4);
  }
  Octets& record(uint32_t s, uint32_t fraction, uint32_t len, uint32_t captured, char fill = 'x') {
    put(s, 4).put(fraction, 4).put(captured, 4).put(len, 4);
    bytes.append(captured, fill);
    return *this;
  }
  Octets& record(uint32_t s, uint32_t fraction, uint32_t len) { return record(s, fraction, len, len); }
  void save() const { std::ofstream(kIn, std::ios::binary) << bytes; }
};
constexpr uint32_t kMicro = 0xA1B2C3D4, kNano = 0xA1B23C4D;

std::unique_ptr<PcapWire> open(const std::string& spec) {
  auto wire = PcapWire::from_spec(spec);
  if (!wire) FAIL(wire.error());
  return std::move(*wire);
}

std::map<std::string, uint64_t> counters(const PcapWire& wire) {
  std::map<std::string, uint64_t> all;
  for (const auto& [name, value] : wire.counters()) all[name] = value;
  return all;
}

struct Frame {
  Ps start;
  uint32_t len;
  friend bool operator==(const Frame&, const Frame&) = default;
};
std::ostream& operator<<(std::ostream& out, const Frame& f) { return out << f.start << ":" << f.len; }

std::vector<Frame> take(Link& link) {
  std::vector<Frame> frames;
  for (; !link.empty(); link.pop()) {
    frames.push_back({link.front().start, link.front().len});
    link.release(link.front().pos + link.front().len);
  }
  return frames;
}

/// Everything in the file, with its first frame at `t0`.
std::vector<Frame> play(PcapWire& wire, Ps t0 = 32'000) {
  Link link(1 << 16, 5'000);
  wire.start(t0);
  std::vector<Frame> frames;
  for (int i = 0; i < 2'000; ++i) {
    wire.advance((i + 1) * kPsPerMs, link);
    for (const Frame& f : take(link)) frames.push_back(f);
  }
  return frames;
}

}  // namespace

TEST_CASE("frames arrive with their recorded gaps, in every kind of file") {
  // Stamps 10.5 s, +2 us, +1.000001 s; the far end starts frames on columns of 3.2 ns: 2 us = 625 columns, and
  // 1.000001 s + 32 ns is column 312500322.5: the next, 312500323, is 1.0000010336 s.
  const std::vector<Frame> expected{{32'000, 60}, {2'032'000, 1514}, {1'000'001'033'600, 100}};
  for (const bool big : {false, true})
    for (const bool nano : {false, true}) {
      const uint32_t unit = nano ? 1'000 : 1;
      Octets file{big, {}};
      file.header(nano ? kNano : kMicro)
          .record(10, 500'000 * unit, 60)
          .record(10, 500'002 * unit, 1514)
          .record(11, 500'001 * unit, 100)
          .save();
      auto wire = open(kIn);
      INFO("big " << big << " nano " << nano);
      CHECK(play(*wire) == expected);
      auto c = counters(*wire);
      CHECK(c["read"] == 3);
      CHECK(c["sent"] == 3);
      CHECK(c["compressed"] == 0);
      CHECK(wire->warning().empty());
    }
}

TEST_CASE("nanosecond stamps of a full line give back the line") {
  // 64-octet frames at 67.2 ns, their stamps cut to whole nanoseconds: rounding up to a column restores them.
  Octets file;
  file.header(kNano);
  std::vector<Frame> expected;
  for (uint32_t i = 0; i < 1'000; ++i) {
    file.record(0, 672 * i / 10, 60);
    expected.push_back({32'000 + 67'200 * static_cast<Ps>(i), 60});
  }
  file.save();
  auto wire = open(kIn);
  CHECK(play(*wire) == expected);
  CHECK(counters(*wire)["compressed"] == 0);
}

TEST_CASE("pcapng is read") {
  Octets file;
  file.put(0x0A0D0D0A, 4).put(28, 4).put(0x1A2B3C4D, 4).put(1, 2).put(0, 2).put(UINT64_MAX, 8).put(28, 4);  // section
  file.put(1, 4).put(20, 4).put(1, 2).put(0, 2).put(0, 4).put(20, 4);                                       // interface
  for (uint64_t us : {uint64_t{5'000'000'000}, uint64_t{5'000'000'016}}) {                                  // packets
    file.put(6, 4).put(32 + 64, 4).put(0, 4).put(us >> 32, 4).put(us & 0xFFFFFFFF, 4).put(64, 4).put(64, 4);
    file.bytes.append(64, 'n');
    file.put(32 + 64, 4);
  }
  file.save();
  auto wire = open(kIn);
  CHECK(play(*wire) == std::vector<Frame>{{32'000, 64}, {16'032'000, 64}});
}

TEST_CASE("short frames are padded with zeros, long and cut ones are counted and skipped") {
  Octets file;
  file.header(kMicro)
      .record(0, 0, 42, 42, 'a')
      .record(0, 10, 1514, 96)
      .record(0, 20, kMaxFrameAny + 1)
      .record(0, 30, kMaxFrameAny)
      .record(0, 40, 0)
      .save();
  auto wire = open(kIn);
  Link link(1 << 16, 5'000);
  wire->start(0);
  wire->advance(kPsPerMs, link);
  REQUIRE(link.size() == 3);
  const uint8_t* data = link.bytes(link.front().pos);
  CHECK(data[41] == 'a');
  for (int i = 42; i < 60; ++i) CHECK(data[i] == 0);
  CHECK(take(link) == std::vector<Frame>{{0, 60}, {30'000'000, kMaxFrameAny}, {43'123'200, 60}});
  // 8 + 16384 + 12 = 16404 octets = 4101 columns = 13123.2 ns after the long one
  auto c = counters(*wire);
  CHECK(c["read"] == 5);
  CHECK(c["sent"] == 3);
  CHECK(c["padded"] == 2);
  CHECK(c["cut_short"] == 1);
  CHECK(c["too_long"] == 1);
  CHECK(c["compressed"] == 1);
}

TEST_CASE("frames that would overlap follow each other at wire rate and are counted") {
  // Four of 1518 octets with FCS at the same stamp, one stamped before the first: 1228.8, 1232.0 in turn.
  Octets file;
  file.header(kMicro)
      .record(7, 5, 1514)
      .record(7, 5, 1514)
      .record(7, 5, 1514)
      .record(7, 4, 1514)
      .record(7, 20, 60)
      .save();
  auto wire = open(kIn);
  CHECK(play(*wire, 0) ==
        std::vector<Frame>{{0, 1514}, {1'228'800, 1514}, {2'460'800, 1514}, {3'689'600, 1514}, {15'001'600, 60}});
  CHECK(counters(*wire)["compressed"] == 3);
}

TEST_CASE("nothing comes before start(), nor earlier than the card was told") {
  Octets().header(kMicro).record(0, 0, 60).save();
  auto wire = open(kIn);
  Link link(1 << 16, 5'000);
  wire->advance(1'000'000, link);
  CHECK(link.empty());
  CHECK(link.known_until() == 1'000'001);
  wire->start(1'000'000);  // known_until() promised silence up to 1000001; the next column is 313 (1001600)
  wire->advance(2'000'000, link);
  CHECK(take(link) == std::vector<Frame>{{1'001'600, 60}});
}

TEST_CASE("without room on the link frames wait and time is not promised past them") {
  Octets file;
  file.header(kMicro);
  for (uint32_t i = 0; i < 100; ++i) file.record(0, 2 * i, 1500);
  file.save();
  auto wire = open(kIn);
  Link link(4096, 5'000);
  wire->start(0);
  std::vector<Frame> got;
  while (got.size() < 100) {
    const Ps promised = link.known_until();
    wire->advance(kPsPerMs, link);
    REQUIRE(!link.empty());
    REQUIRE(link.size() <= 2);
    REQUIRE(link.front().start >= promised);
    for (const Frame& f : take(link)) got.push_back(f);
    if (got.size() < 100) REQUIRE(link.known_until() == 2'000'000 * static_cast<Ps>(got.size()));
  }
  for (size_t i = 0; i < 100; ++i) REQUIRE(got[i].start == 2'000'000 * static_cast<Ps>(i));
}

TEST_CASE("a file cut in the middle gives the frames before, and one warning") {
  Octets file;
  file.header(kMicro).record(0, 0, 60).record(0, 10, 60).record(0, 20, 60);
  for (const size_t lost : {size_t{1}, size_t{30}, size_t{59}, size_t{70}}) {
    Octets cut = file;
    cut.bytes.resize(cut.bytes.size() - lost);
    cut.save();
    auto wire = open(kIn);
    CHECK(play(*wire).size() == 2);
    CHECK(wire->warning().starts_with("wire=pcap: pcap_wire_test_in.pcap is damaged after 2 frames, which are used: "));
    CHECK(wire->warning().find('\n') == std::string::npos);
  }
}

TEST_CASE("what cannot be used is refused in one line that names the file") {
  const auto refusal = [](const std::string& spec) {
    auto wire = PcapWire::from_spec(spec);
    REQUIRE_FALSE(wire);
    CHECK(wire.error().find('\n') == std::string::npos);
    return wire.error();
  };
  CHECK(refusal("") == "wire=pcap: names no file; allowed: pcap:IN, pcap:IN+OUT, pcap:+OUT");
  CHECK(refusal("/nonexistent.pcap") == "wire=pcap: /nonexistent.pcap cannot be read: No such file or directory");
  CHECK(refusal("+/nonexistent/out.pcap") ==
        "wire=pcap: /nonexistent/out.pcap cannot be written: No such file or directory");
  CHECK(refusal("+/dev/full") == "wire=pcap: /dev/full is incomplete: No space left on device");
  Octets().header(kMicro, 105).save();  // LINKTYPE_IEEE802_11
  CHECK(refusal(kIn) ==
        std::string("wire=pcap: ") + kIn + " holds frames of link type IEEE802_11; allowed: EN10MB (Ethernet)");
  std::ofstream(kIn, std::ios::binary) << "not a capture at all, but long enough to be one";
  CHECK(refusal(kIn).starts_with(std::string("wire=pcap: ") + kIn + " is not a capture: "));
  std::ofstream(kIn, std::ios::binary) << "";
  CHECK(refusal(kIn).starts_with(std::string("wire=pcap: ") + kIn + " is not a capture: "));
  CHECK(refusal("/").starts_with("wire=pcap: / "));
}

TEST_CASE("what the card sends is written with nanosecond stamps of model time") {
  for (const std::string separator : {"+", ","}) {
    Octets().header(kMicro).save();
    auto wire = open(std::string(kIn) + separator + kOut);
    Link link(1 << 16, 5'000);
    std::memset(link.bytes(0), 'A', 60);
    std::memset(link.bytes(60), 'B', 100);
    link.push({3'200, 0, 60, 0});
    link.push({2 * kPsPerSec + 123'456'789'999, 60, 100, 0});
    wire->consume(link);
    CHECK(link.empty());
    CHECK(link.room(160) == 65'536);  // all released
    CHECK(counters(*wire)["written"] == 2);
    wire.reset();
    Octets expected;
    expected.header(kNano).record(0, 3, 60, 60, 'A').record(2, 123'456'789, 100, 100, 'B');
    std::ifstream in(kOut, std::ios::binary);
    const std::string written{std::istreambuf_iterator<char>(in), {}};
    CHECK(written == expected.bytes);
  }
  std::remove(kOut);
}

TEST_CASE("a disk that fills up is counted and told once") {
  const auto before = std::signal(SIGXFSZ, SIG_IGN);
  rlimit old{};
  getrlimit(RLIMIT_FSIZE, &old);
  auto wire = open(std::string("+") + kOut);
  rlimit small = old;
  small.rlim_cur = 65'536;  // a limit of the file size stands for the full disk
  setrlimit(RLIMIT_FSIZE, &small);
  Link link(1 << 16, 5'000);
  for (uint64_t i = 0; i < 1'000; ++i) {
    link.push({static_cast<Ps>(i) * 67'200, 60 * i, 60, 0});
    wire->consume(link);
  }
  setrlimit(RLIMIT_FSIZE, &old);
  std::signal(SIGXFSZ, before);
  auto c = counters(*wire);
  CHECK(c["write_errors"] > 0);
  CHECK(c["written"] + c["write_errors"] == 1'000);
  CHECK(wire->warning() == std::string("wire=pcap: ") + kOut + " is incomplete: File too large");
  wire.reset();
  std::remove(kOut);
  std::remove(kIn);
}

TEST_CASE("a file of frames to skip costs bounded work in one call") {
  Octets file;
  file.header(kMicro);
  for (int i = 0; i < 20'000; ++i) file.record(0, 0, 1514, 1);
  file.record(0, 50, 60).save();
  auto wire = open(kIn);
  Link link(1 << 16, 5'000);
  wire->start(0);
  wire->advance(kPsPerMs, link);
  CHECK(link.empty());
  CHECK(counters(*wire)["read"] <= 8'192);
  CHECK(link.known_until() <= 50'000'000);
  for (int i = 0; i < 3; ++i) wire->advance(kPsPerMs, link);
  CHECK(take(link) == std::vector<Frame>{{50'000'000, 60}});
  CHECK(link.known_until() == kPsPerMs + 1);
  std::remove(kIn);
}
