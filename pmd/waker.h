// SPDX-License-Identifier: BSD-3-Clause
// Lets model time pass while applications sleep. A card in a slot works on when nobody looks; a model in this process
// stands still. So one control thread of the process drives the ports on whose interrupt somebody waits. While nobody
// waits it sleeps without a timer; while somebody does, it sleeps as long as the model says that nothing is to come, at
// most a millisecond (hw::Port::drive).
#pragma once

#include <atomic>

namespace awing::pmd {

struct Adapter;

namespace waker {
/// Makes a port one that may be driven; the thread starts with the first. 0 or negative errno.
int join(Adapter& adapter);
/// When it returns the port is not driven any more. The thread ends with the last.
void leave(Adapter& adapter);
/// Somebody waits for the port's interrupt, or nobody does any more. No lock; a system call when the thread sleeps.
void wait_for(Adapter& adapter, bool on);
}  // namespace waker

}  // namespace awing::pmd
