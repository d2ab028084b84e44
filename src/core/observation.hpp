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
#include <optional>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

namespace cremone::core {

/// A server's quarantine is watched like a silent hold: by nobody, on a lock that nobody can ask for.
[[nodiscard]] const lock_name& quarantine_name();

/// What one client has seen of all holders, for those who try, go away and come again. One who waits remembers by
/// itself whom it has seen.
class observations {
 public:
  /// Bounded. When full, room is made by a hold that was seen to live, else by one that nobody asks about any more. A
  /// silent one that is still asked about stays, else a crowd of the dead would push each other out for ever; while
  /// full of those, new ones wait their turn, and it comes: those in it ripen.
  static constexpr std::size_t max_size = 4096;

  /// Not asked about for this long: whoever watched it has gone, or comes by too seldom to be counted on.
  static constexpr std::chrono::seconds unwatched_after{10};

  explicit observations(std::int64_t drift_ppm) noexcept : drift_ppm_(drift_ppm) {}
  observations(observations&&) = default;
  observations& operator=(observations&&) = default;
  observations(const observations&) = delete;  // it is full of iterators into itself
  observations& operator=(const observations&) = delete;
  ~observations() = default;

  /// Notes that `hold` was in this version in a reply that has been read by `now`. Returns from when on the hold
  /// may be evicted, if it is never seen in another version: not before ttl(1 + ρ) after the *first* sight.
  instant note(const lock_name& name, const hold_record& hold, instant now);

  /// Somebody on this machine saw this version at `first` already, before this client did. Not counted when that is not
  /// in the past, or when this client has seen the hold in a later version.
  void restore(const lock_name& name, const hold_version& version, instant first, instant now);

  /// Since when this version has been seen; empty when it was not, or not last.
  [[nodiscard]] std::optional<instant> since(const lock_name& name, const hold_version& version) const;

  /// What the table holds of one lock, by owner: to be kept for the next process.
  struct seen_hold {
    lock_name name;
    hold_version version;
    instant first;
    instant latest;
  };
  [[nodiscard]] std::vector<seen_hold> seen_of(const lock_name& name) const;

  /// The lock is ours, or that hold is gone: nothing seen of it matters any more.
  void forget(const lock_name& name) { forget_all_but(name, {}); }
  void forget_all_but(const lock_name& name, std::span<const hold_record> holders);

  [[nodiscard]] std::size_t size() const noexcept { return seen_.size(); }

 private:
  /// One of several servers that vote may show another version of a hold than the next: each is watched for itself.
  using key = std::tuple<lock_name, owner_id, std::uint64_t>;
  struct sight {
    hold_version version;
    instant first;
    instant latest;
    bool lives;  // it was seen to change
    std::list<key>::iterator turn;
  };
  using table = std::map<key, sight>;

  [[nodiscard]] bool make_room(instant now);
  table::iterator erase(table::iterator at);

  std::int64_t drift_ppm_;
  table seen_;
  // Each in one of these, the one longest not asked about first.
  std::list<key> silent_;
  std::list<key> living_;
};

}  // namespace cremone::core
