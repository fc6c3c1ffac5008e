// SPDX-License-Identifier: BSD-3-Clause
#include <catch2/catch.hpp>

#include "octets.h"

using namespace mapos;
using test::Frames;
using test::hex;
using test::Octets;

namespace {

/// A frame to 03 with n information octets.
Octets frame_of(std::mt19937& random, size_t n, unsigned per_256 = 2) {
  Octets f = hex("03030021");
  test::append(f, test::payload(random, n, per_256));
  return f;
}

DecoderCounters counters_after(std::string_view line, DecoderConfig c = {}) {
  Decoder d(c);
  Frames frames;
  test::decode(d, hex(line), frames);
  CHECK(frames.size() == d.counters().good);
  return d.counters();
}

/// A line with every kind of trouble, for FCS-16 and at most 40 information octets.
Octets troubled_line() {
  std::mt19937 random(21);
  Encoder e(Fcs::k16);
  Octets line = hex("112233");  // the tail of something
  const Octets good = frame_of(random, 12, 100), giant = frame_of(random, 41, 100);
  for (int i = 0; i < 2; ++i) {
    test::add_frame(line, e, good);
    test::append(line, hex("7E7E"));          // fill
    test::append(line, hex("01037E"));        // short
    test::append(line, hex("0103FE037D7E"));  // abort
    test::append(line, hex("7D7E"));          // abort of nothing
    test::add_frame(line, e, giant);
    test::append(line, hex("01FE7D037D7D21005555557E"));  // odd escapes, bad FCS
    test::add_frame(line, e, hex("0313002141"));          // control
    test::add_frame(line, e, hex("0203002141"));          // address
    test::add_frame(line, e, frame_of(random, 40, 100));  // the largest
    test::add_frame(line, e, hex("03030021"));            // the smallest
  }
  return line;
}
const DecoderConfig kTroubled{.fcs = Fcs::k16, .most_information = 40};

}  // namespace

TEST_CASE("receiver: each discard has its counter, and each frame ends in one") {
  CHECK(counters_after("7E7E7E7E") == DecoderCounters{});
  CHECK(counters_after("55AA017E") == DecoderCounters{.hunted = 3});
  CHECK(counters_after("7E01037E") == DecoderCounters{.short_frame = 1});
  CHECK(counters_after("7E0103FE037D7E") == DecoderCounters{.aborted = 1});
  CHECK(counters_after("7E7D7E7E") == DecoderCounters{.aborted = 1});
  CHECK(counters_after("7E0103FE0300000001000000001234 7E") == DecoderCounters{.bad_fcs = 1});
  // FCS from python3-crcmod: good, but control 13, address 02; MAPOS 16 with wrong EA bits in either octet.
  const auto good_fcs = [](const char* frame) {
    const uint16_t fcs = fcs16(hex(frame));
    Octets line = hex(std::string("7E") + frame);
    line.push_back(static_cast<uint8_t>(fcs));
    line.push_back(static_cast<uint8_t>(fcs >> 8));
    line.push_back(kFlag);
    return line;
  };
  struct {
    Version version;
    const char* frame;
    DecoderCounters expected;
  } cases[] = {{Version::kV1, "0113002145", {.bad_control = 1}}, {Version::kV1, "0203002145", {.bad_address = 1}},
               {Version::k16, "0101002145", {.bad_address = 1}}, {Version::k16, "0002002145", {.bad_address = 1}},
               {Version::kV1, "0101002145", {.bad_control = 1}}, {Version::k16, "0001002145", {.good = 1}},
               {Version::kV1, "0103002145", {.good = 1}},        {Version::k16, "0103002145", {.bad_address = 1}},
               {Version::kV1, "0103002045", {.good = 1}} /* protocol: not the framer's */};
  for (const auto& c : cases) {
    CAPTURE(c.frame, static_cast<int>(c.version));
    Decoder d({.version = c.version});
    Frames frames;
    test::decode(d, good_fcs(c.frame), frames);
    CHECK(d.counters() == c.expected);
  }
}

TEST_CASE("receiver: every octet after an escape is taken XOR 20, the escape too (RFC 1662 section 4.2)") {
  // The information is 41 42 5D: 41 escaped without need, 42 plain, 7D 7D.
  const Octets frame = hex("03030021 41 42 5D");
  const Octets fcs = test::encoded(frame, Fcs::k16);
  Octets line = hex("7E 03030021 7D61 42 7D7D");
  test::append(line, std::span(fcs).last(3));
  for (const auto level : test::kLevels) {
    Decoder d({.level = level});
    Frames frames;
    test::decode(d, line, frames);
    CHECK(frames == Frames{frame});
  }
}

TEST_CASE("receiver: reset waits for a flag and counts the frame it cut") {
  Decoder d({});
  Frames frames;
  test::decode(d, hex("7E0103FE03"), frames);
  CHECK(d.in_frame());
  d.reset();
  CHECK_FALSE(d.in_frame());
  test::decode(d, hex("00000001000000 00EACA7E"), frames);  // the rest of it is no frame
  CHECK(d.counters() == DecoderCounters{.cut_off = 1, .hunted = 10});
  test::decode(d, hex("0103FE030000000100000000EACA7E7D"), frames);
  CHECK(frames.size() == 1);
  d.reset();
  d.reset();
  CHECK(d.counters() == DecoderCounters{.good = 1, .cut_off = 2, .hunted = 10});
  // The escape before the reset has nothing to do with the flag after it.
  test::decode(d, hex("7E0103FE030000000100000000EACA7E"), frames);
  CHECK(d.counters() == DecoderCounters{.good = 2, .cut_off = 2, .hunted = 10});
}

TEST_CASE("receiver: 65,280 information octets are a frame, one more is a giant, and the next frame comes through") {
  std::mt19937 random(22);
  for (const auto level : test::kLevels)
    for (const Fcs fcs : {Fcs::k16, Fcs::k32}) {
      const Octets largest = frame_of(random, kMostInformation);
      Octets line = test::encoded(largest, fcs, level);
      // The encoder does not make a giant: its octets by hand.
      Octets giant = frame_of(random, kMostInformation + 1, 0);
      std::replace(giant.begin() + 4, giant.end(), kFlag, uint8_t{1});
      std::replace(giant.begin() + 4, giant.end(), kEscape, uint8_t{1});
      giant.insert(giant.end(), octets(fcs), 0);  // a giant is one whatever its FCS
      test::append(line, giant);
      line.push_back(kFlag);
      test::append(line, std::span<const uint8_t>(test::encoded(largest, fcs, level)).subspan(1));
      Decoder d({.fcs = fcs, .level = level});
      Frames frames;
      test::decode(d, line, frames);
      CHECK(frames == Frames{largest, largest});
      CHECK(d.counters() == DecoderCounters{.good = 2, .giant = 1});
    }
}

TEST_CASE("receiver: a line of all kinds of trouble cut anywhere, also octet by octet, gives the same") {
  const Octets line = troubled_line();
  // From how the line is made. The first closing flag after the giant, the odd escapes and so on opens the next frame.
  const DecoderCounters expected{.good = 6,
                                 .short_frame = 2,
                                 .giant = 2,
                                 .aborted = 4,
                                 .bad_fcs = 2,
                                 .bad_control = 2,
                                 .bad_address = 2,
                                 .hunted = 3};
  CHECK(expected.frames() == 20);
  for (const auto level : test::kLevels) {
    DecoderConfig config = kTroubled;
    config.level = level;
    Frames whole;
    {
      Decoder d(config);
      test::decode(d, line, whole);
      REQUIRE(d.counters() == expected);
    }
    for (size_t cut = 0; cut <= line.size(); ++cut) {
      Decoder d(config);
      Frames frames;
      test::decode(d, std::span(line).first(cut), frames);
      test::decode(d, std::span(line).subspan(cut), frames);
      REQUIRE(frames == whole);
      REQUIRE(d.counters() == expected);
    }
    for (size_t piece = 1; piece < 40; ++piece) {
      Decoder d(config);
      Frames frames;
      for (size_t at = 0; at < line.size(); at += piece)
        test::decode(d, std::span(line).subspan(at, std::min(piece, line.size() - at)), frames);
      REQUIRE(frames == whole);
      REQUIRE(d.counters() == expected);
    }
  }
}

TEST_CASE("sender: frames share a flag, a flag opens the first, fill and abort count as flags") {
  const Octets frame = hex("0103FE030000000100000000");
  Encoder e(Fcs::k16);
  Octets line;
  test::add_frame(line, e, frame);
  test::add_frame(line, e, frame);
  test::add(line, 2, [&](auto out) { return e.fill(out); });
  test::add_frame(line, e, frame);
  test::add(line, e.room(2), [&](auto out) { return e.put(std::span(frame).first(2), out); });
  test::add(line, 2, [&](auto out) { return e.abort(out); });
  test::add_frame(line, e, frame);
  const char* body = "0103FE030000000100000000EACA";
  CHECK(line == hex(std::string("7E") + body + "7E" + body + "7E 7E7E" + body + "7E 0103 7D7E" + body + "7E"));
}

TEST_CASE("sender: what it refuses leaves the line as it was") {
  Encoder e(Fcs::k32);
  Octets room(e.room(kMostFrame + 1));
  const Octets frame = hex("0103FE03 41");
  const std::span<uint8_t> out(room);
  const auto error = [](const Encoded& n) { return n ? std::optional<EncodeError>() : n.error(); };
  CHECK(error(e.frame(std::span(frame).first(3), out)) == EncodeError::kTooShort);
  CHECK(error(e.frame(Octets(kMostFrame + 1), out)) == EncodeError::kTooLong);
  CHECK(error(e.frame(frame, out.first(e.room(5) - 1))) == EncodeError::kNoRoom);
  CHECK(error(e.end(out)) == EncodeError::kNoFrame);
  CHECK(error(e.abort(out)) == EncodeError::kNoFrame);
  CHECK_FALSE(e.in_frame());
  CHECK(*e.put(std::span(frame).first(2), out) == 3);  // with the flag: none of the above has sent one
  CHECK(error(e.frame(frame, out)) == EncodeError::kInFrame);
  CHECK(error(e.fill(out)) == EncodeError::kInFrame);
  CHECK(error(e.end(out)) == EncodeError::kTooShort);
  CHECK(error(e.put(Octets(kMostFrame - 1), out)) == EncodeError::kTooLong);
  CHECK(error(e.abort(out.first(1))) == EncodeError::kNoRoom);
  CHECK(*e.put(std::span(frame).subspan(2), out) == 3);
  CHECK(error(e.end(out.first(e.room(0) - 1))) == EncodeError::kNoRoom);
  const size_t n = *e.end(out);
  const Octets whole = test::encoded(frame, Fcs::k32);
  CHECK(Octets(room.begin(), room.begin() + static_cast<ptrdiff_t>(n)) == Octets(whole.end() - 5, whole.end()));
}

TEST_CASE("sender: a frame put in pieces cut anywhere is the same on the line, with every level") {
  std::mt19937 random(23);
  for (const unsigned per_256 : {2U, 256U}) {
    const Octets frame = frame_of(random, 150, per_256);
    const Octets whole = test::encoded(frame, Fcs::k32, Simd::kScalar);
    for (const auto level : test::kLevels)
      for (size_t cut = 0; cut <= frame.size(); ++cut) {
        Encoder e(Fcs::k32, level);
        Octets line;
        for (const auto piece : {std::span(frame).first(cut), std::span(frame).subspan(cut)})
          test::add(line, e.room(piece.size()), [&](auto out) { return e.put(piece, out); });
        test::add(line, e.room(0), [&](auto out) { return e.end(out); });
        REQUIRE(line == whole);
      }
  }
}

TEST_CASE("a frame of flags and escapes alone doubles, and stays within the room asked for") {
  Octets frame = hex("7D030021");
  frame.resize(kMostFrame, kFlag);
  const Octets line = test::encoded(frame, Fcs::k32);
  CHECK(stuffed_octets(frame, Fcs::k32) == line.size() - 2);
  // Address and information doubled, three header octets and the FCS not, or that too.
  CHECK(line.size() - 2 >= 2 * (kMostFrame - 3) + 3 + 4);
  CHECK(line.size() - 2 <= stuffed_octets_most(kMostFrame, Fcs::k32));
  Decoder d({.fcs = Fcs::k32});
  Frames frames;
  test::decode(d, line, frames);
  CHECK(frames == Frames{frame});
}
