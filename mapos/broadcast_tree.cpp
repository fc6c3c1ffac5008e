// SPDX-License-Identifier: BSD-3-Clause
#include "mapos/broadcast_tree.h"

#include <algorithm>

namespace mapos {

void BroadcastTree::clear() {
  members_ = forwarding_ = {};
  upstream_ = kNoPort;
}

void BroadcastTree::add(Port p, Time now, Time expires) {
  if (!members_.test(p)) {
    members_.set(p);
    forward_at_[p] = now + delay_;
  }
  expires_at_[p] = expires;
}

void BroadcastTree::set_upstream(Port p, Time now) {
  if (p == upstream_) return;
  remove(upstream_);
  remove(p);  // a downstream port that becomes the upstream one waits like any other
  upstream_ = p;
  if (p != kNoPort) add(p, now, kNever);
}

void BroadcastTree::poisoned_from(Port p, Time now) { add(p, now, now + expiration_); }

void BroadcastTree::remove(Port p) {
  members_.clear(p);
  forwarding_.clear(p);
  if (p == upstream_) upstream_ = kNoPort;
}

void BroadcastTree::advance(Time now) {
  members_.for_each([&](Port p) {
    if (now >= expires_at_[p])
      remove(p);
    else if (now >= forward_at_[p])
      forwarding_.set(p);
  });
}

Time BroadcastTree::next_deadline() const {
  Time t = kNever;
  members_.for_each([&](Port p) {
    t = std::min(t, expires_at_[p]);
    if (!forwarding_.test(p)) t = std::min(t, forward_at_[p]);
  });
  return t;
}

}  // namespace mapos
