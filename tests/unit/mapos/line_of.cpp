// SPDX-License-Identifier: BSD-3-Clause
// Frames as hex lines on standard input to one line of octets as hex: what tshark_line.py gives to tshark.
// Usage: line_of 16|32
#include <cstdio>
#include <iostream>

#include "octets.h"

int main(int argc, char** argv) {
  const std::string size = argc == 2 ? argv[1] : "";
  if (size != "16" && size != "32") {
    std::fprintf(stderr, "usage: line_of 16|32 < FRAMES\n");
    return 2;
  }
  mapos::Encoder encoder(size == "16" ? mapos::Fcs::k16 : mapos::Fcs::k32);
  test::Octets line;
  for (std::string text; std::getline(std::cin, text);)
    if (!test::add_frame(line, encoder, test::hex(text))) return 1;
  for (const uint8_t o : line) std::printf("%02x", o);
}
