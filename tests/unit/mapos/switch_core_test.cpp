// SPDX-License-Identifier: BSD-3-Clause
// One switch frame by frame: forwarding (RFC 2171 section 1.3, RFC 2173 section 2.2), port roles (RFC 2174
// section 6.1), tunnelling (RFC 3186), MAPOS 16, and that each frame is counted once.
#include <catch2/catch.hpp>

#include "box.h"
#include "mapos/switch_core.h"

using namespace mapos;
using test::events;
using test::hex;
using test::Octets;
using test::sent;

namespace {

const char* const kRequest = "01 03 FE03 00000001 00000000";
/// Route to switch 1 (0x20), as it says itself.
const char* const kRouteTo20 = "01 03 FE05 02 01 0000 0002 0000 00000020 000000E0 00000000 00000000";

PortSet ports(std::initializer_list<uint8_t> rfc_numbers) {
  PortSet s;
  for (const uint8_t n : rfc_numbers) s.set(port_index(n));
  return s;
}

struct Switch {
  SwitchCore core;
  Outbox out;
  uint64_t given = 0;
  Octets last;  // as it left the switch
  explicit Switch(SwitchId id = *SwitchId::in_cluster(Version::kV1, 0x40, 0xE0)) : core({id}, 0) {
    for (const uint8_t p : {0x03, 0x05, 0x07, 0x09}) core.port_up(port_index(p), 0, out);
    out.clear();
  }
  /// Port by its number in the RFC.
  PortSet give(uint8_t port, const char* frame, Time now = 1) {
    ++given;
    last = hex(frame);
    return core.receive(port_index(port), last, now, out);
  }
  ~Switch() { CHECK(core.counters().received() == given); }
};

}  // namespace

TEST_CASE("A star around one switch: node address = port number, no SSP (RFC 2171 section 1.2)") {
  for (const Version v : {Version::kV1, Version::k16}) {
    Switch s(SwitchId::alone(v));
    const bool v1 = v == Version::kV1;
    CHECK(s.core.ssp() == nullptr);
    CHECK(s.core.next_deadline() == kNever);
    s.give(0x03, v1 ? kRequest : "0001 FE03 00000001 00000000");
    CHECK(sent(s.out) == test::Frames{hex(v1 ? "03 03 FE03 00000002 00000003" : "0003 FE03 00000002 00000003")});
    s.give(0x05, v1 ? kRequest : "0001 FE03 00000001 00000000");
    CHECK(s.give(0x03, v1 ? "05 03 0021 45" : "0005 0021 45") == ports({0x05}));
    CHECK(s.give(0x03, v1 ? "FF 03 0021 45" : "FEFF 0021 45") == ports({0x05}));
    CHECK(s.give(0x03, v1 ? "83 03 0021 45" : "8003 0021 45") == ports({0x05}));  // a group floods alike
    CHECK(s.give(0x03, v1 ? "07 03 0021 45" : "0007 0021 45").empty());           // no node there
    CHECK(s.give(0x03, v1 ? "7F 03 0021 45" : "7EFF 0021 45").empty());           // no such port
    CHECK(s.core.counters().no_node == 2);
  }
}

TEST_CASE("Frames with a wrong header are discarded silently (RFC 2171 section 3.1, RFC 2175 section 2)") {
  Switch s;
  for (const char* bad : {"", "45 03 00", "44 03 0021 45", "45 13 0021 45", "2003 0021 45"})
    CHECK(s.give(0x03, bad).empty());
  CHECK(s.core.counters().bad_header == 5);
  CHECK(s.out.empty());
}

TEST_CASE("Own addresses go to the node on the port, others to the next hop, unknown ones nowhere") {
  Switch s;
  s.give(0x05, kRequest);
  s.give(0x09, kRouteTo20);
  CHECK(s.give(0x09, "45 03 0021 45") == ports({0x05}));
  CHECK(s.give(0x05, "29 03 0021 45") == ports({0x09}));
  CHECK(s.give(0x05, "21 03 0021 45") == ports({0x09}));  // control processor of switch 1 (RFC 2173 section 2.2)
  CHECK(s.give(0x05, "69 03 0021 45").empty());
  CHECK(s.core.counters().no_route == 1);
  CHECK(s.give(0x09, "29 03 0021 45").empty());  // where it came from
  CHECK(s.core.counters().would_return == 1);
  s.core.port_down(port_index(0x09), 2, s.out);
  CHECK(s.give(0x05, "29 03 0021 45", 3).empty());
  CHECK(s.core.counters().no_route == 2);
}

TEST_CASE("A longer mask wins") {
  Switch s;
  s.give(0x05, kRequest);
  s.give(0x07, "01 03 FE05 02 01 0000 0002 0000 00000028 000000F8 00000000 00000000");  // 0x28/0xF8
  s.give(0x09, kRouteTo20);
  CHECK(s.give(0x05, "29 03 0021 45") == ports({0x07}));
  CHECK(s.give(0x05, "23 03 0021 45") == ports({0x09}));
  CHECK(s.give(0x05, "31 03 0021 45") == ports({0x09}));
}

TEST_CASE("A port is taken for a switch until a node asks for its address, and again 90 s after the last request") {
  Switch s;
  s.core.advance(seconds(10), s.out);
  CHECK(s.out.frames() == 4);  // the table on all four ports
  s.out.clear();
  s.give(0x03, kRequest, seconds(11));
  CHECK(events(s.out) == std::vector{Event{EventKind::kNodeUp, port_index(0x03), 0x43}});
  CHECK(s.core.group_ports() == ports({0x03}));
  s.core.advance(seconds(20), s.out);
  CHECK(s.out.frames() == 3);
  for (int t = 30; t <= 100; t += 10) s.core.advance(seconds(t), s.out);
  s.out.clear();
  s.core.advance(seconds(101), s.out);
  CHECK(s.core.node_up(port_index(0x03)));
  CHECK(s.core.next_deadline() == seconds(101) + 1);
  s.core.advance(seconds(101) + 1, s.out);
  CHECK_FALSE(s.core.node_up(port_index(0x03)));
  CHECK(s.core.group_ports().empty());
  REQUIRE(s.out.frames() >= 1);
  CHECK(s.out.frame(0).port == port_index(0x03));  // asked for its table, as a switch
}

TEST_CASE("A node cannot speak SSP, and what was learned from its port before is forgotten") {
  Switch s;
  s.give(0x03, kRouteTo20);
  REQUIRE(s.core.ssp()->find({0x20, 0xE0})->reachable());
  s.give(0x03, kRequest, 2);
  CHECK_FALSE(s.core.ssp()->find({0x20, 0xE0})->reachable());
  s.give(0x03, kRouteTo20, 3);
  CHECK_FALSE(s.core.ssp()->find({0x20, 0xE0})->reachable());
  CHECK(s.core.counters().bad_ssp == 1);
}

TEST_CASE("SSP and NSP to the switch's address in the cluster are not believed: they could come from anywhere") {
  Switch s;
  s.give(0x05, "41 03 FE05 02 01 0000 0002 0000 00000020 000000E0 00000000 00000000");
  s.give(0x05, "41 03 FE03 00000001 00000000");
  CHECK(s.core.ssp()->find({0x20, 0xE0}) == nullptr);
  CHECK_FALSE(s.core.node_up(port_index(0x05)));
  CHECK(s.core.counters().far_control == 2);
  CHECK(s.out.empty());
}

TEST_CASE("Group frames: from a node to nodes and tree; from elsewhere nowhere (RFC 2174 section 4.4)") {
  Switch s;
  s.give(0x03, kRequest);
  CHECK(s.give(0x03, "FF 03 0021 45").empty());
  CHECK(s.core.counters().no_listener == 1);
  s.give(0x05, kRequest);
  CHECK(s.give(0x03, "FF 03 0021 45") == ports({0x05}));
  CHECK(s.give(0x07, "FF 03 0021 45").empty());
  CHECK(s.core.counters().off_tree == 1);
  for (int t = 0; t <= 40; t += 10) s.give(0x09, kRouteTo20, seconds(t));
  CHECK(s.give(0x03, "FF 03 0021 45") == ports({0x05, 0x09}));
  CHECK(s.give(0x09, "FF 03 0021 45") == ports({0x03, 0x05}));
  CHECK(s.core.counters().group == 3);
  CHECK(s.core.counters().group_copies == 5);
}

TEST_CASE("The control processor takes NSP and SSP, nothing else") {
  Switch s;
  s.give(0x03, "01 03 0021 45");
  s.give(0x03, "01 03 FE01 45");
  s.give(0x03, "41 03 0021 45");
  CHECK(s.core.counters().not_for_control == 3);
  s.give(0x03, "01 03 FE03 00000009 00000000");
  s.give(0x03, "01 03 FE05 00");
  CHECK(s.core.counters().bad_nsp == 1);
  CHECK(s.core.counters().bad_ssp == 1);
  CHECK(s.out.empty());
}

TEST_CASE("Ports that are down, disabled or not there give and take nothing") {
  Switch s;
  s.give(0x05, kRequest);
  CHECK(s.give(0x0B, kRequest).empty());  // down
  CHECK(s.give(0xFF, kRequest).empty());  // not there
  CHECK_FALSE(s.core.configure(port_index(0xFF), {}, 2, s.out));
  CHECK(s.core.configure(port_index(0x05), {.mode = PortMode::kDisabled}, 2, s.out));
  CHECK(s.give(0x05, kRequest).empty());
  CHECK(s.core.counters().bad_port == 3);
  CHECK(s.give(0x03, "45 03 0021 45").empty());
  CHECK(s.core.counters().no_node == 1);
}

TEST_CASE("A port for a node with an address by hand forwards without NSP, and never speaks SSP") {
  Switch s;
  s.core.configure(port_index(0x05), {.mode = PortMode::kNode}, 1, s.out);
  s.out.clear();
  CHECK(s.give(0x03, "45 03 0021 45") == ports({0x05}));
  CHECK(s.core.group_ports() == ports({0x05}));
  s.core.advance(seconds(10), s.out);
  for (size_t i = 0; i < s.out.frames(); ++i) CHECK(s.out.frame(i).port != port_index(0x05));
}

TEST_CASE("A port for a switch gives no addresses; a port may reject") {
  Switch s;
  s.core.configure(port_index(0x05), {.mode = PortMode::kSwitch}, 1, s.out);
  s.core.configure(port_index(0x07), {.assign = false}, 1, s.out);
  s.out.clear();
  s.give(0x05, kRequest);
  CHECK(s.core.counters().bad_nsp == 1);
  CHECK(s.out.empty());
  s.give(0x07, kRequest);
  CHECK(sent(s.out) == test::Frames{hex("47 03 FE03 00000003 00000000")});
  CHECK_FALSE(s.core.node_up(port_index(0x07)));
}

TEST_CASE("Tunnel of RFC 3186 figure 2: FF 03 becomes the far address, and FF 03 again") {
  // Switch A has 0x0203 for CPE A; switch B has 0x0403 for CPE B: 6 switch bits, switches 1 and 2.
  Switch a(*SwitchId::in_cluster(Version::k16, 0x0200, 0xFF00)), b(*SwitchId::in_cluster(Version::k16, 0x0400, 0xFF00));
  const auto address = [](uint16_t w) { return *Address::from_wire(Version::k16, w); };
  REQUIRE(a.core.configure(1, {.mode = PortMode::kPpp, .far = address(0x0403)}, 0, a.out));
  REQUIRE(b.core.configure(1, {.mode = PortMode::kPpp, .far = address(0x0203)}, 0, b.out));
  a.give(0x09, "0001 FE05 02 01 0000 0002 0000 00000400 0000FF00 00000000 00000000");
  CHECK(a.give(0x03, "FF03 C021 0101") == ports({0x09}));  // LCP, any protocol
  CHECK(a.last == hex("0403 C021 0101"));
  b.last = a.last;
  ++b.given;
  CHECK(b.core.receive(port_index(0x09), b.last, 1, b.out) == ports({0x03}));
  CHECK(b.last == hex("FF03 C021 0101"));
}

TEST_CASE("A version 1 tunnel rewrites the first octet alone") {
  Switch s;
  const auto far = *Address::from_wire(Version::kV1, 0x45);
  s.core.configure(port_index(0x03), {.mode = PortMode::kPpp, .far = far}, 0, s.out);
  s.core.configure(port_index(0x05), {.mode = PortMode::kPpp, .far = *Address::from_wire(Version::kV1, 0x43)}, 0,
                   s.out);
  CHECK(s.give(0x03, "FF 03 0021 45") == ports({0x05}));
  CHECK(s.last == hex("FF 03 0021 45"));
  // A native node that knows the address gets through too: there is no source address to tell it by.
  s.give(0x07, kRequest);
  CHECK(s.give(0x07, "45 03 0021 45") == ports({0x05}));
  CHECK(s.last == hex("FF 03 0021 45"));
}

TEST_CASE("A tunnel port takes FF 03 alone, has no broadcasts, no NSP and no SSP (RFC 3186 section 2.3.1)") {
  Switch s;
  s.core.configure(port_index(0x03), {.mode = PortMode::kPpp, .far = *Address::from_wire(Version::kV1, 0x29)}, 1,
                   s.out);
  s.out.clear();
  for (const char* bad : {"01 03 FE03 00000001 00000000", "45 03 0021 45", "FF 13 0021 45", "FF 03 00", ""})
    CHECK(s.give(0x03, bad).empty());
  CHECK(s.core.counters().bad_ppp_header == 5);
  s.give(0x05, kRequest);
  s.give(0x07, kRequest);
  s.out.clear();
  CHECK(s.give(0x05, "FF 03 0021 45") == ports({0x07}));
  s.core.advance(seconds(10), s.out);
  REQUIRE(s.out.frames() > 0);
  for (size_t i = 0; i < s.out.frames(); ++i) CHECK(s.out.frame(i).port != port_index(0x03));
}

TEST_CASE("Into a tunnel: NSP and SSP off, then the C2 octet; back: C2 8D, then NSP and SSP on") {
  for (const bool scrambled : {true, false}) {
    Switch s;
    s.give(0x03, kRouteTo20);
    s.out.clear();
    const auto far = *Address::from_wire(Version::kV1, 0x45);
    REQUIRE(s.core.configure(port_index(0x03), {.mode = PortMode::kPpp, .far = far, .scrambled = scrambled}, 2, s.out));
    CHECK_FALSE(s.core.ssp()->active(port_index(0x03)));
    CHECK_FALSE(s.core.ssp()->find({0x20, 0xE0})->reachable());
    const auto into = events(s.out);
    CHECK(into.back() == Event{EventKind::kPathLabel, port_index(0x03), scrambled ? 0x16U : 0xCFU});
    s.core.port_down(port_index(0x03), 3, s.out);  // alarms do not affect the mode
    CHECK(s.core.port(port_index(0x03)).mode == PortMode::kPpp);
    s.core.port_up(port_index(0x03), 4, s.out);
    s.out.clear();
    REQUIRE(s.core.configure(port_index(0x03), {}, 5, s.out));
    CHECK(events(s.out) == std::vector{Event{EventKind::kPathLabel, port_index(0x03), 0x8D}});
    CHECK(s.core.ssp()->active(port_index(0x03)));
    s.give(0x03, kRequest, 6);
    CHECK(s.core.node_up(port_index(0x03)));
  }
}

TEST_CASE("A tunnel without a far address that can be one is refused and changes nothing") {
  Switch s;
  for (const auto& far :
       {std::optional<Address>(), std::optional(Address::broadcast(Version::kV1)),
        std::optional(Address::control_processor(Version::kV1)), Address::from_wire(Version::k16, 0x2003)}) {
    const auto r = s.core.configure(port_index(0x03), {.mode = PortMode::kPpp, .far = far}, 1, s.out);
    REQUIRE_FALSE(r);
    CHECK(r.error() == PortError::kNoFarAddress);
  }
  CHECK(s.core.port(port_index(0x03)).mode == PortMode::kAuto);
  CHECK(s.out.empty());
}

TEST_CASE("RFC 3186 figure 6: six switch bits leave 64 switches of 127 ports") {
  const auto id = *SwitchId::in_cluster(Version::k16, 0x2000, 0xFF00);
  CHECK(id.port_address(port_index(0x03))->wire() == 0x2003);
  CHECK(id.port_address(port_index(0x05))->wire() == 0x2005);
  CHECK(id.port_address(127)->wire() == 0x20FF);
  CHECK(id.port_of(*Address::from_wire(Version::k16, 0x20FF)) == 127);
}

TEST_CASE("Switch bits and ports share the address: a port whose number does not fit has none") {
  const auto id = *SwitchId::in_cluster(Version::kV1, 0x40, 0xE0);
  CHECK(id.port_address(port_index(0x1F))->wire() == 0x5F);
  CHECK_FALSE(id.port_address(port_index(0x21)));
  CHECK_FALSE(id.port_address(kNoPort));
  CHECK_FALSE(SwitchId::in_cluster(Version::kV1, 0, 0xE0));  // number 0: its control processor would be 01
}
