// SPDX-License-Identifier: Apache-2.0
//
// One acquisition, from the call to the grant or the refusal: when to try, how long to sleep, whom to evict, when
// to give up, and what must be cleaned up behind it. Told the time and the store's answers; sends nothing
// itself. Pure.
#pragma once

#include "base/backoff.hpp"
#include "core/observation.hpp"

#include <cremone/record.hpp>
#include <cremone/result.hpp>
#include <cremone/types.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace cremone::core {

/// With an unbounded wait, give up when the store has not been heard of for this long: a person who waits
/// longer for a dead server wants to know.
inline constexpr std::chrono::milliseconds store_silence_limit{30'000};

/// What the call asked for and what the store is like.
struct acquire_settings {
  lock_name name{""};
  std::chrono::milliseconds ttl{};
  std::chrono::milliseconds max_hold = std::chrono::milliseconds::max();
  std::optional<std::chrono::milliseconds> wait;  ///< empty: for as long as it takes; zero: one try
  std::int64_t drift_ppm = 0;
  bool fifo = false;
  std::size_t voters =
      1;  ///< servers that vote: with several, those who ask at one moment get in each other's way
  bool hints = false;
  bool observed_takeover = false;
  bool take_over_abandoned = false;  ///< one try: observe holds that look abandoned
  std::chrono::milliseconds waiter_refresh{};
  std::chrono::milliseconds claim_time{};
  std::uint64_t seed = 0;
};

/// A refusal, reduced to what the decision needs.
struct refusal {
  error why{errc::busy};
  std::span<const hold_record> holders;
  std::optional<std::size_t> place;
  std::optional<std::chrono::milliseconds> retry_after;
  /// *quarantined*: it need not be watched for its whole time.
  bool may_end_at_once = false;
  bool complete = true;       ///< `holders` names all who are in the way
  bool split = false;         ///< nobody has the lock: the votes were divided among those who asked
  std::size_t abstained = 0;  ///< servers that have no vote to give now
  bool spent = false;         ///< the owner id must not be used again; what it left is being taken back
};

/// What the engine must do next.
struct acquire_action {
  enum class kind : std::uint8_t {
    nothing,  ///< an answer is on its way
    attempt,  ///< send a try; validity will count from the `now` of this step. Tick at `until`
    evict,    ///< send an evict of each of `victims`; one answer when all are in
    sleep,    ///< tick at `until`, or sooner by a hint
    succeed,  ///< the lock is ours since `since`
    fail,     ///< tell the caller `why`
  };
  kind what = kind::nothing;
  bool join = false;                    ///< attempt: queue when refused
  bool withdraw = false;                ///< first release the owner id used so far, and never use it again
  bool fresh = false;                   ///< attempt: with another owner id than before
  std::vector<hold_version> victims{};  ///< evict: never empty
  instant until{};                      ///< sleep, attempt
  instant since{};                      ///< succeed: the moment from which the validity counts
  std::optional<error> why{};           ///< fail
  /// sleep: a try has just begun to observe holds that look abandoned, and may evict them at this
  /// time.
  std::optional<instant> observing_until{};
};

/// | state    | start   | granted                    | refused                          | unknown         | hint    | tick            | cancel  |
/// |----------|---------|----------------------------|----------------------------------|-----------------|---------|-----------------|---------|
/// | new      | attempt | –                          | –                                | –               | –       | –               | fail    |
/// | trying   | –       | succeed; attempt anew if the validity is over | evict, sleep, attempt (anew if our id is spent) or fail | sleep or fail | noted | fail if too late | fail |
/// | evicting | –       | –                          | attempt                          | attempt         | noted   | fail if too late | fail   |
/// | sleeping | –       | –                          | –                                | –               | attempt | attempt or fail | fail    |
/// | over     | –       | nothing                    | nothing                          | nothing         | nothing | nothing         | nothing |
///
/// `fail` carries `withdraw` whenever the store may still know us: as a holder (an outcome is unknown or not in
/// yet) or as a waiter.
///
/// One try ends with its first refusal, unless it takes over abandoned holds and such a hold is in
/// the way. Then it observes: it sleeps and attempts like the head of the queue, but without a
/// place in the queue, until the hold may be evicted. It fails as *busy* as soon as the hold is
/// renewed or a living owner has the lock. The hint that a hold looks abandoned decides only
/// whether the try stays; what may be evicted is decided as for a waiter.
class acquire {
 public:
  explicit acquire(acquire_settings settings);

  [[nodiscard]] acquire_action start(instant now) noexcept;

  // Answers to an attempt. `repeated`: the store had granted it to this owner id before.
  [[nodiscard]] acquire_action granted(instant now, bool repeated);
  [[nodiscard]] acquire_action refused(instant now, const refusal& r, observations& seen);
  [[nodiscard]] acquire_action unknown(instant now, const error& why);

  /// The answer to an eviction. Whatever it is, the next attempt tells; only doubt counts.
  [[nodiscard]] acquire_action evicted(instant now, bool in_doubt) noexcept;

  [[nodiscard]] acquire_action hint(instant now) noexcept;

  /// Another's turn has come, and ours is the next: look when its claim time is over, if we would sleep for longer.
  [[nodiscard]] acquire_action next(instant now) noexcept;

  [[nodiscard]] acquire_action tick(instant now);
  [[nodiscard]] acquire_action cancel(error why);

  [[nodiscard]] bool over() const noexcept { return phase_ == phase::over; }

 private:
  enum class phase : std::uint8_t { fresh, trying, evicting, sleeping, over };

  struct sight {
    hold_version version;
    instant first;
  };

  /// The votes in the way, by what their owners do.
  struct census {
    bool abandoned = false;  // there are votes of an owner that looks abandoned
    bool renewed = false;    // an owner that we observe has renewed
    bool living = false;     // an owner that does not look abandoned has a majority
  };

  [[nodiscard]] bool joins() const noexcept {
    return !settings_.wait || *settings_.wait != std::chrono::milliseconds::zero();
  }
  /// True: the next answer ends the acquire.
  [[nodiscard]] bool one_try() const noexcept { return !joins() && !observing_; }
  [[nodiscard]] acquire_action attempt(instant now, bool withdraw = false) noexcept;
  [[nodiscard]] acquire_action fail(error why);
  [[nodiscard]] acquire_action sleep_until(instant until) noexcept;
  [[nodiscard]] acquire_action wait_or_fail(instant now, instant wake);
  [[nodiscard]] acquire_action give_up();
  [[nodiscard]] bool out_of_time(instant now) const noexcept;
  [[nodiscard]] acquire_action observe_or_fail(instant now, const refusal& r, instant ripe);
  [[nodiscard]] census count(std::span<const hold_record> holders);
  [[nodiscard]] bool seems_abandoned(const hold_record& h);
  void take_note(instant now, const refusal& r);
  [[nodiscard]] std::optional<acquire_action> evict_if_ripe(instant now, const refusal& r, observations& seen,
                                                            instant& ripe);
  [[nodiscard]] bool stuck(instant now, const refusal& r) const;
  void watch(instant now, std::span<const hold_record> holders, bool all_of_them);
  [[nodiscard]] instant ripe_at(const hold_record& holder, instant by_the_table);
  [[nodiscard]] std::chrono::nanoseconds poll_pause(const refusal& r) noexcept;
  [[nodiscard]] std::chrono::nanoseconds poll_without_queue(const refusal& r) noexcept;
  [[nodiscard]] std::chrono::nanoseconds moment_of_its_own() noexcept;

  acquire_settings settings_;
  backoff pauses_;
  jitter spread_;
  phase phase_ = phase::fresh;
  instant give_up_at_{};
  instant sent_{};     // of the attempt under way
  instant heard_{};    // last answer of a store that could be asked
  instant wake_at_{};  // while sleeping
  // When the first attempt without an answer left, for this owner id. Kept when a later one is answered: over a new
  // connection that answer may have overtaken the old request.
  std::optional<instant> unsettled_;
  std::optional<error> trouble_;  // why the store could not be asked last time; empty after an answer
  std::vector<hold_version> tried_to_evict_;  // since the last sleep
  std::vector<sight> watched_;                // those who were in the way last time
  // Looked abandoned when first seen, by a try that observes.
  std::vector<hold_version> suspects_;
  bool observing_ = false;  // a try that has begun to observe
  bool queued_ = false;     // the store may know us as a waiter
  bool hinted_ = false;     // our turn may have come while an answer was on its way
  bool spent_ = false;      // the owner id
  int splits_ = 0;          // attempts in a row that only got in each other's way
};

}  // namespace cremone::core
