// SPDX-License-Identifier: BSD-3-Clause
// MAPOS ARP and UNARP (RFC 2176 section 3; 16-bit addresses: RFC 2175 section 4): IPv4 to HDLC addresses. An engine
// without I/O; sends on kNoPort. One thread at a time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>

#include "mapos/ip.h"
#include "mapos/neighbour_table.h"
#include "mapos/outbox.h"
#include "mapos/time.h"

namespace mapos {

enum class ArpOperation : uint16_t { kRequest = 1, kResponse = 2, kUnarp = 23 };

constexpr size_t kArpOctets = 24;
constexpr uint16_t kArpHardware = 25;  ///< MAPOS; address length 4
constexpr uint16_t kArpIpv4 = 0x0800;  ///< address length 4

struct ArpPacket {
  ArpOperation operation;
  uint32_t sender;  ///< HDLC address, right-aligned, and so the target's
  Ipv4Address sender_ip;
  uint32_t target;
  Ipv4Address target_ip;
};

/// None if fewer than kArpOctets octets (more are ignored), or of another hardware, protocol, length or operation.
std::optional<ArpPacket> parse_arp(std::span<const uint8_t> information);
void put_arp(Outbox& out, Address destination, const ArpPacket& packet);

constexpr Time kUnarpInterval = seconds(30);  ///< RFC 2176 section 3.3
constexpr int kUnarps = 3;

struct ArpConfig {
  Version version = Version::kV1;
  std::optional<Ipv4Address> own_ip{};
  NeighbourLimits limits{};
};

/// Every ARP packet ends in exactly one of these.
struct ArpCounters {
  uint64_t requests = 0;   ///< for our IP address, answered
  uint64_t responses = 0;  ///< to a question of ours
  uint64_t unarps = 0;
  uint64_t overheard = 0;   ///< requests for others
  uint64_t unasked = 0;     ///< responses to nobody's question
  uint64_t malformed = 0;   ///< or senders that cannot be: groups, control processors, IP addresses of no host
  uint64_t conflicts = 0;   ///< somebody else says that our IP address is its own
  uint64_t no_address = 0;  ///< came before NSP gave us an address

  uint64_t packets() const {
    return requests + responses + unarps + overheard + unasked + malformed + conflicts + no_address;
  }
  bool operator==(const ArpCounters&) const = default;
};

class Arp {
 public:
  explicit Arp(const ArpConfig& config) : config_(config), table_(config.limits) {}

  /// NSP gave or changed our address: forgets what was known and broadcasts UNARP, now and twice more at intervals of
  /// 30 s (RFC 2176 section 3.3), if there is an own IP address.
  void address_assigned(Address own, Time now, Outbox& out);
  /// Link lost: all entries go, those set by hand too (RFC 2176 section 3.4).
  void link_down();

  /// HDLC address of a host on the link. If it is not known, asks, and none comes back: an event tells when it is, or
  /// that nobody answered. One lookup and nothing allocated if it is known.
  std::optional<Address> resolve(Ipv4Address ip, Time now, Outbox& out);
  /// By hand: stays until removed, until UNARP says that the host is elsewhere, or until the link is lost. False if the
  /// table is full or the address is a group or of another version.
  bool add(Ipv4Address ip, Address hdlc);
  bool remove(Ipv4Address ip) { return table_.remove(ip); }
  /// What is in the cache, without asking.
  std::optional<Address> find(Ipv4Address ip, Time now) const { return table_.find(ip, now); }
  size_t size() const { return table_.size(); }

  /// Information field of an ARP frame.
  void receive(std::span<const uint8_t> information, Time now, Outbox& out);
  /// Does what is due. next_deadline() may be early, never late.
  void advance(Time now, Outbox& out);
  Time next_deadline() const { return std::min(unarp_at_, table_.next_deadline()); }

  const ArpCounters& counters() const { return counters_; }

 private:
  bool plausible(const ArpPacket& p) const;
  void question(Ipv4Address ip, Outbox& out);
  void learn(const ArpPacket& p, bool new_too, Time now, Outbox& out);
  void send_unarp(Time now, Outbox& out);

  ArpConfig config_;
  std::optional<Address> own_;
  NeighbourTable<Ipv4Address> table_;
  int unarps_left_ = 0;
  Time unarp_at_ = kNever;
  ArpCounters counters_;
};

}  // namespace mapos
