// SPDX-License-Identifier: Apache-2.0
//
// Waiting in a test for a condition to come true. The bound is how long a broken program may take before the
// test says so. It is never an expected time: a passing test costs only what the condition takes. Knows nothing
// of locks.
#pragma once

#include <chrono>
#include <thread>

namespace cremone::test {

/// The bound for what should happen soon: far beyond what a slow machine under a sanitizer needs.
inline constexpr std::chrono::milliseconds generous{10'000};

/// Polls `condition` about every millisecond until it holds or `bound` has passed, and says whether it held. It is
/// asked once more after the bound, so that a test that was not scheduled for long does not fail by that alone.
template <class F>
[[nodiscard]] bool wait_for(F condition, std::chrono::milliseconds bound = generous) {
  const auto give_up = std::chrono::steady_clock::now() + bound;
  while (!condition()) {
    if (std::chrono::steady_clock::now() >= give_up) {
      return condition();
    }
    std::this_thread::sleep_for(std::chrono::milliseconds{1});
  }
  return true;
}

}  // namespace cremone::test
