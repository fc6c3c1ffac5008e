// SPDX-License-Identifier: BSD-3-Clause
#include "waker.h"

#include <rte_lcore.h>
#include <time.h>

#include <algorithm>
#include <mutex>
#include <vector>

#include "driver.h"

namespace awing::pmd::waker {

namespace {

/// What the thread and the ports share. A pthread of EAL's making, so that it keeps off the cores of the application.
struct State {
  std::mutex lock;  // over `ports`; held while a port is driven
  std::vector<Adapter*> ports;
  std::atomic<uint32_t> calls{0};  // goes up when there is something to do
  std::atomic<bool> quit{false};
  bool runs = false;
  pthread_t thread{};
};
State& state() {
  static State& s = *new State;  // never destroyed: the thread may still look at it while the process ends
  return s;
}

/// Drives every port somebody waits for; nanoseconds until it is to be done again, 0: nobody waits.
uint64_t drive(State& s) {
  const std::lock_guard guard(s.lock);
  uint64_t rest = 0;
  for (Adapter* adapter : s.ports) {
    if (!adapter->rx_waited_for.load(std::memory_order_acquire)) continue;
    const uint64_t wants = std::max<uint64_t>(1, adapter->device->drive());
    rest = rest == 0 ? wants : std::min(rest, wants);
  }
  return rest;
}

void* run(void*) {
  State& s = state();
  while (!s.quit.load(std::memory_order_acquire)) {
    const uint32_t calls = s.calls.load(std::memory_order_acquire);
    const uint64_t rest = drive(s);
    if (rest == 0) {
      s.calls.wait(calls, std::memory_order_acquire);
    } else {
      const timespec nap{static_cast<time_t>(rest / 1'000'000'000), static_cast<long>(rest % 1'000'000'000)};
      nanosleep(&nap, nullptr);
    }
  }
  return nullptr;
}

void call(State& s) {
  s.calls.fetch_add(1, std::memory_order_release);
  s.calls.notify_one();
}

}  // namespace

int join(Adapter& adapter) {
  State& s = state();
  const std::lock_guard guard(s.lock);
  if (std::find(s.ports.begin(), s.ports.end(), &adapter) != s.ports.end()) return 0;
  if (!s.runs) {
    s.quit = false;
    if (const int error = rte_ctrl_thread_create(&s.thread, "awing-waker", nullptr, run, nullptr); error != 0) {
      AWING_LOG(ERR, "cannot start the thread that wakes sleepers: %s", strerror(-error));
      return error;
    }
    s.runs = true;
  }
  s.ports.push_back(&adapter);
  return 0;
}

void leave(Adapter& adapter) {
  State& s = state();
  pthread_t ended{};
  {
    const std::lock_guard guard(s.lock);
    if (std::erase(s.ports, &adapter) == 0 || !s.ports.empty()) return;
    ended = s.thread;
    s.runs = false;
    s.quit.store(true, std::memory_order_release);
    call(s);
  }
  pthread_join(ended, nullptr);
}

void wait_for(Adapter& adapter, bool on) {
  adapter.rx_waited_for.store(on, std::memory_order_release);
  if (on) call(state());
}

}  // namespace awing::pmd::waker
