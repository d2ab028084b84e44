// SPDX-License-Identifier: Apache-2.0
//
// One lock's record and queue: holder, tombstones, waiters. Every rule that a record store must keep is here,
// as plain functions of what is asked and what time it is. No mutex, no clock.
#pragma once

#include <cremone/backend.hpp>
#include <cremone/record.hpp>
#include <cremone/types.hpp>

#include <boost/multi_index/member.hpp>
#include <boost/multi_index/ordered_index.hpp>
#include <boost/multi_index/ranked_index.hpp>
#include <boost/multi_index_container.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>

namespace cremone::memory {

struct store_limits {
  std::chrono::milliseconds claim_time{500};       ///< the head's time to take a free lock
  std::chrono::milliseconds waiter_lease{10'000};  ///< a waiter that has not asked for this long has left
};

/// The time as the store sees it.
struct store_time {
  instant now;
  wall_time wall;
};

class lock_state {
 public:
  using sink = std::shared_ptr<hint_sink>;

  /// `floor`: no token at or below it may be given.
  [[nodiscard]] acquire_answer try_acquire(const acquire_request& request, const store_time& time,
                                           fence_token floor, const store_limits& limits);
  [[nodiscard]] answer renew(const renewal& r, const store_time& time);

  // These may free the lock; who is to be told of it comes back in `next`.
  [[nodiscard]] answer release(const owner_id& owner, const store_time& time, sink& next);
  [[nodiscard]] answer evict(const hold_version& version, const store_time& time, sink& next);
  [[nodiscard]] answer force(const owner_id& holder, const store_time& time, sink& next);

  [[nodiscard]] lock_record describe(const lock_name& name, const store_time& time);
  /// Neither held nor waited for.
  [[nodiscard]] bool idle(instant now);
  [[nodiscard]] fence_token last() const noexcept { return last_; }

 private:
  /// Those who count come first, each group by ticket.
  struct rank {
    bool missed = false;  // let its claim time pass; out of the reckoning until it asks again
    std::uint64_t ticket = 0;

    friend auto operator<=>(const rank&, const rank&) = default;
  };

  struct waiter {
    owner_id owner{};
    rank place{};
    instant lease_end{};
    cremone::mode mode{};
    owner_data who{};
    std::weak_ptr<hint_sink> wake{};
  };

  // A crowd of thousands at one lock is where a lock must not slow down: no step looks at all of them.
  struct by_place {};
  struct by_owner {};
  struct by_lease {};
  using queue = boost::multi_index_container<
      waiter,
      boost::multi_index::indexed_by<
          boost::multi_index::ranked_unique<boost::multi_index::tag<by_place>,
                                            boost::multi_index::member<waiter, rank, &waiter::place>>,
          boost::multi_index::ordered_unique<boost::multi_index::tag<by_owner>,
                                             boost::multi_index::member<waiter, owner_id, &waiter::owner>>,
          boost::multi_index::ordered_non_unique<
              boost::multi_index::tag<by_lease>,
              boost::multi_index::member<waiter, instant, &waiter::lease_end>>>>;
  using position = queue::iterator;  // by place

  [[nodiscard]] bool dead(const owner_id& owner) const noexcept;
  void bury(const owner_id& owner, bool was_holder);
  void drop_silent_waiters(instant now);
  [[nodiscard]] position find_waiter(const owner_id& owner) const;
  void set_missed(position who, bool missed);
  void join(position me, const acquire_request& request, instant lease_end);
  [[nodiscard]] std::size_t ahead_of(position me) const;
  [[nodiscard]] grant give(const acquire_request& request, position me, const store_time& time,
                           fence_token floor);
  void free_up(instant now, sink& next);
  [[nodiscard]] sink first_reachable();
  [[nodiscard]] hold_record holder_at(instant now) const;

  std::optional<hold_record> holder_;
  instant renewed_{};                     // when the holder was granted the lock or renewed it last
  fence_token last_;                      // highest token given for this name
  std::deque<owner_id> dead_holders_;     // owner ids released or evicted, latest last
  std::deque<owner_id> dead_contenders_;  // owner ids that were released without a hold
  queue waiters_;
  std::uint64_t next_ticket_ = 1;
  instant free_since_{};
};

}  // namespace cremone::memory
