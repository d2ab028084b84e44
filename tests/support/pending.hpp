// SPDX-License-Identifier: Apache-2.0
//
// The answer to one call of the seam, which may have come before the call returned or may come later on another
// thread. Checks what the seam promises of every answer: that there is one, and only one. What it should be is
// the test's affair.
#pragma once

#include "support/wait_for.hpp"

#include <cremone/callback.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>

namespace cremone::test {

/// Threads: the reply may be called on any thread; a second answer fails the running test from there, also
/// when nobody waits any more.
template <class T>
class pending {
 public:
  /// `what` names the call in failures.
  explicit pending(std::string what) : state_(std::make_shared<state>()) { state_->what = std::move(what); }

  /// To be handed to the call. `kept` lives until the answer, as the seam asks of a request.
  [[nodiscard]] callback<void(T)> reply(std::shared_ptr<const void> kept = nullptr) {
    return [s = state_, kept = std::move(kept)](T value) { s->put(std::move(value)); };
  }

  [[nodiscard]] bool answered() const {
    const std::lock_guard lock(state_->mutex);
    return state_->answers > 0;
  }

  /// Answered by now, and on the thread that asks?
  [[nodiscard]] bool answered_here() const {
    const std::lock_guard lock(state_->mutex);
    return state_->answers > 0 && state_->answered_on == std::this_thread::get_id();
  }

  /// Waits for the answer, within the bound; else fails the test and makes do with `otherwise`. Call it once.
  [[nodiscard]] T get(T otherwise) {
    std::unique_lock lock(state_->mutex);
    if (!state_->changed.wait_for(lock, generous, [&] { return state_->value.has_value(); })) {
      ADD_FAILURE() << state_->what << " was not answered within " << generous.count() << " ms";
      return otherwise;
    }
    return std::move(*state_->value);
  }

 private:
  struct state {
    std::string what;
    std::mutex mutex;
    std::condition_variable changed;
    int answers = 0;
    std::thread::id answered_on;
    std::optional<T> value;

    void put(T given) {
      const std::lock_guard lock(mutex);
      if (++answers > 1) {
        ADD_FAILURE() << what << " was answered " << answers << " times";
        return;
      }
      answered_on = std::this_thread::get_id();
      value.emplace(std::move(given));
      changed.notify_all();
    }
  };

  std::shared_ptr<state> state_;
};

}  // namespace cremone::test
