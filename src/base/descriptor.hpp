// SPDX-License-Identifier: Apache-2.0
//
// A file descriptor that is closed when its owner goes.
#pragma once

#include <unistd.h>

#include <utility>

namespace cremone {

/// Owns a descriptor, or none (-1). Move-only.
class descriptor {
 public:
  descriptor() noexcept = default;
  explicit descriptor(int fd) noexcept : fd_(fd) {}
  descriptor(descriptor&& other) noexcept : fd_(other.release()) {}
  descriptor& operator=(descriptor&& other) noexcept {
    descriptor(std::move(other)).swap(*this);
    return *this;
  }
  descriptor(const descriptor&) = delete;
  descriptor& operator=(const descriptor&) = delete;
  ~descriptor() { reset(); }

  void swap(descriptor& other) noexcept { std::swap(fd_, other.fd_); }
  void reset() noexcept {
    if (const int old = release(); old >= 0) {
      ::close(old);
    }
  }
  /// The caller has it from now on.
  [[nodiscard]] int release() noexcept { return std::exchange(fd_, -1); }
  [[nodiscard]] int get() const noexcept { return fd_; }
  explicit operator bool() const noexcept { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

}  // namespace cremone
