// SPDX-License-Identifier: Apache-2.0
//
// Looks for silent holds of names that nobody asks for any more, where a store keeps those until somebody finds them: one
// small step now and then by every client, and one when it ends. What it finds is watched and removed by the same rule as a
// holder that is in somebody's way (core::observations).
#pragma once

#include "base/env.hpp"
#include "base/events.hpp"
#include "engine/lookout.hpp"

#include <cremone/backend.hpp>

#include <chrono>
#include <memory>
#include <mutex>
#include <set>

namespace cremone::detail {

/// Lives in its engine, which gives it what it refers to. Threads: all members from any thread.
class sweeper : public std::enable_shared_from_this<sweeper> {
 public:
  /// A hundred keys each time: a server with a million of them is gone through by ten clients in a bit over a day.
  static constexpr std::chrono::seconds pause{10};

  sweeper(env& outside, backend& store, lookout& known, const event_hub& events) noexcept
      : env_(outside), store_(store), known_(known), events_(events) {}

  /// What the sweeper refers to lives for as long as this.
  using owner = std::shared_ptr<const void>;

  /// Takes a step every `pause` while its owner is there, the first after a part of it that differs from client to client. Once.
  void start(const owner& o, std::chrono::nanoseconds phase);

  /// One step; `done` when it is over, and what was to be removed is.
  void step(owner o, callback<void()> done);

 private:
  class errand;

  [[nodiscard]] bool is_news(const owner_id& gone);
  void take(const owner& o, const lock_record& lock, instant now, const std::shared_ptr<errand>& all);

  env& env_;
  backend& store_;
  lookout& known_;
  const event_hub& events_;
  std::unique_ptr<timer> timer_;  // set once, before it is armed
  std::mutex mutex_;
  std::set<owner_id> told_;  // whose end was told
};

}  // namespace cremone::detail
