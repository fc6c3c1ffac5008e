// SPDX-License-Identifier: BSD-3-Clause
// The ethdev side: probe, configure, start, stop, close, and what tells about the port.
#include <bus_vdev_driver.h>
#include <ethdev_vdev.h>
#include <rte_alarm.h>
#include <rte_cycles.h>
#include <rte_errno.h>
#include <rte_malloc.h>

#include <cstring>
#include <ctime>
#include <map>
#include <new>

#include "driver.h"
#include "model_device.h"

namespace awing::pmd {

RTE_LOG_REGISTER_SUFFIX(log_type, driver, NOTICE);

int set_control(rte_eth_dev* dev, uint32_t bit, bool on) {
  if (!primary()) return -EPERM;
  Adapter& adapter = *adapter_of(dev);
  adapter.control = on ? adapter.control | bit : adapter.control & ~bit;
  adapter.device->write(hw::kControl, adapter.control);
  return 0;
}

namespace {

constexpr uint64_t kLinkCheckUs = 20'000;
constexpr int kQuietPolls = 400'000;  // register reads to wait for at most; each lets 50 ns and more pass

void write64(Device& device, uint32_t reg, uint64_t value) {
  device.write(reg, static_cast<uint32_t>(value));
  device.write(reg + 4, static_cast<uint32_t>(value >> 32));
}

void set_mac(Device& device, const rte_ether_addr& mac) {
  const uint8_t* a = mac.addr_bytes;
  device.write(hw::kMacLo, a[0] | a[1] << 8 | a[2] << 16 | static_cast<uint32_t>(a[3]) << 24);
  device.write(hw::kMacHi, a[4] | static_cast<uint32_t>(a[5]) << 8);
}

// --- link ---------------------------------------------------------------------------------------------------------

int link_update(rte_eth_dev* dev, int) {
  rte_eth_link link{};
  const bool up = primary() ? adapter_of(dev)->device->link_up() : dev->data->dev_link.link_status != 0;
  link.link_speed = RTE_ETH_SPEED_NUM_10G;
  link.link_duplex = RTE_ETH_LINK_FULL_DUPLEX;
  link.link_autoneg = RTE_ETH_LINK_FIXED;
  link.link_status = up ? RTE_ETH_LINK_UP : RTE_ETH_LINK_DOWN;
  return rte_eth_linkstatus_set(dev, &link);
}

void tell_complaint(Adapter& adapter) {
  const std::string said = adapter.device->complaint();
  if (said == adapter.told) return;
  adapter.told = said;
  AWING_LOG(WARNING, "port %u: %s", adapter.dev->data->port_id, said.c_str());
}

/// Runs in EAL's interrupt thread: notices that the light came or went, and keeps the counters fresh for secondaries.
void watch(void* arg) {
  auto* dev = static_cast<rte_eth_dev*>(arg);
  Adapter& adapter = *adapter_of(dev);
  if (!dev->data->dev_started) return;
  // A card works on when the application does not look. In virtual time it is the application that moves the time, and
  // a look at the counters could make one of its polls find the model busy: the run would not be repeatable.
  if (!adapter.device->virtual_time()) {
    adapter.device->poll(0, 0);
    refresh(adapter);
  }
  if (link_update(dev, 0) == 0 && dev->data->dev_conf.intr_conf.lsc)
    rte_eth_dev_callback_process(dev, RTE_ETH_EVENT_INTR_LSC, nullptr);
  rte_eal_alarm_set(kLinkCheckUs, watch, arg);
}

// --- modes --------------------------------------------------------------------------------------------------------

int promiscuous_enable(rte_eth_dev* dev) { return set_control(dev, hw::kCtlPromiscuous, true); }
int promiscuous_disable(rte_eth_dev* dev) { return set_control(dev, hw::kCtlPromiscuous, false); }
int allmulticast_enable(rte_eth_dev* dev) { return set_control(dev, hw::kCtlAllMulticast, true); }
int allmulticast_disable(rte_eth_dev* dev) { return set_control(dev, hw::kCtlAllMulticast, false); }

int mac_addr_set(rte_eth_dev* dev, rte_ether_addr* mac) {
  if (!primary()) return -EPERM;
  set_mac(*adapter_of(dev)->device, *mac);
  return 0;
}

/// True when frames of this MTU fit one mbuf, or may be spread over several.
bool frames_fit(rte_eth_dev* dev, uint16_t mtu) {
  const RxQueue* q = rxq(dev);
  const bool scatter = (dev->data->dev_conf.rxmode.offloads & RTE_ETH_RX_OFFLOAD_SCATTER) != 0;
  if (!q || scatter || mtu + uint32_t{RTE_ETHER_HDR_LEN} <= q->room) return true;
  AWING_LOG(ERR, "port %u: MTU %u needs %u octets, an mbuf has %u: give larger mbufs or the SCATTER offload",
            dev->data->port_id, mtu, mtu + RTE_ETHER_HDR_LEN, q->room);
  return false;
}

int mtu_set(rte_eth_dev* dev, uint16_t mtu) {
  if (!primary()) return -EPERM;
  if (dev->data->dev_started) {
    AWING_LOG(ERR, "port %u: stop the port before changing its MTU", dev->data->port_id);
    return -EBUSY;
  }
  if (!frames_fit(dev, mtu)) return -EINVAL;
  adapter_of(dev)->device->write(hw::kMaxFrame, mtu + kOverhead);
  return 0;
}

// --- configure, start, stop ---------------------------------------------------------------------------------------

int dev_configure(rte_eth_dev* dev) { return primary() ? interrupts_configure(dev) : -EPERM; }

/// Waits until the card is quiet; what it delivers meanwhile is thrown away and counted.
bool wait_quiet(Adapter& adapter) {
  for (int i = 0; i < kQuietPolls; ++i) {
    if (adapter.device->read(hw::kStatus) & (hw::kStsQuiet | hw::kStsTxError)) return true;
    if (RxQueue* q = rxq(adapter.dev)) adapter.shared->rx_stop_drops += rx_queue_drain(*q);
    if (TxQueue* q = txq(adapter.dev); q && adapter.ring) tx_reap(*q);
  }
  return false;
}

int reset_card(Adapter& adapter) {
  Device& device = *adapter.device;
  device.write(hw::kControl, adapter.control);
  if (!wait_quiet(adapter)) {
    AWING_LOG(ERR, "port %u: the card did not become quiet", adapter.dev->data->port_id);
    return -ETIMEDOUT;
  }
  if (RxQueue* q = rxq(adapter.dev)) adapter.shared->rx_stop_drops += rx_queue_drain(*q);
  device.write(hw::kCommand, hw::kCmdReset);
  if (device.read(hw::kStatus) & hw::kStsResetRefused) {
    AWING_LOG(ERR, "port %u: the card refused to reset", adapter.dev->data->port_id);
    return -EIO;
  }
  std::memset(adapter.status, 0, sizeof *adapter.status);
  return 0;
}

int prepare_rx(rte_eth_dev* dev, RxQueue& q) {
  Adapter& adapter = *adapter_of(dev);
  Device& device = *adapter.device;
  const uint64_t offloads = dev->data->dev_conf.rxmode.offloads;
  rx_queue_reset(q);
  q.scatter = (offloads & RTE_ETH_RX_OFFLOAD_SCATTER) != 0;
  dev->data->scattered_rx = q.scatter;
  q.ptp = adapter.ptp;
  q.stamp_field = -1;
  if (offloads & RTE_ETH_RX_OFFLOAD_TIMESTAMP &&
      rte_mbuf_dyn_rx_timestamp_register(&q.stamp_field, &q.stamp_flag) != 0) {
    AWING_LOG(ERR, "port %u: no room in mbufs for receive timestamps", dev->data->port_id);
    return -rte_errno;
  }
  write64(device, hw::kRxBaseLo, device.bus_address(adapter.ring ? static_cast<void*>(q.descs) : q.stream));
  write64(device, hw::kRxCplBaseLo, adapter.ring ? device.bus_address(q.cpls) : 0);
  device.write(hw::kRxSize, adapter.ring ? q.size : q.mask + 1);
  if (adapter.ring) {
    if (rx_queue_fill(q) != 0) {
      AWING_LOG(ERR, "port %u: the mbuf pool has fewer than the %u buffers of the receive ring", dev->data->port_id,
                q.size);
      return -ENOMEM;
    }
    device.write(hw::kRxConsumer, q.told = q.posted);
  }
  q.started = !q.deferred;
  dev->data->rx_queue_state[0] = q.started ? RTE_ETH_QUEUE_STATE_STARTED : RTE_ETH_QUEUE_STATE_STOPPED;
  return 0;
}

int prepare_tx(rte_eth_dev* dev, TxQueue& q) {
  Adapter& adapter = *adapter_of(dev);
  Device& device = *adapter.device;
  tx_queue_reset(q);
  q.special = RTE_MBUF_F_TX_IEEE1588_TMST;
  q.launch_flag = q.insert_flag = 0;
  if (dev->data->dev_conf.txmode.offloads & RTE_ETH_TX_OFFLOAD_SEND_ON_TIMESTAMP) {
    int field = -1;
    uint64_t flag = 0;
    if (rte_mbuf_dyn_tx_timestamp_register(&field, &flag) != 0) {
      AWING_LOG(ERR, "port %u: no room in mbufs for launch times", dev->data->port_id);
      return -rte_errno;
    }
    q.launch_field = field;
    q.launch_flag = flag;
  }
  rte_mbuf_dynfield field{};
  snprintf(field.name, sizeof field.name, "awing_dynfield_tx_stamp");
  field.size = sizeof(StampField);
  field.align = alignof(StampField);
  rte_mbuf_dynflag flag{};
  snprintf(flag.name, sizeof flag.name, "awing_dynflag_tx_stamp");
  q.insert_field = rte_mbuf_dynfield_register(&field);
  const int bit = rte_mbuf_dynflag_register(&flag);
  if (q.insert_field >= 0 && bit >= 0) q.insert_flag = uint64_t{1} << bit;
  q.special |= q.launch_flag | q.insert_flag;
  write64(device, hw::kTxBaseLo, device.bus_address(adapter.ring ? static_cast<void*>(q.descs) : q.stream));
  write64(device, hw::kTxCplBaseLo, adapter.ring ? device.bus_address(q.cpls) : 0);
  device.write(hw::kTxSize, adapter.ring ? q.size : q.mask + 1);
  q.started = !q.deferred;
  dev->data->tx_queue_state[0] = q.started ? RTE_ETH_QUEUE_STATE_STARTED : RTE_ETH_QUEUE_STATE_STOPPED;
  return 0;
}

int dev_start(rte_eth_dev* dev) {
  if (!primary()) return -EPERM;
  Adapter& adapter = *adapter_of(dev);
  Device& device = *adapter.device;
  if (const std::string why = check_blocks(device); !why.empty()) {
    AWING_LOG(ERR, "port %u: %s", dev->data->port_id, why.c_str());
    return -ENODEV;
  }
  if (!frames_fit(dev, dev->data->mtu)) return -EINVAL;
  adapter.control &= ~(hw::kCtlRxEnable | hw::kCtlTxEnable);
  if (int status = reset_card(adapter); status != 0) return status;
  adapter.tx_latched = 0;
  write64(device, hw::kStatusAddrLo, adapter.ring ? 0 : device.bus_address(adapter.status));
  device.write(hw::kMaxFrame, dev->data->mtu + kOverhead);
  set_mac(device, dev->data->mac_addrs[0]);
  interrupts_start(dev);
  if (RxQueue* q = rxq(dev))
    if (int status = prepare_rx(dev, *q); status != 0) return status;
  if (TxQueue* q = txq(dev))
    if (int status = prepare_tx(dev, *q); status != 0) return status;
  adapter.control |= hw::kCtlTxEnable | (rxq(dev) && rxq(dev)->started ? uint32_t{hw::kCtlRxEnable} : 0);
  device.write(hw::kControl, adapter.control);
  device.read(hw::kStatus);  // the writes before it have arrived
  select_bursts(dev);
  link_update(dev, 0);
  rte_eal_alarm_set(kLinkCheckUs, watch, dev);
  return 0;
}

int dev_stop(rte_eth_dev* dev) {
  if (!primary()) return -EPERM;
  Adapter& adapter = *adapter_of(dev);
  rte_eal_alarm_cancel(watch, dev);
  interrupts_mask(dev);
  adapter.control &= ~(hw::kCtlRxEnable | hw::kCtlTxEnable);
  const int status = reset_card(adapter);
  refresh(adapter);
  tell_complaint(adapter);
  if (RxQueue* q = rxq(dev)) {
    rx_queue_reset(*q);
    q->started = false;
    dev->data->rx_queue_state[0] = RTE_ETH_QUEUE_STATE_STOPPED;
  }
  if (TxQueue* q = txq(dev)) {
    tx_queue_reset(*q);
    q->started = false;
    dev->data->tx_queue_state[0] = RTE_ETH_QUEUE_STATE_STOPPED;
  }
  dev->data->dev_started = 0;
  link_update(dev, 0);
  return status;
}

int dev_close(rte_eth_dev* dev) {
  if (!primary()) return 0;
  Adapter* adapter = adapter_of(dev);
  if (!adapter) return 0;
  if (dev->data->dev_started) dev_stop(dev);
  rte_eal_alarm_cancel(watch, dev);
  interrupts_remove(dev);
  adapter->device.reset();  // before the memory it may write to
  for (uint16_t i = 0; i < dev->data->nb_rx_queues; ++i) rx_queue_release(dev, i);
  for (uint16_t i = 0; i < dev->data->nb_tx_queues; ++i) tx_queue_release(dev, i);
  rte_free(adapter->status);
  dev->process_private = nullptr;
  delete adapter;
  return 0;
}

int dev_reset(rte_eth_dev* dev) {
  if (!primary()) return -EPERM;
  if (dev->data->dev_started) return dev_stop(dev);
  return reset_card(*adapter_of(dev));
}

// --- what the port is ---------------------------------------------------------------------------------------------

int dev_infos_get(rte_eth_dev* dev, rte_eth_dev_info* info) {
  const bool ring = primary() && adapter_of(dev)->ring;
  info->max_rx_pktlen = kMaxMtu + kOverhead;
  info->max_lro_pkt_size = 0;
  info->min_mtu = kMinMtu;
  info->max_mtu = kMaxMtu;
  info->min_rx_bufsize = 64;
  info->max_rx_queues = info->max_tx_queues = 1;
  info->max_mac_addrs = 1;
  info->speed_capa = RTE_ETH_LINK_SPEED_10G;
  info->rx_offload_capa = RTE_ETH_RX_OFFLOAD_TIMESTAMP | RTE_ETH_RX_OFFLOAD_SCATTER;
  info->tx_offload_capa = RTE_ETH_TX_OFFLOAD_MULTI_SEGS | RTE_ETH_TX_OFFLOAD_SEND_ON_TIMESTAMP;
  if (!ring) info->tx_offload_capa |= RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE;
  info->rx_desc_lim.nb_max = info->tx_desc_lim.nb_max = 4096;
  info->rx_desc_lim.nb_min = info->tx_desc_lim.nb_min = 64;
  info->rx_desc_lim.nb_align = info->tx_desc_lim.nb_align = 64;
  info->default_rxportconf = info->default_txportconf = {32, 512, 1};
  return 0;
}

const uint32_t* supported_ptypes(rte_eth_dev*) {
  static constexpr uint32_t kTypes[] = {RTE_PTYPE_L2_ETHER, RTE_PTYPE_UNKNOWN};
  return kTypes;
}

void rxq_info_get(rte_eth_dev* dev, uint16_t, rte_eth_rxq_info* info) {
  const RxQueue* q = rxq(dev);
  info->mp = q->pool;
  info->scattered_rx = dev->data->scattered_rx;
  info->nb_desc = q->nb_desc;
  info->conf.rx_deferred_start = q->deferred;
  info->conf.offloads = dev->data->dev_conf.rxmode.offloads;
  info->rx_buf_size = static_cast<uint16_t>(q->room);
}

void txq_info_get(rte_eth_dev* dev, uint16_t, rte_eth_txq_info* info) {
  const TxQueue* q = txq(dev);
  info->nb_desc = q->nb_desc;
  info->conf.tx_deferred_start = q->deferred;
  info->conf.offloads = dev->data->dev_conf.txmode.offloads;
}

int burst_mode(rte_eth_dev* dev, uint16_t, rte_eth_burst_mode* mode) {
  snprintf(mode->info, sizeof mode->info, "%s", primary() && adapter_of(dev)->ring ? "Descriptor ring" : "Stream");
  return 0;
}

int fw_version_get(rte_eth_dev* dev, char* text, size_t size) {
  if (!primary()) return -EPERM;
  const uint32_t v = adapter_of(dev)->device->read(hw::kFwVersion);
  const int n = snprintf(text, size, "%u.%u", v >> 16, v & 0xFFFF);
  return n < 0 ? -EINVAL : static_cast<size_t>(n) >= size ? n + 1 : 0;
}

/// The whole BAR, word for word; words without a register read as 0.
int get_reg(rte_eth_dev* dev, rte_dev_reg_info* info) {
  constexpr uint32_t kWords = (hw::kCounterBase + 8 * hw::kCounters) / 4;
  if (!primary()) return -EPERM;
  if (!info->data) {
    info->length = kWords;
    info->width = 4;
    return 0;
  }
  if (info->length != 0 && info->length != kWords) return -ENOTSUP;
  auto* out = static_cast<uint32_t*>(info->data);
  std::memset(out, 0, kWords * 4);
  Device& device = *adapter_of(dev)->device;
  for (const hw::RegInfo& reg : hw::kRegisters) out[reg.offset / 4] = device.read(reg.offset);
  for (uint32_t w = hw::kCounterBase / 4; w < kWords; ++w) out[w] = device.read(4 * w);
  info->length = kWords;
  info->width = 4;
  info->version = out[hw::kFwVersion / 4];
  return 0;
}

int priv_dump(rte_eth_dev* dev, FILE* file) {
  if (!primary()) return -EPERM;
  Device& device = *adapter_of(dev)->device;
  for (const hw::RegInfo& reg : hw::kRegisters)
    fprintf(file, "%-16s %03x %08x  %s\n", reg.name, reg.offset, device.read(reg.offset), reg.meaning);
  return 0;
}

constexpr eth_dev_ops make_ops() {
  eth_dev_ops o{};
  o.dev_configure = dev_configure;
  o.dev_start = dev_start;
  o.dev_stop = dev_stop;
  o.dev_close = dev_close;
  o.dev_reset = dev_reset;
  o.link_update = link_update;
  o.promiscuous_enable = promiscuous_enable;
  o.promiscuous_disable = promiscuous_disable;
  o.allmulticast_enable = allmulticast_enable;
  o.allmulticast_disable = allmulticast_disable;
  o.mac_addr_set = mac_addr_set;
  o.mtu_set = mtu_set;
  o.stats_get = stats_get;
  o.stats_reset = stats_reset;
  o.xstats_get = xstats_get;
  o.xstats_reset = stats_reset;
  o.xstats_get_names = xstats_get_names;
  o.dev_infos_get = dev_infos_get;
  o.rxq_info_get = rxq_info_get;
  o.txq_info_get = txq_info_get;
  o.rx_burst_mode_get = burst_mode;
  o.tx_burst_mode_get = burst_mode;
  o.fw_version_get = fw_version_get;
  o.dev_supported_ptypes_get = supported_ptypes;
  o.rx_queue_start = rx_queue_start;
  o.rx_queue_stop = rx_queue_stop;
  o.tx_queue_start = tx_queue_start;
  o.tx_queue_stop = tx_queue_stop;
  o.rx_queue_intr_enable = rx_intr_enable;
  o.rx_queue_intr_disable = rx_intr_disable;
  o.rx_queue_setup = rx_queue_setup;
  o.rx_queue_release = rx_queue_release;
  o.tx_queue_setup = tx_queue_setup;
  o.tx_queue_release = tx_queue_release;
  o.tx_done_cleanup = tx_done_cleanup;
  o.get_reg = get_reg;
  o.timesync_enable = timesync_enable;
  o.timesync_disable = timesync_disable;
  o.timesync_read_rx_timestamp = timesync_read_rx;
  o.timesync_read_tx_timestamp = timesync_read_tx;
  o.timesync_adjust_time = timesync_adjust;
  o.timesync_read_time = timesync_read_time;
  o.timesync_write_time = timesync_write_time;
  o.read_clock = read_clock;
  o.eth_dev_priv_dump = priv_dump;
  return o;
}
constexpr eth_dev_ops kOps = make_ops();

// --- probe and remove ---------------------------------------------------------------------------------------------

void set_functions(rte_eth_dev* dev) {
  dev->dev_ops = &kOps;
  dev->rx_queue_count = rx_queue_count;
  dev->rx_descriptor_status = rx_descriptor_status;
  dev->tx_descriptor_status = tx_descriptor_status;
  select_bursts(dev);
}

/// A locally administered address made from the device's name (FNV-1a).
rte_ether_addr default_mac(const char* name) {
  uint32_t h = 0x811c9dc5;
  for (const char* c = name; *c; ++c) h = (h ^ static_cast<uint8_t>(*c)) * 0x01000193;
  return {{0x02, 0x41, static_cast<uint8_t>(h >> 24), static_cast<uint8_t>(h >> 16), static_cast<uint8_t>(h >> 8),
           static_cast<uint8_t>(h)}};
}

/// Unix second at which the time of a wire begins. Ports on one cable share their time, so the second one, whenever it
/// comes, starts its clock from the same second as the first.
std::shared_ptr<const uint64_t> epoch_of(const std::string& wire) {
  static std::map<std::string, std::weak_ptr<const uint64_t>> wires;
  const bool cable = wire != "loop" && !wire.starts_with("pcap:");
  auto epoch = cable ? wires[wire].lock() : nullptr;
  if (!epoch) epoch = std::make_shared<const uint64_t>(std::time(nullptr));
  if (cable) wires[wire] = epoch;
  return epoch;
}

int probe_secondary(rte_vdev_device* vdev) {
  rte_eth_dev* dev = rte_eth_dev_attach_secondary(rte_vdev_device_name(vdev));
  if (!dev) return -ENODEV;
  dev->device = &vdev->device;
  dev->process_private = nullptr;
  set_functions(dev);
  rte_eth_dev_probing_finish(dev);
  return 0;
}

int probe_primary(rte_vdev_device* vdev) {
  const char* name = rte_vdev_device_name(vdev);
  auto adapter = std::make_unique<Adapter>();
  rte_ether_addr mac = default_mac(name);
  if (int status = parse_devargs(rte_vdev_device_args(vdev), *adapter, mac); status != 0) return status;
  if (adapter->config.clock == hw::ClockMode::kTsc) {
    adapter->config.tsc_hz = hw::measured_tsc_hz();  // EAL rounds to 10 MHz: a thousandth of time
    adapter->epoch = epoch_of(adapter->config.wire);
    adapter->config.card.phc_start = *adapter->epoch;
  }
  adapter->ring = adapter->config.card.ring_mode;
  adapter->control = adapter->ring ? uint32_t{hw::kCtlRingMode} : 0;
  auto port = hw::Port::open(adapter->config);
  if (!port) {
    AWING_LOG(ERR, "%s: %s", name, port.error().c_str());
    return -EINVAL;
  }
  adapter->device = std::make_unique<ModelDevice>(std::move(*port));
  rte_eth_dev* dev = rte_eth_vdev_allocate(vdev, sizeof(Shared));
  if (!dev) return -ENOMEM;
  auto* macs = static_cast<rte_ether_addr*>(rte_zmalloc("awing_mac", sizeof(rte_ether_addr), 0));
  adapter->status =
      static_cast<hw::StatusRecord*>(rte_zmalloc("awing_status", RTE_CACHE_LINE_SIZE, RTE_CACHE_LINE_SIZE));
  if (!macs || !adapter->status) {
    rte_free(macs);
    rte_free(adapter->status);
    rte_eth_dev_release_port(dev);
    return -ENOMEM;
  }
  *macs = mac;
  adapter->dev = dev;
  interrupts_connect(*adapter);
  adapter->shared = shared_of(dev);
  dev->data->mac_addrs = macs;
  dev->data->promiscuous = 0;
  dev->data->dev_flags |= RTE_ETH_DEV_INTR_LSC | RTE_ETH_DEV_AUTOFILL_QUEUE_XSTATS;
  dev->data->dev_link.link_speed = RTE_ETH_SPEED_NUM_10G;
  dev->process_private = adapter.release();
  set_functions(dev);
  rte_eth_dev_probing_finish(dev);
  return 0;
}

int probe(rte_vdev_device* vdev) noexcept {
  if (strncmp(rte_version(), "DPDK 22.11", 10) != 0) {
    AWING_LOG(ERR, "this driver was built for DPDK 22.11 and cannot be used with %s", rte_version());
    return -ENOTSUP;
  }
  try {
    return primary() ? probe_primary(vdev) : probe_secondary(vdev);
  } catch (const std::exception& e) {
    AWING_LOG(ERR, "%s: %s", rte_vdev_device_name(vdev), e.what());
    return -ENOMEM;
  }
}

int remove(rte_vdev_device* vdev) noexcept {
  rte_eth_dev* dev = rte_eth_dev_allocated(rte_vdev_device_name(vdev));
  if (!dev) return 0;
  if (!primary()) return rte_eth_dev_release_port(dev);  // the card stays the primary's
  dev_close(dev);
  return rte_eth_dev_release_port(dev);
}

rte_vdev_driver driver = [] {
  rte_vdev_driver d{};
  d.probe = probe;
  d.remove = remove;
  return d;
}();

RTE_PMD_REGISTER_VDEV(net_awing, driver);

}  // namespace
}  // namespace awing::pmd

// What dpdk-pmdinfo.py reads; DPDK's own macros would export mangled names from C++.
extern "C" __attribute__((visibility("default"))) const char net_awing_pmd_info[];
const char net_awing_pmd_info[] =
    "PMD_INFO_STRING= {\"name\":\"net_awing\",\"params\":\"card=awing wire=<loop|NAME|pcap:IN+OUT> path=<FILE.json> "
    "clock=<tsc|virtual> engine=<fast|reference> bus=<pcix66|pcix100|pcix133|pcix266|pcix533> dma=<stream|ring> "
    "profile=<modern|pc2003|FILE> trace=<FILE.vcd> mac=<ADDRESS> tx_mode=<interrupt|deferred|adaptive> "
    "rx_batch=<1..65535> rx_timeout_us=<0..1000000> rx_stream=<OCTETS> tx_stream=<OCTETS> "
    "cable_delay_ns=<5..100000> ppm=<-200..200> tx_fifo=<OCTETS> rx_fifo=<OCTETS> mmrbc=<512..4096> splits=<1..32> "
    "completer_latency=<CLOCKS> decode=<1..3> target_wait=<0..14> idle=<1..2> boundary=<128..4096> "
    "latency_timer=<0..255> desc_cache=<8..64>\",\"pci_ids\":[]}";
