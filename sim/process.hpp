// SPDX-License-Identifier: Apache-2.0
//
// A simulated program as the library sees it: the env that its engine runs on. Its time is that of its own clock, its randomness
// comes from the seed, and it can be stopped at any look at the clock. Knows nothing of locks.
#pragma once

#include "base/env.hpp"
#include "sim/clock.hpp"
#include "sim/dice.hpp"
#include "sim/strand.hpp"
#include "sim/world.hpp"

#include <cremone/callback.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace cremone::sim {

/// Being stopped in the middle of a step.
struct preemption {
  std::uint64_t one_in = 0;  ///< looks at the clock; 0: never
  moment longest{};
  std::function<void(moment)> told;
};

class process final : public env, public std::enable_shared_from_this<process> {
 public:
  process(world& of, std::string name, machine_clock& time, dice noise, preemption stops);
  ~process() override;

  [[nodiscard]] instant now() noexcept override;
  [[nodiscard]] wall_time wall_now() noexcept override;
  void random(std::span<std::uint8_t> out) noexcept override;
  [[nodiscard]] std::unique_ptr<timer> make_timer(callback<void()> on_fire) override;
  void post(callback<void()> fn) override;
  [[nodiscard]] bool post_user(callback<void()>& fn) override;
  void stop() noexcept override { stopped_ = true; }

  // For the world around it.
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] strand& thread() noexcept { return *strand_; }
  [[nodiscard]] moment time() const noexcept { return strand_->time(); }
  /// What its clock shows right now, whatever it is doing.
  [[nodiscard]] instant shown_now() const noexcept { return clock_.at(world_.now()); }
  /// The lowest wall time that its clock has shown since `from`.
  [[nodiscard]] wall_time lowest_wall_since(moment from) const noexcept {
    return clock_.lowest_wall(from, world_.now());
  }
  [[nodiscard]] bool alive() const noexcept { return !strand_->killed(); }
  void kill() noexcept { strand_->kill(); }
  /// It is not stopped in the middle of a step any more.
  void leave_alone() noexcept { stops_.one_in = 0; }

 private:
  struct alarm;
  class alarm_timer;

  world& world_;
  const std::string name_;
  machine_clock& clock_;  // of its machine
  dice noise_;
  preemption stops_;
  const std::shared_ptr<strand> strand_;
  moment last_user_{};
  bool stopped_ = false;
};

}  // namespace cremone::sim
