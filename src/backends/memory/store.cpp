// SPDX-License-Identifier: Apache-2.0
#include "backends/memory/store.hpp"

#include <algorithm>

namespace cremone::memory {

acquire_answer store::try_acquire(const acquire_request& request, const store_time& time) {
  shard& s = shard_of(request.name);
  const std::lock_guard lock(s.mutex);
  const auto at = s.locks.try_emplace(request.name).first;
  acquire_answer a = at->second.state.try_acquire(request, time, s.high, limits_);
  settle(s, at);
  return a;
}

answer store::renew(const renewal& r) {
  shard& s = shard_of(*r.name);
  const std::lock_guard lock(s.mutex);
  const auto at = s.locks.find(*r.name);
  if (at == s.locks.end()) {
    return refused{error(errc::lost, "the store knows nothing of this lock any more")};
  }
  return at->second.state.renew(r);
}

answer store::release(const release_request& request, const store_time& time) {
  lock_state::sink next;
  answer a;
  {
    shard& s = shard_of(request.name);
    const std::lock_guard lock(s.mutex);
    const auto at = s.locks.try_emplace(request.name).first;  // also for a tombstone of one who never got in
    a = at->second.state.release(request.owner, time, next);
    settle(s, at);
  }
  if (next) {
    next->hint();
  }
  return a;
}

answer store::evict(const lock_name& name, const hold_version& version, const store_time& time) {
  lock_state::sink next;
  answer a = refused{error(errc::not_held, "the store knows nothing of this lock")};
  {
    shard& s = shard_of(name);
    const std::lock_guard lock(s.mutex);
    if (const auto at = s.locks.find(name); at != s.locks.end()) {
      a = at->second.state.evict(version, time, next);
      settle(s, at);
    }
  }
  if (next) {
    next->hint();
  }
  return a;
}

/// After a change: the shard's highest token stays known when the lock is forgotten, and idle locks are
/// forgotten, oldest first, so that names used once do not pile up.
void store::settle(shard& s, table::iterator at) {
  s.high = std::max(s.high, at->second.state.last());
  if (!at->second.state.idle() || at->second.listed) {
    return;
  }
  at->second.listed = true;
  s.idle.push_back(&at->first);
  while (s.idle.size() > idle_per_shard) {
    const auto oldest = s.locks.find(*s.idle.front());
    s.idle.pop_front();
    oldest->second.listed = false;
    if (oldest->second.state.idle()) {  // else it is in use again, and is listed anew when that ends
      s.locks.erase(oldest);
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

std::size_t store::remembered() {
  std::size_t count = 0;
  for (shard& s : shards_) {
    const std::lock_guard lock(s.mutex);
    count += s.locks.size();
  }
  return count;
}

}  // namespace cremone::memory
