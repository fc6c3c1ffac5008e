// SPDX-License-Identifier: BSD-3-Clause
// Interrupts: an eventfd for each receive queue, behind rte_eth_dev_rx_intr_*, and the send-complete interrupt of the
// send policies. What an interrupt stands for is worked out by the card's moderator (docs/datasheet.md, section 8).
#include <rte_interrupts.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "driver.h"
#include "waker.h"

namespace awing::pmd {

namespace {

/// Called by whoever advances the model, when lines rise.
void on_rise(Adapter& adapter, uint32_t rising) {
  if (rising & 1u << hw::kCauseSend) adapter.tx_interrupt.store(true, std::memory_order_release);
  if (!(rising & 1u << hw::kCauseReceive)) return;
  const int fd = adapter.rx_event.load(std::memory_order_relaxed);
  if (fd < 0) return;
  const uint64_t one = 1;
  // A full counter means that nobody took the last ones: it is readable all the same.
  if (write(fd, &one, sizeof one) < 0 && errno != EAGAIN)
    AWING_LOG(ERR, "port %u: cannot signal a receive interrupt: %s", adapter.dev->data->port_id, strerror(errno));
}

int refuse(rte_eth_dev* dev, const char* what) {
  AWING_LOG(ERR, "port %u: %s: %s", dev->data->port_id, what, rte_strerror(rte_errno));
  interrupts_remove(dev);
  return -ENOMEM;
}

}  // namespace

void interrupts_connect(Adapter& adapter) {
  adapter.device->set_interrupt([&adapter](uint32_t rising) { on_rise(adapter, rising); });
}

int interrupts_configure(rte_eth_dev* dev) {
  interrupts_remove(dev);
  if (!dev->data->dev_conf.intr_conf.rxq || dev->data->nb_rx_queues == 0) return 0;
  Adapter& adapter = *adapter_of(dev);
  if (adapter.device->virtual_time()) {
    AWING_LOG(ERR,
              "port %u: receive interrupts need clock=tsc: with clock=virtual time moves only when the application "
              "polls, so one that sleeps would sleep for ever",
              dev->data->port_id);
    return -ENOTSUP;
  }
  rte_intr_handle* handle = rte_intr_instance_alloc(RTE_INTR_INSTANCE_F_PRIVATE);
  if (!handle) return refuse(dev, "no interrupt handle");
  dev->intr_handle = handle;
  const int fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  if (fd < 0) {
    rte_errno = errno;
    return refuse(dev, "no eventfd");
  }
  adapter.rx_event = fd;
  if (rte_intr_type_set(handle, RTE_INTR_HANDLE_VDEV) != 0 || rte_intr_vec_list_alloc(handle, nullptr, 1) != 0 ||
      rte_intr_vec_list_index_set(handle, 0, RTE_INTR_VEC_RXTX_OFFSET) != 0 ||
      rte_intr_efds_index_set(handle, 0, fd) != 0 || rte_intr_efd_counter_size_set(handle, sizeof(uint64_t)) != 0 ||
      rte_intr_nb_efd_set(handle, 1) != 0 || rte_intr_max_intr_set(handle, 2) != 0)
    return refuse(dev, "the interrupt handle cannot be filled in");
  if (const int status = waker::join(adapter); status != 0) {
    interrupts_remove(dev);
    return status;
  }
  return 0;
}

void interrupts_remove(rte_eth_dev* dev) {
  Adapter& adapter = *adapter_of(dev);
  waker::leave(adapter);
  adapter.rx_waited_for = false;
  if (rte_intr_handle* handle = dev->intr_handle) {
    rte_intr_free_epoll_fd(handle);
    rte_intr_vec_list_free(handle);
    rte_intr_instance_free(handle);
    dev->intr_handle = nullptr;
  }
  if (const int fd = adapter.rx_event.exchange(-1); fd >= 0) close(fd);
}

void interrupts_mask(rte_eth_dev* dev) {
  Adapter& adapter = *adapter_of(dev);
  adapter.device->write(hw::kIntrRxEnable, 0);
  adapter.device->write(hw::kIntrTxEnable, 0);
  adapter.tx_interrupt = false;
  waker::wait_for(adapter, false);
}

void interrupts_start(rte_eth_dev* dev) {
  interrupts_mask(dev);
  Adapter& adapter = *adapter_of(dev);
  Device& device = *adapter.device;
  const uint64_t khz = device.read(hw::kBusInfo) >> 8;
  adapter.rx_policy = ReceivePolicy(adapter.rx_batch, static_cast<uint32_t>(adapter.rx_timeout_us * khz / 1000));
  device.write(hw::kIntrRxCount, adapter.rx_policy.batch());
  device.write(hw::kIntrRxTimeout, adapter.rx_policy.timeout());
  device.write(hw::kIntrTxTimeout, UINT32_MAX);  // a sender waits for no more than is out: the count does it
}

int rx_intr_enable(rte_eth_dev* dev, uint16_t) {
  if (!primary()) return -EPERM;
  Adapter& adapter = *adapter_of(dev);
  if (!dev->intr_handle || !dev->data->dev_started) {
    AWING_LOG(ERR, "port %u: receive interrupts: %s", dev->data->port_id,
              dev->intr_handle ? "start the port first" : "configure the port with intr_conf.rxq = 1 first");
    return -EINVAL;
  }
  // What the application has not taken by now raises the line, be it there already or still on its way.
  adapter.device->write(hw::kIntrRxSeen, rxq(dev)->taken);
  adapter.device->write(hw::kIntrRxEnable, 1);
  adapter.rx_policy.sleeps();
  waker::wait_for(adapter, true);
  return 0;
}

int rx_intr_disable(rte_eth_dev* dev, uint16_t) {
  if (!primary()) return -EPERM;
  Adapter& adapter = *adapter_of(dev);
  waker::wait_for(adapter, false);
  if (adapter.rx_policy.woken()) adapter.device->write(hw::kIntrRxEnable, 0);
  return 0;
}

bool tx_interrupted(TxQueue& q) {
  std::atomic<bool>& came = q.adapter->tx_interrupt;
  if (!came.load(std::memory_order_relaxed) || !came.exchange(false, std::memory_order_acquire)) return false;
  q.adapter->device->interrupted();
  return true;
}

void tx_arm(TxQueue& q, uint32_t used, uint32_t done) {
  const Arm arm = q.policy.posted(used);
  if (!arm.write) return;
  Device& device = *q.adapter->device;
  if (arm.count == 0) {
    device.write(hw::kIntrTxEnable, 0);
    return;
  }
  device.write(hw::kIntrTxSeen, done);
  device.write(hw::kIntrTxCount, arm.count);
  device.write(hw::kIntrTxEnable, 1);
}

}  // namespace awing::pmd
