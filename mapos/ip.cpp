// SPDX-License-Identifier: BSD-3-Clause
#include "mapos/ip.h"

#include "mapos/big_endian.h"

namespace mapos {

std::optional<Address> find_link_option(Version v, LinkOption type, std::span<const uint8_t> options) {
  std::optional<Address> found;
  bool seen = false;
  while (!options.empty()) {
    if (options.size() < 2) return std::nullopt;
    const size_t n = size_t{options[1]} * 8;
    if (n == 0 || n > options.size()) return std::nullopt;
    if (options[0] == static_cast<uint8_t>(type) && !seen) {
      seen = true;
      const auto a = Address::from_wire(v, get16(&options[4]));
      if (n == kLinkOptionOctets && a && a->is_unicast() && !a->is_control_processor()) found = a;
    }
    options = options.subspan(n);
  }
  return found;
}

}  // namespace mapos
