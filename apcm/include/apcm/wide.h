// SPDX-License-Identifier: BSD-3-Clause
// 128-bit products for exact time arithmetic; a compiler extension, so it is named in one place.
#pragma once

namespace apcm {
__extension__ typedef unsigned __int128 Uint128;
__extension__ typedef __int128 Int128;
}  // namespace apcm
