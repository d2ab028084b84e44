// SPDX-License-Identifier: Apache-2.0
#include "engine/sweeper.hpp"

#include "engine/describe.hpp"

#include <utility>

namespace cremone::detail {

/// A step, which is over when the last of its evictions is answered: a client that closes waits for them.
class sweeper::errand {
 public:
  explicit errand(callback<void()> done) : done_(std::move(done)) {}
  errand(const errand&) = delete;
  errand& operator=(const errand&) = delete;
  ~errand() { done_(); }

 private:
  callback<void()> done_;
};

void sweeper::start(const owner& o, std::chrono::nanoseconds phase) {
  timer_ = env_.make_timer([weak = weak_from_this(), alive = std::weak_ptr<const void>(o)] {
    const auto here = alive.lock();
    if (const auto self = here ? weak.lock() : nullptr) {
      self->step(here, [] {});
      self->timer_->arm(self->env_.now() + pause);
    }
  });
  timer_->arm(env_.now() + phase % pause);
}

void sweeper::step(owner o, callback<void()> done) {
  store_.sweep(known_.sweep_cursor(),
               [self = shared_from_this(), o = std::move(o),
                all = std::make_shared<errand>(std::move(done))](result<sweep_step> found) {
                 if (!found) {
                   return;
                 }
                 const instant now = self->env_.now();  // after the answer was read
                 for (const lock_record& lock : found->held) {
                   self->take(o, lock, now, all);
                 }
                 self->known_.set_sweep_cursor(found->cursor, now);
               });
}

/// Where several servers vote, each is swept for itself, and one owner is found once for each vote.
bool sweeper::is_news(const owner_id& gone) {
  constexpr std::size_t most_told = 1000;  // a round through all servers takes minutes; then nobody remembers
  const std::lock_guard lock(mutex_);
  if (told_.size() >= most_told) {
    told_.clear();
  }
  return told_.insert(gone).second;
}

/// Whoever waits for this lock watches it too, in the same table.
void sweeper::take(const owner& o, const lock_record& lock, instant now, const std::shared_ptr<errand>& all) {
  known_.recall(lock.name, lock.holders, now);
  for (const hold_record& holder : lock.holders) {
    const instant ripe =
        known_.with_table([&](core::observations& table) { return table.note(lock.name, holder, now); });
    if (now < ripe) {
      continue;
    }
    const auto asked = std::make_shared<const std::pair<lock_name, hold_record>>(lock.name, holder);
    store_.evict(
        asked->first, asked->second.version, [self = shared_from_this(), o, asked, all](const answer& a) {
          if (std::holds_alternative<done>(a) && self->is_news(asked->second.version.owner)) {
            self->events_.tell(event_kind::evicted,
                               "lock '" + asked->first.str() + "', which nobody asked for, was taken from " +
                                   describe_owner(asked->second.owner) + ", silent for its ttl of " +
                                   describe_time(asked->second.ttl));
          }
        });
  }
  known_.leave(lock.name, now);
}

}  // namespace cremone::detail
