// SPDX-License-Identifier: BSD-3-Clause
// A MAPOS network in model time: switches, nodes, and links that fail, lose, double and reorder control frames. Data
// frames cross links untouched, so that a copy too many is the fault of a switch.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "mapos/node_core.h"
#include "mapos/switch_core.h"
#include "octets.h"

namespace test {

/// Of control frames, 0 to 1 each; a reordered one arrives up to `reorder_by` later.
struct Faults {
  double loss = 0, duplicate = 0, reorder = 0;
  mapos::Time reorder_by = mapos::milliseconds(50);
};

/// "S2->S1": a data frame went over the link.
using Hops = std::multiset<std::string>;

class Network {
 public:
  explicit Network(mapos::Version version = mapos::Version::kV1, uint32_t seed = 1)
      : version_(version), random_(seed) {}

  /// bits 0 for a switch without a cluster.
  int add_switch(const std::string& name, uint16_t bits, uint16_t mask, mapos::Port ports = 15) {
    Device d{name};
    const auto id = bits == 0 ? mapos::SwitchId::alone(version_) : *mapos::SwitchId::in_cluster(version_, bits, mask);
    d.config = {id, ports, {}};
    d.core = std::make_unique<mapos::SwitchCore>(d.config, now_);
    return add(std::move(d));
  }
  int add_node(const std::string& name, mapos::NodeConfig config = {}) {
    Device d{name};
    config.version = version_;
    d.node = std::make_unique<mapos::NodeCore>(config);
    return add(std::move(d));
  }
  /// The link is down at first. Nodes have port kNoPort.
  int add_link(int a, mapos::Port pa, int b, mapos::Port pb, mapos::Time delay = mapos::milliseconds(1)) {
    links_.push_back({{a, pa}, {b, pb}, delay});
    const int link = static_cast<int>(links_.size()) - 1;
    devices_[static_cast<size_t>(a)].links[pa] = link;
    devices_[static_cast<size_t>(b)].links[pb] = link;
    return link;
  }
  int links() const { return static_cast<int>(links_.size()); }

  void set_link(int link, bool up) {
    Link& l = at(link);
    if (l.up == up) return;
    l.up = up;
    ++l.epoch;
    for (const End& e : {l.a, l.b}) signal(e, up);
  }
  bool link_up(int link) { return at(link).up; }
  void all_up() {
    for (int l = 0; l < links(); ++l) set_link(l, true);
  }
  void set_faults(const Faults& f) { faults_ = f; }
  /// The switch forgets everything; its links stay.
  void restart(int device) {
    Device& d = devices_[static_cast<size_t>(device)];
    d.core = std::make_unique<mapos::SwitchCore>(d.config, now_);
    for (const auto& [port, link] : d.links)
      if (at(link).up) signal({device, port}, true);
  }

  void run_until(mapos::Time t) {
    while (!agenda_.empty() && agenda_.begin()->first <= t) {
      const auto work = std::move(agenda_.begin()->second);
      now_ = agenda_.begin()->first;
      agenda_.erase(agenda_.begin());
      work();
    }
    now_ = t;
  }
  void run_for(mapos::Time t) { run_until(now_ + t); }
  mapos::Time now() const { return now_; }

  /// A data frame from a node.
  void send(int node, mapos::Address to) { send(node, to, Octets{0x45}); }
  void send(int node, mapos::Address to, std::span<const uint8_t> information) {
    Octets frame(mapos::kHeaderOctets);
    mapos::put_header(frame.data(), {to, mapos::kIpv4});
    append(frame, information);
    transmit({node, mapos::kNoPort}, frame);
  }
  /// IPv4 to a host on the link; false if its address is not known yet and has been asked for.
  bool send_ip(int node, mapos::Ipv4Address to) {
    const auto a = this->node(node).destination(to, now_, out_);
    drain(node);
    if (a) send(node, *a);
    return a.has_value();
  }
  /// What data frames did since the last call. Those under way go on; more than `most_hops_` hops are cut and told.
  Hops hops() { return std::exchange(hops_, {}); }
  /// One probe: a broadcast from this node, run for `t`.
  Hops broadcast(int node, mapos::Time t = mapos::milliseconds(200)) {
    hops_.clear();
    send(node, mapos::Address::broadcast(version_));
    run_for(t);
    return hops();
  }

  /// Sends what a call of the test's own left for this device.
  void deliver(int device, mapos::Outbox& out) {
    out_ = std::exchange(out, {});
    drain(device);
  }
  /// A frame out of nowhere on a switch port.
  void inject(int device, mapos::Port port, Octets& frame) { arrive({device, port}, frame); }
  void port_up(int device, mapos::Port port) { signal({device, port}, true); }

  mapos::SwitchCore& core(int device) { return *devices_[static_cast<size_t>(device)].core; }
  mapos::NodeCore& node(int device) { return *devices_[static_cast<size_t>(device)].node; }
  const std::string& name(int device) const { return devices_[static_cast<size_t>(device)].name; }
  std::vector<mapos::Event>& events(int device) { return devices_[static_cast<size_t>(device)].events; }
  /// Frames handed to SwitchCore::receive or NodeCore::receive.
  uint64_t received(int device) const { return devices_[static_cast<size_t>(device)].received; }
  /// Called for every control frame as it is sent.
  std::function<void(int device, mapos::Port, std::span<const uint8_t>)> on_control;

 private:
  struct End {
    int device;
    mapos::Port port;
  };
  struct Link {
    End a, b;
    mapos::Time delay;
    bool up = false;
    int epoch = 0;  // what is under way when the link fails is lost
  };
  struct Device {
    std::string name;
    mapos::SwitchCore::Config config{mapos::SwitchId::alone(mapos::Version::kV1), 0, {}};
    std::unique_ptr<mapos::SwitchCore> core{};
    std::unique_ptr<mapos::NodeCore> node{};
    std::map<mapos::Port, int> links{};
    std::vector<mapos::Event> events{};
    mapos::Time wake = mapos::kNever;
    uint64_t received = 0;
  };
  static constexpr size_t kMostHops = 10'000;

  int add(Device d) {
    devices_.push_back(std::move(d));
    const int device = static_cast<int>(devices_.size()) - 1;
    drain(device);
    return device;
  }
  Link& at(int link) { return links_[static_cast<size_t>(link)]; }
  void after(mapos::Time t, std::function<void()> work) { agenda_.emplace(now_ + t, std::move(work)); }
  bool chance(double p) { return p > 0 && std::uniform_real_distribution<>(0, 1)(random_) < p; }

  void signal(const End& e, bool up) {
    Device& d = devices_[static_cast<size_t>(e.device)];
    if (d.core) {
      if (up)
        d.core->port_up(e.port, now_, out_);
      else
        d.core->port_down(e.port, now_, out_);
    } else if (up) {
      d.node->link_up(now_, out_);
    } else {
      d.node->link_down(out_);
    }
    drain(e.device);
  }

  void transmit(const End& from, std::span<const uint8_t> octets) {
    const Device& d = devices_[static_cast<size_t>(from.device)];
    const auto found = d.links.find(from.port);
    if (found == d.links.end() || !at(found->second).up) return;
    Link& l = at(found->second);
    const End to = l.a.device == from.device && l.a.port == from.port ? l.b : l.a;
    const auto header = mapos::parse_header(version_, octets);
    const bool control = header && header->protocol >= mapos::kArp;
    if (control) {
      if (on_control) on_control(from.device, from.port, octets);
      if (chance(faults_.loss)) return;
    } else {
      if (hops_.size() >= kMostHops) return;
      hops_.insert(d.name + "->" + devices_[static_cast<size_t>(to.device)].name);
    }
    const int copies = control && chance(faults_.duplicate) ? 2 : 1;
    for (int i = 0; i < copies; ++i) {
      mapos::Time t = l.delay;
      if (control && chance(faults_.reorder))
        t += std::uniform_int_distribution<mapos::Time>(0, faults_.reorder_by)(random_);
      after(t, [this, to, link = found->second, epoch = l.epoch, f = Octets(octets.begin(), octets.end())]() mutable {
        if (at(link).epoch == epoch) arrive(to, f);
      });
    }
  }

  void arrive(const End& e, Octets& frame) {
    Device& d = devices_[static_cast<size_t>(e.device)];
    if (d.core) {
      ++d.received;
      const auto ports = d.core->receive(e.port, frame, now_, out_);
      drain(e.device);
      ports.for_each([&](mapos::Port p) { transmit({e.device, p}, frame); });
    } else {
      ++d.received;
      d.node->receive(frame, now_, out_);
      drain(e.device);
    }
  }

  void drain(int device) {
    Device& d = devices_[static_cast<size_t>(device)];
    d.events.insert(d.events.end(), out_.events().begin(), out_.events().end());
    const mapos::Outbox box = std::exchange(out_, {});
    for (size_t i = 0; i < box.frames(); ++i) transmit({device, box.frame(i).port}, box.frame(i).octets);
    const mapos::Time deadline = d.core ? d.core->next_deadline() : d.node->next_deadline();
    if (deadline == mapos::kNever || d.wake <= deadline) return;
    d.wake = deadline;
    after(std::max<mapos::Time>(deadline - now_, 0), [this, device, deadline] {
      Device& woken = devices_[static_cast<size_t>(device)];
      if (woken.wake != deadline) return;  // an earlier one was set since
      woken.wake = mapos::kNever;
      if (woken.core)
        woken.core->advance(now_, out_);
      else
        woken.node->advance(now_, out_);
      drain(device);
    });
  }

  mapos::Version version_;
  std::mt19937 random_;
  std::vector<Device> devices_;
  std::vector<Link> links_;
  std::multimap<mapos::Time, std::function<void()>> agenda_;
  mapos::Time now_ = 0;
  mapos::Outbox out_;
  Faults faults_;
  Hops hops_;
};

}  // namespace test
