// SPDX-License-Identifier: BSD-3-Clause
// Whole frames octet by octet. The layouts are those of the RFCs named; the FCS were computed with Debian's
// python3-crcmod, mkCrcFun(0x11021, 0, True, 0xFFFF) and mkCrcFun(0x104C11DB7, 0, True, 0xFFFFFFFF).
#include <catch2/catch.hpp>

#include "mapos/fcs.h"
#include "octets.h"

using namespace mapos;
using test::Frames;
using test::hex;
using test::Octets;

namespace {

struct Vector {
  const char* what;
  Version version;
  const char* frame;    // address to last information octet, as the RFC lays it out
  const char* stuffed;  // the same on the line
  const char* fcs16;    // as sent
  const char* fcs32;
};
const Vector kVectors[] = {
    // RFC 2173 section 4.2: command, address.
    {"NSP request", Version::kV1, "01 03 FE03 00000001 00000000", "01 03 FE03 00000001 00000000", "EACA", "5E45FA73"},
    {"NSP assignment of 03", Version::kV1, "03 03 FE03 00000002 00000003", "03 03 FE03 00000002 00000003", "06E7",
     "ABF06841"},
    {"NSP assignment of 23", Version::kV1, "23 03 FE03 00000002 00000023", "23 03 FE03 00000002 00000023", "B4ED",
     "9B0B3762"},
    {"NSP assignment of 7D", Version::kV1, "7D 03 FE03 00000002 0000007D", "7D5D 03 FE03 00000002 0000007D5D", "D619",
     "7AFEAE3B"},
    {"NSP reject", Version::kV1, "03 03 FE03 00000003 00000000", "03 03 FE03 00000003 00000000", "D9DE", "A18801E5"},
    // RFC 2175 sections 2 and 4.
    {"NSP request, MAPOS 16", Version::k16, "0001 FE03 00000001 00000000", "0001 FE03 00000001 00000000", "9DE4",
     "F0B033B0"},
    {"NSP assignment of 2003, MAPOS 16", Version::k16, "2003 FE03 00000002 00002003", "2003 FE03 00000002 00002003",
     "6B68", "01DD43BB"},
    // RFC 2176 sections 3.2.2 and 3.3.
    {"ARP request", Version::kV1, "FF 03 FE01 0019 0800 04 04 0001 00000023 C0000201 00000000 C0000202",
     "FF 03 FE01 0019 0800 04 04 0001 00000023 C0000201 00000000 C0000202", "2F07", "742CF438"},
    {"ARP response", Version::kV1, "23 03 FE01 0019 0800 04 04 0002 00000049 C0000202 00000023 C0000201",
     "23 03 FE01 0019 0800 04 04 0002 00000049 C0000202 00000023 C0000201", "7B82", "AFF781DE"},
    {"UNARP", Version::kV1, "FF 03 FE01 0019 0800 04 04 0017 00000023 C0000201 FFFFFFFF FFFFFFFF",
     "FF 03 FE01 0019 0800 04 04 0017 00000023 C0000201 FFFFFFFF FFFFFFFF", "F2C3", "DCEF8266"},
    // RFC 2174 section 5.1.
    {"SSP whole-table request", Version::kV1, "01 03 FE05 01 01 0000 0000 0000 00000000 00000000 00000000 00000010",
     "01 03 FE05 01 01 0000 0000 0000 00000000 00000000 00000000 00000010", "D19B", "B556E9B2"},
    {"SSP response", Version::kV1, "01 03 FE05 02 01 0000 0002 0000 00000041 000000E0 00000000 00000000",
     "01 03 FE05 02 01 0000 0002 0000 00000041 000000E0 00000000 00000000", "6EFB", "CD20D9D9"},
    // RFC 2171 section 3.2.
    {"a flag as information", Version::kV1, "03 03 0021 7E", "03 03 0021 7D5E", "6457", "FB6B15A8"},
    {"escapes and what they become", Version::kV1, "03 03 0021 7D7E5D5E2000", "03 03 0021 7D5D7D5E5D5E2000", "8757",
     "4E6D6563"},
};

}  // namespace

TEST_CASE("FCS of known octets, with every level") {
  struct {
    Octets in;
    uint32_t fcs16, fcs32;
  } known[] = {
      {hex("313233343536373839"), 0x906E, 0xCBF43926},
      {{}, 0x0000, 0x00000000},
      {hex("00"), 0xF078, 0xD202EF8D},
      {hex("00000000"), 0xFCDE, 0x2144DF1C},
      {hex("FFFFFFFF"), 0x0F47, 0xFFFFFFFF},
      {hex("FF030021"), 0xE6E3, 0xB16E77EA},
      {{}, 0x303C, 0x29058C73},  // 00 01 .. FF
  };
  for (unsigned i = 0; i < 256; ++i) known[6].in.push_back(static_cast<uint8_t>(i));
  for (const auto level : test::kLevels)
    for (const auto& k : known) {
      CHECK(fcs_value(Fcs::k16, fcs_add(Fcs::k16, fcs_begin(Fcs::k16), k.in, level)) == k.fcs16);
      CHECK(fcs_value(Fcs::k32, fcs_add(Fcs::k32, fcs_begin(Fcs::k32), k.in, level)) == k.fcs32);
    }
}

TEST_CASE("each known frame is sent as its octets and received from them, with every level") {
  for (const auto level : test::kLevels)
    for (const Vector& v : kVectors)
      for (const Fcs fcs : {Fcs::k16, Fcs::k32}) {
        CAPTURE(v.what, static_cast<int>(fcs), static_cast<int>(level));
        const Octets frame = hex(v.frame);
        const Octets line = hex(std::string("7E") + v.stuffed + (fcs == Fcs::k16 ? v.fcs16 : v.fcs32) + "7E");
        CHECK(test::encoded(frame, fcs, level) == line);
        CHECK(stuffed_octets(frame, fcs, level) == line.size() - 2);
        Decoder d({.version = v.version, .fcs = fcs, .level = level});
        Frames frames;
        test::decode(d, line, frames);
        CHECK(frames == Frames{frame});
        CHECK(d.counters() == DecoderCounters{.good = 1});
        // The other FCS size does not take it.
        Decoder other({.version = v.version, .fcs = fcs == Fcs::k16 ? Fcs::k32 : Fcs::k16, .level = level});
        test::decode(other, line, frames);
        CHECK(frames.size() == 1);
        CHECK(other.counters().bad_fcs + other.counters().short_frame == 1);
      }
}
