// SPDX-License-Identifier: BSD-3-Clause
// Neighbour discovery over MAPOS (RFC 3572 sections 2.3.1, 4 and 5): the address resolution and duplicate address
// detection of RFC 4861 and RFC 4862. Entries time out as those of ARP do, in place of reachability probes; routers and
// redirects are the host's affair. An engine without I/O; sends on kNoPort. One thread at a time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "mapos/ip.h"
#include "mapos/neighbour_table.h"
#include "mapos/outbox.h"

namespace mapos {

struct NdConfig {
  Version version = Version::kV1;
  std::vector<Ipv6Address> own_ips{};  ///< the first is what questions are asked from
  NeighbourLimits limits{};
  Time duplicate_wait = seconds(1);  ///< RetransTimer, after one solicitation (RFC 4862 section 5.1)
};

/// Every neighbour solicitation and advertisement ends in exactly one of these.
struct NdCounters {
  uint64_t solicitations = 0;   ///< for an address of ours
  uint64_t advertisements = 0;  ///< of somebody we know or asked for
  uint64_t duplicates = 0;      ///< of an address of ours, by somebody else
  uint64_t ignored = 0;         ///< for others, unasked, or before NSP gave us an address
  uint64_t malformed = 0;       ///< fails the checks of RFC 4861 sections 7.1.1 and 7.1.2
  uint64_t packets() const { return solicitations + advertisements + duplicates + ignored + malformed; }
};

class Nd {
 public:
  explicit Nd(const NdConfig& config);

  /// NSP gave or changed our address: forgets what was known and looks for duplicates of our addresses, which could not
  /// be done before (RFC 3572 section 4).
  void address_assigned(Address own, Time now, Outbox& out);
  void link_down();
  /// May this address of ours be used? Not before the search for duplicates is over, nor if there is one.
  bool usable(const Ipv6Address& own_ip) const;

  /// HDLC address of a unicast address on the link; none, and a question sent, if it is not known. An event follows.
  std::optional<Address> resolve(const Ipv6Address& ip, Time now, Outbox& out);
  std::optional<Address> find(const Ipv6Address& ip, Time now) const { return table_.find(ip, now); }
  /// By hand, as Arp::add and Arp::remove.
  bool add(const Ipv6Address& ip, Address hdlc);
  bool remove(const Ipv6Address& ip) { return table_.remove(ip); }

  /// An IPv6 datagram that came in. False if it is no neighbour solicitation or advertisement: it is the host's then.
  bool receive(std::span<const uint8_t> datagram, Time now, Outbox& out);
  /// Does what is due. next_deadline() may be early, never late.
  void advance(Time now, Outbox& out);
  Time next_deadline() const { return std::min(duplicate_until_, table_.next_deadline()); }

  const NdCounters& counters() const { return counters_; }

 private:
  struct Hash {
    size_t operator()(const Ipv6Address& a) const {
      return std::hash<std::string_view>{}({reinterpret_cast<const char*>(a.data()), a.size()});
    }
  };
  enum class Own : uint8_t { kTentative, kUsable, kDuplicate };
  struct Message;
  uint64_t& solicited(const Message& m, Time now, Outbox& out);
  uint64_t& advertised(const Message& m, Time now, Outbox& out);
  uint64_t& duplicate(Own& state, const Ipv6Address& ip, Outbox& out);
  void question(const Ipv6Address& ip, Outbox& out);
  Own* own(const Ipv6Address& ip);

  NdConfig config_;
  std::vector<Own> states_;  // of config_.own_ips
  std::optional<Address> own_;
  NeighbourTable<Ipv6Address, Hash> table_;
  Time duplicate_until_ = kNever;
  NdCounters counters_;
};

}  // namespace mapos
