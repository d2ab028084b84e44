// SPDX-License-Identifier: Apache-2.0
//
// The way from whoever notices something about a store to the user who wants to hear of it. Decides nothing: what is
// worth telling is decided by those who tell.
#pragma once

#include "base/env.hpp"

#include <cremone/event.hpp>

#include <memory>
#include <string>
#include <utility>

namespace cremone {

/// May a backend send commands whose only purpose is an event?
enum class probing : bool { off, on };

/// Threads: all members from any thread; the user is told on the env's thread for user code.
class event_hub {
 public:
  event_hub(std::shared_ptr<env> e, callback<void(const store_event&)> user, probing p = probing::on)
      : env_(std::move(e)),
        user_(user ? std::make_shared<callback<void(const store_event&)>>(std::move(user)) : nullptr),
        probing_(p) {}

  /// Nobody listens.
  event_hub() = default;

  /// True if a command whose only purpose is an event is worth sending: the user has a handler.
  [[nodiscard]] bool probes() const noexcept { return user_ != nullptr && probing_ == probing::on; }

  void tell(event_kind what, std::string message) const {
    if (!user_) {
      return;
    }
    callback<void()> call = [user = user_, e = store_event{what, std::move(message)}] { (*user)(e); };
    (void)env_->post_user(call);  // once stopped, nobody is told
  }

 private:
  std::shared_ptr<env> env_;
  std::shared_ptr<callback<void(const store_event&)>> user_;
  probing probing_ = probing::off;
};

}  // namespace cremone
