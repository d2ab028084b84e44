// SPDX-License-Identifier: Apache-2.0
//
// A file descriptor that is closed when its owner goes, and the two kernel objects that wake a poll: an event and a
// timer. Knows nothing of signals or locks.
#pragma once

#include <chrono>
#include <utility>

namespace cremone::cli {

/// Owns a descriptor, or none (-1). Move-only.
class descriptor {
 public:
  descriptor() noexcept = default;
  explicit descriptor(int fd) noexcept : fd_(fd) {}
  descriptor(descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  descriptor& operator=(descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  descriptor(const descriptor&) = delete;
  descriptor& operator=(const descriptor&) = delete;
  ~descriptor() { reset(); }

  void reset() noexcept;
  [[nodiscard]] int get() const noexcept { return fd_; }
  explicit operator bool() const noexcept { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

/// Raised by any thread, seen by poll until it is lowered. The constructor throws std::system_error.
class event {
 public:
  event();
  void raise() noexcept;
  [[nodiscard]] int fd() const noexcept { return fd_.get(); }

 private:
  descriptor fd_;
};

/// Becomes readable after a time that counts suspend, as leases do: a poll's own timeout would oversleep the lid of a
/// laptop. The constructor throws std::system_error.
class alarm_clock {
 public:
  alarm_clock();
  /// Replaces what was set before. Zero or less: at once.
  void set(std::chrono::nanoseconds from_now) noexcept;
  [[nodiscard]] int fd() const noexcept { return fd_.get(); }

 private:
  descriptor fd_;
};

}  // namespace cremone::cli
