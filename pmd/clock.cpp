// SPDX-License-Identifier: BSD-3-Clause
// The card's clock (PHC): nanoseconds since the epoch of the port (clock=tsc: Unix; clock=virtual: start of the model).
#include <ctime>

#include "driver.h"

namespace awing::pmd {

namespace {

timespec to_timespec(uint64_t ns) {
  return {static_cast<time_t>(ns / 1'000'000'000), static_cast<long>(ns % 1'000'000'000)};
}

void command(Device& device, uint64_t value, uint32_t what) {
  device.write(hw::kPhcValueLo, static_cast<uint32_t>(value));
  device.write(hw::kPhcValueHi, static_cast<uint32_t>(value >> 32));
  device.write(hw::kCommand, what);
}

}  // namespace

uint64_t read_phc(Device& device) {
  for (;;) {  // the halves fit together when the high one did not change
    const uint32_t high = device.read(hw::kPhcHi), low = device.read(hw::kPhcLo);
    if (device.read(hw::kPhcHi) == high) return stamp_to_ns(uint64_t{high} << 32 | low);
  }
}

int read_clock(rte_eth_dev* dev, uint64_t* clock) {
  if (!primary()) return -EPERM;
  *clock = read_phc(*adapter_of(dev)->device);
  return 0;
}

int timesync_enable(rte_eth_dev* dev) {
  if (!primary()) return -EPERM;
  Adapter& adapter = *adapter_of(dev);
  adapter.ptp = true;
  adapter.rx_ptp_valid = false;
  adapter.tx_latched = adapter.device->read(hw::kTxStampCount);
  if (dev->data->nb_rx_queues && dev->data->rx_queues[0]) static_cast<RxQueue*>(dev->data->rx_queues[0])->ptp = true;
  if (dev->data->dev_started) {
    select_bursts(dev);
    rte_eth_fp_ops[dev->data->port_id].rx_pkt_burst = dev->rx_pkt_burst;
  }
  return 0;
}

int timesync_disable(rte_eth_dev* dev) {
  if (!primary()) return -EPERM;
  adapter_of(dev)->ptp = false;
  if (dev->data->nb_rx_queues && dev->data->rx_queues[0]) static_cast<RxQueue*>(dev->data->rx_queues[0])->ptp = false;
  return 0;
}

int timesync_read_rx(rte_eth_dev* dev, timespec* time, uint32_t) {
  if (!primary()) return -EPERM;
  Adapter& adapter = *adapter_of(dev);
  if (!adapter.rx_ptp_valid) return -EINVAL;
  adapter.rx_ptp_valid = false;
  *time = to_timespec(stamp_to_ns(adapter.rx_ptp_stamp));
  return 0;
}

int timesync_read_tx(rte_eth_dev* dev, timespec* time) {
  if (!primary()) return -EPERM;
  Adapter& adapter = *adapter_of(dev);
  const uint32_t count = adapter.device->read(hw::kTxStampCount);
  if (count == adapter.tx_latched) return -EINVAL;
  adapter.tx_latched = count;
  const uint32_t high = adapter.device->read(hw::kTxStampHi), low = adapter.device->read(hw::kTxStampLo);
  *time = to_timespec(stamp_to_ns(uint64_t{high} << 32 | low));
  return 0;
}

int timesync_adjust(rte_eth_dev* dev, int64_t delta_ns) {
  if (!primary()) return -EPERM;
  const bool back = delta_ns < 0;
  const uint64_t step = ns_to_stamp(back ? -static_cast<uint64_t>(delta_ns) : static_cast<uint64_t>(delta_ns));
  command(*adapter_of(dev)->device, back ? 0 - step : step, hw::kCmdPhcAdd);
  return 0;
}

int timesync_read_time(rte_eth_dev* dev, timespec* time) {
  if (!primary()) return -EPERM;
  *time = to_timespec(read_phc(*adapter_of(dev)->device));
  return 0;
}

int timesync_write_time(rte_eth_dev* dev, const timespec* time) {
  if (!primary()) return -EPERM;
  if (time->tv_sec < 0 || time->tv_nsec < 0 || time->tv_nsec >= 1'000'000'000) return -EINVAL;
  command(*adapter_of(dev)->device,
          ns_to_stamp(static_cast<uint64_t>(time->tv_sec) * 1'000'000'000 + static_cast<uint64_t>(time->tv_nsec)),
          hw::kCmdPhcSet);
  return 0;
}

}  // namespace awing::pmd
