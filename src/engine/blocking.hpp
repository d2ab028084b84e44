// SPDX-License-Identifier: Apache-2.0
//
// The blocking face: where a caller's thread waits for an answer that comes on another thread, or finds that it
// has come already and does not wait at all.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <utility>

namespace cremone::detail {

/// A place for one answer. Always shared by the one who waits and the one who puts, for put() signals after it has let go
/// of the mutex: signalled under it, whoever waits would wake up only to sleep again until it is free.
template <class T>
class mailbox {
 public:
  void put(T value) {
    {
      const std::lock_guard lock(mutex_);
      value_.emplace(std::move(value));
    }
    arrived_.notify_one();
  }

  [[nodiscard]] T wait() {
    std::unique_lock lock(mutex_);
    arrived_.wait(lock, [&] { return value_.has_value(); });
    return std::move(*value_);
  }

  /// Empty if nothing came in time. Whoever puts must then not hold on to this mailbox.
  [[nodiscard]] std::optional<T> wait_for(std::chrono::milliseconds bound) {
    std::unique_lock lock(mutex_);
    arrived_.wait_for(lock, bound, [&] { return value_.has_value(); });
    return std::move(value_);
  }

 private:
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::optional<T> value_;
};

}  // namespace cremone::detail
