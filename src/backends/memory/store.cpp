// SPDX-License-Identifier: Apache-2.0
#include "backends/memory/store.hpp"

#include <algorithm>

namespace cremone::memory {

store::store(const store_limits& limits, fence_token floor) noexcept : limits_(limits) {
  for (shard& s : shards_) {
    s.high = floor;
  }
}

acquire_answer store::try_acquire(const acquire_request& request, const store_time& time) {
  shard& s = shard_of(request.name);
  const std::lock_guard lock(s.mutex);
  const auto at = find_or_make(s, request.name);
  acquire_answer a = at->second.state.try_acquire(request, time, s.high, limits_);
  settle(s, at->second, time.now);
  return a;
}

answer store::renew(const renewal& r, const store_time& time) {
  shard& s = shard_of(*r.name);
  const std::lock_guard lock(s.mutex);
  const auto at = s.locks.find(*r.name);
  if (at == s.locks.end()) {
    return refused{error(errc::lost, "the store knows nothing of this lock any more")};
  }
  return at->second.state.renew(r, time);
}

answer store::release(const release_request& request, const store_time& time) {
  lock_state::sink next;
  answer a;
  {
    shard& s = shard_of(request.name);
    const std::lock_guard lock(s.mutex);
    const auto at = find_or_make(s, request.name);  // also for a tombstone of one who never got in
    a = at->second.state.release(request.owner, time, next);
    settle(s, at->second, time.now);
  }
  if (next) {
    next->hint();
  }
  return a;
}

answer store::evict(const lock_name& name, const hold_version& version, const store_time& time) {
  return remove(name, time,
                [&](lock_state& in, lock_state::sink& next) { return in.evict(version, time, next); });
}

answer store::force(const lock_name& name, const owner_id& holder, const store_time& time) {
  return remove(name, time,
                [&](lock_state& in, lock_state::sink& next) { return in.force(holder, time, next); });
}

template <class Removal>
answer store::remove(const lock_name& name, const store_time& time, Removal removal) {
  lock_state::sink next;
  answer a = refused{error(errc::not_held, "the store knows nothing of this lock")};
  {
    shard& s = shard_of(name);
    const std::lock_guard lock(s.mutex);
    if (const auto at = s.locks.find(name); at != s.locks.end()) {
      a = removal(at->second.state, next);
      settle(s, at->second, time.now);
    }
  }
  if (next) {
    next->hint();
  }
  return a;
}

store::table::iterator store::find_or_make(shard& s, const lock_name& name) {
  const auto [at, made] = s.locks.try_emplace(name);
  if (made) {
    s.round.push_back(&at->first);
  }
  return at;
}

/// After a change: the shard's highest token stays known when a lock is forgotten, and idle locks are forgotten when
/// the round finds them unused since it came by last, so that names used once do not pile up and fresh tombstones
/// stay. More are looked at than can be made meanwhile, so that this catches up.
void store::settle(shard& s, entry& changed, instant now) {
  s.high = std::max(s.high, changed.state.last());
  changed.used = true;
  for (int looks = 0; looks < 4 && s.locks.size() > idle_per_shard; ++looks) {
    const auto at = s.locks.find(*s.round.front());
    s.round.pop_front();
    if (!at->second.used && at->second.state.idle(now)) {
      s.locks.erase(at);
    } else {
      at->second.used = false;
      s.round.push_back(&at->first);
    }
  }
}

lock_record store::inspect(const lock_name& name, const store_time& time) {
  shard& s = shard_of(name);
  const std::lock_guard lock(s.mutex);
  const auto at = s.locks.find(name);
  if (at == s.locks.end()) {
    return {.name = name, .holders = {}, .waiters = {}, .last = {}};
  }
  return at->second.state.describe(name, time);
}

std::vector<lock_record> store::list(const store_time& time) {
  std::vector<lock_record> all;
  for (shard& s : shards_) {
    const std::lock_guard lock(s.mutex);
    for (auto& [name, e] : s.locks) {
      if (lock_record r = e.state.describe(name, time); !r.holders.empty() || !r.waiters.empty()) {
        all.push_back(std::move(r));
      }
    }
  }
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return all;
}

fence_token store::highest() {
  fence_token all;
  for (shard& s : shards_) {
    const std::lock_guard lock(s.mutex);
    all = std::max(all, s.high);
  }
  return all;
}

std::size_t store::remembered() {
  std::size_t count = 0;
  for (shard& s : shards_) {
    const std::lock_guard lock(s.mutex);
    count += s.locks.size();
  }
  return count;
}

}  // namespace cremone::memory
