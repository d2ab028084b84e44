// SPDX-License-Identifier: Apache-2.0
//
// The standard faces: a distributed lock as a `std`-like mutex, for `std::unique_lock` and `std::scoped_lock`.
// The lease is the same as everywhere; these classes only remember which thread has it.
#pragma once

#include <cremone/client.hpp>
#include <cremone/lease.hpp>
#include <cremone/result.hpp>

#include <chrono>
#include <memory>
#include <stop_token>
#include <string>

namespace cremone {

namespace detail {

class thread_leases;

/// Rounds up: a caller who allows 1 ns must not get a plain try, and nobody waits shorter than asked.
template <class Rep, class Period>
[[nodiscard]] std::chrono::milliseconds to_wait(std::chrono::duration<Rep, Period> d) {
  if (d <= d.zero()) {
    return no_wait;
  }
  using wide = std::chrono::duration<long double, std::milli>;
  if (wide(d) >= wide(std::chrono::hours(24 * 365 * 100))) {
    return forever;
  }
  return std::chrono::ceil<std::chrono::milliseconds>(d);
}

/// What mutex and recursive_mutex share: all of it but the answer to re-entry.
class mutex_base {
 public:
  mutex_base(const mutex_base&) = delete;
  mutex_base& operator=(const mutex_base&) = delete;

  void lock();
  [[nodiscard]] bool try_lock() { return lock_within(no_wait); }

  template <class Rep, class Period>
  [[nodiscard]] bool try_lock_for(const std::chrono::duration<Rep, Period>& wait) {
    return lock_within(to_wait(wait));
  }
  template <class Clock, class Duration>
  [[nodiscard]] bool try_lock_until(const std::chrono::time_point<Clock, Duration>& until) {
    const auto now = Clock::now();
    return lock_within(until <= now ? no_wait : to_wait(until - now));
  }

  /// Frees the lock held by the calling thread. Never throws: a lease that was lost meanwhile has nothing left
  /// to free. Without a hold of this thread it does nothing.
  void unlock() noexcept;

  /// The calling thread's lease: is it held, its token, its stop token. Without one: false, 0, never requested.
  [[nodiscard]] bool held() const noexcept;
  [[nodiscard]] fence_token token() const noexcept;
  [[nodiscard]] std::stop_token get_stop_token() const;

 protected:
  enum class reentry : bool { refused, counted };

  mutex_base(const client& locks, lock_name name, const acquire_options& options, reentry again);
  ~mutex_base();

 private:
  [[nodiscard]] bool lock_within(std::chrono::milliseconds wait);

  std::unique_ptr<thread_leases> leases_;
};

}  // namespace detail

/// A lock between processes that looks like a `std::timed_mutex`.
///
/// - `lock()` waits for as long as it takes. Like the others it throws `lock_error` (a `std::system_error`) when
///   the store cannot answer; with std's *resource_deadlock_would_occur* when this thread has the lock already.
/// - `try_lock`, `try_lock_for`, `try_lock_until` return false when another holder is in the way.
/// - `unlock()` is noexcept. It does nothing in a thread that has not locked.
/// - The constructor throws `lock_error` for a name or options that the store of an open client would not take.
/// - Unlike a std mutex the lock can be *lost* while it is held: ask `held()`, or hand `get_stop_token()` and
///   `token()` to the work.
///
/// | this thread          | lock()            | try_lock…()              | unlock()    | held() | token()  |
/// |----------------------|-------------------|--------------------------|-------------|--------|----------|
/// | has not locked       | waits → has locked | true → has locked, or false | nothing  | false  | 0        |
/// | has locked           | throws deadlock   | false; throws deadlock if it would wait | → has not | true | its own |
/// | has locked and lost it | throws deadlock | false; throws deadlock if it would wait | → has not | false | its own |
/// | is in a forked child | throws unsupported | throws unsupported      | nothing     | false  | 0        |
///
/// Threads: one object may be shared by all threads; they exclude each other as processes do. A thread unlocks
/// what it locked itself; one that ends without leaves the lock held for as long as the object lives. Two objects
/// of one name are two holders that exclude each other, also within a thread: `std::scoped_lock` of both never
/// returns. The object must outlive its use; the client need not, but nothing is held once it is
/// closed.
///
///     cremone::mutex m(locks, "ledger");
///     std::unique_lock guard(m, 2s);
///     if (guard) post_entry(m.token());
class mutex : public detail::mutex_base {
 public:
  /// `options.wait` is not used: each call says how long it waits.
  mutex(const client& locks, lock_name name, const acquire_options& options = {})
      : mutex_base(locks, std::move(name), options, reentry::refused) {}
};

/// The same, for code that locks again what its caller has locked. Re-entry by the same thread is counted here,
/// costs no round trip and keeps the token. When the lease was lost meanwhile, it throws `lock_error` with
/// errc::lost rather than pretend. Re-entry is through the same object; another one of that name waits.
class recursive_mutex : public detail::mutex_base {
 public:
  recursive_mutex(const client& locks, lock_name name, const acquire_options& options = {})
      : mutex_base(locks, std::move(name), options, reentry::counted) {}
};

}  // namespace cremone
