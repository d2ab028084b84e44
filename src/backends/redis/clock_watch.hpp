// SPDX-License-Identifier: Apache-2.0
//
// Notices that a server's wall clock was set. Each reply carries its time, which lies between our sending and our receiving;
// so each gives an interval in which the difference of the clocks must be. Two that cannot both be true, for clocks whose rates
// differ by no more than they may, are a step. It is only told: nothing rests on that clock. Pure.
#pragma once

#include <cremone/types.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>

namespace cremone::redis {

/// Threads: like any value.
class clock_watch {
 public:
  /// A clock that is slewed runs up to 500 ppm too fast or slow, and some daemons do more.
  static constexpr std::int64_t drift_ppm = 1000;

  /// The server's clock said `theirs` at some moment between these two of ours. Returns by how much it was set, if it was.
  [[nodiscard]] std::optional<std::chrono::microseconds> sample(instant sent, instant received,
                                                                std::chrono::microseconds theirs) noexcept {
    const auto low = theirs - std::chrono::ceil<std::chrono::microseconds>(received.time_since_epoch());
    const auto high = theirs - std::chrono::floor<std::chrono::microseconds>(sent.time_since_epoch());
    if (!known_) {
      set(low, high, received);
      return std::nullopt;
    }
    const auto age = std::max(received - at_, instant::duration(0));
    const auto slack = std::chrono::ceil<std::chrono::microseconds>(age / 1'000'000 * drift_ppm) +
                       std::chrono::microseconds(1);
    if (high < low_ - slack || low > high_ + slack) {
      const auto step = (low + high) / 2 - (low_ + high_) / 2;
      set(low, high, received);
      return step;
    }
    set(std::max(low, low_ - slack), std::min(high, high_ + slack), received);
    return std::nullopt;
  }

 private:
  void set(std::chrono::microseconds low, std::chrono::microseconds high, instant at) noexcept {
    known_ = true;
    low_ = low;
    high_ = high;
    at_ = std::max(at, at_);
  }

  bool known_ = false;
  std::chrono::microseconds low_{};  // theirs - ours, in between
  std::chrono::microseconds high_{};
  instant at_{};
};

}  // namespace cremone::redis
