// SPDX-License-Identifier: BSD-3-Clause
// IP to HDLC addresses, as ARP and neighbour discovery keep them: what is known, for how long, and what has been asked
// for. One thread at a time.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <unordered_map>

#include "mapos/address.h"
#include "mapos/time.h"

namespace mapos {

struct NeighbourLimits {
  Time timeout = seconds(60);  ///< of an entry, though in use (RFC 2176 section 3.4: "a minute or less")
  Time retry = seconds(1);     ///< between questions for one address (RFC 1122 section 2.3.2.1, RFC 4861 section 10)
  int tries = 3;
  size_t most_entries = 1024;  ///< so that nobody can fill the memory
};

template <typename Ip, typename Hash = std::hash<Ip>>
class NeighbourTable {
 public:
  explicit NeighbourTable(const NeighbourLimits& limits) : limits_(limits) {}

  /// What is known of it now; none if it is over though advance() has not been called. Allocates nothing.
  std::optional<Address> find(const Ip& ip, Time now) const {
    const auto at = entries_.find(ip);
    return at != entries_.end() && at->second.hdlc && now < at->second.deadline ? at->second.hdlc : std::nullopt;
  }
  /// Is it known, was it, or has it been asked for?
  bool contains(const Ip& ip) const { return entries_.contains(ip); }
  size_t size() const { return entries_.size(); }

  /// An address that find() does not have is wanted. True if it is to be asked for now: it has not been already, and
  /// there is room.
  bool want(const Ip& ip, Time now) {
    const auto at = entries_.find(ip);
    if (at != entries_.end() && !at->second.hdlc) return false;
    if (at == entries_.end() && entries_.size() >= limits_.most_entries) return false;
    entries_[ip] = {std::nullopt, now + limits_.retry, 1};
    wait_for(now + limits_.retry);
    return true;
  }
  /// Somebody says where it is. `new_too`: put it in though nobody asked. What was set by hand stays. True if it was
  /// asked for.
  bool learn(const Ip& ip, Address hdlc, bool new_too, Time now) {
    const auto at = entries_.find(ip);
    if (at == entries_.end() && (!new_too || entries_.size() >= limits_.most_entries)) return false;
    Entry& e = at != entries_.end() ? at->second : entries_[ip];
    if (e.hdlc && e.deadline == kNever) return false;
    const bool asked = e.tries > 0;
    e = {hdlc, now + limits_.timeout, 0};
    wait_for(e.deadline);
    return asked;
  }
  /// By hand, without timeout. False if the table is full.
  bool add(const Ip& ip, Address hdlc) {
    if (!contains(ip) && entries_.size() >= limits_.most_entries) return false;
    entries_[ip] = {hdlc, kNever, 0};
    return true;
  }
  bool remove(const Ip& ip) { return entries_.erase(ip) != 0; }
  void clear() {
    entries_.clear();
    deadline_ = kNever;
  }

  /// Drops what is over; calls ask(ip) for each question that is to be repeated, gave_up(ip) for each that nobody
  /// answered.
  template <typename Ask, typename GaveUp>
  void advance(Time now, Ask&& ask, GaveUp&& gave_up) {
    if (now < deadline_) return;
    deadline_ = kNever;
    for (auto at = entries_.begin(); at != entries_.end();) {
      Entry& e = at->second;
      const bool due = now >= e.deadline;
      if (due && (e.hdlc || e.tries >= limits_.tries)) {
        if (!e.hdlc) gave_up(at->first);
        at = entries_.erase(at);
        continue;
      }
      if (due) {
        ++e.tries;
        e.deadline = now + limits_.retry;
        ask(at->first);
      }
      wait_for(e.deadline);
      ++at;
    }
  }
  /// May be early, since entries are refreshed; never late.
  Time next_deadline() const { return deadline_; }

 private:
  struct Entry {
    std::optional<Address> hdlc{};  // none: asked for
    Time deadline = kNever;         // of the entry, or of the answer; kNever if set by hand
    int tries = 0;                  // questions sent, if asked for
  };
  void wait_for(Time t) { deadline_ = t < deadline_ ? t : deadline_; }

  NeighbourLimits limits_;
  std::unordered_map<Ip, Entry, Hash> entries_;
  Time deadline_ = kNever;
};

}  // namespace mapos
