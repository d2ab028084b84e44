// SPDX-License-Identifier: Apache-2.0
//
// The public lease over its hold: checks the process first, then asks the keeper.
#include <cremone/lease.hpp>

#include "engine/blocking.hpp"
#include "engine/describe.hpp"
#include "engine/engine.hpp"
#include "engine/hold.hpp"

#include <utility>

namespace cremone {

namespace {

/// A person who waits longer for an unlock believes that it hangs. The release goes on in the background.
constexpr std::chrono::milliseconds release_wait{5000};

bool at_home(const std::shared_ptr<detail::hold>& h) noexcept { return h && h->owner_engine->at_home(); }

error nothing_held() { return {errc::not_held, "this lease holds nothing"}; }

}  // namespace

lease& lease::operator=(lease&& other) noexcept {
  if (this != &other) {
    drop();
    hold_ = std::move(other.hold_);
  }
  return *this;
}

lease::~lease() { drop(); }

void lease::drop() noexcept {
  if (!hold_) {
    return;
  }
  if (!at_home(hold_)) {
    leak_in_child(std::move(hold_));
    return;
  }
  try {
    const auto engine = hold_->owner_engine;
    engine->end_handle(std::exchange(hold_, nullptr), [](const result<void>&) {});
  } catch (...) {
  }
}

bool lease::held() const noexcept { return at_home(hold_) && hold_->owner_engine->leases().held(*hold_); }

fence_token lease::token() const noexcept { return hold_ ? hold_->token : fence_token{}; }

owner_id lease::owner() const noexcept { return hold_ ? hold_->owner : owner_id{}; }

instant lease::deadline() const noexcept {
  return at_home(hold_) ? hold_->deadline.load(std::memory_order_acquire) : instant::min();
}

std::chrono::nanoseconds lease::remaining() const noexcept {
  if (!held()) {
    return std::chrono::nanoseconds::zero();
  }
  const instant until = deadline();
  const instant now = hold_->owner_engine->outside().now();
  return until > now ? until - now : std::chrono::nanoseconds::zero();
}

const lock_name& lease::name() const noexcept {
  static const lock_name none("");
  return hold_ ? hold_->name : none;
}

result<void> lease::last_renewal() const {
  if (!at_home(hold_)) {
    return nothing_held();
  }
  return hold_->owner_engine->leases().last_renewal(*hold_);
}

std::stop_token lease::get_stop_token() const {
  return at_home(hold_) ? hold_->owner_engine->leases().stop_token_of(*hold_) : std::stop_token{};
}

void lease::on_lost(callback<void(const error&)> fn) {
  if (fn && at_home(hold_)) {
    hold_->owner_engine->leases().on_lost(*hold_, std::move(fn));
  }
}

result<lease> lease::reenter() const {
  if (!at_home(hold_)) {
    return nothing_held();
  }
  if (auto fine = hold_->owner_engine->leases().add_handle(*hold_); !fine) {
    return fine.error();
  }
  return lease(hold_);
}

result<void> lease::release() {
  if (!at_home(hold_)) {
    return nothing_held();
  }
  const auto box = std::make_shared<detail::mailbox<result<void>>>();
  const auto released = std::exchange(hold_, nullptr);
  const auto engine = released->owner_engine;
  engine->end_handle(released, [box](result<void> r) { box->put(std::move(r)); });
  if (auto answered = box->wait_for(release_wait)) {
    return std::move(*answered);
  }
  return error(errc::outcome_unknown,
               "lock '" + released->name.str() + "': " + engine->store_traits().store +
                   " did not answer the release within " + detail::describe_time(release_wait) +
                   "; the client repeats it until it is closed. If the release does not arrive, the lock is "
                   "free when another client has observed it for its ttl of " +
                   detail::describe_time(released->ttl));
}

}  // namespace cremone
