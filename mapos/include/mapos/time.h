// SPDX-License-Identifier: BSD-3-Clause
// Time as the protocol engines see it: whatever clock the caller has, in nanoseconds. Engines have no clock of their
// own.
#pragma once

#include <cstdint>
#include <limits>

namespace mapos {

/// Nanoseconds since any fixed moment; never runs backwards from call to call.
using Time = int64_t;
/// The deadline of an engine that waits for nothing.
constexpr Time kNever = std::numeric_limits<Time>::max();

constexpr Time seconds(int64_t s) { return s * 1'000'000'000; }
constexpr Time milliseconds(int64_t ms) { return ms * 1'000'000; }

}  // namespace mapos
