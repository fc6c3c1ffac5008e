// SPDX-License-Identifier: BSD-3-Clause
// Keeps a run from writing over what it reads, or twice into one file.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace apcm::stream {

/// A file of the command line. `path` "-" is standard input or output.
struct FileUse {
  std::string option;  ///< for messages: "INPUT", "--out"
  std::string path;
  bool written = false;
};

/// The first two of `files` that are one file, of which one is written, told in one line; nothing when there are none.
/// The same by any name (links, folders, standard input); files that are not there yet by what their path leads to.
/// Pipes and devices such as /dev/null may be named twice. Opens nothing.
std::optional<std::string> clash(const std::vector<FileUse>& files);

}  // namespace apcm::stream
