// SPDX-License-Identifier: Apache-2.0
//
// Virtual time: a queue of what is to happen, in order. It passes only by going to the next of it, so that an hour costs what
// happens in it. Knows nothing of locks, processes or networks.
#pragma once

#include <cremone/callback.hpp>

#include <chrono>
#include <cstdint>
#include <vector>

namespace cremone::sim {

/// Since the beginning of the world: the time by which all its clocks are right or wrong.
using moment = std::chrono::nanoseconds;

/// For one thread.
class world {
 public:
  [[nodiscard]] moment now() const noexcept { return now_; }

  /// Lets something happen at that moment, now at the earliest. What is of one moment happens in the order of these calls.
  void at(moment when, callback<void()> what);

  /// Goes to the next that is to happen, and lets it. False when there is nothing left.
  bool step();

  [[nodiscard]] std::uint64_t steps() const noexcept { return steps_; }

 private:
  struct event {
    moment when;
    std::uint64_t order;
    callback<void()> what;
  };
  static bool later(const event& a, const event& b) noexcept {
    return a.when != b.when ? a.when > b.when : a.order > b.order;
  }

  moment now_{};
  std::uint64_t order_ = 0;
  std::uint64_t steps_ = 0;
  std::vector<event> queue_;  // a heap
};

}  // namespace cremone::sim
