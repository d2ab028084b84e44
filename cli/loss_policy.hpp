// SPDX-License-Identifier: Apache-2.0
//
// When a command whose lock is at risk is asked to end, and when it is ended. Pure: told the time and the lease's
// deadline, says what to do. The lease renews itself; only when its deadline does not move does anything happen here.
#pragma once

#include <cremone/types.hpp>

#include <chrono>

namespace cremone::cli {

///     held, renewed in time                 nothing
///     deadline − grace reached              terminate
///     deadline nearly reached               kill
///     lost by word of the store             terminate, then kill after the grace, the old deadline at the latest
///
/// What was once told to terminate is ended, even if a late renewal saves the lease: it is half gone already.
class loss_policy {
 public:
  enum class step : std::uint8_t { nothing, terminate, kill };

  /// `deadline` is the lease's when the command starts.
  loss_policy(std::chrono::nanoseconds grace, instant deadline) noexcept;

  /// `held` and `deadline` as the lease says: a renewal moves the latter forward, and when lost it is instant::min().
  /// Each of terminate and kill is said once.
  [[nodiscard]] step next(instant now, bool held, instant deadline) noexcept;

  /// When to ask again at the latest; instant::max() after the kill.
  [[nodiscard]] instant wake_at() const noexcept;

  /// Whether the command is being ended by us.
  [[nodiscard]] bool ending() const noexcept { return state_ != state::watching; }

 private:
  enum class state : std::uint8_t { watching, terminating, killed };

  [[nodiscard]] instant last_moment() const noexcept;

  std::chrono::nanoseconds grace_;
  instant deadline_;
  instant kill_at_ = instant::max();
  state state_ = state::watching;
};

}  // namespace cremone::cli
