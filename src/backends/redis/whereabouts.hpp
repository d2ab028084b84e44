// SPDX-License-Identifier: Apache-2.0
//
// Where the connection for commands has found the master, for those that must be at the same server. A subscription at
// another one would bring word of nothing; and were it to look for itself, it could find another while sentinels disagree.
#pragma once

#include "base/transport.hpp"

#include <cremone/callback.hpp>

#include <optional>
#include <utility>
#include <vector>

namespace cremone::redis {

/// Threads: everything on the executor.
class whereabouts {
 public:
  /// None: nowhere, at the moment.
  [[nodiscard]] const std::optional<endpoint>& at() const noexcept { return at_; }

  /// `follow` is called after each arrival, until the end; what it reaches must therefore be held weakly.
  void on_arrival(callback<void()> follow) { followers_.push_back(std::move(follow)); }

  void arrived(const endpoint& there) {
    at_ = there;
    for (auto& follow : followers_) {
      follow();
    }
  }
  void left() noexcept { at_.reset(); }

 private:
  std::optional<endpoint> at_;
  std::vector<callback<void()>> followers_;
};

}  // namespace cremone::redis
