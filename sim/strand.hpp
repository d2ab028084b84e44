// SPDX-License-Identifier: Apache-2.0
//
// One thread of a simulated program: does one thing after the other, can be stopped for a while at any point, and can be killed. What a
// step does it does at the moment at which it is reached: time passes inside a step too, and what is sent after a pause leaves after the pause.
#pragma once

#include "sim/dice.hpp"
#include "sim/world.hpp"

#include <cremone/callback.hpp>

#include <deque>
#include <memory>

namespace cremone::sim {

/// For one thread. Others hold it weakly: what is meant for a strand that is gone does not happen.
class strand : public std::enable_shared_from_this<strand> {
 public:
  strand(world& of, dice noise) : world_(of), noise_(noise) {}
  strand(const strand&) = delete;
  strand& operator=(const strand&) = delete;
  ~strand() = default;

  /// The moment that a step has reached; between steps, that of the world.
  [[nodiscard]] moment time() const noexcept { return world_.now() + late_; }
  [[nodiscard]] bool inside() const noexcept { return inside_; }

  /// To be done now, or as soon as what came before is done and nothing stops it.
  void deliver(callback<void()> what);

  /// The same at a later moment.
  void deliver_at(moment when, callback<void()> what);

  /// Inside a step: time passes before the next line of code.
  void dawdle(moment span) noexcept { late_ += span; }

  /// Does nothing until then.
  void stop_until(moment when) noexcept;

  /// Ends all stops.
  void go_on();

  /// Does nothing any more.
  void kill() noexcept;
  [[nodiscard]] bool killed() const noexcept { return killed_; }

 private:
  void pump();
  void pump_at(moment when);

  world& world_;
  dice noise_;
  std::deque<callback<void()>> inbox_;
  moment busy_until_{};
  moment stopped_until_{};
  moment late_{};  // how far the step under way is ahead of the world
  moment pump_due_ = moment::max();
  bool inside_ = false;
  bool killed_ = false;
};

}  // namespace cremone::sim
