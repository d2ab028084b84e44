// SPDX-License-Identifier: Apache-2.0
//
// A node that keeps locks, as misfortune sees it.
#pragma once

#include "sim/faults.hpp"
#include "sim/network.hpp"

#include <chrono>

namespace cremone::sim {

class store_node : public node {
 public:
  using node::node;

  /// Ends at once, and comes back after a while: fault::restart, tail or amnesia.
  virtual void end(fault how, moment down_for) = 0;

  /// Somebody empties it.
  virtual void empty() = 0;

  virtual void set_wall(std::chrono::microseconds by) = 0;

  /// By how much its clock on the wall is ahead, by what was done to it.
  [[nodiscard]] virtual std::chrono::microseconds wall_ahead() const = 0;

  /// May it give out locks, as far as it says?
  [[nodiscard]] virtual bool gives_out() const { return true; }

  /// Comes back now if it is down, and goes on if it was stopped.
  virtual void heal() = 0;
};

}  // namespace cremone::sim
