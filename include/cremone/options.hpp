// SPDX-License-Identifier: Apache-2.0
//
// What a caller may choose, with the defaults. Limits that belong to the store (max_ttl) are its traits.
#pragma once

#include <cremone/types.hpp>

#include <chrono>
#include <optional>
#include <string_view>
#include <type_traits>

namespace cremone {

/// Wait until the lock is ours. It still ends: by the stop token, by closing the client, or when the store has
/// given no answer for 30 s.
inline constexpr std::chrono::milliseconds forever = std::chrono::milliseconds::max();

/// Do not wait at all. Such a try never overtakes a waiter. See `take_over_abandoned`.
inline constexpr std::chrono::milliseconds no_wait{0};

/// How to take a lock. Every member has a default: `{}` waits for as long as it takes.
///
///     auto lease = locks.acquire("nightly", {.ttl = 10s, .wait = 2s, .label = "report of the 14th"});
struct acquire_options {
  /// How long the hold outlives a holder that vanished: 100 ms to the store's `client::max_ttl()`,
  /// which is 60 s unless its URL says otherwise. A longer ttl is refused. Absent:
  /// `client::default_ttl()`, which is 30 s, or `max_ttl()` if that is shorter. The lease is
  /// renewed for as long as it lives, so the ttl is no limit on the work.
  std::optional<std::chrono::milliseconds> ttl{};

  /// How long to wait for the lock: `no_wait`, a time, or `forever`.
  std::chrono::milliseconds wait = forever;

  /// The lease ends after this time at the latest, counted from the request that was granted and not from a re-entry,
  /// however well it renews: then it is lost. For work that may hang: others get the lock when the handle goes, or
  /// else when the hold has been silent for its ttl. `forever`, the default, is no limit.
  std::chrono::milliseconds max_hold = forever;

  /// Shown to others who ask who holds the lock; at most 256 bytes without control characters. Copied by the
  /// call.
  std::string_view label{};

  cremone::mode mode = mode::exclusive;

  /// Renewals per ttl while the store answers: 3 to 30, at most one every 10 ms. With more renewals
  /// the lease survives a longer outage (`client::survivable_outage()`), at the cost of more
  /// requests. The default suits a process with many leases; `cremone run` has one lease and renews
  /// 15 times.
  int renewals_per_ttl = 3;

  /// With `no_wait` only; ignored otherwise, and by the mutexes of mutex.hpp. A refusal by a hold
  /// that looks abandoned (`looks_abandoned`) does not end the call. The call observes the hold for
  /// the rest of the holder's ttl on this machine's own clock and takes the lock over if the hold
  /// is not renewed. It ends with *busy* as soon as the hold is renewed or another client gets the
  /// lock, and after that ttl, one second and the store's limit for a request at the latest. It
  /// never joins the queue. An event of kind `observing` reports the start. `cremone run --try`
  /// sets this.
  bool take_over_abandoned = false;
};

// GCC 12 destroys aggregate temporaries inside a co_await expression twice. Without a destructor there is
// nothing to do twice, so that `co_await async_acquire(c, "x", {.wait = 2s}, use_awaitable)` is safe there.
static_assert(std::is_trivially_destructible_v<acquire_options>);

}  // namespace cremone
