// SPDX-License-Identifier: Apache-2.0
//
// When may a silent holder be removed? Only by one who saw the same version of its hold unchanged for
// ttl(1 + ρ) on its own clock. No clock but the observer's takes part, so that no clock jump anywhere can make
// it too early. Pure; told the time.
#pragma once

#include <cremone/record.hpp>
#include <cremone/types.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <utility>

namespace cremone::core {

class observations {
 public:
  /// Bounded. What somebody still asks about is never pushed out, else a crowd of dead holders would push each other
  /// out for ever and none would be taken over. While full of such, new ones wait their turn: those in it ripen
  /// first.
  static constexpr std::size_t max_size = 4096;

  /// Not asked about for this long: whoever watched it has gone. Waiters ask every few seconds.
  static constexpr std::chrono::seconds unwatched_after{10};

  explicit observations(std::int64_t drift_ppm) noexcept : drift_ppm_(drift_ppm) {}

  /// Notes that `hold` was in this version in a reply that has been read by `now`. Returns from when on the hold
  /// may be evicted, if it is never seen in another version: not before ttl(1 + ρ) after the *first* sight.
  instant note(const lock_name& name, const hold_record& hold, instant now);

  /// The lock is ours, or that hold is gone: nothing seen of it matters any more.
  void forget(const lock_name& name);

  [[nodiscard]] std::size_t size() const noexcept { return seen_.size(); }

 private:
  using key = std::pair<lock_name, owner_id>;
  struct sight {
    std::uint64_t seq;
    instant first;
    instant latest;
    std::list<key>::iterator turn;
  };

  [[nodiscard]] bool make_room(instant now);

  std::int64_t drift_ppm_;
  std::map<key, sight> seen_;
  std::list<key> asked_;  // longest not asked about first
};

}  // namespace cremone::core
