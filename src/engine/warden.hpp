// SPDX-License-Identifier: Apache-2.0
//
// Looks after servers in quarantine where others decide without them, so that nobody who asks for a lock has to: watches each for as
// long as it takes, on this machine's clock and with what earlier processes saw, and lets it in again. How long that is, is
// the store's business; the rule is that of a silent holder (core::observations).
#pragma once

#include "base/env.hpp"
#include "engine/lookout.hpp"

#include <cremone/backend.hpp>

#include <chrono>
#include <memory>
#include <mutex>

namespace cremone::detail {

/// Lives in its engine, which gives it what it refers to. Threads: all members from any thread.
class warden : public std::enable_shared_from_this<warden> {
 public:
  warden(env& outside, backend& store, lookout& known) noexcept
      : env_(outside), store_(store), known_(known) {}

  /// What the warden refers to lives for as long as this.
  using owner = std::shared_ptr<const void>;

  /// A holder may have nothing to do but renew, and would not notice one.
  static constexpr std::chrono::seconds pause{10};

  /// Some server is in quarantine, or may be: looks, unless that is being done or was done just now. From then on it looks when one of them is
  /// ripe, and in any case after a pause.
  void look(const owner& o);

 private:
  void take(const owner& o, const std::vector<quarantine_state>& servers);
  void come_again(const owner& o, instant when);

  env& env_;
  backend& store_;
  lookout& known_;

  std::mutex mutex_;
  bool looking_ = false;
  std::unique_ptr<timer> timer_;
  instant due_ = instant::max();  // when the timer fires
  instant last_ = instant::min();
};

}  // namespace cremone::detail
