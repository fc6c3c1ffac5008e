// SPDX-License-Identifier: BSD-3-Clause
// Node-Switch Protocol, both sides (RFC 2173; 16-bit addresses: RFC 2175 section 4). Engines without I/O: they take
// frames and time and leave what is to be sent in the caller's Outbox. Each object belongs to one thread at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "mapos/outbox.h"
#include "mapos/time.h"

namespace mapos {

enum class NspCommand : uint32_t { kRequest = 1, kAssignment = 2, kReject = 3 };  ///< RFC 2173 section 4.2

constexpr size_t kNspOctets = 8;             ///< command and address, 32 bits each
constexpr Time kNspRetransmit = seconds(5);  ///< RFC 2173 section 4.1, as the next two
constexpr Time kNspVerify = seconds(30);
constexpr Time kNspNodeDown = seconds(90);  ///< more than this without a request

struct NspPacket {
  uint32_t command;  ///< not necessarily one of NspCommand
  uint32_t address;
};

/// None if fewer than kNspOctets octets; more are ignored.
std::optional<NspPacket> parse_nsp(std::span<const uint8_t> information);
void put_nsp(Outbox& out, Port port, Address destination, NspCommand command, uint32_t address);

/// What became of a received NSP frame.
enum class NspResult : uint8_t {
  kTaken,
  kMalformed,   ///< too short, unknown command, or an address that cannot be
  kUnexpected,  ///< a command for the other side, or an answer that nobody waits for
};

/// The node's side: keeps asking until it has an address, then every 30 s (RFC 2173 section 4.1); answers the request
/// of another node on the same line, or its own on a loop (section 4.3). Sends on kNoPort.
class NspNode {
 public:
  explicit NspNode(Version version) : version_(version) {}

  /// The signal is received correctly: asks.
  void link_up(Time now, Outbox& out);
  /// Signal lost: the address is gone.
  void link_down(Outbox& out);
  /// A transmission error that the link survived, such as a short loss of synchronisation: asks again (section 4.1).
  void verify(Time now, Outbox& out);
  /// An NSP frame with this destination address.
  NspResult receive(Address destination, std::span<const uint8_t> information, Time now, Outbox& out);
  /// Does what is due; no effect before next_deadline().
  void advance(Time now, Outbox& out);
  Time next_deadline() const { return answer_due_ < verify_at_ ? answer_due_ : verify_at_; }

  /// Stays while a verification is unanswered; the RFC gives no end to that but loss of the signal.
  std::optional<Address> address() const { return address_; }
  bool awaiting() const { return answer_due_ != kNever; }

 private:
  void ask(Time now, Outbox& out);
  NspResult assigned(Address destination, uint32_t address, Time now, Outbox& out);

  Version version_;
  bool up_ = false;
  std::optional<Address> address_;
  Time answer_due_ = kNever;  // 5 s after a request that is not answered
  Time verify_at_ = kNever;   // every 30 s from the first assignment on
};

/// The switch's side of one port.
class NspPort {
 public:
  /// address: what the port's node gets; none has requests rejected, to `reject_to`.
  NspPort(Port port, std::optional<Address> address, Address reject_to)
      : port_(port), address_(address), reject_to_(reject_to) {}

  /// An NSP frame came to the local control processor.
  NspResult receive(std::span<const uint8_t> information, Time now, Outbox& out);
  /// Signal failure: the node is down (RFC 2173 section 4.1).
  void link_down() { down_at_ = kNever; }
  /// True if the node has just been taken for down.
  bool advance(Time now);
  /// The first moment that is more than 90 s after the last request.
  Time next_deadline() const { return down_at_; }

  /// A request came and none has been missed for more than 90 s.
  bool node_up() const { return down_at_ != kNever; }
  std::optional<Address> address() const { return address_; }

 private:
  Port port_;
  std::optional<Address> address_;
  Address reject_to_;
  Time down_at_ = kNever;
};

}  // namespace mapos
