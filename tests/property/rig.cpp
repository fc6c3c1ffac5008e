// SPDX-License-Identifier: BSD-3-Clause
#include "rig.h"

#include <algorithm>
#include <cstring>
#include <sstream>

#include "fast.h"
#include "reference.h"

namespace awing::test {

std::unique_ptr<Card> make_card(Engine engine, const CardConfig& config, Link& tx, Link& rx, Ps start) {
  if (engine == Engine::kReference) return std::make_unique<ReferenceCard>(config, tx, rx, start);
  return std::make_unique<FastCard>(config, tx, rx, start);
}

namespace {

class Rng {
 public:
  explicit Rng(uint64_t seed) : gen_(seed) {}
  uint64_t below(uint64_t n) { return gen_() % n; }
  bool chance(int percent) { return below(100) < static_cast<uint64_t>(percent); }
  template <typename T>
  T pick(std::initializer_list<T> values) {
    return *(values.begin() + below(values.size()));
  }
  uint64_t raw() { return gen_(); }

 private:
  std::mt19937_64 gen_;
};

void hash_into(uint64_t& h, const uint8_t* p, size_t n) {
  for (size_t i = 0; i < n; ++i) h = (h ^ p[i]) * 0x100000001b3;
}

uint8_t* aligned(std::vector<uint8_t>& v, size_t bytes, size_t align = 4096) {
  v.assign(bytes + align, 0);
  return reinterpret_cast<uint8_t*>((reinterpret_cast<uintptr_t>(v.data()) + align - 1) & ~uintptr_t{align - 1});
}

/// The host's side of one card.
struct Host {
  Card* card = nullptr;
  const Case* c = nullptr;
  bool ring = false;
  std::vector<uint8_t> tx_mem, rx_mem, status_mem, tx_cpl_mem, rx_cpl_mem, buf_mem, rxbuf_mem;
  uint8_t *tx = nullptr, *rx = nullptr, *buf = nullptr, *rxbuf = nullptr;
  StatusRecord* status = nullptr;
  TxCompletion* tx_cpl = nullptr;
  RxCompletion* rx_cpl = nullptr;
  uint32_t produced = 0, consumed = 0, posted_rx = 0;
  uint32_t tx_done = 0, tx_cpl_seen = 0, rx_cpl_seen = 0;
  uint32_t control = 0;
  uint32_t taken = 0;  // frames taken
  Outcome* out = nullptr;
  int id = 0;

  static constexpr uint32_t kTxSlot = 16384;

  void init(Ps t) {
    ring = c->card[static_cast<size_t>(id)].ring_mode;
    status = reinterpret_cast<StatusRecord*>(aligned(status_mem, 64));
    const auto base = [&](uint32_t lo, const void* p) {
      const auto a = reinterpret_cast<uint64_t>(p);
      card->post_write(t, lo, static_cast<uint32_t>(a));
      card->post_write(t, lo + 4, static_cast<uint32_t>(a >> 32));
    };
    if (ring) {
      tx = aligned(tx_mem, c->descriptors * sizeof(TxDescriptor));
      rx = aligned(rx_mem, c->descriptors * sizeof(RxDescriptor));
      tx_cpl = reinterpret_cast<TxCompletion*>(aligned(tx_cpl_mem, c->descriptors * sizeof(TxCompletion)));
      rx_cpl = reinterpret_cast<RxCompletion*>(aligned(rx_cpl_mem, c->descriptors * sizeof(RxCompletion)));
      buf = aligned(buf_mem, size_t{c->descriptors} * kTxSlot);
      rxbuf = aligned(rxbuf_mem, size_t{c->descriptors} * c->rx_buffer);
      base(kTxCplBaseLo, tx_cpl);
      base(kRxCplBaseLo, rx_cpl);
    } else {
      tx = aligned(tx_mem, c->stream_bytes);
      rx = aligned(rx_mem, c->stream_bytes);
      base(kStatusAddrLo, status);
    }
    base(kTxBaseLo, tx);
    base(kRxBaseLo, rx);
    card->post_write(t, kTxSize, ring ? c->descriptors : c->stream_bytes);
    card->post_write(t, kRxSize, ring ? c->descriptors : c->stream_bytes);
    card->post_write(t, kRxMinBurst, c->rx_min_burst);
    card->post_write(t, kRxFlush, c->rx_flush);
    card->post_write(t, kMaxFrame, 16384);
    control = ring ? uint32_t{kCtlRingMode} : 0;
    card->post_write(t, kControl, control);
    card->post_write(t, kCommand, kCmdReset);
    control |= kCtlRxEnable | kCtlTxEnable | kCtlPromiscuous;
    card->post_write(t, kControl, control);
    if (ring) post_rx(t, c->descriptors);
  }

  void post_rx(Ps t, uint32_t n) {
    auto* descs = reinterpret_cast<RxDescriptor*>(rx);
    for (uint32_t i = 0; i < n; ++i) {
      const uint32_t slot = posted_rx++ & (c->descriptors - 1);
      descs[slot] = {reinterpret_cast<uint64_t>(rxbuf + size_t{slot} * c->rx_buffer), c->rx_buffer, 0};
    }
    card->post_write(t, kRxConsumer, posted_rx);
  }

  void put(uint32_t at, const void* p, uint32_t n) {
    for (uint32_t i = 0; i < n; ++i) tx[(at + i) & (c->stream_bytes - 1)] = static_cast<const uint8_t*>(p)[i];
  }

  /// Offers up to n frames; what does not fit is not offered.
  void send(Ps t, Rng& rng, int n) {
    if (ring) reap_tx();
    for (int i = 0; i < n; ++i) {
      uint32_t len;
      switch (rng.below(4)) {
        case 0:
          len = kMinFrame;
          break;
        case 1:
          len = kMinFrame + static_cast<uint32_t>(rng.below(200));
          break;
        default:
          len = kMinFrame + static_cast<uint32_t>(rng.below(static_cast<uint64_t>(c->max_len) - kMinFrame + 1));
      }
      uint16_t flags = 0, stamp_offset = 0, csum_offset = kNoChecksum;
      uint64_t launch = 0;
      if (rng.chance(20)) {
        flags |= kTxInsertStamp;
        stamp_offset = static_cast<uint16_t>(2 * rng.below((len - 8) / 2 + 1));
        csum_offset = rng.chance(50) ? kNoChecksum : static_cast<uint16_t>(2 * rng.below(len / 2));
      }
      if (c->launches && rng.chance(30)) {
        flags |= kTxLaunchTime;
        const auto ahead = static_cast<int64_t>(rng.below(20'000)) - 4'000;  // ns
        launch = static_cast<uint64_t>((static_cast<I128>(t / 1000 + ahead) << 32) / 1'000'000'000);
        if (rng.chance(1)) launch += uint64_t{1000} << 32;
      }
      if (rng.chance(5)) flags |= kTxLatchStamp;
      uint8_t frame[kMaxFrameAny];
      for (uint32_t k = 0; k < len; k += 8) {
        const uint64_t r = rng.raw();
        std::memcpy(frame + k, &r, std::min(8u, len - k));
      }
      const bool bad = c->bad_records && rng.chance(1);
      if (ring) {
        const auto segments = static_cast<uint32_t>(1 + rng.below(3));
        if (produced + segments - tx_done > c->descriptors) break;
        auto* descs = reinterpret_cast<TxDescriptor*>(tx);
        uint32_t done = 0;
        for (uint32_t s = 0; s < segments; ++s) {
          const uint32_t slot = produced++ & (c->descriptors - 1);
          const uint32_t piece = s + 1 == segments ? len - done : 1 + static_cast<uint32_t>(rng.below(len / 3));
          uint8_t* data = buf + size_t{slot} * kTxSlot + rng.below(64);
          std::memcpy(data, frame + done, piece);
          done += piece;
          descs[slot] = {reinterpret_cast<uint64_t>(data),
                         static_cast<uint16_t>(bad ? 0 : piece),
                         static_cast<uint16_t>(flags | (s + 1 == segments ? kTxEndOfPacket : 0)),
                         stamp_offset,
                         csum_offset,
                         launch,
                         0};
        }
      } else {
        const uint32_t size = record_bytes(len);
        if (produced + size - status->tx_fetched > c->stream_bytes) break;
        const TxRecord head{static_cast<uint16_t>(bad ? 7 : len), flags, stamp_offset, csum_offset, launch};
        put(produced, &head, sizeof head);
        put(produced + sizeof head, frame, len);
        produced += size;
      }
      ++out->offered[static_cast<size_t>(id)];
    }
    card->post_write(t, kTxProducer, produced);
  }

  void reap_tx() {
    for (;;) {
      const TxCompletion& cpl = tx_cpl[tx_cpl_seen & (c->descriptors - 1)];
      if ((cpl.flags & 1) != ((tx_cpl_seen / c->descriptors) % 2 == 0)) break;
      tx_done = cpl.done;
      hash_into(out->payload_hash[static_cast<size_t>(id)], reinterpret_cast<const uint8_t*>(&cpl), sizeof cpl);
      ++tx_cpl_seen;
    }
  }

  void receive(Ps t) {
    auto& hash = out->payload_hash[static_cast<size_t>(id)];
    if (ring) {
      uint32_t n = 0;
      for (;; ++n, ++rx_cpl_seen) {
        const uint32_t slot = rx_cpl_seen & (c->descriptors - 1);
        const RxCompletion& cpl = rx_cpl[slot];
        if (((cpl.flags & kRxPhase) != 0) != ((rx_cpl_seen / c->descriptors) % 2 == 0)) break;
        hash_into(hash, reinterpret_cast<const uint8_t*>(&cpl), sizeof cpl);
        hash_into(hash, rxbuf + size_t{slot} * c->rx_buffer, cpl.len);
        out->received_bytes[static_cast<size_t>(id)] += cpl.len;
        if (!(cpl.flags & kRxEndOfPacket)) continue;
        ++out->received[static_cast<size_t>(id)];
        ++taken;
      }
      if (n) post_rx(t, n);
      return;
    }
    bool any = false;
    const auto get = [&](uint32_t at) { return rx[at & (c->stream_bytes - 1)]; };
    while (status->rx_produced - consumed >= sizeof(RxRecord)) {
      RxRecord head;
      for (uint32_t i = 0; i < sizeof head; ++i) reinterpret_cast<uint8_t*>(&head)[i] = get(consumed + i);
      const uint32_t size = record_bytes(head.len);
      if (status->rx_produced - consumed < size) break;
      hash_into(hash, reinterpret_cast<const uint8_t*>(&head), sizeof head);
      for (uint32_t i = 0; i < head.len; ++i) {
        const uint8_t b = get(consumed + sizeof head + i);
        hash_into(hash, &b, 1);
      }
      consumed += size;
      ++out->received[static_cast<size_t>(id)];
      ++taken;
      out->received_bytes[static_cast<size_t>(id)] += head.len;
      any = true;
    }
    if (any) card->post_write(t, kRxConsumer, consumed);
  }

  /// A host that acknowledges, arms and masks, now and then with values that make no sense.
  void interrupts(Ps t, Rng& rng) {
    const bool receive = rng.chance(50);
    const auto write = [&](uint32_t rx, uint32_t tx, uint32_t value) { card->post_write(t, receive ? rx : tx, value); };
    switch (rng.below(8)) {
      case 0:
        write(kIntrRxEnable, kIntrTxEnable, static_cast<uint32_t>(rng.raw()) & 1);
        break;
      case 1:
        write(kIntrRxCount, kIntrTxCount,
              static_cast<uint32_t>(receive || ring ? rng.below(40) : rng.below(stream_count)));
        break;
      case 2:
        write(kIntrRxTimeout, kIntrTxTimeout, rng.pick({0u, 1u, 2u, 100u, 3000u, 100'000u, 0xFFFFFFFFu}));
        break;
      case 3:
        write(kIntrRxSeen, kIntrTxSeen, static_cast<uint32_t>(rng.raw()) >> rng.below(32));
        break;
      default:
        write(kIntrRxSeen, kIntrTxSeen, receive ? taken : ring ? tx_done : status->tx_fetched);
        write(kIntrRxEnable, kIntrTxEnable, 1);
    }
  }
  static constexpr uint32_t stream_count = 20'000;

  void change_line(Ps t, Rng& rng) {
    switch (rng.below(7)) {
      case 0:
        control ^= kCtlTxEnable;
        card->post_write(t, kControl, control);
        break;
      case 1:
        control ^= kCtlRxEnable;
        card->post_write(t, kControl, control);
        break;
      case 2:
        control ^= kCtlPromiscuous;
        card->post_write(t, kControl, control);
        break;
      case 3:
        card->post_write(t, kMaxFrame, rng.pick({1518u, 16384u, 300u}));
        break;
      case 4:
        card->post_write(t, kPhcTrim, static_cast<uint32_t>(rng.raw()));
        break;
      case 5: {
        card->post_write(t, kPhcValueLo, static_cast<uint32_t>(rng.raw()));
        card->post_write(t, kPhcValueHi, static_cast<uint32_t>(rng.below(4)));
        card->post_write(t, kCommand, kCmdPhcSet);
        break;
      }
      default:
        card->post_write(t, kPhcValueLo, static_cast<uint32_t>(rng.below(1u << 20)));
        card->post_write(t, kPhcValueHi, 0);
        card->post_write(t, kCommand, kCmdPhcAdd);
    }
  }
};

}  // namespace

Case::Case(uint64_t s) : seed(s) {
  Rng rng(s * 0x9E3779B97F4A7C15 + 1);
  loop = rng.chance(40);
  delay = kLeastDelay + static_cast<Ps>(rng.below(3) == 0 ? 0 : rng.below(200'000));
  const bool ring = rng.chance(40);
  for (CardConfig& k : card) {
    BusConfig& b = k.bus;
    switch (rng.below(5)) {
      case 0:
        b.width = 8, b.period_num = 15000;
        break;
      case 1:
        b.width = 8, b.period_num = 10000;
        break;
      case 2:
        b.width = 8;
        break;
      case 3:
        b.width = 32;
        break;
      default:
        break;
    }
    if (rng.chance(10)) b.period_num = 22501, b.period_den = 3;
    b.decode = static_cast<uint32_t>(1 + rng.below(3));
    b.target_wait = static_cast<uint32_t>(2 * rng.below(3));
    b.idle = static_cast<uint32_t>(1 + rng.below(2));
    b.mmrbc = rng.pick({512u, 1024u, 2048u, 4096u});
    b.splits = rng.pick({1u, 2u, 3u, 4u, 8u, 16u, 32u});
    b.completer_latency = static_cast<uint32_t>(rng.below(100));
    b.boundary = rng.pick({128u, 512u, 1024u, 4096u});
    b.latency_timer = rng.pick({0u, 16u, 64u, 248u});
    k.ring_mode = rng.chance(10) ? !ring : ring;
    k.tx_fifo = 24576 + static_cast<uint32_t>(16 * rng.below(2048));
    k.rx_fifo = 24576 + static_cast<uint32_t>(16 * rng.below(2048));
    k.ppm = rng.chance(50) ? 0 : static_cast<int32_t>(rng.below(401)) - 200;
    k.desc_cache = static_cast<uint32_t>(2 * (4 + rng.below(29)));
  }
  mean_step = static_cast<Ps>(rng.pick({50'000, 300'000, 1'000'000, 4'000'000, 60'000'000}));
  steps = static_cast<int>(20 + rng.below(120));
  max_len = static_cast<int>(rng.pick({64, 300, 1514, 9014, 16380}));
  burst = static_cast<int>(1 + rng.below(40));
  stream_bytes = rng.pick({32768u, 65536u, 131072u});
  descriptors = rng.pick({64u, 128u, 256u});
  rx_buffer = rng.pick({256u, 1024u, 2048u});
  line_changes = rng.chance(30);
  launches = rng.chance(40);
  reads = rng.chance(40);
  slow_reader = rng.chance(30);
  bad_records = rng.chance(8);
  rx_min_burst = static_cast<uint32_t>(rng.pick({16u, 512u, 2048u, 8192u}));
  rx_flush = static_cast<uint32_t>(rng.pick({0u, 16u, 256u, 2000u}));
  interrupts = rng.chance(60);
}

std::string Case::describe() const {
  std::ostringstream s;
  s << "seed " << seed << (loop ? " loop" : " cable") << " delay " << delay << " steps " << steps << " max_len "
    << max_len << " burst " << burst << " min " << rx_min_burst << " flush " << rx_flush
    << (line_changes ? " changes" : "") << (launches ? " launches" : "") << (reads ? " reads" : "")
    << (slow_reader ? " slow" : "") << (bad_records ? " bad" : "") << (interrupts ? " interrupts" : "");
  for (const CardConfig& k : card)
    s << " | " << (k.ring_mode ? "ring" : "stream") << " w" << k.bus.width << " p" << k.bus.period_num << "/"
      << k.bus.period_den << " D" << k.bus.decode << " W" << k.bus.target_wait << " I" << k.bus.idle << " mmrbc "
      << k.bus.mmrbc << " S" << k.bus.splits << " L" << k.bus.completer_latency << " bnd " << k.bus.boundary << " LT "
      << k.bus.latency_timer << " ppm " << k.ppm;
  return s.str();
}

Outcome run_case(const Case& c, Engine engine, bool traced) {
  Outcome out;
  Rng rng(c.seed);
  const size_t store = 1 << 18;
  Link to0(store, c.delay), to1(store, c.delay);
  std::array<EventLog, 2> logs;
  std::array<std::unique_ptr<Card>, 2> cards;
  const int n = c.loop ? 1 : 2;
  cards[0] = make_card(engine, c.card[0], c.loop ? to0 : to1, to0, 0);
  if (!c.loop) cards[1] = make_card(engine, c.card[1], to0, to1, 0);
  std::array<Host, 2> hosts;
  Ps now = 0;
  for (int i = 0; i < n; ++i) {
    const auto at = static_cast<size_t>(i);
    logs[at].set_sink(
        [&out, at](std::span<const Event> e) { out.events[at].insert(out.events[at].end(), e.begin(), e.end()); });
    if (traced) cards[at]->set_log(&logs[at]);
    hosts[at].card = cards[at].get();
    hosts[at].c = &c;
    hosts[at].out = &out;
    hosts[at].id = i;
    cards[at]->set_interrupt([&out, at](uint32_t rising) {
      for (uint32_t c = 0; c < kCauses; ++c) out.interrupts[at][c] += rising >> c & 1;
    });
    hosts[at].init(0);
  }
  const auto advance = [&](Ps until) {
    for (int i = 0; i < n; ++i)
      if (until % 3 != 0) cards[static_cast<size_t>(i)]->look_ahead(until);  // it may be told, and need not
    for (bool all = false; !all;) {
      all = true;
      for (int i = 0; i < n; ++i) {
        Card& card = *cards[static_cast<size_t>(i)];
        const Ps limit = c.loop ? until : std::min(until, card.horizon() - 1);
        if (limit > card.ran_until()) card.run(limit, until);
        all = all && card.ran_until() >= until;
      }
    }
    now = until;
  };
  advance(5'000'000);
  for (int step = 0; step < c.steps; ++step) {
    for (int i = 0; i < n; ++i) {
      Host& h = hosts[static_cast<size_t>(i)];
      if (rng.chance(80)) h.send(now, rng, static_cast<int>(rng.below(static_cast<uint64_t>(c.burst) + 1)));
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
  for (int i = 0; i < n; ++i) {
    Host& h = hosts[static_cast<size_t>(i)];
    h.control |= kCtlTxEnable | kCtlRxEnable;
    h.card->post_write(now, kControl, h.control);
  }
  for (int k = 0; k < 40; ++k) {
    for (int i = 0; i < n; ++i) {
      hosts[static_cast<size_t>(i)].receive(now);
      if (hosts[static_cast<size_t>(i)].ring) hosts[static_cast<size_t>(i)].reap_tx();
    }
    advance(now + 10'000'000);
  }
  for (int i = 0; i < n; ++i) {
    const auto at = static_cast<size_t>(i);
    logs[at].flush(now);
    for (uint32_t k = 0; k < kCounters; ++k) out.counters[at][k] = cards[at]->counter(static_cast<Counter>(k));
  }
  return out;
}

}  // namespace awing::test
