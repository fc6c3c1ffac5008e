// SPDX-License-Identifier: BSD-3-Clause
#include "files.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace awing::hw {

namespace {

constexpr size_t kMostJson = 16 << 20;
constexpr int kMostLevels = 32;

tl::unexpected<std::string> refused(const std::string& file, const char* what, const std::string& why, int fd = -1) {
  if (fd >= 0) close(fd);
  return tl::make_unexpected(file + " cannot be " + what + ": " + why);
}

bool is_regular(int fd) {
  struct stat s {};
  return fstat(fd, &s) == 0 && S_ISREG(s.st_mode);
}

constexpr const char* kInUse = "another port or program uses it";

}  // namespace

tl::expected<std::FILE*, std::string> open_input(const std::string& file) {
  // A FIFO without a writer would keep us waiting.
  const int fd = open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return refused(file, "read", std::strerror(errno));
  if (!is_regular(fd)) return refused(file, "read", "it is not a regular file", fd);
  if (flock(fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK) return refused(file, "read", kInUse, fd);
  std::FILE* stream = fdopen(fd, "r");
  if (!stream) return refused(file, "read", std::strerror(errno), fd);
  return stream;
}

tl::expected<std::FILE*, std::string> open_output(const std::string& file) {
  const int fd = open(file.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
  if (fd < 0) return refused(file, "written", std::strerror(errno));
  if (is_regular(fd)) {
    if (flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) return refused(file, "written", kInUse, fd);
    if (ftruncate(fd, 0) != 0) return refused(file, "written", std::strerror(errno), fd);
  }
  std::FILE* stream = fdopen(fd, "w");
  if (!stream) return refused(file, "written", std::strerror(errno), fd);
  return stream;
}

tl::expected<nlohmann::json, std::string> parse_json(std::string_view text, const std::string& name) {
  using nlohmann::json;
  bool deep = false;
  const auto level = [&deep](int depth, json::parse_event_t, json&) {
    deep |= depth > kMostLevels;
    return !deep;  // what lies deeper is dropped: to free it would take as many calls as it has levels
  };
  try {
    json root = json::parse(text, level);
    if (deep) return tl::make_unexpected(name + " is nested more than " + std::to_string(kMostLevels) + " deep");
    return root;
  } catch (const json::exception& e) {
    std::string why = e.what();
    std::replace(why.begin(), why.end(), '\n', ' ');
    return tl::make_unexpected(name + " is not JSON: " + why);
  }
}

tl::expected<nlohmann::json, std::string> read_json(const std::string& file) {
  auto stream = open_input(file);
  if (!stream) return tl::make_unexpected(stream.error());
  std::string text(kMostJson + 1, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), *stream));
  const bool failed = std::ferror(*stream) != 0;
  std::fclose(*stream);
  if (failed) return refused(file, "read", "the disk refused");
  if (text.size() > kMostJson) return refused(file, "read", "it has more than 16 MB");
  return parse_json(text, file);
}

}  // namespace awing::hw
