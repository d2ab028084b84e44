// SPDX-License-Identifier: Apache-2.0
//
// By how much the wall clock of a server is off, or at which moment it stands still: sixteen bytes in a file that the test writes
// and clock_shim.cpp reads, both through shared memory. Knows nothing of servers.
#pragma once

#include "base/descriptor.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <system_error>
#include <utility>

namespace cremone::test {

class clock_file {
 public:
  explicit clock_file(std::string path) : path_(std::move(path)) {
    const descriptor file(::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    if (!file || ::ftruncate(file.get(), size) != 0) {
      throw std::system_error(errno, std::generic_category(), path_);
    }
    void* const seen = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
    if (seen == MAP_FAILED) {
      throw std::system_error(errno, std::generic_category(), "mmap " + path_);
    }
    microseconds_ = static_cast<std::int64_t*>(seen);
  }
  clock_file(const clock_file&) = delete;
  clock_file& operator=(const clock_file&) = delete;
  ~clock_file() { ::munmap(microseconds_, size); }

  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  void set(std::chrono::microseconds offset) const {
    std::atomic_ref(microseconds_[0]).store(offset.count(), std::memory_order_relaxed);
  }
  /// At a moment since the epoch, which is not 0.
  void freeze(std::chrono::microseconds at) const {
    std::atomic_ref(microseconds_[1]).store(at.count(), std::memory_order_relaxed);
  }

 private:
  static constexpr std::size_t size = 2 * sizeof(std::int64_t);

  std::string path_;
  std::int64_t* microseconds_ = nullptr;
};

}  // namespace cremone::test
