// SPDX-License-Identifier: Apache-2.0
#include "sim/strand.hpp"

#include <algorithm>
#include <utility>

namespace cremone::sim {

namespace {
// What the code of a step takes.
constexpr moment least_step = std::chrono::microseconds(1);
constexpr moment most_step = std::chrono::microseconds(8);
}  // namespace

void strand::deliver(callback<void()> what) {
  if (killed_) {
    return;
  }
  inbox_.push_back(std::move(what));
  pump();
}

void strand::deliver_at(moment when, callback<void()> what) {
  world_.at(when, [weak = weak_from_this(), what = std::move(what)]() mutable {
    if (const auto self = weak.lock()) {
      self->deliver(std::move(what));
    }
  });
}

void strand::pump() {
  if (inside_ || killed_ || inbox_.empty()) {
    return;
  }
  if (const moment free = std::max(busy_until_, stopped_until_); world_.now() < free) {
    return pump_at(free);
  }
  const auto keep = shared_from_this();
  auto what = std::move(inbox_.front());
  inbox_.pop_front();
  inside_ = true;
  what();
  what = nullptr;  // what it holds goes as part of the step
  inside_ = false;
  busy_until_ = time() + noise_.between(least_step, most_step);
  late_ = {};
  if (!inbox_.empty() && !killed_) {
    pump_at(std::max(busy_until_, stopped_until_));
  }
}

void strand::pump_at(moment when) {
  if (pump_due_ <= when) {
    return;
  }
  pump_due_ = when;
  world_.at(when, [weak = weak_from_this(), when] {
    const auto self = weak.lock();
    if (self && self->pump_due_ == when) {
      self->pump_due_ = moment::max();
      self->pump();
    }
  });
}

void strand::stop_until(moment when) noexcept { stopped_until_ = std::max(stopped_until_, when); }

void strand::go_on() {
  stopped_until_ = {};
  if (!inbox_.empty()) {
    pump_at(std::max(busy_until_, world_.now()));
  }
}

void strand::kill() noexcept {
  killed_ = true;
  inbox_.clear();
}

}  // namespace cremone::sim
