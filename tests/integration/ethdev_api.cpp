// SPDX-License-Identifier: BSD-3-Clause
// The driver through DPDK's own API, in virtual time: stamps on every packet, stamping on send, timed send, timesync,
// registers, and the refusal of unknown register blocks. Usage: ethdev_api DRIVER stream|ring
#include <rte_bus_vdev.h>
#include <rte_eal.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <rte_mbuf_dyn.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "device.h"

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

// --- register blocks ----------------------------------------------------------------------------------------------

/// A register file of our own, to be bent.
class FakeDevice final : public awing::pmd::Device {
 public:
  FakeDevice() {
    for (const auto& reg : awing::hw::kRegisters) regs[reg.offset] = reg.reset;
  }
  uint32_t read(uint32_t reg) override { return regs[reg]; }
  void write(uint32_t, uint32_t) override {}
  void tx_doorbell(uint32_t) override {}
  void rx_doorbell(uint32_t) override {}
  void poll(uint32_t, uint32_t) override {}
  void set_interrupt(std::function<void(uint32_t)>) override {}
  void interrupted() override {}
  uint64_t drive() override { return 0; }
  bool link_up() const override { return false; }
  uint64_t bus_address(const void*) const override { return 0; }
  uint64_t counter(awing::hw::Counter) override { return 0; }
  std::vector<std::pair<std::string, uint64_t>> more_counters() override { return {}; }
  std::string complaint() override { return {}; }
  uint64_t lag_ns() const override { return 0; }
  bool virtual_time() const override { return true; }
  std::map<uint32_t, uint32_t> regs;
};

void blocks() {
  using namespace awing::hw;
  FakeDevice good;
  CHECK(awing::pmd::check_blocks(good).empty(), "a good card is taken");
  FakeDevice newer;
  newer.regs[kDmaVersion] = 7;
  const std::string why = awing::pmd::check_blocks(newer);
  CHECK(why.find("version 7") != std::string::npos && why.find("version 1") != std::string::npos, "%s", why.c_str());
  FakeDevice looped;
  looped.regs[kClockNext] = kCtrlType;
  CHECK(awing::pmd::check_blocks(looped).find("broken") != std::string::npos, "a list that never ends");
  FakeDevice shorter;
  shorter.regs[kDmaNext] = 0;
  CHECK(awing::pmd::check_blocks(shorter).find("no register block") != std::string::npos, "a missing block");
  FakeDevice other;
  other.regs[kDeviceIdLo] = 0x12345678;
  CHECK(awing::pmd::check_blocks(other).find("not an awing card") != std::string::npos, "another device");
}

// --- ports --------------------------------------------------------------------------------------------------------

rte_mempool* pool;
int stamp_field = -1;
uint64_t stamp_flag = 0;

uint16_t open_port(const std::string& name, const std::string& args) {
  CHECK(rte_vdev_init(name.c_str(), args.c_str()) == 0, "%s", args.c_str());
  uint16_t port = 0;
  CHECK(rte_eth_dev_get_port_by_name(name.c_str(), &port) == 0, "%s", name.c_str());
  rte_eth_conf conf{};
  conf.rxmode.offloads = RTE_ETH_RX_OFFLOAD_TIMESTAMP;
  conf.txmode.offloads = RTE_ETH_TX_OFFLOAD_SEND_ON_TIMESTAMP | RTE_ETH_TX_OFFLOAD_MULTI_SEGS;
  CHECK(rte_eth_dev_configure(port, 1, 1, &conf) == 0, "configure");
  CHECK(rte_eth_rx_queue_setup(port, 0, 512, 0, nullptr, pool) == 0, "receive queue");
  CHECK(rte_eth_tx_queue_setup(port, 0, 512, 0, nullptr) == 0, "send queue");
  CHECK(rte_eth_dev_start(port) == 0, "start");
  CHECK(rte_eth_promiscuous_enable(port) == 0, "promiscuous");
  return port;
}

void close_port(uint16_t port) {
  CHECK(rte_eth_dev_stop(port) == 0, "stop");
  CHECK(rte_eth_dev_close(port) == 0, "close");
}

/// A frame of `len` octets that carries its number, in `segments` pieces.
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

bool holds(rte_mbuf* m, uint32_t number) {
  const auto* data = rte_pktmbuf_mtod(m, const uint8_t*);
  for (uint32_t i = 0; i < m->pkt_len; ++i)
    if (data[i] != static_cast<uint8_t>(number + 13 * i)) return false;
  return true;
}

uint64_t stamp_of(const rte_mbuf* m) { return *RTE_MBUF_DYNFIELD(m, stamp_field, const rte_mbuf_timestamp_t*); }

/// Sends `count` frames of `len` octets and receives them; every one must come, in order, whole and stamped.
void transfer(uint16_t from, uint16_t to, uint32_t count, uint32_t len, int segments, double wire_gap_ns) {
  uint32_t sent = 0, got = 0, idle = 0;
  uint64_t last = 0, smallest = UINT64_MAX;
  while (got < count && idle < 200'000) {
    rte_mbuf* batch[32];
    if (sent < count) {
      uint16_t n = 0;
      for (; n < 32 && sent + n < count; ++n) batch[n] = frame(sent + n, len, segments);
      const uint16_t taken = rte_eth_tx_burst(from, 0, batch, n);
      for (uint16_t i = taken; i < n; ++i) rte_pktmbuf_free(batch[i]);
      sent += taken;
    }
    const uint16_t n = rte_eth_rx_burst(to, 0, batch, 32);
    idle = n ? 0 : idle + 1;
    for (uint16_t i = 0; i < n; ++i) {
      CHECK(batch[i]->pkt_len == len, "frame %u has %u octets", got, batch[i]->pkt_len);
      CHECK(holds(batch[i], got), "frame %u of %u octets is not what was sent", got, len);
      CHECK(batch[i]->ol_flags & stamp_flag, "frame %u has no stamp", got);
      const uint64_t stamp = stamp_of(batch[i]);
      CHECK(stamp > last, "stamp of frame %u", got);
      if (last) smallest = std::min(smallest, stamp - last);
      last = stamp;
      ++got;
      rte_pktmbuf_free(batch[i]);
    }
    if (failures > 5) return;
  }
  CHECK(got == count, "%u of %u frames of %u octets came", got, count, len);
  // Line quantum 3.2 ns, stamps in whole nanoseconds.
  if (wire_gap_ns > 0)
    CHECK(
        static_cast<double>(smallest) > wire_gap_ns - 3.2 - 1 && static_cast<double>(smallest) < wire_gap_ns + 3.2 + 1,
        "smallest gap %lu ns, wire-rate gap %.1f ns", smallest, wire_gap_ns);
}

/// Receives one frame, or null.
rte_mbuf* receive(uint16_t port) {
  rte_mbuf* m = nullptr;
  for (int i = 0; i < 200'000; ++i)
    if (rte_eth_rx_burst(port, 0, &m, 1)) return m;
  return nullptr;
}

void stamp_on_send(uint16_t from, uint16_t to) {
  const int field = rte_mbuf_dynfield_lookup("awing_dynfield_tx_stamp", nullptr);
  const int bit = rte_mbuf_dynflag_lookup("awing_dynflag_tx_stamp", nullptr);
  CHECK(field >= 0 && bit >= 0, "the fields are registered");
  rte_mbuf* m = frame(5, 200);
  auto* data = rte_pktmbuf_mtod(m, uint8_t*);
  std::memset(data + 100, 0, 10);  // a stamp of zero at 100 and its checksum at 108: the area sums to all ones
  data[108] = 0xFF, data[109] = 0xFF;
  uint16_t* offsets = RTE_MBUF_DYNFIELD(m, field, uint16_t*);
  offsets[0] = 100;
  offsets[1] = 108;
  m->ol_flags |= uint64_t{1} << bit;
  CHECK(rte_eth_tx_burst(from, 0, &m, 1) == 1, "sent");
  m = receive(to);
  CHECK(m, "received");
  if (!m) return;
  data = rte_pktmbuf_mtod(m, uint8_t*);
  uint64_t stamp = 0;
  uint32_t sum = 0;
  for (int i = 0; i < 8; ++i) stamp = stamp << 8 | data[100 + i];
  for (int i = 100; i < 110; i += 2) sum += data[i] * 256u + data[i + 1];
  while (sum >> 16) sum = (sum & 0xFFFF) + (sum >> 16);
  CHECK(sum == 0xFFFF, "checksum %04x", sum);
  const double sent_ns = static_cast<double>(stamp) / 4.294967296;
  const double delay = static_cast<double>(stamp_of(m)) - sent_ns;
  CHECK(delay >= 5 - 1 && delay <= 5 + 3.2 + 1, "5 ns of cable, measured %.2f ns", delay);
  rte_pktmbuf_free(m);

  // An offset beyond the frame: dropped and counted, nothing sent.
  rte_eth_stats before{}, after{};
  rte_eth_stats_get(from, &before);
  m = frame(6, 100);
  offsets = RTE_MBUF_DYNFIELD(m, field, uint16_t*);
  offsets[0] = 96;
  offsets[1] = 0xFFFF;
  m->ol_flags |= uint64_t{1} << bit;
  CHECK(rte_eth_tx_burst(from, 0, &m, 1) == 1, "taken");
  rte_eth_stats_get(from, &after);
  CHECK(after.oerrors == before.oerrors + 1 && after.opackets == before.opackets, "counted as an error alone");
}

void timed_send(uint16_t from, uint16_t to) {
  int field = -1;
  uint64_t flag = 0;
  CHECK(rte_mbuf_dyn_tx_timestamp_register(&field, &flag) == 0, "launch times");
  uint64_t now = 0;
  CHECK(rte_eth_read_clock(from, &now) == 0, "clock");
  rte_mbuf* m = frame(1, 100);
  *RTE_MBUF_DYNFIELD(m, field, rte_mbuf_timestamp_t*) = now + 50'000;
  m->ol_flags |= flag;
  CHECK(rte_eth_tx_burst(from, 0, &m, 1) == 1, "sent");
  m = receive(to);
  CHECK(m, "received");
  if (!m) return;
  const auto late = static_cast<int64_t>(stamp_of(m) - (now + 50'000));
  CHECK(late >= 4 && late <= 5 + 2 * 3.2 + 1, "started %ld ns after its time, 5 of it cable", late);
  rte_pktmbuf_free(m);
}

void timesync(uint16_t from, uint16_t to) {
  timespec t{}, rx{};
  CHECK(rte_eth_timesync_enable(from) == 0 && rte_eth_timesync_enable(to) == 0, "enable");
  CHECK(rte_eth_timesync_read_tx_timestamp(from, &t) == -EINVAL, "no stamp yet");
  const timespec set{1000, 500};
  CHECK(rte_eth_timesync_write_time(from, &set) == 0 && rte_eth_timesync_write_time(to, &set) == 0, "set");
  CHECK(rte_eth_timesync_read_time(from, &t) == 0 && t.tv_sec == 1000 && t.tv_nsec >= 500 && t.tv_nsec < 100'000,
        "%ld.%09ld", t.tv_sec, t.tv_nsec);
  CHECK(rte_eth_timesync_adjust_time(from, -500'000'000) == 0 && rte_eth_timesync_read_time(from, &t) == 0 &&
            t.tv_sec == 999 && t.tv_nsec > 500'000'000,
        "back by half a second: %ld.%09ld", t.tv_sec, t.tv_nsec);
  CHECK(rte_eth_timesync_adjust_time(from, 500'000'000) == 0, "and forth");
  rte_mbuf* m = frame(0, 64);
  auto* eth = rte_pktmbuf_mtod(m, rte_ether_hdr*);
  eth->ether_type = rte_cpu_to_be_16(RTE_ETHER_TYPE_1588);
  m->ol_flags |= RTE_MBUF_F_TX_IEEE1588_TMST;
  CHECK(rte_eth_tx_burst(from, 0, &m, 1) == 1, "sent");
  m = receive(to);
  CHECK(m && (m->ol_flags & RTE_MBUF_F_RX_IEEE1588_PTP) && (m->ol_flags & RTE_MBUF_F_RX_IEEE1588_TMST), "PTP is told");
  rte_pktmbuf_free(m);
  CHECK(rte_eth_timesync_read_tx_timestamp(from, &t) == 0 && t.tv_sec == 1000, "send stamp");
  CHECK(rte_eth_timesync_read_rx_timestamp(to, &rx, 0) == 0 && rx.tv_sec == 1000, "receive stamp");
  CHECK(rte_eth_timesync_read_rx_timestamp(to, &rx, 0) == -EINVAL, "a stamp is read once");
  CHECK(rte_eth_timesync_disable(from) == 0 && rte_eth_timesync_disable(to) == 0, "disable");
}

void what_it_tells(uint16_t port) {
  rte_dev_reg_info info{};
  CHECK(rte_eth_dev_get_reg_info(port, &info) == 0 && info.width == 4 && info.length > 0, "size of the register dump");
  std::vector<uint32_t> dump(info.length);
  info.data = dump.data();
  CHECK(rte_eth_dev_get_reg_info(port, &info) == 0, "register dump");
  CHECK(std::memcmp(dump.data(), "AWING10G", 8) == 0, "it begins with the device id");
  CHECK(dump[awing::hw::kCtrlType / 4] == awing::hw::kBlockControl, "the control block is in its place");
  char version[16];
  CHECK(rte_eth_dev_fw_version_get(port, version, sizeof version) == 0 && !std::strcmp(version, "1.0"), "%s", version);
  rte_eth_burst_mode mode{};
  CHECK(rte_eth_rx_burst_mode_get(port, 0, &mode) == 0 && mode.info[0], "burst mode");
  CHECK(rte_eth_rx_descriptor_status(port, 0, 0) == RTE_ETH_RX_DESC_AVAIL, "an empty queue");
  CHECK(rte_eth_tx_descriptor_status(port, 0, 511) == RTE_ETH_TX_DESC_DONE, "a queue with room");
  CHECK(rte_eth_rx_descriptor_status(port, 0, 512) == -EINVAL, "beyond the queue");
  uint64_t a = 0, b = 0;
  CHECK(rte_eth_read_clock(port, &a) == 0 && rte_eth_read_clock(port, &b) == 0 && b > a, "the clock goes on");
  rte_eth_dev_info dev{};
  CHECK(rte_eth_dev_info_get(port, &dev) == 0 && dev.max_mtu == 16000 && dev.min_mtu == 68, "limits of the MTU");
  CHECK(dev.rx_offload_capa & RTE_ETH_RX_OFFLOAD_TIMESTAMP, "stamps are offered");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: ethdev_api DRIVER stream|ring\n");
    return 2;
  }
  const std::string prefix = "--file-prefix=awingapi" + std::to_string(getpid());
  std::vector<const char*> eal{
      argv[0], "--no-huge", "-m", "256", "--no-pci", "-l", "0", prefix.c_str(), "--log-level=lib.eal:error",
      "-d",    argv[1]};
  if (rte_eal_init(static_cast<int>(eal.size()), const_cast<char**>(eal.data())) < 0) return 1;
  pool = rte_pktmbuf_pool_create("pool", 8191, 64, 0, 10240, 0);
  if (!pool || rte_mbuf_dyn_rx_timestamp_register(&stamp_field, &stamp_flag) != 0) return 1;
  blocks();
  const std::string args = std::string("wire=w0,clock=virtual,bus=pcix533,dma=") + argv[2];
  uint16_t a = open_port("net_awing0", args), b = open_port("net_awing1", args);
  what_it_tells(a);
  // Back to back at 64 octets: (64 + 20) * 0.8 ns. Descriptor rings cannot feed the line at that size.
  const double small = argv[2] == std::string("stream") ? 67.2 : 0;
  transfer(a, b, 5000, 60, 1, small);
  transfer(b, a, 5000, 60, 1, small);
  transfer(a, b, 2000, 1514, 3, 1230.4);
  timed_send(a, b);
  stamp_on_send(a, b);
  timesync(a, b);
  close_port(a);
  close_port(b);

  // A host that looks every half millisecond: a whole send stream crosses in one stretch of time and stays whole.
  const std::string profile = "/tmp/awing-profile-" + std::to_string(getpid()) + ".json";
  std::FILE* f = std::fopen(profile.c_str(), "w");
  std::fputs("{\"poll_ns\": 500000}", f);
  std::fclose(f);
  a = open_port("net_awing2", args + ",profile=" + profile);
  b = open_port("net_awing3",
                args + ",profile=" + profile + (argv[2] == std::string("stream") ? ",rx_stream=1024k" : ""));
  transfer(a, b, 4000, 1364, 1, (1364 + 24) * 0.8);
  close_port(a);
  close_port(b);
  std::remove(profile.c_str());
  rte_eal_cleanup();
  if (failures == 0) std::printf("ok ethdev_api %s\n", argv[2]);
  return failures ? 1 : 0;
}
