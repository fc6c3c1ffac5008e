// SPDX-License-Identifier: BSD-3-Clause
#include "rig_oc48.h"

#include <algorithm>
#include <cstring>
#include <random>
#include <sstream>

#include "fast_oc48.h"
#include "reference_oc48.h"

namespace awing::test {

namespace {

class Rng {
 public:
  explicit Rng(uint64_t seed) : gen_(seed) {}
  uint64_t below(uint64_t n) { return gen_() % n; }
  uint32_t below32(uint64_t n) { return static_cast<uint32_t>(below(n)); }
  bool chance(int percent) { return below(100) < static_cast<uint64_t>(percent); }
  template <typename T>
  T pick(std::initializer_list<T> values) {
    return *(values.begin() + below(values.size()));
  }
  uint64_t raw() { return gen_(); }

 private:
  std::mt19937_64 gen_;
};

std::unique_ptr<Card> make(Engine engine, const CardConfig& config, Link& tx, Link& rx, Ps start) {
  if (engine == Engine::kReference) return std::make_unique<ReferenceOc48>(config, tx, rx, start);
  return std::make_unique<FastOc48>(config, tx, rx, start);
}

void hash_into(uint64_t& h, const void* p, size_t n) {
  for (size_t i = 0; i < n; ++i) h = (h ^ static_cast<const uint8_t*>(p)[i]) * 0x100000001b3;
}

/// Memory that begins on a page.
struct Pages {
  std::vector<uint8_t> memory;
  uint8_t* make(size_t bytes) {
    memory.assign(bytes + 4096, 0);
    return reinterpret_cast<uint8_t*>((reinterpret_cast<uintptr_t>(memory.data()) + 4095) & ~uintptr_t{4095});
  }
};

/// The host's side of one card.
struct Host {
  Card* card = nullptr;
  const Oc48Case* c = nullptr;
  Oc48Outcome* out = nullptr;
  size_t id = 0;
  Pages pages[6];
  TxDescriptor* tx = nullptr;
  RxDescriptor* rx = nullptr;
  TxCompletion* tx_cpl = nullptr;
  RxCompletion* rx_cpl = nullptr;
  uint8_t *buf = nullptr, *rxbuf = nullptr;
  uint32_t slot_bytes = 0;
  uint32_t produced = 0, posted_rx = 0, tx_done = 0, tx_cpl_seen = 0, rx_cpl_seen = 0, control = 0;

  void base(Ps t, uint32_t lo, const void* p) {
    const auto a = reinterpret_cast<uint64_t>(p);
    card->post_write(t, lo, static_cast<uint32_t>(a));
    card->post_write(t, lo + 4, static_cast<uint32_t>(a >> 32));
  }

  void init(Ps t) {
    const size_t n = c->descriptors;
    slot_bytes = static_cast<uint32_t>(c->max_len) + 64;
    tx = reinterpret_cast<TxDescriptor*>(pages[0].make(n * sizeof *tx));
    rx = reinterpret_cast<RxDescriptor*>(pages[1].make(n * sizeof *rx));
    tx_cpl = reinterpret_cast<TxCompletion*>(pages[2].make(n * sizeof *tx_cpl));
    rx_cpl = reinterpret_cast<RxCompletion*>(pages[3].make(n * sizeof *rx_cpl));
    buf = pages[4].make(n * slot_bytes);
    rxbuf = pages[5].make(n * (c->rx_buffer + 8));
    base(t, kTxCplBaseLo, tx_cpl);
    base(t, kRxCplBaseLo, rx_cpl);
    base(t, kTxBaseLo, tx);
    base(t, kRxBaseLo, rx);
    card->post_write(t, kTxSize, c->descriptors);
    card->post_write(t, kRxSize, c->descriptors);
    start(t);
  }

  void start(Ps t) {
    control = 0;
    card->post_write(t, kControl, control);
    card->post_write(t, kCommand, kCmdReset);
    control = kCtlRxEnable | kCtlTxEnable | kCtlPromiscuous;
    card->post_write(t, kControl, control);
    post_rx(t, c->descriptors);
  }

  void post_rx(Ps t, uint32_t n) {
    for (uint32_t i = 0; i < n; ++i) {
      const uint32_t slot = posted_rx++ & (c->descriptors - 1);
      const uint32_t skew = slot % 3 == 0 ? 0 : slot % 8;
      rx[slot] = {reinterpret_cast<uint64_t>(rxbuf + size_t{slot} * (c->rx_buffer + 8)) + skew, c->rx_buffer, 0};
    }
    card->post_write(t, kRxConsumer, posted_rx);
  }

  uint32_t random_len(Rng& rng) const {
    switch (rng.below(4)) {
      case 0:
        return kMapHeader + rng.below32(4);
      case 1:
        return kMapHeader + rng.below32(200);
      default:
        return kMapHeader + rng.below32(static_cast<uint64_t>(c->max_len) - kMapHeader + 1);
    }
  }

  /// Offers up to n frames; what does not fit is not offered.
  void send(Ps t, Rng& rng, uint32_t n) {
    reap_tx();
    std::vector<uint8_t> frame(static_cast<size_t>(c->max_len) + 256);
    for (uint32_t i = 0; i < n; ++i) {
      const uint32_t len = std::min(random_len(rng), static_cast<uint32_t>(c->max_len));
      for (uint32_t k = 0; k < len; k += 8) {
        const uint64_t r = rng.raw();
        std::memcpy(&frame[k], &r, 8);
      }
      for (uint32_t k = 0; k < len && c->escapes; ++k)
        if (rng.chance(c->escapes)) frame[k] = static_cast<uint8_t>(0x7D + (frame[k] & 1));
      if (rng.chance(90)) frame[0] |= 1, frame[1] = 3;  // else the header is likely a bad one
      const bool bad = c->bad_records && rng.chance(1);
      const uint32_t segments = std::min(1 + rng.below32(c->segments), len);
      if (produced + segments - tx_done > c->descriptors) break;
      const uint16_t latch = rng.chance(5) ? uint16_t{kTxLatchStamp} : uint16_t{0};
      for (uint32_t s = 0, done = 0; s < segments; ++s) {
        const uint32_t slot = produced++ & (c->descriptors - 1);
        const uint32_t left = len - done - (segments - 1 - s);
        const uint32_t piece = s + 1 == segments ? len - done : 1 + rng.below32(left);
        uint8_t* data = buf + size_t{slot} * slot_bytes + rng.below(64);
        std::memcpy(data, &frame[done], piece);
        done += piece;
        const auto flags =
            static_cast<uint16_t>(latch | (s + 1 == segments ? uint16_t{kTxEndOfPacket} : uint16_t{0}) |
                                  (bad && s == 0 && rng.chance(50) ? uint16_t{kTxLaunchTime} : uint16_t{0}));
        tx[slot] = {reinterpret_cast<uint64_t>(data),
                    static_cast<uint16_t>(bad && !(flags & kTxLaunchTime) ? 0 : piece),
                    flags,
                    0,
                    kNoChecksum,
                    0,
                    0};
      }
      ++out->offered[id];
    }
    card->post_write(t, kTxProducer, produced);
  }

  void reap_tx() {
    for (;; ++tx_cpl_seen) {
      const TxCompletion& cpl = tx_cpl[tx_cpl_seen & (c->descriptors - 1)];
      if ((cpl.flags & 1) != ((tx_cpl_seen / c->descriptors) % 2 == 0)) break;
      tx_done = cpl.done;
      hash_into(out->hash[id], &cpl, sizeof cpl);
    }
  }

  void receive(Ps t) {
    uint32_t n = 0;
    for (;; ++n, ++rx_cpl_seen) {
      const uint32_t slot = rx_cpl_seen & (c->descriptors - 1);
      const RxCompletion& cpl = rx_cpl[slot];
      if (((cpl.flags & kRxPhase) != 0) != ((rx_cpl_seen / c->descriptors) % 2 == 0)) break;
      hash_into(out->hash[id], &cpl, sizeof cpl);
      hash_into(out->hash[id], reinterpret_cast<const uint8_t*>(rx[slot].addr), cpl.len);
      out->received_bytes[id] += cpl.len;
      if (cpl.flags & kRxEndOfPacket) ++out->received[id];
    }
    if (n) post_rx(t, n);
  }

  /// A host that acknowledges, arms and masks, now and then with values that make no sense.
  void interrupts(Ps t, Rng& rng) {
    const bool receive = rng.chance(50);
    const auto write = [&](uint32_t rx, uint32_t tx, uint32_t value) { card->post_write(t, receive ? rx : tx, value); };
    switch (rng.below(8)) {
      case 0:
        write(kIntrRxEnable, kIntrTxEnable, rng.below32(2));
        break;
      case 1:
        write(kIntrRxCount, kIntrTxCount, rng.below32(40));
        break;
      case 2:
        write(kIntrRxTimeout, kIntrTxTimeout, rng.pick({0u, 1u, 2u, 100u, 3000u, 100'000u, 0xFFFFFFFFu}));
        break;
      case 3:
        write(kIntrRxSeen, kIntrTxSeen, static_cast<uint32_t>(rng.raw()) >> rng.below(32));
        break;
      default:
        write(kIntrRxSeen, kIntrTxSeen, receive ? static_cast<uint32_t>(out->received[id]) : tx_done);
        write(kIntrRxEnable, kIntrTxEnable, 1);
    }
  }

  void change_line(Ps t, Rng& rng) {
    switch (rng.below(13)) {
      case 0:
        card->post_write(t, kControl, control ^= kCtlTxEnable);
        break;
      case 1:
        card->post_write(t, kControl, control ^= kCtlRxEnable);
        break;
      case 2:
        card->post_write(t, kControl, control ^= kCtlPromiscuous);
        break;
      case 3:
        card->post_write(t, kMaxFrame, rng.pick({1504u, 65'288u, 300u}));
        break;
      case 4:
        card->post_write(t, kPhcTrim, static_cast<uint32_t>(rng.raw()));
        break;
      case 5:
        card->post_write(t, kPhcValueLo, static_cast<uint32_t>(rng.raw()));
        card->post_write(t, kPhcValueHi, rng.below32(4));
        card->post_write(t, kCommand, kCmdPhcSet);
        break;
      case 6:
        card->post_write(t, kControl, control ^= kCtlMapos16);
        break;
      case 7:
        card->post_write(t, kControl, control ^= kCtlAllMulticast);
        card->post_write(t, kMacLo, 1 + 2 * rng.below32(64));
        break;
      case 8:
        card->post_write(t, kSonetInsert, rng.below32(4));
        break;
      case 9:
        card->post_write(t, rng.chance(50) ? kSonetTxC2 : kSonetRxC2, rng.pick({0x8Du, 0x8Du, 0x16u, 0u, 1u}));
        break;
      case 10:
        card->post_write(t, kSonetSeen, static_cast<uint32_t>(rng.raw()));
        break;
      default:
        card->post_write(t, kPhcValueLo, rng.below32(1u << 20));
        card->post_write(t, kPhcValueHi, 0);
        card->post_write(t, kCommand, kCmdPhcAdd);
    }
  }
};

}  // namespace

Oc48Case::Oc48Case(uint64_t s) : seed(s) {
  Rng rng(s * 0x9E3779B97F4A7C15 + 7);
  loop = rng.chance(40);
  delay = kLeastDelay + static_cast<Ps>(rng.below(3) == 0 ? 0 : rng.below(200'000));
  start = rng.chance(50) ? 0 : static_cast<Ps>(rng.below(400'000'000));
  SonetConfig line;
  line.fcs = rng.pick({2u, 4u});
  line.scramble = rng.chance(50);
  for (CardConfig& k : card) {
    k = CardConfig::of(CardKind::kOc48);
    k.sonet = line;
    if (rng.chance(2)) k.sonet.fcs = rng.pick({2u, 4u});
    BusConfig& b = k.bus;
    b.width = rng.pick({4u, 8u, 8u});
    b.period_num = rng.pick({15'000u, 15'000u, 30'000u});
    if (rng.chance(10)) b.period_num = 45'001, b.period_den = 3;
    b.decode = 1 + rng.below32(3);
    b.target_wait = rng.below32(4);
    b.read_wait = rng.below32(12);
    b.word_wait = rng.chance(80) ? 0 : rng.below32(4);
    b.idle = 1 + rng.below32(2);
    b.burst = rng.pick({64u, 256u, 1024u, 4096u});
    b.retry = rng.chance(70) ? 0 : 1 + rng.below32(60);
    b.cache_line = rng.pick({16u, 32u, 64u, 128u});
    b.mwi = rng.below32(2);
    b.read_command = rng.chance(80) ? 2 : 1;
    b.boundary = rng.pick({128u, 512u, 1024u, 4096u});
    b.latency_timer = rng.pick({0u, 8u, 16u, 64u, 248u});
    k.ppm = rng.chance(50) ? 0 : static_cast<int32_t>(rng.below(401)) - 200;
    k.desc_cache = 2 * (4 + rng.below32(29));
  }
  mean_step = static_cast<Ps>(rng.pick({300'000, 1'000'000, 4'000'000, 20'000'000, 60'000'000}));
  steps = static_cast<int>(20 + rng.below(100));
  max_len = static_cast<int>(rng.pick({12, 68, 300, 1504, 9184, 65'284}));
  const auto fifo = static_cast<uint32_t>(max_len) + 16 + 16;
  for (CardConfig& k : card) {
    k.tx_fifo = (fifo + k.bus.burst + 32 + rng.below32(40'000) + 15) & ~15u;
    k.rx_fifo = (fifo + rng.below32(40'000) + 15) & ~15u;
  }
  burst = static_cast<int>(1 + rng.below(max_len > 10'000 ? 4 : 40));
  escapes = rng.pick({0, 0, 2, 30, 100});
  descriptors = rng.pick({32u, 64u, 256u});
  rx_buffer = rng.pick({256u, 1024u, 2048u, 16'384u});
  segments = rng.pick({1u, 3u, 8u});
  line_changes = rng.chance(30);
  reads = rng.chance(40);
  slow_reader = rng.chance(30);
  bad_records = rng.chance(8);
  early = rng.chance(15);
  interrupts = rng.chance(60);
  paths = rng.chance(30);
  for (SonetPathConfig& p : path) {
    p.seed = rng.raw();
    p.bit_error_rate = rng.pick({0.0, 1e-7, 1e-6, 1e-5, 1e-3});
    for (uint64_t n = rng.below(4); n > 0; --n) {
      const auto first = static_cast<int64_t>(rng.below(30));
      p.faults.push_back({rng.pick({SonetFault::What::kLos, SonetFault::What::kLof, SonetFault::What::kAisP}), first,
                          first + static_cast<int64_t>(rng.below(40))});
    }
  }
}

std::string Oc48Case::describe() const {
  std::ostringstream s;
  s << "seed " << seed << (loop ? " loop" : " cable") << " delay " << delay << " start " << start << " steps " << steps
    << " max_len " << max_len << " burst " << burst << " escapes " << escapes << " buffer " << rx_buffer
    << (line_changes ? " changes" : "") << (reads ? " reads" : "") << (slow_reader ? " slow" : "")
    << (bad_records ? " bad" : "") << (early ? " early" : "") << (paths ? " paths" : "")
    << (interrupts ? " interrupts" : "");
  for (const CardConfig& k : card)
    s << " | w" << k.bus.width << " p" << k.bus.period_num << "/" << k.bus.period_den << " D" << k.bus.decode << " W"
      << k.bus.target_wait << " R" << k.bus.read_wait << " w" << k.bus.word_wait << " I" << k.bus.idle << " burst "
      << k.bus.burst << " retry " << k.bus.retry << " line " << k.bus.cache_line << " mwi " << k.bus.mwi << " cmd "
      << k.bus.read_command << " bnd " << k.bus.boundary << " LT " << k.bus.latency_timer << " ppm " << k.ppm
      << " fifo " << k.tx_fifo << "/" << k.rx_fifo;
  return s.str();
}

Oc48Outcome run_case(const Oc48Case& c, Engine engine, bool traced) {
  Oc48Outcome out;
  Rng rng(c.seed);
  const size_t store = 1 << 19;
  Link to0(store, c.delay), to1(store, c.delay);
  std::array<EventLog, 2> logs;
  std::array<std::unique_ptr<Card>, 2> cards;
  const size_t n = c.loop ? 1 : 2;
  // A receiver is born knowing the line that it hears.
  const CardConfig& to_0 = c.card[c.loop ? 0 : 1];
  to0.set_line(to_0.ppm, sonet_format(to_0.sonet));
  to1.set_line(c.card[0].ppm, sonet_format(c.card[0].sonet));
  to0.set_known_until(c.start);
  to1.set_known_until(c.start);
  // With paths a card sends into a link of its own, and the path carries it on.
  Link out0(store, 0), out1(store, 0);
  SonetPath path0(c.path[0]), path1(c.path[1]);
  Link& in0 = c.loop ? to0 : to1;
  cards[0] = make(engine, c.card[0], c.paths ? out0 : in0, to0, c.start);
  if (!c.loop) cards[1] = make(engine, c.card[1], c.paths ? out1 : to0, to1, c.start);
  std::array<Host, 2> hosts;
  Ps now = c.start;
  for (size_t i = 0; i < n; ++i) {
    logs[i].set_sink(
        [&out, i](std::span<const Event> e) { out.events[i].insert(out.events[i].end(), e.begin(), e.end()); });
    if (traced) cards[i]->set_log(&logs[i]);
    hosts[i].card = cards[i].get();
    hosts[i].c = &c;
    hosts[i].out = &out;
    hosts[i].id = i;
    cards[i]->set_interrupt([&out, i](uint32_t rising) {
      for (uint32_t cause = 0; cause < kCauses; ++cause) out.interrupts[i][cause] += rising >> cause & 1;
    });
    hosts[i].init(now);
  }
  const auto advance = [&](Ps until) {
    for (size_t i = 0; i < n; ++i)
      if (until % 3 != 0) cards[i]->look_ahead(until);  // it may be told, and need not
    for (bool all = false; !all;) {
      all = true;
      for (size_t i = 0; i < n; ++i) {
        Card& card = *cards[i];
        const Ps limit = c.loop && !c.paths ? until : std::min(until, card.horizon() - 1);
        if (limit > card.ran_until()) card.run(limit, until);
        if (c.paths && i == 0) path0.advance(out0, in0);
        if (c.paths && i == 1) path1.advance(out1, to0);
        all = all && card.ran_until() >= until;
      }
    }
    now = until;
  };
  // Light takes two SONET frames to be believed.
  advance(now + (c.early ? 5'000'000 : 400'000'000));
  for (int step = 0; step < c.steps; ++step) {
    for (size_t i = 0; i < n; ++i) {
      Host& h = hosts[i];
      if (rng.chance(80)) h.send(now, rng, rng.below32(static_cast<uint64_t>(c.burst) + 1));
      if (rng.chance(c.slow_reader ? 5 : 80)) h.receive(now);
      if (c.line_changes && rng.chance(10)) h.change_line(now, rng);
      if (c.interrupts && rng.chance(60)) h.interrupts(now, rng);
      if (c.reads && rng.chance(20)) {
        const uint32_t regs[] = {kStatus,
                                 kPhcLo,
                                 kPhcHi,
                                 kTxStampLo,
                                 kTxStampCount,
                                 kIntrLines,
                                 kIntrRxTold,
                                 kIntrTxTold,
                                 kSonetAlarms,
                                 kSonetSeen,
                                 kCounterBase + 8 * kReiP,
                                 kCounterBase + 8 * kTxFrames,
                                 kCounterBase + 8 * kRxFrames,
                                 kCounterBase + 8 * kTxBytes};
        h.card->post_read(now, regs[rng.below(std::size(regs))]);
        while (!h.card->read_done()) advance(now + 50'000);
        out.reads.push_back(h.card->read_value());
      }
      if (rng.chance(20)) advance(now + static_cast<Ps>(rng.below(100'000)));
    }
    advance(now + 1 + static_cast<Ps>(rng.below(static_cast<uint64_t>(2 * c.mean_step))));
  }
  // Drain: receivers keep reading, senders on, until nothing moves.
  for (size_t i = 0; i < n; ++i)
    hosts[i].card->post_write(now, kControl, hosts[i].control |= kCtlTxEnable | kCtlRxEnable);
  for (int k = 0; k < 40; ++k) {
    for (size_t i = 0; i < n; ++i) {
      hosts[i].receive(now);
      hosts[i].reap_tx();
    }
    advance(now + 10'000'000);
  }
  for (size_t i = 0; i < n; ++i) {
    logs[i].flush(now);
    for (uint32_t k = 0; k < kCountersOc48; ++k) out.counters[i][k] = cards[i]->counter(static_cast<Counter>(k));
  }
  return out;
}

}  // namespace awing::test
