// SPDX-License-Identifier: BSD-3-Clause
// The files that users name: opened so that nothing is read and written at once, and refused in one line.
#pragma once

#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>
#include <tl/expected.hpp>

namespace awing::hw {

/// Opens a regular file to read. Locked against those who open it to write (flock) until it is closed.
/// Error: "FILE cannot be read: why".
tl::expected<std::FILE*, std::string> open_input(const std::string& file);

/// Opens a file to write from its start, for its user alone: a file that another port or program has open by one of
/// these two functions stays as it is. Error: "FILE cannot be written: why".
tl::expected<std::FILE*, std::string> open_output(const std::string& file);

/// Reads a JSON file of at most 16 MB and 32 levels. Error: "FILE cannot be read: why" or "FILE is not JSON: why".
tl::expected<nlohmann::json, std::string> read_json(const std::string& file);
/// The same of a text; `name` is what errors call it.
tl::expected<nlohmann::json, std::string> parse_json(std::string_view text, const std::string& name);

}  // namespace awing::hw
