// SPDX-License-Identifier: BSD-3-Clause
// ARP and UNARP: RFC 2176 section 3, sentence by sentence. Frames are laid out as in its figure 5.
#include <catch2/catch.hpp>

#include "box.h"
#include "mapos/arp.h"

using namespace mapos;
using test::events;
using test::hex;
using test::information;
using test::Octets;
using test::sent;

namespace {

constexpr Ipv4Address kOwn = 0xC0000201, kHost = 0xC0000202, kOther = 0xC0000203;
Address at(uint16_t wire) { return *Address::from_wire(Version::kV1, wire); }

const Octets kQuestion = hex("FF 03 FE01 0019 0800 04 04 0001 00000023 C0000201 00000000 C0000202");
const Octets kAnswer = hex("23 03 FE01 0019 0800 04 04 0002 00000049 C0000202 00000023 C0000201");
const Octets kUnarp = hex("FF 03 FE01 0019 0800 04 04 0017 00000023 C0000201 FFFFFFFF FFFFFFFF");

/// 192.0.2.1 at 0x23, its three UNARPs sent; time starts at 100 s.
struct Host {
  Arp arp;
  Outbox out;
  explicit Host(ArpConfig c = {.own_ip = kOwn}) : arp(c) {
    arp.address_assigned(at(0x23), 0, out);
    arp.advance(seconds(30), out);
    arp.advance(seconds(60), out);
    out.clear();
  }
  void give(const Octets& frame, Time now) { arp.receive(information(frame), now, out); }
  void resolved(Time now) {
    arp.resolve(kHost, now, out);
    give(kAnswer, now);
    out.clear();
    REQUIRE(arp.find(kHost, now) == at(0x49));
  }
};

}  // namespace

TEST_CASE("An unknown host is asked for by broadcast, once, and its answer is used (section 3.2.1)") {
  Host h;
  CHECK_FALSE(h.arp.resolve(kHost, seconds(100), h.out));
  CHECK(sent(h.out) == test::Frames{kQuestion});
  CHECK_FALSE(h.arp.resolve(kHost, seconds(100), h.out));
  CHECK(h.out.empty());
  h.give(kAnswer, seconds(100));
  CHECK(events(h.out) == std::vector{Event{EventKind::kResolved, kNoPort, kHost}});
  CHECK(h.arp.resolve(kHost, seconds(100), h.out) == at(0x49));
  CHECK(h.out.empty());
  CHECK(h.arp.counters().responses == 1);
}

TEST_CASE("A question that nobody answers is asked three times, a second apart, then given up") {
  Host h;
  h.arp.resolve(kHost, seconds(100), h.out);
  CHECK(sent(h.out).size() == 1);
  for (const int t : {101, 102}) {
    CHECK(h.arp.next_deadline() == seconds(t));
    h.arp.advance(seconds(t) - 1, h.out);
    CHECK(h.out.empty());
    h.arp.advance(seconds(t), h.out);
    CHECK(sent(h.out) == test::Frames{kQuestion});
  }
  h.arp.advance(seconds(103), h.out);
  CHECK(h.out.frames() == 0);
  CHECK(events(h.out) == std::vector{Event{EventKind::kUnresolved, kNoPort, kHost}});
  CHECK(h.arp.next_deadline() == kNever);
  h.give(kAnswer, seconds(104));  // too late
  CHECK_FALSE(h.arp.find(kHost, seconds(104)));
  CHECK(h.arp.counters().unasked == 1);
}

TEST_CASE("A request for the own IP address is answered to the asker, who is remembered") {
  Host h;
  h.give(hex("FF 03 FE01 0019 0800 04 04 0001 00000049 C0000202 00000000 C0000201"), seconds(100));
  // Sender: the answering node; target: the asker (section 3.2.2).
  CHECK(sent(h.out) == test::Frames{hex("49 03 FE01 0019 0800 04 04 0002 00000023 C0000201 00000049 C0000202")});
  CHECK(h.arp.find(kHost, seconds(100)) == at(0x49));
}

TEST_CASE("A request for another host is not answered; its sender is brought up to date, not put in") {
  Host h;
  const Octets moved = hex("FF 03 FE01 0019 0800 04 04 0001 00000051 C0000202 00000000 C0000203");
  h.give(moved, seconds(100));
  CHECK(h.out.empty());
  CHECK_FALSE(h.arp.find(kHost, seconds(100)));
  h.resolved(seconds(100));
  h.give(moved, seconds(101));
  CHECK(h.arp.find(kHost, seconds(101)) == at(0x51));
  CHECK(h.arp.counters().overheard == 2);
}

TEST_CASE("An entry ends after its timeout though it is in use (section 3.4)") {
  Host h({.own_ip = kOwn, .limits = {.timeout = seconds(45)}});
  h.resolved(seconds(100));
  CHECK(h.arp.resolve(kHost, seconds(145) - 1, h.out) == at(0x49));
  CHECK_FALSE(h.arp.resolve(kHost, seconds(145), h.out));
  CHECK(sent(h.out) == test::Frames{kQuestion});
}

TEST_CASE("Entries are added and removed by hand and do not age (section 3.1)") {
  Host h;
  CHECK(h.arp.add(kOther, at(0x51)));
  CHECK_FALSE(h.arp.add(kOther, at(0xFF)));
  CHECK_FALSE(h.arp.add(kOther, *Address::from_wire(Version::k16, 0x2003)));
  h.arp.advance(seconds(100'000), h.out);
  CHECK(h.arp.find(kOther, seconds(100'000)) == at(0x51));
  // Nor does what others say change them.
  h.give(hex("FF 03 FE01 0019 0800 04 04 0001 00000053 C0000203 00000000 C0000201"), seconds(100'000));
  CHECK(h.arp.find(kOther, seconds(100'000)) == at(0x51));
  CHECK(h.arp.remove(kOther));
  CHECK_FALSE(h.arp.remove(kOther));
  CHECK_FALSE(h.arp.find(kOther, seconds(100'000)));
}

TEST_CASE("Three UNARPs are broadcast at intervals of 30 s when the address is there (section 3.3)") {
  Arp arp({.own_ip = kOwn});
  Outbox out;
  arp.address_assigned(at(0x23), seconds(5), out);
  CHECK(sent(out) == test::Frames{kUnarp});
  for (const int t : {35, 65}) {
    CHECK(arp.next_deadline() == seconds(t));
    arp.advance(seconds(t) - 1, out);
    CHECK(out.empty());
    arp.advance(seconds(t), out);
    CHECK(sent(out) == test::Frames{kUnarp});
  }
  CHECK(arp.next_deadline() == kNever);
}

TEST_CASE("UNARP clears the sender's entry if and only if the HDLC addresses differ (section 3.3)") {
  Host h;
  h.resolved(seconds(100));
  h.give(hex("FF 03 FE01 0019 0800 04 04 0017 00000049 C0000202 FFFFFFFF FFFFFFFF"), seconds(101));
  CHECK(h.arp.find(kHost, seconds(101)) == at(0x49));
  h.give(hex("FF 03 FE01 0019 0800 04 04 0017 00000051 C0000203 FFFFFFFF FFFFFFFF"), seconds(102));
  CHECK(h.arp.find(kHost, seconds(102)) == at(0x49));
  h.give(hex("FF 03 FE01 0019 0800 04 04 0017 00000051 C0000202 FFFFFFFF FFFFFFFF"), seconds(103));
  CHECK_FALSE(h.arp.find(kHost, seconds(103)));
  CHECK(h.out.empty());
  CHECK(h.arp.counters().unarps == 3);
}

TEST_CASE("UNARP clears an entry made by hand too, for it says that the host is elsewhere") {
  Host h;
  h.arp.add(kHost, at(0x49));
  h.give(hex("FF 03 FE01 0019 0800 04 04 0017 00000051 C0000202 FFFFFFFF FFFFFFFF"), seconds(100));
  CHECK_FALSE(h.arp.find(kHost, seconds(100)));
}

TEST_CASE("Loss of the link removes all entries at once, and stops questions and UNARPs (section 3.4)") {
  Host h;
  h.resolved(seconds(100));
  h.arp.add(kOther, at(0x51));
  h.arp.link_down();
  CHECK(h.arp.size() == 0);
  CHECK(h.arp.next_deadline() == kNever);
  CHECK_FALSE(h.arp.resolve(kHost, seconds(101), h.out));
  CHECK(h.out.empty());
}

TEST_CASE("ARP: MAPOS 16 addresses stand in the two least significant octets (RFC 2175 section 4)") {
  Arp arp({.version = Version::k16, .own_ip = kOwn});
  Outbox out;
  arp.address_assigned(*Address::from_wire(Version::k16, 0x2003), 0, out);
  CHECK(sent(out) == test::Frames{hex("FEFF FE01 0019 0800 04 04 0017 00002003 C0000201 FFFFFFFF FFFFFFFF")});
  arp.receive(information(hex("FEFF FE01 0019 0800 04 04 0001 00002403 C0000202 00000000 C0000201")), 1, out);
  CHECK(sent(out) == test::Frames{hex("2403 FE01 0019 0800 04 04 0002 00002003 C0000201 00002403 C0000202")});
}

TEST_CASE("Packets that are not right change nothing and are counted") {
  Host h;
  h.resolved(seconds(100));
  for (const char* bad : {
           "0001 0800 04 04 0001 00000051 C0000202 00000000 C0000201",  // Ethernet
           "0019 86DD 04 04 0001 00000051 C0000202 00000000 C0000201",  // not IPv4
           "0019 0800 06 04 0001 00000051 C0000202 00000000 C0000201",  // lengths
           "0019 0800 04 10 0001 00000051 C0000202 00000000 C0000201",  //
           "0019 0800 04 04 0003 00000051 C0000202 00000000 C0000201",  // operation
           "0019 0800 04 04 0001 00000051 C0000202 00000000 C00002",    // short
           "0019 0800 04 04 0001 000000FF C0000202 00000000 C0000201",  // sender: broadcast
           "0019 0800 04 04 0001 00000001 C0000202 00000000 C0000201",  // control processor
           "0019 0800 04 04 0001 00000050 C0000202 00000000 C0000201",  // no EA bit
           "0019 0800 04 04 0001 00000151 C0000202 00000000 C0000201",  // more than 8 bits
           "0019 0800 04 04 0001 00010051 C0000202 00000000 C0000201",  //
           "0019 0800 04 04 0001 00000051 E0000001 00000000 C0000201",  // multicast IP
           "0019 0800 04 04 0001 00000051 FFFFFFFF 00000000 C0000201",  // broadcast IP
           "0019 0800 04 04 0001 00000051 00000000 00000000 C0000201",  // no IP
       })
    h.arp.receive(hex(bad), seconds(101), h.out);
  CHECK(h.arp.counters().malformed == 14);
  CHECK(h.out.empty());
  CHECK(h.arp.size() == 1);
  CHECK(h.arp.find(kHost, seconds(101)) == at(0x49));
  CHECK(h.arp.counters().packets() == 15);  // and the answer
}

TEST_CASE("An unasked response puts nothing in; one for another node is none") {
  Host h;
  h.give(kAnswer, seconds(100));
  CHECK(h.arp.size() == 0);
  h.arp.resolve(kHost, seconds(100), h.out);
  h.out.clear();
  h.give(hex("23 03 FE01 0019 0800 04 04 0002 00000049 C0000202 00000023 C0000209"), seconds(100));
  CHECK_FALSE(h.arp.find(kHost, seconds(100)));
  CHECK(h.arp.counters().unasked == 2);
}

TEST_CASE("Somebody else with the own IP address is told, not believed") {
  Host h;
  h.give(hex("FF 03 FE01 0019 0800 04 04 0001 00000049 C0000201 00000000 C0000202"), seconds(100));
  CHECK(events(h.out) == std::vector{Event{EventKind::kAddressConflict, kNoPort, kOwn}});
  CHECK(h.arp.size() == 0);
  h.give(kUnarp, seconds(101));  // our own, on a loop
  CHECK(h.out.empty());
}

TEST_CASE("The cache has an end") {
  Host h({.own_ip = kOwn, .limits = {.most_entries = 2}});
  for (uint32_t i = 2; i < 10; ++i) h.arp.resolve(0xC0000200 + i, seconds(100), h.out);
  CHECK(h.arp.size() == 2);
  CHECK(h.out.frames() == 2);
  CHECK_FALSE(h.arp.add(kOwn + 100, at(0x51)));
}
