// SPDX-License-Identifier: Apache-2.0
//
// The client: one opened store, from which leases are acquired. Which store it is, is known to `open` only.
#pragma once

#include <cremone/finding.hpp>
#include <cremone/lease.hpp>
#include <cremone/options.hpp>
#include <cremone/record.hpp>
#include <cremone/result.hpp>

#include <chrono>
#include <cstddef>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace cremone {

namespace detail {
class engine;
struct access;
}  // namespace detail

/// A store, opened. One client per store and process is enough: all threads share it, and all its leases are
/// renewed together.
///
/// | state                    | acquire()           | inspect(), list() | close()  | its leases |
/// |--------------------------|---------------------|-------------------|----------|------------|
/// | open                     | a lease, or why not | the records       | → closed | live       |
/// | closed                   | cancelled           | cancelled         | nothing  | lost       |
/// | moved from, default      | unsupported         | unsupported       | nothing  | –          |
/// | in a forked child        | unsupported         | unsupported       | nothing  | not_held   |
///
/// Ownership: move-only. The destructor closes it. Leases and mutexes made from it stay valid objects, but are
/// no longer held.
/// Threads: all members may be called from any thread, except moving and destroying.
/// Fork: in a forked child every call answers `unsupported` (leases: `not_held`), and nothing of the parent's is
/// touched. Open a client of its own there.
///
///     auto locks = cremone::open("memory://").value();
///     if (auto lease = locks.acquire("nightly", {.wait = 10s})) {
///       work(lease->token(), lease->get_stop_token());
///     } else {
///       report(lease.error().message());
///     }
class client {
 public:
  /// A store that takes longer to answer inspect(), list() or quarantine() counts as unreachable.
  static constexpr std::chrono::milliseconds answer_limit{5000};

  /// How long close() waits for answers that are outstanding.
  static constexpr std::chrono::milliseconds close_grace{1000};

  client() noexcept = default;
  client(client&&) noexcept = default;
  client& operator=(client&& other) noexcept;
  client(const client&) = delete;
  client& operator=(const client&) = delete;
  ~client();

  /// Takes the lock, waiting as `options.wait` says, on the calling thread. Those who wait are served in the
  /// order of their arrival where the store keeps a queue.
  ///
  /// Fails with *busy* (`no_wait` and held by another), *timed_out*, *cancelled* (by `stop`, or the client was
  /// closed), *invalid_argument* (the name, the ttl, the label), *unsupported* (the mode), *unreachable* and
  /// *outcome_unknown* (the store does not answer), *quarantined* (`no_wait`, and the store may have forgotten who holds what),
  /// *misconfigured* (the store is not fit for locks, or others use it in another way), *access_denied*, *storage_error*,
  /// *protocol_error*. Whatever it fails with, no hold and no place in the queue
  /// is left behind; where the outcome was unknown, that is seen to in the background.
  [[nodiscard]] result<lease> acquire(const lock_name& name, const acquire_options& options = {},
                                      std::stop_token stop = {}) const;

  /// Who holds a lock and who waits for it, as the store knows it now. *unreachable* when no answer
  /// comes within `limit`.
  [[nodiscard]] result<lock_record> inspect(const lock_name& name,
                                            std::chrono::milliseconds limit = answer_limit) const;

  /// Every lock that is held or waited for, ordered by name.
  [[nodiscard]] result<std::vector<lock_record>> list() const;

  /// Takes the lock away from whoever holds it, by order of a person who knows that the holder is gone or must go.
  /// Returns how many holds were removed; *not_held* when there was none, *busy* when the lock passed to somebody else
  /// while it was looked at: the order was not meant for that one. A holder that is alive after all learns of it with
  /// its next renewal, and its token is past: only a resource that checks tokens is safe from it. Where several servers
  /// vote, also from those who may hold it (lock_record::may_hold).
  [[nodiscard]] result<std::size_t> force_release(const lock_name& name) const;

  /// Looks whether the store is a good place for locks: its settings, its clock, its rights, its room. Takes a second
  /// or two. *unreachable* when there is nobody to ask.
  [[nodiscard]] result<std::vector<finding>> examine() const;

  /// Each server of the store and whether it gives out locks; empty for stores that cannot forget.
  [[nodiscard]] result<std::vector<quarantine_state>> quarantine(
      std::chrono::milliseconds limit = answer_limit) const;

  /// Ends every quarantine at once, by order of a person who knows that nobody holds a lock from before the restart.
  /// *unsupported* for stores that have none.
  [[nodiscard]] result<void> end_quarantine() const;

  /// Where several servers vote: how many acquisitions of this client took one round trip. All zero elsewhere.
  [[nodiscard]] vote_statistics statistics() const;

  /// A descriptor that keeps this client's locks from being taken for abandoned while any process has it open. Let a
  /// child process inherit it, and close it here: should this process be killed, its locks stay held until the child
  /// ends. The caller owns it; it is close-on-exec, which the child has to clear. *unsupported* where the store
  /// cannot tell whether a process lives.
  [[nodiscard]] result<int> lifeline() const;

  /// The longest ttl that the store takes. Zero for a client that was moved from or never opened.
  [[nodiscard]] std::chrono::milliseconds max_ttl() const;

  /// The ttl of an acquire that names none: 30 s, or `max_ttl()` where that is shorter.
  [[nodiscard]] std::chrono::milliseconds default_ttl() const;

  /// The longest outage of the store that a lease with these options survives. The outage begins at
  /// the worst moment, just before a renewal is sent. `spare` is the part of the validity that the
  /// holder needs to stop its work. The bound assumes that the store answers at once when it is
  /// back: subtract a round trip, and up to 2 s if packets were dropped and TCP must retransmit.
  ///
  ///     locks.survivable_outage();                  // a little under 20 s for the default ttl of 30 s
  ///     locks.survivable_outage({.ttl = 60s}, 5s);  // the work must stop 5 s before the lease ends
  [[nodiscard]] std::chrono::milliseconds survivable_outage(const acquire_options& options = {},
                                                            std::chrono::milliseconds spare = {}) const;

  /// The store, for messages: no secrets in it. Empty for a client that was moved from or never opened.
  [[nodiscard]] std::string store() const;

  /// Ends all waiting acquires (*cancelled*), releases all leases (their stop tokens are
  /// requested), waits up to `grace` for the store to answer, and ends the client's threads.
  /// Returns at most 1 s after that, whatever the store does. A shorter grace suits a store that is
  /// known to be silent: the releases are still sent. The destructor closes with the default grace.
  /// Called from a callback of this client, close() does not wait for that callback.
  void close(std::chrono::milliseconds grace = close_grace) noexcept;

 private:
  friend struct detail::access;
  explicit client(std::shared_ptr<detail::engine> e) noexcept : engine_(std::move(e)) {}

  std::shared_ptr<detail::engine> engine_;
};

}  // namespace cremone
