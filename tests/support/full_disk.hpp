// SPDX-License-Identifier: Apache-2.0
//
// A disk without a free block, for the files that SQLite writes. No mount and no root is needed:
// SQLite lets a program replace the system calls that it makes.
#pragma once

#include <sqlite3.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <new>

namespace cremone::test {

/// While the disk is full, a write of SQLite's reaches only blocks that the file already has. The
/// rest fails with ENOSPC. One at a time per process; forked children share it.
class full_disk {
 public:
  full_disk()
      : full_(new (::mmap(nullptr, sizeof(flag), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0))
                  flag(false)) {
    current_ = full_;
    replace(reinterpret_cast<sqlite3_syscall_ptr>(write_at),
            reinterpret_cast<sqlite3_syscall_ptr>(write_here));
  }
  full_disk(const full_disk&) = delete;
  full_disk& operator=(const full_disk&) = delete;
  ~full_disk() {
    replace(nullptr, nullptr);
    ::munmap(full_, sizeof(flag));
  }

  void set_full(bool full) noexcept { *full_ = full; }

 private:
  using flag = std::atomic<bool>;
  static constexpr off_t block = 4096;

  /// Null restores the system's own.
  static void replace(sqlite3_syscall_ptr at, sqlite3_syscall_ptr here) {
    sqlite3_initialize();
    sqlite3_vfs* const files = sqlite3_vfs_find("unix");
    files->xSetSystemCall(files, "pwrite", at);
    files->xSetSystemCall(files, "pwrite64", at);
    files->xSetSystemCall(files, "write", here);
  }

  /// How many of these bytes have blocks.
  static std::size_t allowed(int file, std::size_t size, off_t from) noexcept {
    if (!*current_) {
      return size;
    }
    const off_t position = ::lseek(file, 0, SEEK_CUR);
    const off_t start = from - from % block;
    off_t end = from;
    if (::lseek(file, start, SEEK_DATA) == start) {
      end = (::lseek(file, start, SEEK_HOLE) + block - 1) / block * block;
    }
    ::lseek(file, position, SEEK_SET);
    return std::min(size, static_cast<std::size_t>(end - from));
  }

  static ssize_t write_at(int file, const void* data, std::size_t size, off_t from) noexcept {
    const std::size_t some = allowed(file, size, from);
    if (size > 0 && some == 0) {
      errno = ENOSPC;
      return -1;
    }
    return ::pwrite(file, data, some, from);
  }

  static ssize_t write_here(int file, const void* data, std::size_t size) noexcept {
    const off_t from = ::lseek(file, 0, SEEK_CUR);
    const ssize_t written = write_at(file, data, size, from);
    if (written > 0) {
      ::lseek(file, from + written, SEEK_SET);
    }
    return written;
  }

  inline static flag* current_ = nullptr;
  flag* full_;
};

}  // namespace cremone::test
