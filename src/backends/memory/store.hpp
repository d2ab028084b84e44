// SPDX-License-Identifier: Apache-2.0
//
// The store inside one process: what a server would keep. With lock_state, which has the rules, it is the
// executable specification of the seam. It knows no lease, no watchdog and no policy.
#pragma once

#include "backends/memory/lock_state.hpp"

#include <cremone/backend.hpp>

#include <array>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace cremone::memory {

/// Threads: all members from any thread. Hints are sent with no lock held.
class store {
 public:
  /// `floor`: no token at or below it is ever given.
  explicit store(const store_limits& limits = {}, fence_token floor = {}) noexcept;

  [[nodiscard]] const store_limits& limits() const noexcept { return limits_; }

  [[nodiscard]] acquire_answer try_acquire(const acquire_request& request, const store_time& time);
  [[nodiscard]] answer renew(const renewal& r, const store_time& time);
  [[nodiscard]] answer release(const release_request& request, const store_time& time);
  [[nodiscard]] answer evict(const lock_name& name, const hold_version& version, const store_time& time);
  [[nodiscard]] answer force(const lock_name& name, const owner_id& holder, const store_time& time);
  [[nodiscard]] lock_record inspect(const lock_name& name, const store_time& time);
  [[nodiscard]] std::vector<lock_record> list(const store_time& time);

  /// No token given so far is higher.
  [[nodiscard]] fence_token highest();

  /// Locks remembered, idle ones included. Tends to those in use plus a constant.
  [[nodiscard]] std::size_t remembered();

  static constexpr std::size_t shard_count = 16;      // threads on different names rarely meet
  static constexpr std::size_t idle_per_shard = 256;  // idle locks remembered for their tombstones

 private:
  struct entry {
    lock_state state;
    bool used = true;  // since the round came by last
  };
  using table = std::unordered_map<lock_name, entry>;

  struct shard {
    std::mutex mutex;
    table locks;
    std::deque<const lock_name*> round;  // all keys of `locks`, in the order in which they are looked at
    fence_token high;                    // no token of this shard was ever higher
  };

  [[nodiscard]] shard& shard_of(const lock_name& name) noexcept {
    return shards_[std::hash<lock_name>{}(name) % shard_count];
  }
  [[nodiscard]] static table::iterator find_or_make(shard& s, const lock_name& name);
  static void settle(shard& s, entry& changed, instant now);
  template <class Removal>
  [[nodiscard]] answer remove(const lock_name& name, const store_time& time, Removal removal);

  const store_limits limits_;
  std::array<shard, shard_count> shards_;
};

}  // namespace cremone::memory
