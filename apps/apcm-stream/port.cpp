// SPDX-License-Identifier: BSD-3-Clause
#include "port.h"

#include <rte_errno.h>
#include <rte_mbuf_dyn.h>
#include <time.h>

#include <algorithm>
#include <cstring>

namespace apcm::stream {
namespace {

constexpr uint16_t kDescriptors = 1024;
constexpr uint32_t kFrameOverhead = 14 + 4 + 4;  // Ethernet header, one VLAN tag, FCS

tl::unexpected<std::string> fail(std::string text) { return tl::unexpected<std::string>(std::move(text)); }

uint64_t read_ns(clockid_t clock) {
  timespec t{};
  clock_gettime(clock, &t);
  return static_cast<uint64_t>(t.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(t.tv_nsec);
}

std::string known_ports() {
  std::string out;
  uint16_t id = 0;
  RTE_ETH_FOREACH_DEV(id) {
    char name[RTE_ETH_NAME_MAX_LEN] = "?";
    rte_eth_dev_get_name_by_port(id, name);
    out += (out.empty() ? "" : ", ") + std::to_string(id) + " (" + name + ")";
  }
  return out;
}

}  // namespace

uint64_t host_now_ns() {
  static const uint64_t epoch = read_ns(CLOCK_REALTIME) - read_ns(CLOCK_MONOTONIC);
  return epoch + read_ns(CLOCK_MONOTONIC);
}

tl::expected<std::unique_ptr<Port>, std::string> Port::open(const PortConfig& config) {
  if (rte_eth_dev_count_avail() == 0)
    return fail(
        "DPDK has no port: before --, load a driver and make a port, as in "
        "-d librte_net_awing.so --vdev net_awing0,card=awing,wire=loop or --vdev net_ring0");
  if (!rte_eth_dev_is_valid_port(config.id))
    return fail("port " + std::to_string(config.id) + " does not exist; there are: " + known_ports() +
                "; make it with another --vdev before --");
  std::unique_ptr<Port> port(new Port(config.id));
  if (auto started = port->start(config); !started)
    return fail("port " + std::to_string(config.id) + " (" + port->name_ + "): " + started.error());
  return port;
}

tl::expected<void, std::string> Port::start(const PortConfig& config) {
  const auto check = [](int code, const char* what) -> tl::expected<void, std::string> {
    if (code < 0) return fail(std::string(what) + " failed: " + rte_strerror(-code));
    return {};
  };
  char name[RTE_ETH_NAME_MAX_LEN] = "?";
  rte_eth_dev_get_name_by_port(id_, name);
  name_ = name;
  rte_eth_dev_info info{};
  if (auto r = check(rte_eth_dev_info_get(id_, &info), "reading its capabilities"); !r) return r;

  rte_eth_conf conf{};
  conf.rxmode.mtu = std::max(config.mtu, 1500u);
  if (info.max_mtu != 0 && info.max_mtu < conf.rxmode.mtu) {
    if (config.mtu > info.max_mtu)
      return fail("carries IP packets of at most " + std::to_string(info.max_mtu) + " octets; lower --mtu");
    conf.rxmode.mtu = info.max_mtu;
  }
  if (config.receive) conf.rxmode.offloads |= info.rx_offload_capa & RTE_ETH_RX_OFFLOAD_TIMESTAMP;
  if (config.send) conf.txmode.offloads |= info.tx_offload_capa & RTE_ETH_TX_OFFLOAD_SEND_ON_TIMESTAMP;
  if ((conf.rxmode.offloads & RTE_ETH_RX_OFFLOAD_TIMESTAMP) != 0 &&
      rte_mbuf_dyn_rx_timestamp_register(&timestamp_offset_, &rx_flag_) != 0)
    return fail("no room in the mbuf for receive stamps");
  if ((conf.txmode.offloads & RTE_ETH_TX_OFFLOAD_SEND_ON_TIMESTAMP) != 0 &&
      rte_mbuf_dyn_tx_timestamp_register(&timestamp_offset_, &tx_flag_) != 0)
    return fail("no room in the mbuf for launch times");
  // MTU asked for here and refused by drivers that have none of their own (net_ring, net_memif): the default will do
  // then.
  if (auto r = check(rte_eth_dev_configure(id_, 1, 1, &conf), "configuring"); !r) return r;

  uint16_t rx_descriptors = kDescriptors, tx_descriptors = kDescriptors;
  if (auto r = check(rte_eth_dev_adjust_nb_rx_tx_desc(id_, &rx_descriptors, &tx_descriptors), "sizing its rings"); !r)
    return r;
  const auto room = static_cast<uint16_t>(std::max<uint32_t>(config.mtu + kFrameOverhead, 2048) + RTE_PKTMBUF_HEADROOM);
  const int socket = rte_eth_dev_socket_id(id_);
  // Both rings full, a batch on its way in each direction, and what a software ring between two ports can hold.
  const uint32_t buffers = uint32_t{rx_descriptors} + tx_descriptors + 2048;
  pool_ = rte_pktmbuf_pool_create(("apcm_port" + std::to_string(id_)).c_str(), buffers, 128, 0, room, socket);
  if (pool_ == nullptr)
    return fail("no memory for " + std::to_string(buffers) + " packet buffers (" + rte_strerror(rte_errno) +
                "); give DPDK more with -m");
  if (auto r = check(rte_eth_rx_queue_setup(id_, 0, rx_descriptors, static_cast<unsigned>(socket), nullptr, pool_),
                     "setting up its receive queue");
      !r)
    return r;
  if (auto r = check(rte_eth_tx_queue_setup(id_, 0, tx_descriptors, static_cast<unsigned>(socket), nullptr),
                     "setting up its send queue");
      !r)
    return r;
  if (auto r = check(rte_eth_dev_start(id_), "starting"); !r) return r;
  started_ = true;
  if (config.receive)
    rte_eth_promiscuous_enable(id_);  // where there is none, the port hears its own address and multicast

  rte_ether_addr mac{};
  rte_eth_macaddr_get(id_, &mac);
  for (const uint8_t octet : mac.addr_bytes) mac_ = mac_ << 8 | octet;
  rte_eth_link link{};
  if (rte_eth_link_get_nowait(id_, &link) == 0 && link.link_speed != RTE_ETH_SPEED_NUM_UNKNOWN)
    link_bps_ = uint64_t{link.link_speed} * 1'000'000;
  uint64_t clock = 0;
  has_clock_ = rte_eth_read_clock(id_, &clock) == 0;
  if (config.send) {
    const int field = rte_mbuf_dynfield_lookup("awing_dynfield_tx_stamp", nullptr);
    const int flag = rte_mbuf_dynflag_lookup("awing_dynflag_tx_stamp", nullptr);
    // The field is one for all ports: only a port of the driver that registered it reads it.
    if (field >= 0 && flag >= 0 && std::strcmp(info.driver_name, "net_awing") == 0) {
      stamp_offset_ = field;
      stamp_flag_ = uint64_t{1} << flag;
    }
    uint64_t id = 0;
    if (rte_eth_xstats_get_id_by_name(id_, "tx_in_flight", &id) == 0) in_flight_id_ = id;
  }
  return {};
}

Port::~Port() {
  if (started_) {
    rte_eth_dev_stop(id_);
    rte_eth_dev_close(id_);
  }
  if (pool_ != nullptr) rte_mempool_free(pool_);
}

uint64_t Port::now_ns() const {
  uint64_t clock = 0;
  if (has_clock_ && rte_eth_read_clock(id_, &clock) == 0) return clock;
  return host_now_ns();
}

bool Port::link_up() const {
  rte_eth_link link{};
  return rte_eth_link_get_nowait(id_, &link) == 0 && link.link_status == RTE_ETH_LINK_UP;
}

std::optional<uint64_t> Port::in_flight() const {
  uint64_t count = 0;
  if (!in_flight_id_ || rte_eth_xstats_get_by_id(id_, &*in_flight_id_, &count, 1) != 1) return std::nullopt;
  return count;
}

rte_eth_stats Port::stats() const {
  rte_eth_stats s{};
  rte_eth_stats_get(id_, &s);
  return s;
}

}  // namespace apcm::stream
