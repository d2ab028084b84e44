// SPDX-License-Identifier: Apache-2.0
//
// An env whose time is what the test says. Timers fire and posted work runs only when the test asks for it, on the
// test's own thread and always in the same order. It knows nothing of locks, and it is for one thread only: the
// real threads are asio_env's.
#pragma once

#include "base/backoff.hpp"
#include "base/env.hpp"

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <span>

namespace cremone::test {

/// Virtual time begins at a round moment that is not zero, so that a forgotten initialisation shows.
inline constexpr instant first_instant{std::chrono::hours(1)};

class manual_env final : public env {
 public:
  explicit manual_env(std::uint64_t seed = 1) : noise_(seed) {}
  ~manual_env() override;

  [[nodiscard]] instant now() noexcept override { return now_; }
  [[nodiscard]] wall_time wall_now() noexcept override;
  void random(std::span<std::uint8_t> out) noexcept override;
  [[nodiscard]] std::unique_ptr<timer> make_timer(callback<void()> on_fire) override;
  void post(callback<void()> fn) override;
  [[nodiscard]] bool post_user(callback<void()>& fn) override;
  void stop() noexcept override;

  /// Runs what is posted and what that posts in turn: the executor's work first, then the user's, one by one.
  void run_all();

  /// Lets time pass as it does for a process that runs: each timer fires at its own moment.
  void advance(std::chrono::nanoseconds span);

  /// Lets time pass as it does for a process that was stopped: the clock jumps, then all that is due fires late.
  void pause(std::chrono::nanoseconds span);

  /// Called whenever a timer is made: a place where a test can let something else happen in between.
  void on_make_timer(callback<void()> hook) { make_timer_hook_ = std::move(hook); }

  [[nodiscard]] std::size_t armed_timers() const noexcept { return alarms_->armed.size(); }

 private:
  struct alarm;
  class alarm_timer;
  struct schedule {
    std::multimap<instant, alarm*> armed;  // those of one moment in the order of arming
  };

  void fire_due();

  instant now_ = first_instant;
  jitter noise_;
  bool stopped_ = false;
  std::deque<callback<void()>> executor_;
  std::deque<callback<void()>> user_;
  std::shared_ptr<schedule> alarms_ = std::make_shared<schedule>();
  callback<void()> make_timer_hook_;
};

}  // namespace cremone::test
