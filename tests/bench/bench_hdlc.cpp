// SPDX-License-Identifier: BSD-3-Clause
// How fast frames become line octets and back: the library, the table-driven loop of the textbooks (RFC 1662 appendix C
// with the stuffing of section 4.2, an octet at a time), and memcpy of the frames, in turns. A megabyte of different
// frames, so that no branch predictor learns them. Prints "DIRECTION SIZE PAYLOAD OURS TEXTBOOK MEMCPY" per run, in
// GB/s of frame octets (address to last information octet); before that both must have made the same. Usage: bench_hdlc
// RUNS
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <random>
#include <string>
#include <vector>

#include "mapos/decoder.h"
#include "mapos/encoder.h"
#include "mapos/scrambler.h"

namespace {

using Octets = std::vector<uint8_t>;

namespace textbook {

constexpr std::array<uint32_t, 256> kTable = [] {
  std::array<uint32_t, 256> t{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t v = i;
    for (int bit = 0; bit < 8; ++bit) v = (v & 1) != 0 ? (v >> 1) ^ 0xEDB88320 : v >> 1;
    t[i] = v;
  }
  return t;
}();

template <bool kScramble>
struct Sender {
  uint8_t* out;
  uint64_t last = 0;  // the line's last bits

  void line(uint8_t o) {
    if constexpr (kScramble) {
      o ^= static_cast<uint8_t>(last >> 35);
      last = last << 8 | o;
    }
    *out++ = o;
  }
  void stuffed(uint8_t o) {
    if (o == 0x7E || o == 0x7D) {
      line(0x7D);
      o ^= 0x20;
    }
    line(o);
  }
  [[gnu::noinline]] void frame(const uint8_t* in, size_t n) {
    uint32_t fcs = 0xFFFFFFFF;
    for (size_t i = 0; i < n; ++i) {
      fcs = (fcs >> 8) ^ kTable[(fcs ^ in[i]) & 0xFF];
      stuffed(in[i]);
    }
    fcs = ~fcs;
    for (int i = 0; i < 4; ++i) stuffed(static_cast<uint8_t>(fcs >> 8 * i));
    line(0x7E);
  }
};

struct Received {
  uint64_t frames = 0, octets = 0, bad = 0;
  bool operator==(const Received&) const = default;
};

/// Good frames of a line; `buffer` takes one.
template <bool kScramble>
[[gnu::noinline]] Received receive(const Octets& line, uint8_t* buffer) {
  Received r;
  uint64_t last = 0;
  uint32_t fcs = 0xFFFFFFFF;
  size_t n = 0;
  bool escaped = false;
  for (uint8_t o : line) {
    if constexpr (kScramble) {
      const uint8_t seen = o;
      o ^= static_cast<uint8_t>(last >> 35);
      last = last << 8 | seen;
    }
    if (o == 0x7E) {
      if (n >= 8 && fcs == 0xDEBB20E3 && buffer[1] == 3 && (buffer[0] & 1) != 0) {
        ++r.frames;
        r.octets += n - 4;
      } else if (n != 0) {
        ++r.bad;
      }
      n = 0;
      fcs = 0xFFFFFFFF;
      escaped = false;
      continue;
    }
    if (o == 0x7D) {
      escaped = true;
      continue;
    }
    if (escaped) o ^= 0x20;
    escaped = false;
    if (n == 65288) continue;
    buffer[n++] = o;
    fcs = (fcs >> 8) ^ kTable[(fcs ^ o) & 0xFF];
  }
  return r;
}

}  // namespace textbook

struct Case {
  size_t frame = 0;  // octets
  Octets frames;     // one behind the other
  size_t count() const { return frames.size() / frame; }
};

Case make(size_t information, const std::string& payload) {
  Case c{information + mapos::kHeaderOctets, {}};
  std::mt19937_64 random(1);
  for (size_t k = 0; k < (size_t{1} << 20) / information; ++k) {
    const size_t at = c.frames.size();
    c.frames.resize(at + c.frame);
    mapos::put_header(&c.frames[at], {mapos::Address::point_to_point(mapos::Version::kV1), mapos::kIpv4});
    for (size_t i = at + mapos::kHeaderOctets; i < c.frames.size(); ++i) {
      const auto r = static_cast<uint8_t>(random() >> 56);
      const bool special = r == 0x7E || r == 0x7D;
      c.frames[i] = payload == "escapes" ? 0x7D + r % 2 : payload == "clean" && special ? 0x55 : r;
    }
  }
  return c;
}

template <bool kScramble>
size_t encode_ours(const Case& c, Octets& line) {
  mapos::Encoder encoder(mapos::Fcs::k32);
  mapos::Scrambler scrambler;
  size_t at = 0;
  for (size_t i = 0; i < c.count(); ++i) {
    const auto n = encoder.frame({&c.frames[i * c.frame], c.frame}, std::span(line).subspan(at));
    if (!n) std::abort();
    if constexpr (kScramble) scrambler.run(std::span(line).subspan(at, *n));
    at += *n;
  }
  return at;
}

template <bool kScramble>
size_t encode_textbook(const Case& c, Octets& line) {
  textbook::Sender<kScramble> s{line.data()};
  s.line(0x7E);
  for (size_t i = 0; i < c.count(); ++i) s.frame(&c.frames[i * c.frame], c.frame);
  return static_cast<size_t>(s.out - line.data());
}

template <bool kScramble>
textbook::Received decode_ours(const Octets& line, mapos::Decoder& decoder, Octets& scratch) {
  const auto before = decoder.counters();
  mapos::Descrambler descrambler;
  textbook::Received r;
  for (size_t at = 0; at < line.size();) {
    std::span<const uint8_t> piece = std::span(line).subspan(at, std::min(scratch.size(), line.size() - at));
    at += piece.size();
    if constexpr (kScramble) {
      descrambler.run(piece, scratch.data());
      piece = std::span(scratch).first(piece.size());
    }
    for (std::span<const uint8_t> f; decoder.next(piece, f);) r.octets += f.size();
  }
  r.frames = decoder.counters().good - before.good;
  r.bad = decoder.counters().frames() - before.frames() - r.frames;
  return r;
}

/// GB/s of `octets` per call, over at least 20 ms of processor time: others use the machine too.
template <typename F>
double speed(size_t octets, F&& work) {
  const std::clock_t begin = std::clock();
  std::clock_t used = 0;
  size_t calls = 0;
  while (used < CLOCKS_PER_SEC / 50) {
    work();
    ++calls;
    used = std::clock() - begin;
  }
  return static_cast<double>(octets * calls) * CLOCKS_PER_SEC / static_cast<double>(used) / 1e9;
}

void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "bench_hdlc: %s\n", what);
  std::exit(1);
}

template <bool kScramble>
void measure(const Case& c, const std::string& name, int runs) {
  Octets line(2 * c.frames.size() + 16 * c.count() + 64), theirs(line.size()), copy(c.frames.size());
  Octets scratch(16384), buffer(65288);
  mapos::Decoder decoder({.fcs = mapos::Fcs::k32});
  const size_t n = encode_ours<kScramble>(c, line);
  require(n == encode_textbook<kScramble>(c, theirs) && std::memcmp(line.data(), theirs.data(), n) == 0,
          "the library and the textbook send different octets");
  const Octets received(line.begin(), line.begin() + static_cast<ptrdiff_t>(n));
  const textbook::Received all{c.count(), c.frames.size(), 0};
  require(decode_ours<kScramble>(received, decoder, scratch) == all, "the library does not receive what it sent");
  require(textbook::receive<kScramble>(received, buffer.data()) == all, "the textbook does not receive what was sent");

  const size_t octets = c.frames.size();
  const char* how = kScramble ? "+scrambler" : "";
  volatile uint64_t sink = 0;
  for (int run = 0; run < runs; ++run) {
    const double memory = speed(octets, [&] {
      for (size_t i = 0; i < c.count(); ++i) std::memcpy(&copy[i * c.frame], &c.frames[i * c.frame], c.frame);
      asm volatile("" ::"r"(copy.data()) : "memory");
    });
    const double e = speed(octets, [&] { sink = sink + encode_ours<kScramble>(c, line); });
    const double et = speed(octets, [&] { sink = sink + encode_textbook<kScramble>(c, theirs); });
    const double d = speed(octets, [&] { sink = sink + decode_ours<kScramble>(received, decoder, scratch).octets; });
    const double dt =
        speed(octets, [&] { sink = sink + textbook::receive<kScramble>(received, buffer.data()).octets; });
    std::printf("encode%s %s %.4f %.4f %.4f\n", how, name.c_str(), e, et, memory);
    std::printf("decode%s %s %.4f %.4f %.4f\n", how, name.c_str(), d, dt, memory);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const int runs = argc == 2 ? std::atoi(argv[1]) : 0;
  if (runs <= 0) {
    std::fprintf(stderr, "usage: bench_hdlc RUNS\n");
    return 2;
  }
  for (const size_t size : {size_t{64}, size_t{1500}, mapos::kMostInformation})
    for (const char* payload : {"random", "clean", "escapes"}) {
      const Case c = make(size, payload);
      const std::string name = std::to_string(size) + " " + payload;
      measure<false>(c, name, runs);
      measure<true>(c, name, runs);
    }
}
