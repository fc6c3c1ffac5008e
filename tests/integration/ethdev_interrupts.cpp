// SPDX-License-Identifier: BSD-3-Clause
// Interrupts through DPDK's own API: sleeping on an eventfd until packets come, batching by count and by time, and what
// the send modes do. Usage: ethdev_interrupts DRIVER stream|ring
#include <rte_bus_vdev.h>
#include <rte_eal.h>
#include <rte_ethdev.h>
#include <rte_interrupts.h>
#include <rte_mbuf.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace {

int failures = 0;
#define CHECK(condition, ...)                                    \
  do {                                                           \
    if (!(condition)) {                                          \
      ++failures;                                                \
      std::printf("FAILED line %d: %s  ", __LINE__, #condition); \
      std::printf(__VA_ARGS__);                                  \
      std::printf("\n");                                         \
    }                                                            \
  } while (0)

using Clock = std::chrono::steady_clock;
double ms_since(Clock::time_point t) { return std::chrono::duration<double, std::milli>(Clock::now() - t).count(); }

rte_mempool* pool;

uint16_t open_port(const std::string& args, bool interrupts) {
  static int ports = 0;  // a closed port keeps its name
  const std::string name = "net_awing" + std::to_string(ports++);
  CHECK(rte_vdev_init(name.c_str(), args.c_str()) == 0, "%s", args.c_str());
  uint16_t port = 0;
  CHECK(rte_eth_dev_get_port_by_name(name.c_str(), &port) == 0, "%s", name.c_str());
  rte_eth_conf conf{};
  conf.intr_conf.rxq = interrupts;
  CHECK(rte_eth_dev_configure(port, 1, 1, &conf) == 0, "configure");
  CHECK(rte_eth_rx_queue_setup(port, 0, 512, 0, nullptr, pool) == 0, "receive queue");
  CHECK(rte_eth_tx_queue_setup(port, 0, 256, 0, nullptr) == 0, "send queue");
  CHECK(rte_eth_dev_start(port) == 0, "start");
  CHECK(rte_eth_promiscuous_enable(port) == 0, "promiscuous");
  if (failures > 0) std::exit(1);  // without ports the rest says nothing
  return port;
}

void close_port(uint16_t port) {
  CHECK(rte_eth_dev_stop(port) == 0, "stop");
  CHECK(rte_eth_dev_close(port) == 0, "close");
}

uint64_t xstat(uint16_t port, const char* name) {
  uint64_t id = 0, value = 0;
  CHECK(rte_eth_xstats_get_id_by_name(port, name, &id) == 0, "%s", name);
  CHECK(rte_eth_xstats_get_by_id(port, &id, &value, 1) == 1, "%s", name);
  return value;
}

rte_mbuf* frame(uint32_t number, uint16_t len = 100) {
  rte_mbuf* m = rte_pktmbuf_alloc(pool);
  if (!m) std::abort();
  std::memset(rte_pktmbuf_append(m, len), 0x55, len);
  std::memcpy(rte_pktmbuf_mtod_offset(m, void*, 16), &number, sizeof number);
  return m;
}

/// Sends frames first .. first + n - 1 in one burst and does not poll again.
void send(uint16_t port, uint32_t first, uint16_t n) {
  std::vector<rte_mbuf*> batch;
  for (uint16_t i = 0; i < n; ++i) batch.push_back(frame(first + i));
  CHECK(rte_eth_tx_burst(port, 0, batch.data(), n) == n, "%u frames are taken", n);
}

/// Takes what is there, in order; returns how many.
uint32_t take(uint16_t port, uint32_t& next) {
  uint32_t all = 0;
  rte_mbuf* batch[32];
  while (const uint16_t n = rte_eth_rx_burst(port, 0, batch, 32)) {
    for (uint16_t i = 0; i < n; ++i, ++next) {
      uint32_t number = 0;
      std::memcpy(&number, rte_pktmbuf_mtod_offset(batch[i], void*, 16), sizeof number);
      CHECK(number == next, "frame %u came in place of %u", number, next);
      rte_pktmbuf_free(batch[i]);
    }
    all += n;
    if (failures > 5) break;
  }
  return all;
}

/// Sleeps until the interrupt, `ms` at most; false: it did not come.
bool sleep(int ms) {
  rte_epoll_event event{};
  return rte_epoll_wait(RTE_EPOLL_PER_THREAD, &event, 1, ms) == 1;
}

// --- what is refused ----------------------------------------------------------------------------------------------

void refusals(const std::string& dma) {
  for (const char* bad :
       {"rx_batch=0", "rx_batch=65536,rx_timeout_us=5", "rx_batch=many", "rx_batch=8", "rx_batch=8,rx_timeout_us=0",
        "rx_timeout_us=1000001", "rx_timeout_us=-1", "tx_mode=poll", "tx_mode=", "rx_timeout_us=5us"})
    CHECK(rte_vdev_init("net_awing999", ("wire=loop," + dma + "," + bad).c_str()) != 0, "%s is refused", bad);
  CHECK(rte_vdev_init("net_awing999", ("wire=loop,clock=virtual," + dma).c_str()) == 0, "a port in virtual time");
  uint16_t port = 0;
  CHECK(rte_eth_dev_get_port_by_name("net_awing999", &port) == 0, "its number");
  rte_eth_conf conf{};
  conf.intr_conf.rxq = 1;
  CHECK(rte_eth_dev_configure(port, 1, 1, &conf) == -ENOTSUP, "nobody moves virtual time while the application sleeps");
  rte_eth_dev_close(port);

  port = open_port("wire=loop," + dma, false);
  CHECK(rte_eth_dev_rx_intr_enable(port, 0) == -EINVAL, "not configured for interrupts");
  CHECK(rte_eth_dev_rx_intr_ctl_q(port, 0, RTE_EPOLL_PER_THREAD, RTE_INTR_EVENT_ADD, nullptr) < 0, "no eventfd");
  close_port(port);
}

// --- receive ------------------------------------------------------------------------------------------------------

struct Pair {
  Pair(const std::string& name, const std::string& more) {
    const std::string args = "wire=" + name + ",bus=pcix533," + more;
    a = open_port(args, false);
    b = open_port(args, true);
    CHECK(rte_eth_dev_rx_intr_ctl_q(b, 0, RTE_EPOLL_PER_THREAD, RTE_INTR_EVENT_ADD, nullptr) == 0, "epoll");
  }
  ~Pair() {
    CHECK(rte_eth_dev_rx_intr_ctl_q(b, 0, RTE_EPOLL_PER_THREAD, RTE_INTR_EVENT_DEL, nullptr) == 0, "epoll");
    close_port(a);
    close_port(b);
  }
  /// Sleeps until woken and takes what there is.
  uint32_t wake_and_take(int ms = 2000, bool enabled = false) {
    if (!enabled) CHECK(rte_eth_dev_rx_intr_enable(b, 0) == 0, "enable");
    CHECK(sleep(ms), "woken within %d ms, %u frames so far", ms, next);
    CHECK(rte_eth_dev_rx_intr_disable(b, 0) == 0, "disable");
    return take(b, next);
  }
  uint16_t a, b;
  uint32_t next = 0;  // number of the next frame
};

void sleeps_and_wakes(const std::string& dma) {
  Pair p("wake", dma);
  const uint64_t before = xstat(p.b, "rx_interrupts");
  // Asleep before the packet is sent, after which nobody polls; and the packet there before it falls asleep.
  constexpr uint32_t kRounds = 100;
  double all = 0, longest = 0;
  for (uint32_t i = 0; i < kRounds && failures < 5; ++i) {
    const bool asleep = i % 2 == 0;
    if (asleep) {
      CHECK(rte_eth_dev_rx_intr_enable(p.b, 0) == 0, "enable");
      CHECK(!sleep(0), "nothing has come");
    }
    send(p.a, i, 1);
    if (i % 4 == 1) usleep(3000);
    const Clock::time_point sent = Clock::now();
    CHECK(p.wake_and_take(2000, asleep) == 1, "one frame a wake-up");
    if (asleep) all += ms_since(sent), longest = std::max(longest, ms_since(sent));
  }
  std::printf(
      "from the last touch of the sender to the frame in the sleeper's hands: %.3f ms on average, %.3f at most\n",
      all / (kRounds / 2), longest);
  CHECK(p.next == kRounds, "%u of %u frames", p.next, kRounds);
  CHECK(xstat(p.b, "rx_interrupts") - before == kRounds, "%lu interrupts", xstat(p.b, "rx_interrupts") - before);

  // Enabled twice with the packet there: it is told again, and not after it was taken.
  send(p.a, p.next, 1);
  CHECK(rte_eth_dev_rx_intr_enable(p.b, 0) == 0 && sleep(2000), "told");
  CHECK(rte_eth_dev_rx_intr_enable(p.b, 0) == 0 && sleep(2000), "told again");
  CHECK(take(p.b, p.next) == 1, "taken");
  CHECK(rte_eth_dev_rx_intr_enable(p.b, 0) == 0, "enable");
  CHECK(!sleep(30), "nothing more");
  CHECK(rte_eth_dev_rx_intr_disable(p.b, 0) == 0, "disable");
  // Masked: a packet does not wake.
  send(p.a, p.next, 1);
  CHECK(!sleep(30), "masked");
  CHECK(take(p.b, p.next) == 1, "polling finds it");
}

void races(const std::string& dma) {
  Pair p("race", dma);
  constexpr uint32_t kFrames = 3000;
  std::thread sender([&p] {
    std::mt19937 rng(7);
    for (uint32_t sent = 0; sent < kFrames;) {
      const auto n = static_cast<uint16_t>(std::min<uint32_t>(1 + rng() % 3, kFrames - sent));
      send(p.a, sent, n);
      sent += n;
      if (rng() % 4 == 0) {
        usleep(rng() % 300);
      } else {
        for (unsigned spin = rng() % 3000; spin > 0; --spin) rte_pause();
      }
    }
  });
  // Polls until a poll finds nothing, then relies on the card alone.
  uint32_t sleeps = 0;
  while (p.next < kFrames && failures < 5) {
    p.wake_and_take(5000);
    ++sleeps;
  }
  sender.join();
  rte_eth_stats s{};
  rte_eth_stats_get(p.b, &s);
  CHECK(p.next == kFrames && s.ipackets == kFrames && s.imissed == 0 && s.ierrors == 0, "%u of %u frames", p.next,
        kFrames);
  CHECK(sleeps >= 100, "it slept %u times", sleeps);
  std::printf("%u frames at random times, slept %u times, woken by %lu interrupts\n", p.next, sleeps,
              xstat(p.b, "rx_interrupts"));
}

void batches(const std::string& dma) {
  constexpr uint32_t kBatch = 16, kTimeoutMs = 300;
  Pair p("batch", dma + ",rx_batch=16,rx_timeout_us=300000");
  uint64_t before = xstat(p.b, "rx_interrupts");
  // By count: a batch wakes long before the time-out.
  Clock::time_point start = Clock::now();
  uint32_t got = 0;
  for (int i = 0; i < 4; ++i) {
    send(p.a, p.next, kBatch);
    got += p.wake_and_take();
    CHECK(got == kBatch * (static_cast<uint32_t>(i) + 1), "%u frames after batch %d", got, i);
  }
  CHECK(xstat(p.b, "rx_interrupts") - before == 4, "%lu interrupts for four batches",
        xstat(p.b, "rx_interrupts") - before);
  CHECK(ms_since(start) < 4 * kTimeoutMs, "four batches took %.0f ms", ms_since(start));
  // By time: fewer than a batch wake after the time-out, once.
  before = xstat(p.b, "rx_interrupts");
  start = Clock::now();
  send(p.a, p.next, 5);
  CHECK(p.wake_and_take() == 5, "the rest");
  CHECK(ms_since(start) >= kTimeoutMs - 1, "after %.1f ms, time-out %u ms", ms_since(start), kTimeoutMs);
  CHECK(xstat(p.b, "rx_interrupts") - before == 1, "one interrupt for five frames");
}

void idles_without_work(const std::string& dma) {
  Pair p("idle", dma);
  const auto cpu_ms = [] {
    rusage u{};
    getrusage(RUSAGE_SELF, &u);
    return 1e3 * static_cast<double>(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
           1e-3 * static_cast<double>(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
  };
  CHECK(rte_eth_dev_rx_intr_enable(p.b, 0) == 0, "enable");
  const double before = cpu_ms();
  CHECK(!sleep(1000), "nothing comes");
  const double spent = cpu_ms() - before;
  std::printf("asleep for 1000 ms: %.1f ms of processor time\n", spent);
#if defined(__SANITIZE_ADDRESS__)
  constexpr double kMost = 900;
#else
  constexpr double kMost = 250;
#endif
  CHECK(spent < kMost, "%.0f ms of processor time while asleep for a second", spent);
}

void anew(const std::string& dma) {
  Pair p("anew", dma);
  for (int round = 0; round < 3; ++round) {
    send(p.a, p.next, 3);
    CHECK(p.wake_and_take() == 3, "round %d", round);
    CHECK(rte_eth_dev_rx_intr_enable(p.b, 0) == 0, "enable");
    CHECK(rte_eth_dev_stop(p.b) == 0 && rte_eth_dev_start(p.b) == 0, "stopped while waited for, started again");
    CHECK(rte_eth_promiscuous_enable(p.b) == 0, "promiscuous");
    while (sleep(0)) {
    }
  }
}

// --- send ---------------------------------------------------------------------------------------------------------

/// Sends `count` frames on a loop in virtual time, `polls` further polls after each burst; all must come back.
uint64_t send_all(const std::string& args, uint32_t count, uint16_t burst, int polls) {
  const uint16_t port = open_port("wire=loop,clock=virtual,bus=pcix533," + args, false);
  uint32_t sent = 0, got = 0, idle = 0;
  while (got < count && idle < 200'000) {
    rte_mbuf* batch[32];
    uint16_t n = 0;
    for (; n < burst && sent + n < count; ++n) batch[n] = frame(sent + n, 1000);
    const uint16_t taken = n ? rte_eth_tx_burst(port, 0, batch, n) : uint16_t{0};
    rte_pktmbuf_free_bulk(batch + taken, n - taken);
    sent += taken;
    const uint32_t came = take(port, got);
    for (int i = 0; i < polls; ++i) take(port, got);
    idle = came ? 0 : idle + 1;
  }
  CHECK(sent == count && got == count, "%s: %u of %u sent, %u received", args.c_str(), sent, count, got);
  // Everything is reclaimed: the next calls find the whole ring free.
  for (int i = 0; i < 2000 && rte_eth_tx_descriptor_status(port, 0, 0) != RTE_ETH_TX_DESC_DONE; ++i)
    rte_eth_tx_burst(port, 0, nullptr, 0);
  CHECK(rte_eth_tx_descriptor_status(port, 0, 0) == RTE_ETH_TX_DESC_DONE, "%s: all is reclaimed", args.c_str());
  const uint64_t interrupts = xstat(port, "tx_interrupts");
  close_port(port);
  return interrupts;
}

void send_modes(const std::string& dma) {
  constexpr uint32_t kFrames = 10'000;
  // A host that posts a frame in 12 ns fills the ring: 1000 octets take the line 0.8 us.
  const uint64_t deferred = send_all(dma + ",tx_mode=deferred", kFrames, 32, 0);
  const uint64_t driven = send_all(dma + ",tx_mode=interrupt", kFrames, 32, 0);
  const uint64_t adaptive = send_all(dma + ",tx_mode=adaptive", kFrames, 32, 0);
  // A host that sends less than the line takes never fills it: adaptive has no interrupt then.
  const uint64_t slow_driven = send_all(dma + ",tx_mode=interrupt", 1000, 1, 40);
  const uint64_t slow_adaptive = send_all(dma + ",tx_mode=adaptive", 1000, 1, 40);
  std::printf(
      "send interrupts for %u frames: deferred %lu, interrupt %lu, adaptive %lu; slow host, 1000 frames: "
      "interrupt %lu, adaptive %lu\n",
      kFrames, deferred, driven, adaptive, slow_driven, slow_adaptive);
  CHECK(deferred == 0, "deferred has none");
  CHECK(driven > 50, "interrupt-driven lives by them");
  CHECK(adaptive > 10 && adaptive < driven, "adaptive has fewer");
  CHECK(slow_driven > 50 && slow_adaptive == 0, "adaptive has none while the ring is nearly empty");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: ethdev_interrupts DRIVER stream|ring\n");
    return 2;
  }
  const std::string prefix = "--file-prefix=awingirq" + std::to_string(getpid());
  std::vector<const char*> eal{
      argv[0], "--no-huge", "-m", "256", "--no-pci", "-l", "0", prefix.c_str(), "--log-level=lib.eal:error",
      "-d",    argv[1]};
  if (rte_eal_init(static_cast<int>(eal.size()), const_cast<char**>(eal.data())) < 0) return 1;
  pool = rte_pktmbuf_pool_create("pool", 8191, 64, 0, 2304, 0);
  if (!pool) return 1;
  const std::string dma = std::string("dma=") + argv[2];
  refusals(dma);
  sleeps_and_wakes(dma);
  races(dma);
  batches(dma);
  idles_without_work(dma);
  anew(dma);
  send_modes(dma);
  rte_eal_cleanup();
  if (failures == 0) std::printf("ok ethdev_interrupts %s\n", argv[2]);
  return failures ? 1 : 0;
}
