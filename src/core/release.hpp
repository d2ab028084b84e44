// SPDX-License-Identifier: Apache-2.0
//
// Giving a lock back, or cleaning up after an acquire whose outcome is unknown: ask until the store has
// answered, or until the hold is over without us. The clean-up has a deadline of its own, whatever became of the
// caller's. Pure; told the time.
#pragma once

#include "base/backoff.hpp"

#include <cremone/result.hpp>
#include <cremone/types.hpp>

#include <chrono>
#include <cstdint>
#include <optional>

namespace cremone::core {

class release {
 public:
  enum class next : std::uint8_t { sleep, finished };

  /// Tries for `patience` from `now`: after that long a silent hold may be evicted by anyone.
  release(instant now, std::chrono::milliseconds patience, std::uint64_t seed) noexcept;

  /// What the caller gets, once finished: ok, *lost* (the store says it was not ours any more) or
  /// *outcome_unknown*.
  [[nodiscard]] const result<void>& outcome() const noexcept { return outcome_; }

  /// When to tick, after `sleep`.
  [[nodiscard]] instant wake_at() const noexcept { return wake_at_; }

  [[nodiscard]] next done() noexcept;
  [[nodiscard]] next refused(instant now, const error& why) noexcept;
  [[nodiscard]] next unknown(instant now, const error& why) noexcept;

 private:
  [[nodiscard]] next again(instant now, const error& why) noexcept;

  instant give_up_at_;
  instant wake_at_{};
  backoff pauses_;
  bool in_doubt_ = false;  // an earlier request may have been carried out
  result<void> outcome_;
};

}  // namespace cremone::core
