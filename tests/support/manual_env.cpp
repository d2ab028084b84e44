// SPDX-License-Identifier: Apache-2.0
#include "support/manual_env.hpp"

#include "base/check.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace cremone::test {

namespace {
constexpr int most_steps = 1'000'000;  // more than any test has: something posts or arms itself for ever
}  // namespace

/// What a timer calls. Shared, because a timer may be destroyed by its own call.
struct manual_env::alarm : std::enable_shared_from_this<alarm> {
  explicit alarm(callback<void()> fn) : on_fire(std::move(fn)) {}

  callback<void()> on_fire;
  std::optional<std::multimap<instant, alarm*>::iterator> place;
};

class manual_env::alarm_timer final : public timer {
 public:
  alarm_timer(std::shared_ptr<schedule> all, callback<void()> on_fire)
      : all_(std::move(all)), alarm_(std::make_shared<alarm>(std::move(on_fire))) {}
  alarm_timer(const alarm_timer&) = delete;
  alarm_timer& operator=(const alarm_timer&) = delete;
  ~alarm_timer() override { take_out(); }

  void arm(instant when) override {
    take_out();
    if (when != instant::max()) {
      alarm_->place = all_->armed.emplace(when, alarm_.get());
    }
  }
  void disarm() override { take_out(); }

 private:
  void take_out() {
    if (alarm_->place) {
      all_->armed.erase(*std::exchange(alarm_->place, std::nullopt));
    }
  }

  std::shared_ptr<schedule> all_;
  std::shared_ptr<alarm> alarm_;
};

manual_env::~manual_env() = default;

/// Starts at a date in 2023 and goes with the virtual clock.
wall_time manual_env::wall_now() noexcept {
  constexpr std::chrono::seconds epoch{1'700'000'000};
  return wall_time(epoch + std::chrono::floor<std::chrono::microseconds>(now_ - first_instant));
}

void manual_env::random(std::span<std::uint8_t> out) noexcept {
  for (std::uint8_t& byte : out) {
    byte = static_cast<std::uint8_t>(
        noise_.between(std::chrono::nanoseconds(0), std::chrono::nanoseconds(255)).count());
  }
}

std::unique_ptr<timer> manual_env::make_timer(callback<void()> on_fire) {
  auto made = std::make_unique<alarm_timer>(alarms_, std::move(on_fire));
  if (auto hook = std::exchange(make_timer_hook_, nullptr)) {
    hook();
  }
  return made;
}

void manual_env::post(callback<void()> fn) {
  if (!stopped_) {
    executor_.push_back(std::move(fn));
  }
}

bool manual_env::post_user(callback<void()>& fn) {
  if (stopped_) {
    return false;
  }
  user_.push_back(std::move(fn));
  return true;
}

/// As asio_env: the executor's work is dropped, what was posted for the user still runs.
void manual_env::stop() noexcept {
  stopped_ = true;
  executor_.clear();
  for (auto& [when, a] : std::exchange(alarms_->armed, {})) {
    a->place.reset();
  }
}

void manual_env::run_all() {
  for (int steps = 0; !executor_.empty() || !user_.empty(); ++steps) {
    CREMONE_CHECK(steps < most_steps);
    std::deque<callback<void()>>& from = executor_.empty() ? user_ : executor_;
    auto fn = std::move(from.front());
    from.pop_front();
    fn();
  }
}

void manual_env::fire_due() {
  run_all();
  for (int steps = 0; !alarms_->armed.empty() && alarms_->armed.begin()->first <= now_; ++steps) {
    CREMONE_CHECK(steps < most_steps);
    const auto due = alarms_->armed.begin()->second->shared_from_this();
    alarms_->armed.erase(*std::exchange(due->place, std::nullopt));
    due->on_fire();
    run_all();
  }
}

void manual_env::advance(std::chrono::nanoseconds span) {
  const instant end = now_ + span;
  fire_due();
  while (!alarms_->armed.empty() && alarms_->armed.begin()->first <= end) {
    now_ = std::max(now_, alarms_->armed.begin()->first);
    fire_due();
  }
  now_ = end;
}

void manual_env::pause(std::chrono::nanoseconds span) {
  now_ += span;
  fire_due();
}

}  // namespace cremone::test
