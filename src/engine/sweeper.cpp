// SPDX-License-Identifier: Apache-2.0
#include "engine/sweeper.hpp"

#include "engine/describe.hpp"

#include <utility>

namespace cremone::detail {

void sweeper::start(std::weak_ptr<const void> alive, std::chrono::nanoseconds phase) {
  alive_ = std::move(alive);
  timer_ = env_.make_timer([weak = weak_from_this()] {
    const auto self = weak.lock();
    if (const auto here = self ? self->alive_.lock() : nullptr) {
      self->step([] {});
      self->timer_->arm(self->env_.now() + pause);
    }
  });
  timer_->arm(env_.now() + phase % pause);
}

void sweeper::finish(callback<void()> done) { step(std::move(done)); }

void sweeper::step(callback<void()> done) {
  store_.sweep(known_.sweep_cursor(), [self = shared_from_this(), alive = alive_.lock(),
                                       done = std::move(done)](result<sweep_step> found) mutable {
    if (found) {
      const instant now = self->env_.now();  // after the answer was read
      for (const lock_record& lock : found->held) {
        self->take(lock, now);
      }
      self->known_.set_sweep_cursor(found->cursor, now);
    }
    done();
  });
}

/// Whoever waits for this lock watches it too, in the same table.
void sweeper::take(const lock_record& lock, instant now) {
  known_.recall(lock.name, lock.holders, now);
  for (const hold_record& holder : lock.holders) {
    const instant ripe =
        known_.with_table([&](core::observations& table) { return table.note(lock.name, holder, now); });
    if (now < ripe) {
      continue;
    }
    const auto asked = std::make_shared<const std::pair<lock_name, hold_record>>(lock.name, holder);
    store_.evict(asked->first, asked->second.version,
                 [self = shared_from_this(), alive = alive_.lock(), asked](const answer& a) {
                   if (alive && std::holds_alternative<done>(a)) {
                     self->events_.tell(event_kind::evicted,
                                        "lock '" + asked->first.str() +
                                            "', which nobody asked for, was taken from " +
                                            describe_owner(asked->second.owner) + ", silent for its ttl of " +
                                            describe_time(asked->second.ttl));
                   }
                 });
  }
  known_.leave(lock.name, now);
}

}  // namespace cremone::detail
