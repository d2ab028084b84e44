// SPDX-License-Identifier: Apache-2.0
//
// Somebody who looks after the servers, where going on is left to a person: ends their first quarantine, before anybody has held a lock,
// as `cremone quarantine --end` does. Never again: what such a person would have to know, that nobody holds a lock, nobody here knows.
#pragma once

#include "sim/client.hpp"
#include "sim/clock.hpp"
#include "sim/dice.hpp"
#include "sim/process.hpp"

#include <cremone/backend.hpp>

#include <memory>

namespace cremone::sim {

class person {
 public:
  person(surroundings& around, machine_clock time, dice noise);
  person(const person&) = delete;
  person& operator=(const person&) = delete;
  /// Leaves, and closes what was open.
  ~person();

  /// Says that all may begin, and says it again until a majority does.
  void end_quarantines();
  [[nodiscard]] bool done() const noexcept { return *done_; }

 private:
  surroundings& around_;
  machine_clock clock_;
  const std::shared_ptr<process> process_;
  const std::shared_ptr<backend> store_;
  const std::shared_ptr<bool> done_ = std::make_shared<bool>(false);
};

}  // namespace cremone::sim
