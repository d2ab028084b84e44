// SPDX-License-Identifier: Apache-2.0
//
// The seam: what a store must be able to do. A backend stores who holds a lock and says what it found; it makes
// no policy, no retry and no timing decision about leases. The engine above it decides those, the same way for
// every store. tests/contract is this file in executable form, and backends/memory its shortest implementation. A
// store is added inside this library, not from outside: `open` is the only way to a client.
#pragma once

#include <cremone/callback.hpp>
#include <cremone/finding.hpp>
#include <cremone/record.hpp>
#include <cremone/result.hpp>
#include <cremone/types.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

namespace cremone {

// The three answers of a store. Every call ends in exactly one of them.

/// It was carried out.
struct done {};

/// It was not carried out and will not be: the store says so, or was not reached.
struct refused {
  error why;
};

/// It may have been carried out, or may be later. Never to be taken for a no.
struct unknown {
  error why;
};

using answer = std::variant<done, refused, unknown>;

/// A yes to an acquire.
struct grant {
  fence_token token{};
  /// Place in the order of arrival; grows from grant to grant where the store is FIFO.
  std::uint64_t ticket = 0;
  /// This owner held the lock already: an earlier request had arrived after all.
  bool repeated = false;
  /// Of several servers some are in quarantine, and gave no vote.
  bool some_quarantined = false;
};

/// A no to an acquire, with what the next decision needs.
struct rejection {
  error why{errc::busy};  ///< busy, quarantined and unreachable are worth another try
  /// Who is in the way, at most max_reported_holders. *quarantined*: one hold by nobody, which stands for the
  /// quarantine; its version names this life of the server, its ttl how long it lasts, and evict() of it ends it.
  std::vector<hold_record> holders{};
  std::optional<std::size_t> place{};                      ///< in the queue, 0 = next; empty: not queued
  std::optional<std::chrono::milliseconds> retry_after{};  ///< the store's own advice
  /// *quarantined*: the server shows that it has forgotten nothing. Who never saw it give out locks may end the
  /// quarantine at once.
  bool nothing_forgotten = false;
  /// `holders` names all who are in the way. False: there may be others, on servers that have not answered.
  bool complete = true;
  /// The votes of several servers were divided among those who asked, and nobody has the lock.
  bool split = false;
  /// Of several servers, those that have no vote to give: they are in quarantine, or have not answered.
  std::size_t abstained = 0;
  /// What this attempt left in the store is being taken back, and its owner id must not be used again: the next attempt
  /// needs another.
  bool spent = false;
  /// As in a grant.
  bool some_quarantined = false;
  /// *quarantined*: it does not end by itself. An operator calls end_quarantine(), or removes the
  /// cause that `why` gives.
  bool until_ordered = false;

  static constexpr std::size_t max_reported_holders = 16;
};

using acquire_answer = std::variant<grant, rejection, unknown>;

/// Told that its turn may have come. A hint, never proof: it may come late, twice, for nothing or not at all.
/// Called on any thread, with no lock of the backend held, so that the receiver may call the backend at once.
class hint_sink {
 public:
  hint_sink() = default;
  hint_sink(const hint_sink&) = delete;
  hint_sink& operator=(const hint_sink&) = delete;
  virtual ~hint_sink() = default;
  virtual void hint() noexcept = 0;

  /// Its turn is next, after another's has just come: it should look when that one's claim time is over. A hint likewise.
  virtual void next() noexcept {}
};

struct acquire_request {
  lock_name name{""};
  owner_id owner{};
  cremone::mode mode = mode::exclusive;
  std::chrono::milliseconds ttl{};
  owner_data who{};
  /// Join the queue when refused, or keep the place in it. Each such request also says that this waiter lives.
  bool join = false;
  /// Where to send hints while this owner is queued.
  std::weak_ptr<hint_sink> wake{};
  /// Stands for whoever asks through all its attempts, where each has an owner id of its own.
  owner_id waiter{};
  /// The token that all servers are asked to give; zero: the server decides.
  fence_token proposal{};
};

struct renewal {
  const lock_name* name = nullptr;
  owner_id owner{};
  std::uint64_t seq = 0;  ///< the store keeps max(stored + 1, the token that the grant began with + this)
  fence_token token{};
  std::chrono::milliseconds ttl{};
};

struct release_request {
  lock_name name{""};
  owner_id owner{};
  /// A vote is given back by one who did not get the lock: nobody waits for that.
  bool quiet = false;
};

/// An order to give out locks again.
struct admission {
  hold_version quarantine{};  ///< the one that was watched; that of nobody: whichever, by order of a person
  fence_token floor{};        ///< no token at or below it is given
  /// True: no token is granted at or below the later of the store's clock and ours, plus 10 s. If
  /// the two clocks are too far apart and no operator orders the admission, the answer is
  /// *quarantined*.
  bool by_clock = true;
};

/// What a server knows of the tokens that were given.
struct token_floor {
  fence_token highest{};
  bool forgetful = false;  ///< it is in quarantine: there may have been higher ones
};

/// A part of the store, looked through for holds that nobody asks about any more.
struct sweep_step {
  std::vector<lock_record> held{};
  std::uint64_t cursor = 0;  ///< where to go on; 0 when all of it was seen
};

/// What a store is like. Read once, when the client is opened.
struct traits {
  /// For messages; no secrets in it: "memory://".
  std::string store;
  /// Tells this store, in this life of it, from all others, so that what was seen of its holders can be remembered
  /// for the next process, on disk: no secrets in it. Empty: the store ends with this process.
  std::string identity;
  /// Never waits on a network: answers before the call returns, on the caller's thread.
  bool answers_inline = false;
  /// Keeps a queue; a grant goes to its head.
  bool fifo = false;
  /// How many servers vote on each lock. With several, much is a majority's answer: see backend.
  std::size_t voters = 1;
  /// Grants have fence tokens. False where several servers count each for itself, which is no order: all tokens are 0.
  bool tokens = true;
  /// Sends hints to waiters.
  bool hints = false;
  /// A silent hold is removed by evict() after observation; else the store expires it by itself.
  bool observed_takeover = false;
  /// Keeps a record of our own making for each hold: versions that move on with each renewal, ttl, token and all owner
  /// data, and the ids of those who are gone. False where the layout is shared with other programs: a hold is then a
  /// value and an expiry, shown with as much of the owner data as the value carries.
  bool records = true;
  /// A server that may have forgotten refuses with *quarantined*, and says in the rejection for how long.
  bool quarantines = false;
  /// Silent holds of names that nobody asks for again stay until a client finds them by sweep().
  bool sweeps = false;
  bool shared = false;  ///< knows mode::shared
  bool slots = false;   ///< knows mode::slot
  /// How far two clocks' rates may differ: ρ = 0.001, five times a bad crystal.
  std::int64_t drift_ppm = 1000;
  /// The longest ttl. A quarantine lasts as long, so that it is a property of the store, not of a client.
  std::chrono::milliseconds max_ttl{60'000};
  /// A waiter that is not at the head asks at least this often.
  std::chrono::milliseconds waiter_refresh{3'000};
  /// How long the head has, once the lock is free, before the next may take it.
  std::chrono::milliseconds claim_time{500};
};

/// A store. Implementations live in src/backends, one folder each.
///
/// - *Threads*: every member may be called from any thread at any time.
/// - *Answers*: each call is answered exactly once. With `answers_inline`, before the call returns; otherwise
///   later, on the env's executor, within a time bound of the backend's own (then `unknown`).
/// - *Order*: calls for one owner take effect in the order in which they were made. A release therefore never
///   overtakes its acquire, and needs not wait for its answer.
/// - *Lifetime*: a request, and what it points to, stays as it is until the answer.
/// - *Idempotence*: an owner id belongs to one acquisition. A repeated acquire of a holder is granted with the
///   same token and `repeated`; an acquire or renewal of an owner that was released or evicted is refused. Without
///   `records`, or with several voters, a repeated grant may have a higher token; without, nobody remembers who was released.
/// - Nothing throws.
///
/// *Several voters*: with `voters` > 1 every call goes to all servers, and what a majority of them says is the answer. A
/// holder is one who has the votes of a majority.
///
/// - A refused try has its votes taken back at once, and its owner id is *spent*: the next attempt of the same wish comes with
///   another one, and with the same `waiter`. There is no queue. With `join`, hints go to the waiter from each server, until an
///   attempt of its is granted or its latest owner id is released.
/// - A rejection names the hold on each server that was heard, in that server's own version, with the number that it gave, the
///   owner with most votes first. evict() takes the one vote that has this version, force() all votes of this owner.
/// - A renewal also gives back votes that are missing, where they are nobody's. *lost* is therefore said of one that was released
///   or evicted, or in whose place another one is; of a lock that the servers know nothing about it is done.
///
/// | call        | done                          | refused                                   |
/// |-------------|-------------------------------|-------------------------------------------|
/// | try_acquire | granted, token assigned       | busy + holders + place, or why not        |
/// | renew       | version moved on              | lost: not the holder any more             |
/// | release     | hold or queue place removed   | not_held: there was neither               |
/// | evict       | that one hold removed         | not_held: no hold has this version; busy: spared |
/// | force       | this owner's hold removed     | not_held: it holds nothing                |
class backend {
 public:
  backend() = default;
  backend(const backend&) = delete;
  backend& operator=(const backend&) = delete;
  virtual ~backend() = default;

  [[nodiscard]] virtual traits describe() const = 0;

  /// Take the lock if it is free and nobody is ahead in the queue.
  virtual void try_acquire(const acquire_request& request, callback<void(acquire_answer)> reply) = 0;

  /// Renew many holds at once. One answer per item, in order; one item's failure touches no other.
  virtual void renew(std::span<const renewal> items, callback<void(std::vector<answer>)> reply) = 0;

  /// Forget this owner: its hold, or its place in the queue, or a request that is still under way.
  virtual void release(const release_request& request, callback<void(answer)> reply) = 0;

  /// Remove one hold, if and only if its version is still this one (compare-and-set).
  virtual void evict(const lock_name& name, const hold_version& version, callback<void(answer)> reply) = 0;

  /// Remove this owner's hold by order of a person, in whatever version it is by now: a renewal on the way does not save
  /// it. Also where evict() spares a holder that the store knows to be at work.
  virtual void force(const lock_name& name, const owner_id& holder, callback<void(answer)> reply) = 0;

  /// A descriptor for client::lifeline().
  [[nodiscard]] virtual result<int> lifeline() {
    return error(errc::unsupported, "this store cannot tell whether a process lives");
  }

  /// What is known about one lock; empty lists when nothing is.
  virtual void inspect(const lock_name& name, callback<void(result<lock_record>)> reply) = 0;

  /// All locks that are held or waited for, ordered by name.
  virtual void list(callback<void(result<std::vector<lock_record>>)> reply) = 0;

  /// Looks through a part of the store that begins at `cursor`, 0 for the beginning.
  virtual void sweep(std::uint64_t cursor, callback<void(result<sweep_step>)> reply) {
    (void)cursor;
    reply(sweep_step{});
  }

  /// Is this a good place for locks? Takes its time: a second or two.
  virtual void examine(callback<void(result<std::vector<finding>>)> reply) {
    reply(error(errc::unsupported, "there is nothing to examine in this store"));
  }

  /// Each server of this store; none where no server can forget.
  virtual void quarantine(callback<void(result<std::vector<quarantine_state>>)> reply) {
    reply(std::vector<quarantine_state>{});
  }

  /// Ends every quarantine, by order of a person who knows that nobody holds a lock from before.
  virtual void end_quarantine(callback<void(answer)> reply) {
    reply(refused{error(errc::unsupported, "this store knows no quarantine")});
  }

  // What several servers that vote need beyond this, each for itself.

  /// Gives the vote that this owner has another token. Answered like try_acquire, *not_held* when it has none.
  virtual void commit(const lock_name& name, const owner_id& owner, fence_token token,
                      callback<void(acquire_answer)> reply) {
    (void)name, (void)owner, (void)token;
    reply(rejection{.why = error(errc::unsupported, "this store decides tokens by itself")});
  }

  /// Which tokens were given, for another server that has forgotten.
  virtual void floor(callback<void(result<token_floor>)> reply) {
    reply(error(errc::unsupported, "this store knows no quarantine"));
  }

  /// Ends this server's quarantine; *not_held* when it is in another one by now.
  virtual void admit(const admission& order, callback<void(answer)> reply) {
    (void)order;
    reply(refused{error(errc::unsupported, "this store knows no quarantine")});
  }

  /// Hints go to `wake` from now on, whenever the lock may have been released, until stop_awaiting.
  virtual void await_release(const lock_name& name, const owner_id& waiter,
                             const std::weak_ptr<hint_sink>& wake) {
    (void)name, (void)waiter, (void)wake;
  }
  /// `served`: it has the lock. Else, if it was told of a release, another one of this client is told instead.
  virtual void stop_awaiting(const lock_name& name, const owner_id& waiter, bool served) noexcept {
    (void)name, (void)waiter, (void)served;
  }

  [[nodiscard]] virtual vote_statistics statistics() const { return {}; }

  /// Calls `done` when nothing is on its way any more that was answered before it had reached all servers. For one who is
  /// about to close.
  virtual void settle(callback<void()> done) { done(); }

  /// Answers what is outstanding with `unknown` and lets go of the store. Calls made later are refused. A hint
  /// may still come: sinks are held weakly, and one that is over ignores it. Never blocks.
  virtual void close() noexcept = 0;
};

}  // namespace cremone
