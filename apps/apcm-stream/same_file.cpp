// SPDX-License-Identifier: BSD-3-Clause
#include "same_file.h"

#include <sys/stat.h>

#include <filesystem>

namespace apcm::stream {
namespace {

namespace fs = std::filesystem;

/// Where a file that is not there yet would be made; a link that leads nowhere is followed too.
fs::path place_of(fs::path path) {
  std::error_code error;
  for (int links = 0; links < 40 && fs::is_symlink(path, error); ++links) {
    const fs::path target = fs::read_symlink(path, error);
    if (error) break;
    path = path.parent_path() / target;  // an absolute target stands alone
  }
  const fs::path whole = fs::absolute(path, error);
  const fs::path place = fs::weakly_canonical(whole, error);
  return error ? whole : place;
}

bool same(const FileUse& a, const FileUse& b) {
  struct stat at {
  }, bt{};
  const auto look = [](const FileUse& f, struct stat& s) {
    return f.path == "-" ? fstat(f.written ? 1 : 0, &s) == 0 : stat(f.path.c_str(), &s) == 0;
  };
  const bool a_there = look(a, at), b_there = look(b, bt);
  if (a_there != b_there) return false;
  if (!a_there) return a.path != "-" && b.path != "-" && place_of(a.path) == place_of(b.path);
  const bool keeps = S_ISREG(at.st_mode) || S_ISBLK(at.st_mode);
  return keeps && at.st_dev == bt.st_dev && at.st_ino == bt.st_ino;
}

std::string shown(const FileUse& f) {
  if (f.path == "-") return f.option + (f.written ? " (standard output)" : " (standard input)");
  return f.option + " " + f.path;
}

}  // namespace

std::optional<std::string> clash(const std::vector<FileUse>& files) {
  for (size_t i = 0; i < files.size(); ++i)
    for (size_t j = 0; j < i; ++j)
      if ((files[i].written || files[j].written) && same(files[i], files[j]))
        return shown(files[i]) + ": the same file as " + shown(files[j]) + ", which would be lost; give another name";
  return std::nullopt;
}

}  // namespace apcm::stream
