// SPDX-License-Identifier: Apache-2.0
//
// The two kernel objects that wake a poll: an event and a timer. Knows nothing of signals or locks.
#pragma once

#include "base/descriptor.hpp"

#include <chrono>

namespace cremone::cli {

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
