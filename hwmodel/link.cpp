// SPDX-License-Identifier: BSD-3-Clause
#include "hwmodel/link.h"

#include <sys/mman.h>
#include <unistd.h>

#include <bit>
#include <new>

namespace awing::hw {

MirrorRing::MirrorRing(size_t size) {
  const size_t bytes = std::bit_ceil(size < 4096 ? size_t{4096} : size);
  mask_ = bytes - 1;
  const int fd = memfd_create("awing-link", MFD_CLOEXEC);
  if (fd < 0) throw std::bad_alloc();
  void* base = MAP_FAILED;
  if (ftruncate(fd, static_cast<off_t>(bytes)) == 0)
    base = mmap(nullptr, 2 * bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  bool mapped = base != MAP_FAILED;
  for (size_t half = 0; mapped && half < 2; ++half)
    mapped = mmap(static_cast<uint8_t*>(base) + half * bytes, bytes, PROT_READ | PROT_WRITE,
                  MAP_SHARED | MAP_FIXED | MAP_POPULATE, fd, 0) != MAP_FAILED;
  close(fd);
  if (!mapped) {
    if (base != MAP_FAILED) munmap(base, 2 * bytes);
    throw std::bad_alloc();
  }
  base_ = static_cast<uint8_t*>(base);
}

MirrorRing::~MirrorRing() { munmap(base_, 2 * size()); }

}  // namespace awing::hw
