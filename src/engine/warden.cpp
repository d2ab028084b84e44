// SPDX-License-Identifier: Apache-2.0
#include "engine/warden.hpp"

#include <algorithm>
#include <utility>

namespace cremone::detail {

namespace {
/// Everybody who asks for a lock may say that there is one: this often it is looked at.
constexpr std::chrono::milliseconds least_pause{100};
}  // namespace

void warden::look(const owner& o) {
  {
    const std::lock_guard lock(mutex_);
    const instant now = env_.now();
    if (looking_ || (last_ != instant::min() && now < last_ + least_pause)) {
      return;
    }
    looking_ = true;
    last_ = now;
  }
  store_.quarantine([self = shared_from_this(), o](const result<std::vector<quarantine_state>>& servers) {
    {
      const std::lock_guard lock(self->mutex_);
      self->looking_ = false;
    }
    servers ? self->take(o, *servers) : self->come_again(o, self->env_.now() + pause);
  });
}

void warden::take(const owner& o, const std::vector<quarantine_state>& servers) {
  const instant now = env_.now();  // after the answer was read
  const lock_name& name = core::quarantine_name();
  instant next = now + pause;
  for (const quarantine_state& s : servers) {
    if (!s.reachable || !s.quarantined || s.version == hold_version{}) {
      continue;  // or it begins when somebody asks for a lock
    }
    hold_record stands_for_it;
    stands_for_it.version = s.version;
    stands_for_it.ttl = s.length;
    known_.recall(name, {&stands_for_it, 1}, now);
    const instant over =
        known_.with_table([&](core::observations& table) { return table.note(name, stands_for_it, now); });
    known_.leave(name, now);
    if (now < over) {
      next = std::min(next, over);
      continue;
    }
    const auto asked = std::make_shared<const hold_version>(s.version);
    store_.evict(name, *asked, [asked, o](const answer&) {});  // the store tells of it
  }
  come_again(o, next);
}

void warden::come_again(const owner& o, instant when) {
  const std::lock_guard lock(mutex_);
  if (!timer_) {
    timer_ = env_.make_timer([weak = weak_from_this(), alive = std::weak_ptr<const void>(o)] {
      const auto here = alive.lock();
      if (const auto self = here ? weak.lock() : nullptr) {
        {
          const std::lock_guard again(self->mutex_);
          self->due_ = instant::max();
          self->last_ = instant::min();
        }
        self->look(here);
      }
    });
  }
  if (when < due_) {
    due_ = when;
    timer_->arm(when);
  }
}

}  // namespace cremone::detail
