// SPDX-License-Identifier: Apache-2.0
//
// What the async face's templates call: the engine, behind plain functions.
#include <cremone/async.hpp>

#include "engine/acquire_op.hpp"
#include "engine/engine.hpp"
#include "engine/hold.hpp"

namespace cremone::detail {

callback<void()> start_acquire(const std::shared_ptr<engine>& e, const lock_name& name,
                               const acquire_options& options, callback<void(result<lease>)> done) {
  if (!e || !e->at_home()) {
    done(e ? e->not_at_home() : error(errc::unsupported, "this client was moved from or never opened"));
    return [] {};
  }
  return [op = std::weak_ptr(e->acquire(name, options, std::move(done)))] {
    if (const auto live = op.lock()) {
      live->cancel(error(errc::cancelled, "the operation was cancelled"));
    }
  };
}

void start_release(lease held, callback<void(result<void>)> done) {
  auto h = hold::take(held);
  if (!h || !h->owner_engine->at_home()) {
    done(error(errc::not_held, "this lease holds nothing"));
    if (h) {
      leak_in_child(std::move(h));
    }
    return;
  }
  const auto e = h->owner_engine;
  e->end_handle(h, std::move(done));
}

bool run_user_code(const std::shared_ptr<engine>& e, callback<void()>& fn) {
  return e && e->at_home() && e->outside().post_user(fn);
}

void cancel_switch::flip() {
  callback<void()> cancel;
  {
    const std::lock_guard lock(mutex_);
    flipped_ = true;
    cancel = std::move(cancel_);
  }
  if (cancel) {
    cancel();
  }
}

void cancel_switch::wire(callback<void()> cancel) {
  {
    const std::lock_guard lock(mutex_);
    if (!flipped_) {
      cancel_ = std::move(cancel);
      return;
    }
  }
  cancel();
}

std::shared_ptr<engine> engine_of(const client& c) { return access::engine_of(c); }

std::shared_ptr<engine> engine_of(const lease& l) {
  const auto& h = hold::peek(l);
  return h ? h->owner_engine : nullptr;
}

}  // namespace cremone::detail
