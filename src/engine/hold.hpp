// SPDX-License-Identifier: Apache-2.0
//
// What the handles of one lease share: who it is, its watchdog, and who wants to hear of its loss. Decides
// nothing; core::watchdog does, under the keeper's mutex.
#pragma once

#include "core/watchdog.hpp"

#include <cremone/callback.hpp>
#include <cremone/lease.hpp>
#include <cremone/result.hpp>
#include <cremone/types.hpp>

#include <boost/intrusive/list_hook.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <utility>
#include <vector>

namespace cremone::detail {

class engine;

class hold : public std::enable_shared_from_this<hold>, public boost::intrusive::list_base_hook<> {
 public:
  hold(std::shared_ptr<engine> by, lock_name lock, const owner_id& who, fence_token number,
       const core::lease_timing& timing, instant since)
      : owner_engine(std::move(by)),
        name(std::move(lock)),
        owner(who),
        token(number),
        ttl(timing.ttl),
        max_hold(timing.max_hold),
        dog(timing, since),
        wake(dog.wake_at()),
        heard(since),
        deadline(dog.deadline()) {}

  [[nodiscard]] static lease to_lease(std::shared_ptr<hold> h) { return lease(std::move(h)); }
  [[nodiscard]] static std::shared_ptr<hold> take(lease& from) { return std::move(from.hold_); }
  [[nodiscard]] static const std::shared_ptr<hold>& peek(const lease& from) { return from.hold_; }

  const std::shared_ptr<engine> owner_engine;
  const lock_name name;
  const owner_id owner;
  const fence_token token;
  const std::chrono::milliseconds ttl;
  const std::chrono::milliseconds max_hold;

  // Guarded by the keeper's mutex.
  core::watchdog dog;
  instant wake;                          // the key in the keeper's order; changed only while not in it
  std::uint32_t handles = 1;             // leases that stand for this hold
  std::optional<std::stop_source> stop;  // made when first asked for
  std::vector<callback<void(const error&)>> on_lost;
  std::optional<error> loss;     // why, once lost
  std::optional<error> trouble;  // why the last renewal did not succeed; empty when it did
  instant heard;                 // when the store last answered about this hold

  /// A copy of dog.deadline() that `held()` reads without the mutex; instant::min() once it is over.
  std::atomic<instant> deadline;
  static_assert(std::atomic<instant>::is_always_lock_free);
};

}  // namespace cremone::detail
