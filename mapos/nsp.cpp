// SPDX-License-Identifier: BSD-3-Clause
#include "mapos/nsp.h"

#include "mapos/big_endian.h"

namespace mapos {

std::optional<NspPacket> parse_nsp(std::span<const uint8_t> information) {
  if (information.size() < kNspOctets) return std::nullopt;
  return NspPacket{get32(information.data()), get32(information.data() + 4)};
}

void put_nsp(Outbox& out, Port port, Address destination, NspCommand command, uint32_t address) {
  const auto information = out.add_frame(port, {destination, kNsp}, kNspOctets);
  put32(information.data(), static_cast<uint32_t>(command));
  put32(information.data() + 4, address);
}

void NspNode::ask(Time now, Outbox& out) {
  put_nsp(out, kNoPort, Address::control_processor(version_), NspCommand::kRequest, 0);
  answer_due_ = now + kNspRetransmit;
}

void NspNode::link_up(Time now, Outbox& out) {
  up_ = true;
  ask(now, out);
}

void NspNode::link_down(Outbox& out) {
  up_ = false;
  answer_due_ = verify_at_ = kNever;
  if (address_) out.add_event(EventKind::kAddressLost, kNoPort, address_->wire());
  address_.reset();
}

void NspNode::verify(Time now, Outbox& out) {
  if (up_) ask(now, out);
}

NspResult NspNode::receive(Address destination, std::span<const uint8_t> information, Time now, Outbox& out) {
  if (!up_) return NspResult::kUnexpected;
  advance(now, out);
  const auto packet = parse_nsp(information);
  if (!packet) return NspResult::kMalformed;
  switch (static_cast<NspCommand>(packet->command)) {
    case NspCommand::kRequest: {
      // The far end is a node, or this one on a loop (RFC 2173 section 4.3).
      if (!destination.is_control_processor()) return NspResult::kUnexpected;
      const Address a = Address::point_to_point(version_);
      put_nsp(out, kNoPort, a, NspCommand::kAssignment, a.wire());
      return NspResult::kTaken;
    }
    case NspCommand::kAssignment:
      return assigned(destination, packet->address, now, out);
    case NspCommand::kReject:  // asking goes on every 5 s; the RFC does not say what else
      if (!awaiting()) return NspResult::kUnexpected;
      out.add_event(EventKind::kRejected, kNoPort, packet->address);
      return NspResult::kTaken;
  }
  return NspResult::kMalformed;
}

NspResult NspNode::assigned(Address destination, uint32_t address, Time now, Outbox& out) {
  // "The destination is the assigned node address" (section 4.1), so nothing else can be an assignment for this node.
  if (address != destination.wire() || destination.is_group() || destination.is_control_processor())
    return NspResult::kMalformed;
  if (!awaiting()) return NspResult::kUnexpected;
  answer_due_ = kNever;
  if (!address_) verify_at_ = now + kNspVerify;
  if (address_ != destination) {
    address_ = destination;
    out.add_event(EventKind::kAddressAssigned, kNoPort, destination.wire());
  }
  return NspResult::kTaken;
}

void NspNode::advance(Time now, Outbox& out) {
  if (now < next_deadline()) return;
  if (now >= verify_at_) verify_at_ = now + kNspVerify;
  ask(now, out);
}

NspResult NspPort::receive(std::span<const uint8_t> information, Time now, Outbox& out) {
  const auto packet = parse_nsp(information);
  if (!packet) return NspResult::kMalformed;
  switch (static_cast<NspCommand>(packet->command)) {
    case NspCommand::kRequest:
      break;
    case NspCommand::kAssignment:
    case NspCommand::kReject:
      return NspResult::kUnexpected;
    default:
      return NspResult::kMalformed;
  }
  if (!address_) {
    put_nsp(out, port_, reject_to_, NspCommand::kReject, 0);
    return NspResult::kTaken;
  }
  put_nsp(out, port_, *address_, NspCommand::kAssignment, address_->wire());
  if (!node_up()) out.add_event(EventKind::kNodeUp, port_, address_->wire());
  down_at_ = now + kNspNodeDown + 1;
  return NspResult::kTaken;
}

bool NspPort::advance(Time now) {
  if (now < down_at_) return false;
  down_at_ = kNever;
  return true;
}

}  // namespace mapos
