// SPDX-License-Identifier: Apache-2.0
#include "backends/memory/lock_state.hpp"

#include <algorithm>

namespace cremone::memory {

namespace {

/// Enough for the requests of one owner that can still be under way when it is gone.
constexpr std::size_t tombstones = 8;

rejection turned_away(errc code, const char* detail) {
  rejection r;
  r.why = error(code, detail);
  return r;
}

refused no(errc code, const char* detail) { return {error(code, detail)}; }

}  // namespace

acquire_answer lock_state::try_acquire(const acquire_request& request, const store_time& time,
                                       fence_token floor, const store_limits& limits) {
  if (request.mode != mode::exclusive) {
    return turned_away(errc::unsupported, "memory:// knows exclusive locks only");
  }
  if (dead(request.owner)) {  // a late request of one who has left
    return turned_away(errc::not_held, "this owner id was released before");
  }
  if (holder_ && holder_->version.owner == request.owner) {  // no new version: that would look like a renewal
    return grant{.token = holder_->token, .ticket = 0, .repeated = true};
  }

  drop_silent_waiters(time.now);
  const auto me = find_waiter(request.owner);
  if (me != waiters_.end()) {
    set_missed(me, false);
  }
  // A free lock is kept for the head; after each claim time for one more. So a dead waiter costs the others its
  // claim time and no more, and a mere try overtakes nobody who is alive.
  const std::size_t ahead = ahead_of(me);
  const auto claims = limits.claim_time * static_cast<std::int64_t>(ahead);
  if (!holder_ && (ahead == 0 || time.now - free_since_ >= claims)) {
    return give(request, me, time, floor);
  }

  rejection answer;
  if (holder_) {
    answer.holders.push_back(holder_at(time.now));
  }
  if (request.join) {
    join(me, request, time.now + limits.waiter_lease);
    answer.place = ahead;
  }
  return answer;
}

/// A new waiter at the end, or the old place with a fresh lease.
void lock_state::join(position me, const acquire_request& request, instant lease_end) {
  if (me == waiters_.end()) {
    waiters_.insert({.owner = request.owner,
                     .place = {.missed = false, .ticket = next_ticket_++},
                     .lease_end = lease_end,
                     .mode = request.mode,
                     .who = request.who,
                     .wake = request.wake});
  } else {
    waiters_.modify(me, [&](waiter& w) {
      w.lease_end = lease_end;
      w.wake = request.wake;
    });
  }
}

void lock_state::set_missed(position who, bool missed) {
  if (who->place.missed != missed) {
    waiters_.modify(who, [missed](waiter& w) { w.place.missed = missed; });
  }
}

/// Waiters before this one that still count; all of them for one without a place.
std::size_t lock_state::ahead_of(position me) const {
  return waiters_.rank(me == waiters_.end() ? waiters_.lower_bound(rank{.missed = true, .ticket = 0}) : me);
}

grant lock_state::give(const acquire_request& request, position me, const store_time& time,
                       fence_token floor) {
  for (std::size_t ahead = ahead_of(me); ahead > 0; --ahead) {
    set_missed(waiters_.begin(), true);  // they had their time
  }
  std::uint64_t ticket = 0;
  if (me == waiters_.end()) {
    ticket = next_ticket_++;
  } else {
    ticket = me->place.ticket;
    waiters_.erase(me);
  }
  // Wall time keeps the order when a store is made anew; the counter keeps it when the clock steps back. A clock
  // that is centuries ahead must not use the numbers up.
  constexpr std::int64_t sane = fence_token::limit - (std::int64_t{1} << 32U);
  const std::int64_t clock = time.wall.time_since_epoch().count();
  const std::uint64_t next = std::max(last_, floor).value() + 1;
  last_ = fence_token(clock > 0 && clock < sane ? std::max(next, static_cast<std::uint64_t>(clock)) : next);
  // The version begins with the token: an owner whose answer was lost may ask again when its tombstone has made room for
  // others, and must not come back in a version that somebody has seen silent.
  holder_ = hold_record{.version = {request.owner, last_.value()},
                        .mode = request.mode,
                        .ttl = request.ttl,
                        .token = last_,
                        .owner = request.who};
  renewed_ = time.now;
  return {.token = last_, .ticket = ticket, .repeated = false};
}

answer lock_state::renew(const renewal& r, const store_time& time) {
  if (!holder_ || holder_->version.owner != r.owner) {
    return no(errc::lost, "it is not held by this owner any more");
  }
  // A late renewal must not bring an old version back: a version never returns.
  holder_->version.seq = std::max(holder_->version.seq + 1, holder_->token.value() + r.seq);
  holder_->ttl = r.ttl;
  renewed_ = time.now;
  return done{};
}

answer lock_state::release(const owner_id& owner, const store_time& time, sink& next) {
  const bool was_holder = holder_ && holder_->version.owner == owner;
  const auto me = find_waiter(owner);
  const bool was_waiting = me != waiters_.end();
  bury(owner, was_holder);
  if (was_holder) {
    free_up(time.now, next);
    return done{};
  }
  if (!was_waiting) {
    return no(errc::not_held, "this owner neither holds the lock nor waits for it");
  }
  waiters_.erase(me);
  if (!holder_) {
    next = first_reachable();  // the lock may have been kept for the one who left
  }
  return done{};
}

answer lock_state::evict(const hold_version& version, const store_time& time, sink& next) {
  if (!holder_ || holder_->version != version) {
    return no(errc::not_held, "no hold has this version");
  }
  return force(version.owner, time, next);
}

answer lock_state::force(const owner_id& holder, const store_time& time, sink& next) {
  if (!holder_ || holder_->version.owner != holder) {
    return no(errc::not_held, "it holds nothing");
  }
  last_ = fence_token(std::max(last_, holder_->token).value() + 1);  // so that the victim's token is past
  bury(holder, true);
  free_up(time.now, next);
  return done{};
}

void lock_state::free_up(instant now, sink& next) {
  holder_.reset();
  free_since_ = now;
  drop_silent_waiters(now);
  next = first_reachable();
}

/// Whom to wake. One that can no longer be told is passed over, but keeps its ticket should it ask again.
lock_state::sink lock_state::first_reachable() {
  while (!waiters_.empty() && !waiters_.begin()->place.missed) {
    if (sink found = waiters_.begin()->wake.lock()) {
      return found;
    }
    set_missed(waiters_.begin(), true);
  }
  return nullptr;
}

bool lock_state::dead(const owner_id& owner) const noexcept {
  const auto in = [&](const std::deque<owner_id>& dead) {
    return std::find(dead.begin(), dead.end(), owner) != dead.end();
  };
  return in(dead_holders_) || in(dead_contenders_);
}

/// Those who gave up are remembered apart, so that they never push a holder's tombstone out.
void lock_state::bury(const owner_id& owner, bool was_holder) {
  if (dead(owner)) {
    return;
  }
  std::deque<owner_id>& dead = was_holder ? dead_holders_ : dead_contenders_;
  if (dead.size() == tombstones) {
    dead.pop_front();
  }
  dead.push_back(owner);
}

void lock_state::drop_silent_waiters(instant now) {
  auto& leases = waiters_.get<by_lease>();
  leases.erase(leases.begin(), leases.upper_bound(now));
}

bool lock_state::idle(instant now) {
  drop_silent_waiters(now);
  return !holder_ && waiters_.empty();
}

lock_state::position lock_state::find_waiter(const owner_id& owner) const {
  return waiters_.project<by_place>(waiters_.get<by_owner>().find(owner));
}

hold_record lock_state::holder_at(instant now) const {
  hold_record shown = *holder_;
  // A renewal on another thread may have read the clock after this one.
  shown.renewed_ago = std::chrono::floor<std::chrono::milliseconds>(std::max(now, renewed_) - renewed_);
  return shown;
}

lock_record lock_state::describe(const lock_name& name, const store_time& time) {
  drop_silent_waiters(time.now);
  lock_record out{.name = name, .holders = {}, .waiters = {}, .last = last_};
  if (holder_) {
    out.holders.push_back(holder_at(time.now));
  }
  for (const waiter& w : waiters_) {
    out.waiters.push_back({w.owner, w.mode, w.place.ticket, w.who});
  }
  std::sort(out.waiters.begin(), out.waiters.end(),
            [](const waiter_record& a, const waiter_record& b) { return a.ticket < b.ticket; });
  return out;
}

}  // namespace cremone::memory
