// SPDX-License-Identifier: BSD-3-Clause
#include "domain.h"

#include <time.h>
#include <x86intrin.h>

#include <algorithm>
#include <bit>
#include <map>
#include <mutex>

#include "fast.h"
#include "fast_oc48.h"
#include "reference.h"
#include "reference_oc48.h"

namespace awing::hw {

namespace {
/// clock=tsc: a call that lets time pass returns after about this much of the host's time, in steps of kStep.
constexpr Ps kMostWork = 1 * kPsPerMs;
constexpr Ps kStep = 100 * kPsPerUs;
/// clock=tsc: cards further behind than this, which do not gain on the clock, let the clock slip.
constexpr Ps kMostBehind = 5 * kPsPerMs;
/// clock=tsc: polls closer to each other than this leave the cards where they are; a burst is worth the work.
constexpr Ps kLeastPerPoll = 4 * kPsPerUs;
/// Rest of a driven domain while something happens, and the longest one.
constexpr Ps kLeastRest = 20 * kPsPerUs, kMostRest = 1 * kPsPerMs;
/// Line time of 12.5 kB: store_bytes() has room for that on top of what a FIFO holds.
constexpr Ps kStride = 10 * kPsPerUs;
/// Step while a register read is on its way: by up to so much later the host goes on (programs that read a clock in a
/// loop would otherwise spend their time on steps of a bus clock).
constexpr Ps kReadStep = 50 * kPsPerNs;

std::mutex registry_lock;
std::map<std::string, std::weak_ptr<Domain>>& registry() {
  static std::map<std::string, std::weak_ptr<Domain>> wires;
  return wires;
}

/// Octets a cable must hold: what the sender's FIFO may hold and what flies. Frames that wait in the receiver's FIFO
/// lie there too, until it must move them away. No more than that, so that it stays in the host's cache.
size_t store_bytes(const CardConfig& sender, Ps delay) {
  const auto flying = static_cast<size_t>(delay / 800);  // one octet each 0.8 ns
  const uint32_t longest = sender.kind == CardKind::kOc48 ? kMaxFrameOc48 : kMaxFrameAny;
  return std::bit_ceil(sender.tx_fifo + flying + kStride / 800 + longest);
}
}  // namespace

std::unique_ptr<Card> make_card(Engine engine, const CardConfig& config, Link& tx, Link& rx, Ps start) {
  if (config.kind == CardKind::kOc48) {
    if (engine == Engine::kReference) return std::make_unique<ReferenceOc48>(config, tx, rx, start);
    return std::make_unique<FastOc48>(config, tx, rx, start);
  }
  if (engine == Engine::kReference) return std::make_unique<ReferenceCard>(config, tx, rx, start);
  return std::make_unique<FastCard>(config, tx, rx, start);
}

Domain::Domain(const PortConfig& first)
    : wire_(first.wire),
      loop_(first.wire == "loop"),
      kind_(first.card.kind),
      clock_(first.clock),
      profile_(first.profile),
      cable_delay_(first.cable_delay),
      tsc_start_(__rdtsc()),
      tick_(first.tsc_hz ? static_cast<uint64_t>((static_cast<U128>(kPsPerSec) << 32) / first.tsc_hz) : 0) {
  for (Seat& seat : seats_) seat.rx = std::make_unique<Link>(store_bytes(first.card, cable_delay_), cable_delay_);
}

tl::expected<int, std::string> Domain::join(const PortConfig& config) {
  const std::lock_guard guard(*this);
  const auto refuse = [](std::string why) { return tl::make_unexpected(std::move(why)); };
  const int index = seats_[0].card ? 1 : 0;
  Seat& seat = seats_[index];
  if (seat.card || (index == 1 && (loop() || pcap_)))
    return refuse("wire=" + wire_ + ": both ends are taken; use another name");
  if (config.card.kind != kind_)
    return refuse("wire=" + wire_ + ": card= differs from that of the port at the other end");
  if (config.clock != clock_)
    return refuse("wire=" + wire_ + ": clock= differs from that of the port at the other end");
  if (config.profile != profile_)
    return refuse("wire=" + wire_ + ": profile= differs from that of the port at the other end");
  if (config.cable_delay != cable_delay_)
    return refuse("wire=" + wire_ + ": cable_delay_ns= differs from that of the port at the other end");
  Ps delay = cable_delay_;
  seat.path.reset();
  seat.sonet_path.reset();
  seat.out.reset();
  if (!config.path.empty() && kind_ == CardKind::kOc48) {
    auto path = SonetPath::from_file(config.path);
    if (!path) return refuse(path.error());
    seat.sonet_path = std::move(*path);
    seat.out = std::make_unique<Link>(store_bytes(config.card, 0), 0);
    delay += seat.sonet_path->config().delay;
  } else if (!config.path.empty()) {
    auto path = Path::from_file(config.path);
    if (!path) return refuse(path.error());
    seat.path = std::move(*path);
    seat.out = std::make_unique<Link>(store_bytes(config.card, 0), 0);
  }
  if (index == 0 && wire_.starts_with("pcap:")) {
    auto pcap = PcapWire::from_spec(wire_.substr(5));
    if (!pcap) return refuse(pcap.error());
    pcap_ = std::move(*pcap);
  }
  if (!config.trace.empty()) {
    auto vcd = VcdWriter::open(config.trace);
    if (!vcd) return refuse(vcd.error());
    seat.vcd = std::move(*vcd);
    seat.log.set_sink([writer = seat.vcd.get()](std::span<const Event> events) { writer->consume(events); });
  }
  seat.traced = !config.trace.empty();
  for (Seat& s : seats_) s.rx->grow(store_bytes(config.card, delay));
  peer(index).rx->set_delay(delay);
  peer(index).rx->set_line(config.card.ppm, sonet_format(config.card.sonet));
  if (!loop() && peer(index).card) peer(index).card->new_sender();
  seat.card = make_card(config.engine, config.card, sent_link(index), *seat.rx, now_);
  if (seat.traced) seat.card->set_log(&seat.log);
  update_links();
  return index;
}

void Domain::leave(int index) {
  const std::lock_guard guard(*this);
  Seat& seat = seats_[index];
  if (seat.traced) seat.log.flush(now_);
  seat.card.reset();
  for (Link& rx = *seat.rx; !rx.empty(); rx.pop()) ++peer(index).unconnected;
  seat.rx->release(seat.rx->next_pos());
  seat.vcd.reset();
  seat.path.reset();
  seat.sonet_path.reset();
  update_links();
}

void Domain::lock() {
  while (!try_lock()) _mm_pause();
}

Ps Domain::host_now() {
  if (clock_ == ClockMode::kVirtual) return host_.load(std::memory_order_relaxed);
  const uint64_t ticks = __rdtsc() - tsc_start_;
  return static_cast<Ps>((static_cast<U128>(ticks) * tick_) >> 32) - slipped_.load(std::memory_order_relaxed);
}

void Domain::doorbell(int index, bool tx, uint32_t value) {
  Mailbox& box = tx ? seats_[index].tx_bell : seats_[index].rx_bell;
  const uint32_t head = box.head.load(std::memory_order_relaxed);
  while (head - box.tail.load(std::memory_order_acquire) == Mailbox::kSize) poll(index, 0, 0);
  if (clock_ == ClockMode::kVirtual) host_.fetch_add(profile_.register_write, std::memory_order_relaxed);
  box.entries[head % Mailbox::kSize] = {host_now(), value};
  box.head.store(head + 1, std::memory_order_release);
}

void Domain::collect_doorbells() {
  for (Seat& seat : seats_) {
    if (!seat.card) continue;
    // Both boxes in order of time, so that the card sees what the host did in the order it did it.
    for (;;) {
      Mailbox* first = nullptr;
      for (Mailbox* box : {&seat.tx_bell, &seat.rx_bell}) {
        const uint32_t tail = box->tail.load(std::memory_order_relaxed);
        if (tail == box->head.load(std::memory_order_acquire)) continue;
        if (!first || box->entries[tail % Mailbox::kSize].t <
                          first->entries[first->tail.load(std::memory_order_relaxed) % Mailbox::kSize].t)
          first = box;
      }
      if (!first) break;
      const uint32_t tail = first->tail.load(std::memory_order_relaxed);
      const Mailbox::Entry& entry = first->entries[tail % Mailbox::kSize];
      // The clock may have slipped since the bell rang: nothing the host did lies ahead of its clock.
      const Ps t = entry.t > now_ + kMostBehind ? std::min(entry.t, host_now()) : entry.t;
      seat.card->post_write(t, first == &seat.tx_bell ? kTxProducer : kRxConsumer, entry.value);
      first->tail.store(tail + 1, std::memory_order_release);
    }
  }
}

void Domain::write(int index, uint32_t reg, uint32_t value) {
  const std::lock_guard guard(*this);
  if (clock_ == ClockMode::kVirtual) host_.fetch_add(profile_.register_write, std::memory_order_relaxed);
  collect_doorbells();
  seats_[index].card->post_write(host_now(), reg, value);
}

uint32_t Domain::read(int index, uint32_t reg) {
  const std::lock_guard guard(*this);
  collect_doorbells();
  Card& card = *seats_[index].card;
  catch_up(host_now());
  card.post_read(now_, reg);
  while (!card.read_done()) advance(now_ + kReadStep);
  if (clock_ == ClockMode::kVirtual) host_.store(now_, std::memory_order_relaxed);
  return card.read_value();
}

void Domain::poll(int, uint32_t sent, uint32_t received) {
  if (clock_ == ClockMode::kVirtual)
    host_.fetch_add(profile_.poll + profile_.tx_packet * sent + profile_.rx_packet * received,
                    std::memory_order_relaxed);
  const Ps target = host_now();
  if (clock_ == ClockMode::kTsc && target - reached_.load(std::memory_order_relaxed) < kLeastPerPoll) return;
  // In virtual time every poll counts: one that went by because another thread reads a counter could not be repeated.
  if (clock_ == ClockMode::kVirtual)
    lock();
  else if (!try_lock())
    return;
  collect_doorbells();
  catch_up(target);
  unlock();
}

/// Lets the cards come up to the host, or near.
void Domain::catch_up(Ps target) {
  if (clock_ == ClockMode::kVirtual) return advance(target);
  const Ps from = now_, begun = host_now();
  Ps worked = 0;
  while (now_ < target && worked < kMostWork) {
    advance(target - now_ <= kStep || idle() ? target : now_ + kStep);
    if (now_ < target) worked = host_now() - begun;
  }
  // What the host does now reaches cards that are behind only when they get there: a host too slow for real time
  // would wait longer and longer. So its clock slips, and says so.
  Ps behind = std::max<Ps>(0, target - now_), slipped = slipped_.load(std::memory_order_relaxed);
  if (behind > kMostBehind && now_ - from < 2 * worked) {
    slipped += host_now() - now_ - kMostBehind;
    behind = kMostBehind;
    slipped_.store(slipped, std::memory_order_relaxed);
    for (Seat& seat : seats_)
      if (seat.card) seat.card->host_slipped(now_ + behind);
  }
  lag_.store(slipped + behind, std::memory_order_relaxed);
}

/// Nothing moves, on cards or wires.
bool Domain::idle() {
  if (pcap_) return false;
  for (int i = 0; i < 2; ++i) {
    Seat& seat = seats_[i];
    if (seat.card && (seat.path || !seat.card->idle())) return false;
  }
  return true;
}

void Domain::set_interrupt(int index, std::function<void(uint32_t)> interrupt) {
  lock();
  seats_[index].card->set_interrupt(std::move(interrupt));
  unlock();
}

void Domain::interrupted() {
  if (clock_ == ClockMode::kVirtual) host_.fetch_add(profile_.interrupt, std::memory_order_relaxed);
}

Ps Domain::drive() {
  poll(0, 0, 0);
  if (!try_lock()) return kLeastRest;  // somebody else drives
  uint64_t activity = 0;
  Ps due = kForever;
  for (const Seat& seat : seats_) {
    if (!seat.card) continue;
    for (uint32_t c = 0; c < kCounters; ++c) activity += seat.card->counter(static_cast<Counter>(c));
    if (const Ps at = seat.card->next_interrupt(); at < kForever) due = std::min(due, at - now_);
  }
  rest_ = activity != activity_ ? kLeastRest : std::clamp(2 * rest_, kLeastRest, kMostRest);
  activity_ = activity;
  const Ps rest = std::max(kLeastPerPoll, std::min(rest_, due));
  unlock();
  return rest;
}

/// Moves what card `index` has sent towards the other end.
void Domain::carry(int index, Ps until) {
  Seat& seat = seats_[index];
  if (seat.path) seat.path->advance(*seat.out, *peer(index).rx);
  if (seat.sonet_path) seat.sonet_path->advance(*seat.out, *peer(index).rx);
  if (pcap_) {
    if (!pcap_started_ && seat.card->receiving()) {
      pcap_->start(now_);
      pcap_started_ = true;
    }
    pcap_->consume(*seats_[1].rx);
    pcap_->advance(until, *seats_[0].rx);
  } else if (!peer(index).card) {
    Link& nowhere = *peer(index).rx;
    while (nowhere.next_sonet()) nowhere.pop_sonet();
    while (!nowhere.empty() && nowhere.front().start <= until) {
      nowhere.release(nowhere.front().pos + nowhere.front().len);
      nowhere.pop();
      ++seat.unconnected;
    }
  }
}

/// In strides, unless nothing moves: a card that hears nothing may run ahead of the one that hears it, by no more than
/// the cable can hold.
void Domain::advance(Ps until) {
  if (now_ < until && idle()) stride(until);
  while (now_ < until) stride(std::min(until, now_ + kStride));
}

void Domain::stride(Ps until) {
  if (!loop() && !pcap_)
    for (int i = 0; i < 2; ++i)
      if (!seats_[1 - i].card) seats_[i].rx->set_known_until(until + 1);
  if (pcap_) carry(0, until);
  for (Seat& seat : seats_)
    if (seat.card) seat.card->look_ahead(until);
  for (bool all = false; !all;) {
    all = true;
    for (int i = 0; i < 2; ++i) {
      Seat& seat = seats_[i];
      if (!seat.card) continue;
      // On a plain loop the card hears itself: its own order of events keeps cause before effect.
      const bool self = loop() && !seat.out;
      const Ps limit = self ? until : std::min(until, seat.card->horizon() - 1);
      if (limit > seat.card->ran_until()) seat.card->run(limit, until);
      carry(i, until);
      all &= seat.card->ran_until() >= until;
    }
  }
  now_ = until;
  reached_.store(now_, std::memory_order_relaxed);
  update_links();
  for (Seat& seat : seats_)
    if (seat.card && seat.traced) seat.log.flush(now_);
}

void Domain::update_links() {
  for (int i = 0; i < 2; ++i) {
    Seat& seat = seats_[i];
    if (!seat.card) continue;
    const bool far = pcap_ || (peer(i).card && peer(i).card->transmitting());
    const bool up = seat.card->transmitting() && far && seat.card->line_up();
    seat.card->set_link_up(up);
    seat.link_up.store(up, std::memory_order_relaxed);
  }
}

uint64_t Domain::counter(int index, Counter c) {
  const std::lock_guard guard(*this);
  return seats_[index].card->counter(c);
}

std::vector<std::pair<std::string, uint64_t>> Domain::wire_counters(int index) {
  const std::lock_guard guard(*this);
  Seat& seat = seats_[index];
  std::vector<std::pair<std::string, uint64_t>> all{{"wire_unconnected", seat.unconnected}};
  const auto add = [&all](const char* prefix, const auto& counters) {
    for (const auto& [name, value] : counters) all.emplace_back(prefix + name, value);
  };
  if (seat.path) add("path_", seat.path->counters());
  if (seat.sonet_path) add("path_", seat.sonet_path->counters());
  if (pcap_) add("pcap_", pcap_->counters());
  return all;
}

std::string Domain::complaint(int index) {
  const std::lock_guard guard(*this);
  Seat& seat = seats_[index];
  if (seat.vcd) seat.vcd->flush();
  if (pcap_) pcap_->flush();
  std::string all = seat.vcd ? seat.vcd->error() : "";
  if (pcap_ && !pcap_->warning().empty()) all += (all.empty() ? "" : "; ") + pcap_->warning();
  return all;
}

std::pair<uint64_t, uint64_t> Domain::trace_hash(int index) {
  const std::lock_guard guard(*this);
  Seat& seat = seats_[index];
  if (seat.traced) seat.log.flush(now_);
  return {seat.log.hash(), seat.log.count()};
}

uint64_t measured_tsc_hz() {
  struct Pair {
    int64_t ns;
    uint64_t ticks;
  };
  // Of several looks at both clocks the one that took least time.
  const auto look = [] {
    Pair best{};
    uint64_t least = UINT64_MAX;
    for (int i = 0; i < 20; ++i) {
      const uint64_t before = __rdtsc();
      timespec t{};
      clock_gettime(CLOCK_MONOTONIC, &t);
      const uint64_t took = __rdtsc() - before;
      if (took < least) least = took, best = {t.tv_sec * 1'000'000'000 + t.tv_nsec, before + took / 2};
    }
    return best;
  };
  static const uint64_t hz = [&look] {
    const Pair a = look();
    const timespec rest{0, 20'000'000};
    nanosleep(&rest, nullptr);
    const Pair b = look();
    return static_cast<uint64_t>(static_cast<U128>(b.ticks - a.ticks) * 1'000'000'000 /
                                 static_cast<uint64_t>(b.ns - a.ns));
  }();
  return hz;
}

// --- Port ---------------------------------------------------------------------------------------------------------

tl::expected<std::unique_ptr<Port>, std::string> Port::open(const PortConfig& config) {
  if (auto ok = check(config); !ok) return tl::make_unexpected(ok.error());
  if (config.clock == ClockMode::kTsc && config.tsc_hz == 0)
    return tl::make_unexpected("clock=tsc needs the rate of the time-stamp counter");
  const bool shared = config.wire != "loop" && !config.wire.starts_with("pcap:");
  const std::lock_guard guard(registry_lock);
  std::shared_ptr<Domain> domain = shared ? registry()[config.wire].lock() : nullptr;
  if (!domain) domain = std::make_shared<Domain>(config);
  auto index = domain->join(config);
  if (!index) return tl::make_unexpected(index.error());
  if (shared) registry()[config.wire] = domain;
  std::unique_ptr<Port> port(new Port(config));
  port->domain_ = std::move(domain);
  port->index_ = *index;
  return port;
}

Port::~Port() {
  if (domain_) domain_->leave(index_);
}

void Port::write(uint32_t reg, uint32_t value) { domain_->write(index_, reg, value); }
uint32_t Port::read(uint32_t reg) { return domain_->read(index_, reg); }
uint64_t Port::counter(Counter c) { return domain_->counter(index_, c); }
void Port::tx_doorbell(uint32_t value) { domain_->doorbell(index_, true, value); }
void Port::rx_doorbell(uint32_t value) { domain_->doorbell(index_, false, value); }
void Port::poll(uint32_t sent, uint32_t received) { domain_->poll(index_, sent, received); }
void Port::set_interrupt(std::function<void(uint32_t)> interrupt) {
  domain_->set_interrupt(index_, std::move(interrupt));
}
void Port::interrupted() { domain_->interrupted(); }
Ps Port::drive() { return domain_->drive(); }
Ps Port::now() const { return domain_->now(); }
Ps Port::lag() const { return domain_->lag(); }
bool Port::link_up() const { return domain_->link_up(index_); }
std::vector<std::pair<std::string, uint64_t>> Port::wire_counters() const { return domain_->wire_counters(index_); }
std::string Port::complaint() const { return domain_->complaint(index_); }
std::pair<uint64_t, uint64_t> Port::trace_hash() const { return domain_->trace_hash(index_); }

}  // namespace awing::hw
