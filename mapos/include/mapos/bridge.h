// SPDX-License-Identifier: BSD-3-Clause
// MAC frames over MAPOS (RFC 3422, on the format of RFC 2878): the encapsulation, and a network adapter, which joins a
// LAN to the adapters of the same VLAN. No I/O. Each object belongs to one thread at a time.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <tl/expected.hpp>
#include <unordered_map>
#include <vector>

#include "mapos/frame.h"
#include "mapos/time.h"

namespace mapos {

using Mac = std::array<uint8_t, 6>;
constexpr bool is_group(const Mac& m) { return (m[0] & 1) != 0; }

/// RFC 2878 section 4.2.
enum class MacType : uint8_t {
  k802_3 = 1,
  k802_4 = 2,
  k802_5NonCanonical = 3,
  kFddiNonCanonical = 4,
  k802_5 = 11,
  kFddi = 12,
};

/// What stands between the MAPOS header and the MAC frame: reserved 16 bits, source address 16, flags and pads 8, MAC
/// type 8. Then the MAC frame; types other than 802.3 have a pad octet and a frame control octet first.
constexpr size_t kBridgeOctets = 6;
constexpr size_t kMostMacFrame = kMostInformation - kBridgeOctets;  ///< octets, without LAN FCS
constexpr size_t kLeastMacFrame = 14;                               ///< addresses and length or type
constexpr size_t kPaddedMacFrame = 60;                              ///< shortest 802.3 frame, without FCS

/// Writes kHeaderOctets + kBridgeOctets octets, after which the 802.3 frame without its FCS belongs.
void put_bridge_header(uint8_t* out, Address destination, Address source);

struct BridgedFrame {
  uint16_t source;  ///< MAPOS address of the sending adapter, as it stands in the frame
  MacType type;
  bool zero_fill;  ///< an 802.3 frame below kPaddedMacFrame octets is to be filled with zeros to that (Z flag)
  Mac destination_mac, source_mac;
  std::span<const uint8_t> mac;  ///< from the destination address, or the pad octet; no LAN FCS, no line padding
};

enum class BridgeError : uint8_t {
  kMalformed,  ///< too short for its header, addresses, pads and FCS, or an unknown MAC type
  kLanFcs,     ///< an 802.3 frame came with its FCS, and that is wrong
};

/// Information field of a frame with protocol kBridge. Reserved bits are not looked at. Thread-safe.
tl::expected<BridgedFrame, BridgeError> parse_bridged(std::span<const uint8_t> information);

struct AdapterConfig {
  bool learn = true;           ///< section 3.3.2; must be possible to switch off
  Time aging = seconds(300);   ///< of learned entries
  size_t most_entries = 4096;  ///< beyond it nothing is learned
};

/// Every MAPOS frame given to receive() is in one of the first four, every MAC frame given to destinations() in one of
/// the others.
struct AdapterCounters {
  uint64_t delivered = 0;
  uint64_t not_peer = 0;   ///< source is no adapter of the VLAN (sections 3.2 and 5.4)
  uint64_t malformed = 0;  ///< also MAC types other than 802.3, which this LAN is not
  uint64_t bad_lan_fcs = 0;

  uint64_t known = 0;       ///< to one peer
  uint64_t flooded = 0;     ///< to all peers: broadcast, multicast, or nobody knows
  uint64_t bad_length = 0;  ///< shorter than kLeastMacFrame or longer than kMostMacFrame
};

/// A network adapter of one VLAN with an 802.3 LAN behind it.
class NetworkAdapter {
 public:
  explicit NetworkAdapter(const AdapterConfig& config) : config_(config) {}

  /// The other adapters of the VLAN, set by hand (section 3.2). Removing one removes what leads to it.
  void add_peer(Address a);
  void remove_peer(Address a);
  /// A static entry (section 3.3.1): neither ages nor is overwritten. False if `a` is no peer or `mac` is a group.
  bool add_static(const Mac& mac, Address a);
  bool remove(const Mac& mac) { return table_.erase(key(mac)) != 0; }

  /// A frame from the LAN, without FCS: the MAPOS addresses to send it to, one unicast frame each (sections 3.1 and
  /// 3.2). Valid until the next call that changes something.
  std::span<const Address> destinations(std::span<const uint8_t> mac_frame, Time now);
  /// A bridged frame from the MAPOS network: what to send on the LAN, and where its source is is learned.
  std::optional<BridgedFrame> receive(std::span<const uint8_t> information, Time now);

  /// Forgets what has aged. next_deadline() may be early, never late.
  void advance(Time now);
  Time next_deadline() const { return deadline_; }

  size_t entries() const { return table_.size(); }
  const AdapterCounters& counters() const { return counters_; }

 private:
  struct Entry {
    Address at;
    Time deadline;  // kNever if static
  };
  static uint64_t key(const Mac& m) {
    uint64_t k = 0;
    for (const uint8_t o : m) k = k << 8 | o;
    return k;
  }
  void learn(const Mac& mac, Address at, Time now);

  AdapterConfig config_;
  std::vector<Address> peers_;
  std::unordered_map<uint64_t, Entry> table_;
  Time deadline_ = kNever;
  AdapterCounters counters_;
};

}  // namespace mapos
