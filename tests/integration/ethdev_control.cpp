// SPDX-License-Identifier: BSD-3-Clause
// The control side of the driver through DPDK's API: queues set up anew, odd ring sizes, chained packets, empty pools,
// bad requests, ports that join late. Every mbuf comes back, every packet ends in one counter.
// Usage: ethdev_control DRIVER stream|ring
#include <rte_bus_vdev.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <rte_mbuf_dyn.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
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

constexpr unsigned kMbufs = 16383;
rte_mempool* pool;
std::string dma;

uint64_t xstat(uint16_t port, const char* name) {
  uint64_t id = 0, value = 0;
  CHECK(rte_eth_xstats_get_id_by_name(port, name, &id) == 0, "%s", name);
  CHECK(rte_eth_xstats_get_by_id(port, &id, &value, 1) == 1, "%s", name);
  return value;
}

uint16_t probe(const std::string& name, const std::string& args) {
  CHECK(rte_vdev_init(name.c_str(), (args + ",dma=" + dma).c_str()) == 0, "%s", args.c_str());
  uint16_t port = 0;
  CHECK(rte_eth_dev_get_port_by_name(name.c_str(), &port) == 0, "%s", name.c_str());
  return port;
}

void start(uint16_t port, uint16_t descriptors = 512, uint64_t tx_offloads = 0, rte_mempool* rx_pool = pool) {
  rte_eth_conf conf{};
  conf.txmode.offloads = tx_offloads;
  CHECK(rte_eth_dev_configure(port, 1, 1, &conf) == 0, "configure");
  CHECK(rte_eth_rx_queue_setup(port, 0, descriptors, 0, nullptr, rx_pool) == 0, "%u descriptors", descriptors);
  CHECK(rte_eth_tx_queue_setup(port, 0, descriptors, 0, nullptr) == 0, "%u descriptors", descriptors);
  CHECK(rte_eth_dev_start(port) == 0, "start");
  CHECK(rte_eth_promiscuous_enable(port) == 0, "promiscuous");
}

void close_port(uint16_t port) {
  char name[RTE_ETH_NAME_MAX_LEN] = "";
  CHECK(rte_eth_dev_get_name_by_port(port, name) == 0, "port %u", port);
  CHECK(rte_eth_dev_stop(port) == 0, "stop");
  CHECK(rte_eth_dev_close(port) == 0, "close");
  CHECK(rte_vdev_uninit(name) == 0, "a closed port is removed");
}

void all_came_back() {
  CHECK(rte_mempool_avail_count(pool) == kMbufs, "%u of %u mbufs came back", rte_mempool_avail_count(pool), kMbufs);
}

rte_mbuf* frame(uint32_t number, uint32_t len, int segments = 1) {
  rte_mbuf* first = nullptr;
  for (int s = 0; s < segments; ++s) {
    rte_mbuf* m = rte_pktmbuf_alloc(pool);
    if (!m) std::abort();
    const uint32_t from = len * static_cast<uint32_t>(s) / static_cast<uint32_t>(segments);
    const uint32_t to = len * static_cast<uint32_t>(s + 1) / static_cast<uint32_t>(segments);
    auto* data = reinterpret_cast<uint8_t*>(rte_pktmbuf_append(m, static_cast<uint16_t>(to - from)));
    for (uint32_t i = from; i < to; ++i) data[i - from] = static_cast<uint8_t>(number + 13 * i);
    if (first)
      rte_pktmbuf_chain(first, m);
    else
      first = m;
  }
  return first;
}

/// Sends frames that carry their numbers and receives them on the same port; `drain`: until all came back.
void traffic(uint16_t port, uint32_t count, uint32_t len, int segments = 1, bool drain = true) {
  uint32_t sent = 0, got = 0, idle = 0;
  while ((drain ? got : sent) < count && idle < 100'000 && failures < 5) {
    rte_mbuf* batch[32];
    uint16_t n = 0;
    for (; n < 32 && sent + n < count; ++n) batch[n] = frame(sent + n, len, segments);
    const uint16_t taken = n ? rte_eth_tx_burst(port, 0, batch, n) : uint16_t{0};
    rte_pktmbuf_free_bulk(batch + taken, n - taken);
    sent += taken;
    const uint16_t came = rte_eth_rx_burst(port, 0, batch, 32);
    idle = came || taken ? 0 : idle + 1;
    for (uint16_t i = 0; i < came; ++i, ++got) {
      const auto* data = rte_pktmbuf_mtod(batch[i], const uint8_t*);
      CHECK(batch[i]->pkt_len == len && batch[i]->nb_segs == 1, "frame %u has %u octets", got, batch[i]->pkt_len);
      bool whole = true;
      for (uint32_t k = 0; k < len; ++k) whole &= data[k] == static_cast<uint8_t>(got + 13 * k);
      CHECK(whole, "frame %u is not what was sent", got);
      rte_pktmbuf_free(batch[i]);
    }
  }
  CHECK(sent == count && (!drain || got == count), "%u of %u sent, %u received", sent, count, got);
}

/// Every packet is in one counter, none is in flight.
void balanced(uint16_t port, uint64_t accepted) {
  rte_eth_stats s{};
  CHECK(rte_eth_stats_get(port, &s) == 0, "statistics");
  CHECK(s.opackets == accepted, "%lu of %lu sent packets are counted", s.opackets, accepted);
  CHECK(xstat(port, "tx_in_flight") == 0, "%lu in flight", xstat(port, "tx_in_flight"));
  CHECK(s.opackets == xstat(port, "tx_line_packets") + xstat(port, "tx_flushed"), "accepted = sent + flushed");
  CHECK(xstat(port, "rx_in_flight") == 0, "%lu in flight", xstat(port, "rx_in_flight"));
  CHECK(xstat(port, "tx_line_packets") == s.ipackets + s.imissed + s.ierrors + xstat(port, "rx_filtered"),
        "on the loop %lu, received %lu, missed %lu", xstat(port, "tx_line_packets"), s.ipackets, s.imissed);
}

// --- the cases ----------------------------------------------------------------------------------------------------

/// Stopped in the middle of traffic, set up anew with queues of other sizes (not powers of two), again and again.
void queues_anew(uint16_t port) {
  uint64_t accepted = 0;
  for (const uint16_t descriptors : {512, 192, 576, 64, 4096, 128}) {
    start(port, descriptors);
    const uint32_t whole = 4u * descriptors + 2000, half = 300;  // the rings wrap at least three times
    traffic(port, whole, 1000);
    traffic(port, half, 100, 1, false);
    CHECK(rte_eth_dev_stop(port) == 0, "stop");
    balanced(port, accepted += whole + half);
    rte_eth_rxq_info info{};
    CHECK(rte_eth_rx_queue_info_get(port, 0, &info) == 0 && info.nb_desc >= descriptors, "%u descriptors",
          info.nb_desc);
  }
  CHECK(rte_eth_stats_reset(port) == 0, "reset");
  balanced(port, 0);
}

/// The default of many programs: quick release wanted, and chains sent all the same.
void chains(uint16_t port) {
  const uint64_t quick = dma == "stream" ? RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE : 0;
  start(port, 512, RTE_ETH_TX_OFFLOAD_MULTI_SEGS | quick);
  traffic(port, 4000, 1000, 3);
  CHECK(rte_eth_dev_stop(port) == 0, "stop");
  CHECK(rte_mempool_avail_count(pool) == kMbufs, "%u of %u mbufs", rte_mempool_avail_count(pool), kMbufs);

  start(port, 64, RTE_ETH_TX_OFFLOAD_MULTI_SEGS | quick);
  rte_eth_stats before{}, after{};
  rte_eth_stats_get(port, &before);
  rte_mbuf* m = frame(0, 1000, 100);  // more pieces than a ring of 64 can ever take
  CHECK(rte_eth_tx_burst(port, 0, &m, 1) == 1, "taken: sent from a stream, refused by a ring, never blocking it");
  rte_eth_stats_get(port, &after);
  CHECK(after.opackets + after.oerrors == before.opackets + before.oerrors + 1, "counted once");
  for (int i = 0; i < 1000; ++i)
    if (rte_eth_rx_burst(port, 0, &m, 1)) rte_pktmbuf_free(m);
  CHECK(rte_eth_dev_stop(port) == 0, "stop");
}

/// The application keeps what it receives until the pool is empty: nothing is lost, and the last buffers are used too.
void empty_pool(uint16_t port) {
  rte_mempool* small = rte_pktmbuf_pool_create("small", 127, 0, 0, RTE_MBUF_DEFAULT_BUF_SIZE, 0);
  start(port, 64, 0, small);
  for (uint32_t sent = 0; sent < 200;) {
    rte_mbuf* m = frame(sent, 60);
    if (rte_eth_tx_burst(port, 0, &m, 1))
      ++sent;
    else
      rte_pktmbuf_free(m);
  }
  std::vector<rte_mbuf*> kept;
  rte_mbuf* batch[32];
  rte_eth_stats s{};
  for (int i = 0; i < 20'000 && s.rx_nombuf == 0; ++i) {
    kept.insert(kept.end(), batch, batch + rte_eth_rx_burst(port, 0, batch, 32));
    rte_eth_stats_get(port, &s);
  }
  CHECK(s.rx_nombuf > 0, "the empty pool is counted");
  for (int i = 0; i < 100; ++i) kept.insert(kept.end(), batch, batch + rte_eth_rx_burst(port, 0, batch, 32));
  CHECK(rte_mempool_avail_count(small) == 0, "%u buffers were not used", rte_mempool_avail_count(small));
  size_t got = kept.size();
  rte_pktmbuf_free_bulk(kept.data(), static_cast<unsigned>(kept.size()));
  for (int i = 0; i < 20'000 && got < 200; ++i) {
    const uint16_t n = rte_eth_rx_burst(port, 0, batch, 32);
    got += n;
    rte_pktmbuf_free_bulk(batch, n);
  }
  CHECK(got == 200, "%zu of 200 packets", got);
  CHECK(rte_eth_dev_stop(port) == 0, "stop");
  CHECK(rte_eth_dev_rx_queue_stop(port, 1) != 0, "there is no queue 1");
  start(port);  // lets go of the small pool
  CHECK(rte_mempool_avail_count(small) == 127, "%u of 127", rte_mempool_avail_count(small));
  CHECK(rte_eth_dev_stop(port) == 0, "stop");
  rte_mempool_free(small);
}

/// Requests that the card could not carry out: told by tx_prepare, else dropped and counted.
void bad_requests(uint16_t port) {
  start(port);
  const int field = rte_mbuf_dynfield_lookup("awing_dynfield_tx_stamp", nullptr);
  const int bit = rte_mbuf_dynflag_lookup("awing_dynflag_tx_stamp", nullptr);
  CHECK(field >= 0 && bit >= 0, "the fields are registered");
  const struct {
    uint16_t stamp, csum;
    bool good;
  } kOffsets[] = {{92, 0xFFFF, true}, {94, 0xFFFF, false}, {93, 0xFFFF, false}, {40, 98, true},
                  {40, 100, false},   {40, 99, false},     {65534, 50, false}};
  uint64_t bad = 0;
  rte_eth_stats before{}, after{};
  rte_eth_stats_get(port, &before);
  for (const auto& o : kOffsets) {
    rte_mbuf* two[2] = {frame(0, 100), frame(1, 100)};
    auto* offsets = RTE_MBUF_DYNFIELD(two[1], field, uint16_t*);
    offsets[0] = o.stamp;
    offsets[1] = o.csum;
    two[1]->ol_flags |= uint64_t{1} << bit;
    CHECK(rte_eth_tx_prepare(port, 0, two, 2) == (o.good ? 2 : 1), "stamp %u checksum %u", o.stamp, o.csum);
    CHECK(o.good || rte_errno == EINVAL, "errno %d", rte_errno);
    CHECK(rte_eth_tx_burst(port, 0, two, 2) == 2, "taken");
    bad += !o.good;
  }
  rte_mbuf* nothing = rte_pktmbuf_alloc(pool);
  CHECK(rte_eth_tx_prepare(port, 0, &nothing, 1) == 0, "a packet of no octets");
  CHECK(rte_eth_tx_burst(port, 0, &nothing, 1) == 1, "taken");
  ++bad;
  rte_eth_stats_get(port, &after);
  CHECK(after.oerrors - before.oerrors == bad, "%lu of %lu bad ones counted", after.oerrors - before.oerrors, bad);
  CHECK(after.opackets - before.opackets == 2 * std::size(kOffsets) + 1 - bad, "the others were sent");
  CHECK(rte_eth_dev_stop(port) == 0, "stop");
}

uint64_t clock_of(uint16_t port) {
  uint64_t ns = 0;
  CHECK(rte_eth_read_clock(port, &ns) == 0, "clock");
  return ns;
}

/// Two cards on one cable in real time tell the same time, whenever the second one came.
void late_join() {
  const uint16_t a = probe("net_awing_early", "wire=late");
  start(a);
  std::this_thread::sleep_for(std::chrono::milliseconds(1300));
  const uint16_t b = probe("net_awing_late", "wire=late");
  start(b);
  const uint64_t t0 = clock_of(a), t1 = clock_of(b), t2 = clock_of(a);
  CHECK(t0 < t1 && t1 < t2, "early %lu, late %lu, early %lu", t0, t1, t2);
  const auto unix_s = static_cast<uint64_t>(std::time(nullptr));
  CHECK(t1 / 1'000'000'000 + 2 >= unix_s && t1 / 1'000'000'000 <= unix_s + 2, "%lu s, the host's clock %lu s",
        t1 / 1'000'000'000, unix_s);
  close_port(a);
  close_port(b);
}

/// The trace of a fixed run in virtual time, without the values written to registers: addresses are among them.
std::string trace_of_run() {
  const std::string file = "/tmp/awing-trace-" + std::to_string(getpid()) + ".vcd";
  const uint16_t port = probe("net_awing_run", "wire=loop,clock=virtual,bus=pcix533,trace=" + file);
  start(port);
  traffic(port, 4000, 200);
  close_port(port);
  std::ifstream in(file);
  std::string trace, value = "?";
  for (std::string line; std::getline(in, line);) {
    if (const size_t at = line.find(" reg_value $end"); at != std::string::npos) value = line.substr(at - 2, 2);
    if (!line.ends_with(value)) trace += line + "\n";
  }
  std::remove(file.c_str());
  CHECK(value != "?" && trace.size() > 100'000, "%zu octets of trace", trace.size());
  return trace;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: ethdev_control DRIVER stream|ring\n");
    return 2;
  }
  dma = argv[2];
  const std::string prefix = "--file-prefix=awingctl" + std::to_string(getpid());
  std::vector<const char*> eal{
      argv[0], "--no-huge", "-m", "256", "--no-pci", "-l", "0", prefix.c_str(), "--log-level=lib.eal:error",
      "-d",    argv[1]};
  if (rte_eal_init(static_cast<int>(eal.size()), const_cast<char**>(eal.data())) < 0) return 1;
  pool = rte_pktmbuf_pool_create("pool", kMbufs, 64, 0, RTE_MBUF_DEFAULT_BUF_SIZE, 0);
  if (!pool) return 1;
  const uint16_t port = probe("net_awing0", "wire=loop,clock=virtual,bus=pcix533");
  queues_anew(port);
  chains(port);
  empty_pool(port);
  bad_requests(port);
  close_port(port);
  all_came_back();
  late_join();
  all_came_back();
  // Descriptors point into mbufs, and bursts break at page boundaries: only streams lie alike in each run.
  if (dma == "stream") CHECK(trace_of_run() == trace_of_run(), "the same run, another trace");
  all_came_back();
  rte_eal_cleanup();
  if (failures == 0) std::printf("ok ethdev_control %s\n", argv[2]);
  return failures ? 1 : 0;
}
