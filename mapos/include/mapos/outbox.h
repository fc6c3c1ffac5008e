// SPDX-License-Identifier: BSD-3-Clause
// What a protocol engine wants of its caller: control frames to send and things worth knowing. The caller owns the box,
// empties it after each call, and hands it to the next; once warm it allocates nothing. Data frames never go through
// it. One thread at a time.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "mapos/frame.h"
#include "mapos/port_set.h"

namespace mapos {

enum class EventKind : uint8_t {
  kAddressAssigned,  ///< node: NSP gave or changed the address; value is it, as on the wire
  kAddressLost,      ///< node: the link went down
  kRejected,         ///< node: the switch would not assign an address (RFC 2173 section 4.2)
  kResolved,         ///< node: value is an IPv4 address whose HDLC address is known now
  kUnresolved,       ///< node: value is an IPv4 address that nobody answered for
  kResolved6,        ///< node: as kResolved for IPv6; value is the last four octets of the address
  kUnresolved6,      ///< node: as kUnresolved for IPv6
  kUsable6,          ///< node: no duplicate of our IPv6 address was found; value is its last four octets
  kDuplicate6,       ///< node: another station has our IPv6 address (RFC 3572 section 4, RFC 4862 section 5.4)
  kAddressConflict,  ///< node: another station says that our IPv4 address, the value, is its own
  kNodeUp,           ///< switch: a node asked for its address on the port for the first time
  kNodeDown,         ///< switch: no request for more than 90 s
  kNewVss,           ///< switch: broadcasts follow the tree of another switch; value is its bits, 0 if there is none
  kPathLabel,        ///< switch: value is the C2 octet that the port sends from now on (RFC 3186 section 2.3.1)
};

struct Event {
  EventKind kind;
  Port port;  ///< kNoPort at a node, or if no port is meant
  uint32_t value;
  bool operator==(const Event&) const = default;
};

class Outbox {
 public:
  struct Frame {
    Port port;
    std::span<const uint8_t> octets;  ///< address to last information octet, valid until the box is next written to
  };

  /// Adds a frame and returns its information field, all zero, to be filled in before the next call.
  std::span<uint8_t> add_frame(Port port, const Header& header, size_t information_octets) {
    const size_t at = octets_.size();
    octets_.resize(at + kHeaderOctets + information_octets);
    put_header(octets_.data() + at, header);
    frames_.push_back({port, at, kHeaderOctets + information_octets});
    return std::span(octets_).subspan(at + kHeaderOctets);
  }
  void add_event(EventKind kind, Port port, uint32_t value) { events_.push_back({kind, port, value}); }

  size_t frames() const { return frames_.size(); }
  Frame frame(size_t i) const { return {frames_[i].port, std::span(octets_).subspan(frames_[i].at, frames_[i].size)}; }
  std::span<const Event> events() const { return events_; }
  bool empty() const { return frames_.empty() && events_.empty(); }
  /// Keeps the memory.
  void clear() {
    octets_.clear();
    frames_.clear();
    events_.clear();
  }

 private:
  struct Place {
    Port port;
    size_t at, size;
  };
  std::vector<uint8_t> octets_;
  std::vector<Place> frames_;
  std::vector<Event> events_;
};

}  // namespace mapos
