// SPDX-License-Identifier: Apache-2.0
//
// The lease: my timed holding of a lock. What a holder can know and do; how it is kept alive is the engine's.
#pragma once

#include <cremone/callback.hpp>
#include <cremone/result.hpp>
#include <cremone/types.hpp>

#include <chrono>
#include <memory>
#include <stop_token>

namespace cremone {

namespace detail {
class hold;
}

/// My timed hold on a lock. The library renews the lease in the background. A lease that is not
/// renewed in time is *lost*, by the local clock alone and before the store can grant the lock
/// again; lost is final. `held()` turns false in time even in a process that was paused.
/// Everything that needs a running thread, such as `on_lost`, the stop token or the end of a child
/// process, may come later than that.
///
/// While `held()` is true, and at most until `deadline()`, no other holder is inside a lease of the
/// same lock (*exclusion*; rests on clock rates and on what docs/guarantees.md names for the
/// store). A thread that is stopped after it called `held()` and before it acts can still act too
/// late. Only a resource that checks `token()` is safe from that (*fenced order*).
///
/// | state                | held() | token(), owner() | get_stop_token() | reenter()  | release()      | destructor       |
/// |----------------------|--------|------------------|------------------|------------|----------------|------------------|
/// | held                 | true   | its own          | not requested    | new handle | ok → released  | → released       |
/// | lost                 | false  | its own          | requested        | lost       | lost           | clears the store |
/// | released, moved from, default | false | 0        | never requested  | not_held   | not_held       | nothing          |
/// | in a forked child    | false  | its own          | never requested  | not_held   | not_held       | nothing          |
///
/// *held* → *released* by `release()` or the destructor of the last handle; *held* → *lost* when the validity
/// ends (for want of a renewal, or at max_hold), the store says that the lock is not ours, or the client is closed.
///
/// Ownership: move-only; each handle stands for the hold, which ends with the last of them.
/// Threads: different handles may be used from different threads; `held`, `token`, `owner`, `deadline`, `remaining`
/// and `get_stop_token` of one handle too. Callbacks run on the client's callback thread.
///
///     auto lease = locks.acquire("nightly", {.wait = 10s}).value();
///     while (lease.held() && more_to_do()) {
///       write_one(lease.token());  // the resource refuses older tokens
///     }
class lease {
 public:
  lease() noexcept = default;
  lease(lease&& other) noexcept = default;
  lease& operator=(lease&& other) noexcept;
  lease(const lease&) = delete;
  lease& operator=(const lease&) = delete;

  /// Releases if this is the last handle. Does not wait for the answer of a store behind a network; never throws. A process
  /// that ends without closing its client may take that request with it, and the lock stays for its ttl: release() waits.
  ~lease();

  /// Reads the clock: true until `deadline()` while nothing else ended the lease. Never asks the store.
  [[nodiscard]] bool held() const noexcept;

  /// The fence token. The same for every handle of one hold, and still readable when it is lost.
  [[nodiscard]] fence_token token() const noexcept;

  /// The random id of this acquisition, as readable as the token: what to mark a resource with where the store gives no
  /// tokens (mark-then-check, <cremone/fence_sql.hpp>).
  [[nodiscard]] owner_id owner() const noexcept;

  /// The last instant for which exclusion is promised as things stand; each renewal moves it. Not the moment at
  /// which the store frees the lock, which is later. `instant::min()` when not held.
  [[nodiscard]] instant deadline() const noexcept;

  /// Time until `deadline()`, zero when not held. Pass it down as the timeout of what must not outlive the lease.
  [[nodiscard]] std::chrono::nanoseconds remaining() const noexcept;

  /// Empty for a lease that holds nothing.
  [[nodiscard]] const lock_name& name() const noexcept;

  /// The outcome of the last renewal, for a holder that stops its work before `deadline()` and must
  /// say why. After a failure the message names the store and says how long the store has been
  /// silent, or why the store refused. After a loss: the reason of the loss. *not_held* after a
  /// release.
  [[nodiscard]] result<void> last_renewal() const;

  /// Stop is requested when the lease is lost, by a thread of the client: in a process that was stopped for a while
  /// perhaps only after others got the lock, when `held()` has long said so. Not requested by a release.
  [[nodiscard]] std::stop_token get_stop_token() const;

  /// Call `fn` once when the lease is lost, with the reason; soon, if it is lost already; never after release.
  /// Runs on the client's callback thread, so that it may take its time without delaying any renewal; elsewhere only
  /// if there is no such thread, because the client is closed or the system has none to give. An empty one is not
  /// called. What it throws ends the program.
  void on_lost(callback<void(const error&)> fn);

  /// One more handle to this hold, with the same token. Counted here, costs no round trip, and fails when the
  /// lease is lost: a lock that is gone cannot be re-entered.
  [[nodiscard]] result<lease> reenter() const;

  /// Gives this handle back; the last one frees the lock and waits for the answer, at most 5 s. After
  /// outcome_unknown the release is repeated in the background until the hold is over anyway.
  result<void> release();

 private:
  friend class detail::hold;
  explicit lease(std::shared_ptr<detail::hold> h) noexcept : hold_(std::move(h)) {}

  void drop() noexcept;

  std::shared_ptr<detail::hold> hold_;
};

}  // namespace cremone
