// SPDX-License-Identifier: Apache-2.0
#include "core/acquire.hpp"

#include "core/quorum.hpp"
#include "core/validity.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace cremone::core {

namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using kind = acquire_action::kind;

/// The head of the queue asks this often at most, so that taking over from a dead holder is at most that late.
constexpr milliseconds longest_head_pause{1000};

/// Pauses where there is no queue or no hint: after an unknown outcome, a store out of reach, or a store that
/// cannot notify.
constexpr milliseconds first_pause{10};
constexpr milliseconds longest_pause{1000};
constexpr milliseconds longest_poll{100};

/// Where several servers vote, those who ask at one moment divide the votes among them, and nobody gets the lock. So each takes a moment
/// of its own, from a span that grows while that goes on: first some round trips, in the end enough for a crowd.
constexpr milliseconds first_spread{2};
constexpr int most_doublings = 6;

/// Who is given votes and does not get the lock gives them back within some round trips. Longer than that on any network that is of use.
constexpr milliseconds votes_come_back{1000};

/// Those who were seen last and those before them, where an answer names some only.
constexpr std::size_t most_watched = 64;

/// A refusal that may be over soon. Any other says that trying again is of no use.
bool worth_another_try(errc why) noexcept {
  return why == errc::busy || why == errc::quarantined || why == errc::unreachable;
}

/// Nobody knows what became of the attempt, and the reason will not go away by itself.
bool hopeless(errc why) noexcept { return why != errc::outcome_unknown && !worth_another_try(why); }

nanoseconds head_pause(std::span<const hold_record> holders) {
  nanoseconds pause = longest_head_pause;
  for (const hold_record& holder : holders) {
    pause = std::min<nanoseconds>(pause, nanoseconds(holder.ttl) / 6);
  }
  return pause;
}

/// A hold that expires by itself is asked for a little later than that, each waiter at a moment of its own.
constexpr milliseconds least_after_expiry{1};
constexpr milliseconds most_after_expiry{20};

}  // namespace

acquire::acquire(acquire_settings settings)
    : settings_(std::move(settings)),
      pauses_(first_pause, longest_pause, settings_.seed),
      spread_(settings_.seed) {}

acquire_action acquire::start(instant now) noexcept {
  if (over()) {
    return {};
  }
  give_up_at_ = settings_.wait ? later(now, *settings_.wait) : instant::max();
  heard_ = now;
  return attempt(now);
}

acquire_action acquire::attempt(instant now, bool withdraw) noexcept {
  phase_ = phase::trying;
  hinted_ = false;
  sent_ = now;
  const bool fresh = withdraw || std::exchange(spent_, false);
  if (fresh) {
    unsettled_.reset();
  }
  if (withdraw) {
    queued_ = false;
  }
  return {.what = kind::attempt,
          .join = joins(),
          .withdraw = withdraw,
          .fresh = fresh,
          // A try takes no place in the queue: it ends with the store's answer, and the store's own
          // request limit bounds that.
          .until = joins() ? give_up_at_ : instant::max()};
}

acquire_action acquire::fail(error why) {
  const bool in_doubt = phase_ == phase::trying || unsettled_.has_value();
  phase_ = phase::over;
  return {.what = kind::fail, .withdraw = in_doubt || queued_, .why = std::move(why)};
}

acquire_action acquire::sleep_until(instant until) noexcept {
  phase_ = phase::sleeping;
  tried_to_evict_.clear();
  wake_at_ = std::min(until, give_up_at_);
  return {.what = kind::sleep, .until = wake_at_};
}

acquire_action acquire::granted(instant now, bool repeated) {
  if (over()) {
    return {};  // whoever ended this has withdrawn the owner id, behind this attempt
  }
  // A repeated grant began with an attempt that was never answered. Others may have watched it since then, so
  // that the validity counts from there.
  const instant since = repeated ? unsettled_.value_or(sent_) : sent_;
  const instant over_at =
      std::min(valid_until(since, settings_.ttl, settings_.drift_ppm), later(since, settings_.max_hold));
  if (now >= over_at) {
    trouble_ = error(errc::outcome_unknown,
                     "the store's answer took longer than the lease of " +
                         std::to_string(std::min(settings_.ttl, settings_.max_hold).count()) + " ms");
    return one_try() || out_of_time(now) ? give_up() : attempt(now, true);
  }
  phase_ = phase::over;
  return {.what = kind::succeed, .since = since};
}

acquire_action acquire::refused(instant now, const refusal& r, observations& seen) {
  if (over()) {
    return {};
  }
  take_note(now, r);
  if (unsettled_ && (r.why.code() == errc::not_held || r.why.code() == errc::lost)) {
    // An attempt without an answer had been granted after all, and others have watched that hold die: this owner
    // id is spent, the wish for the lock is not.
    return out_of_time(now) ? give_up() : attempt(now, true);
  }
  if (!worth_another_try(r.why.code())) {
    return fail(r.why);
  }

  instant ripe = instant::max();
  if (auto evict = evict_if_ripe(now, r, seen, ripe)) {
    return std::move(*evict);
  }
  if (!joins()) {
    return observe_or_fail(now, r, ripe);
  }
  if (r.split && !stuck(now, r)) {
    splits_ = std::min(splits_ + 1, most_doublings);
    return wait_or_fail(now, now + moment_of_its_own());
  }
  splits_ = r.why == errc::busy ? 0 : splits_;
  if (hinted_ && now < give_up_at_) {
    return settings_.voters > 1 ? wait_or_fail(now, now + moment_of_its_own()) : attempt(now);
  }
  if (r.why.code() != errc::busy) {
    const nanoseconds advice = r.retry_after.value_or(milliseconds{0});
    return wait_or_fail(now, std::min(ripe, now + std::max(advice, pauses_.pause())));
  }
  if (r.place.value_or(0) > 1) {
    ripe = instant::max();  // those ahead watch too; a whole queue need not wake for one dead holder
  }
  return wait_or_fail(now, std::min(ripe, now + poll_pause(r)));
}

/// A single try was refused. Begins to observe, goes on observing, or fails.
acquire_action acquire::observe_or_fail(instant now, const refusal& r, instant ripe) {
  if (observing_ && r.why == errc::unreachable) {
    return wait_or_fail(now, now + pauses_.pause());
  }
  if (!settings_.take_over_abandoned || r.why != errc::busy) {
    return fail(r.why);
  }
  const census votes = count(r.holders);
  const bool kept_for_the_queue = r.holders.empty() && settings_.voters == 1;
  if (votes.living || votes.renewed || kept_for_the_queue || !(votes.abandoned || observing_)) {
    return fail(r.why);
  }
  std::optional<instant> begins;
  if (!observing_) {
    observing_ = true;
    begins = now;
    for (const hold_record& h : r.holders) {
      if (seems_abandoned(h)) {
        begins = std::max(*begins, ripe_at(h, instant::max()));
      }
    }
    give_up_at_ = later(*begins, longest_head_pause);  // time for a retry or two at the end
  }
  nanoseconds pause = head_pause(r.holders);
  if (!votes.abandoned) {  // several clients try to be the next, and have divided the votes
    splits_ = std::min(splits_ + 1, most_doublings);
    pause = moment_of_its_own();
  }
  acquire_action next = wait_or_fail(now, std::min(ripe, now + pause));
  next.observing_until = begins;
  return next;
}

/// The owner of several votes lives if one of them was renewed.
acquire::census acquire::count(std::span<const hold_record> holders) {
  census all;
  for (const hold_record& h : holders) {
    const auto of_the_same = [&](const hold_record& other) { return other.version.owner == h.version.owner; };
    bool lives = false;
    for (const hold_record& other : holders) {
      lives = lives || (of_the_same(other) && !seems_abandoned(other));
    }
    const auto votes = std::count_if(holders.begin(), holders.end(), of_the_same);
    all.abandoned = all.abandoned || !lives;
    all.living = all.living || (lives && static_cast<std::size_t>(votes) >= majority_of(settings_.voters));
    all.renewed = all.renewed ||
                  (lives && std::any_of(suspects_.begin(), suspects_.end(),
                                        [&](const hold_version& s) { return s.owner == h.version.owner; }));
  }
  return all;
}

/// The store's clock is consulted once per hold. After that the version decides: a clock that is
/// set again and again must not make a hold that is renewed look abandoned each time.
bool acquire::seems_abandoned(const hold_record& h) {
  const auto known = std::find_if(suspects_.begin(), suspects_.end(), [&](const hold_version& s) {
    return s.owner == h.version.owner && s.life == h.version.life;
  });
  if (known != suspects_.end()) {
    return *known == h.version;
  }
  const bool suspect = looks_abandoned(h);
  if (suspect && suspects_.size() < most_watched) {
    suspects_.push_back(h.version);
  }
  return suspect;
}

/// So many votes are with some who have not given them back for long, or with nobody because the server gives none, that no majority is to
/// be had until they are removed: to ask all the time is of no use.
bool acquire::stuck(instant now, const refusal& r) const {
  const auto kept = std::count_if(r.holders.begin(), r.holders.end(), [&](const hold_record& h) {
    return std::any_of(watched_.begin(), watched_.end(), [&](const sight& s) {
      return s.version == h.version && s.first + votes_come_back <= now;
    });
  });
  return kept > 0 &&
         static_cast<std::size_t>(kept) + r.abstained > settings_.voters - majority_of(settings_.voters);
}

/// Those in the way who have been silent for long enough. The quarantine of a server is one of them.
std::optional<acquire_action> acquire::evict_if_ripe(instant now, const refusal& r, observations& seen,
                                                     instant& ripe) {
  const bool quarantined = r.why.code() == errc::quarantined;
  if (!settings_.observed_takeover || (!quarantined && r.why.code() != errc::busy)) {
    return std::nullopt;
  }
  const lock_name& name = quarantined ? quarantine_name() : settings_.name;
  watch(now, r.holders, r.complete);
  if (r.complete) {
    seen.forget_all_but(name, r.holders);
  }
  acquire_action evict{.what = kind::evict};
  for (const hold_record& holder : r.holders) {
    const instant from = ripe_at(holder, seen.note(name, holder, now));
    if (std::find(tried_to_evict_.begin(), tried_to_evict_.end(), holder.version) != tried_to_evict_.end()) {
      continue;  // it is still there; ask again after a pause, not in a busy loop
    }
    if (now >= from || (quarantined && r.may_end_at_once)) {
      evict.victims.push_back(holder.version);
    } else {
      ripe = std::min(ripe, from);
    }
  }
  if (evict.victims.empty()) {
    return std::nullopt;
  }
  phase_ = phase::evicting;
  tried_to_evict_.insert(tried_to_evict_.end(), evict.victims.begin(), evict.victims.end());
  return evict;
}

/// What a refusal says, beyond that it is one.
void acquire::take_note(instant now, const refusal& r) {
  phase_ = phase::sleeping;  // nothing is under way
  spent_ = spent_ || r.spent;
  // Where there are hints without a queue, the store knows whom to tell, and says no place.
  const bool on_a_list = settings_.hints && !settings_.fifo && joins() && r.why == errc::busy;
  queued_ = queued_ || r.place.has_value() || on_a_list;
  if (r.why.code() == errc::unreachable) {
    trouble_ = r.why;
  } else {
    trouble_.reset();
    heard_ = now;
  }
}

/// A waiter remembers by itself since when it has seen whom: its client's table, which is for those who try and come
/// again, may be full.
void acquire::watch(instant now, std::span<const hold_record> holders, bool all_of_them) {
  const auto before = std::exchange(watched_, {});
  for (const hold_record& holder : holders) {
    const auto known = std::find_if(before.begin(), before.end(),
                                    [&](const sight& s) { return s.version == holder.version; });
    watched_.push_back({holder.version, known == before.end() ? now : known->first});
  }
  if (all_of_them) {
    return;
  }
  for (const sight& s : before) {  // it may still be there, on a server that has not answered
    const bool named = std::any_of(holders.begin(), holders.end(),
                                   [&](const hold_record& h) { return h.version == s.version; });
    if (!named && watched_.size() < most_watched) {
      watched_.push_back(s);
    }
  }
}

/// The sooner of what the client's table says and what this waiter knows. It keeps that: the table may have seen the
/// holder long before it, or not at all the next time.
instant acquire::ripe_at(const hold_record& holder, instant by_the_table) {
  const auto known = std::find_if(watched_.begin(), watched_.end(),
                                  [&](const sight& s) { return s.version == holder.version; });  // just noted
  const nanoseconds silence = silence_of(holder.ttl, settings_.drift_ppm);
  known->first = std::min(known->first, by_the_table - silence);
  return known->first + silence;
}

/// How long a waiter may sleep when no hint comes. Hints are hints; nothing rests on them.
nanoseconds acquire::poll_pause(const refusal& r) noexcept {
  if (!settings_.fifo || !settings_.hints || !r.place) {
    return poll_without_queue(r);
  }
  if (*r.place > 0) {  // each one ahead has the claim time, should the lock be free by now
    const auto ahead = static_cast<std::int64_t>(std::min<std::size_t>(*r.place, 1000));
    if (settings_.claim_time * ahead < settings_.waiter_refresh) {
      // Kept for those ahead: a store may pass them over one at a time, each when somebody asks.
      return r.holders.empty() ? settings_.claim_time : settings_.claim_time * ahead;
    }
    // Those far behind come at moments of their own: in a crowd one of them is always about to ask, and notices when those
    // before it are dead.
    return spread_.between(std::min(settings_.claim_time, settings_.waiter_refresh),
                           settings_.waiter_refresh);
  }
  return head_pause(r.holders);
}

nanoseconds acquire::moment_of_its_own() noexcept {
  return spread_.between(nanoseconds(0), nanoseconds(first_spread) * (1 << splits_));
}

/// Without a queue: until the holder's time is over, where the store ends it. Until then its release is hinted, or, where
/// it is another program's, has to be asked for.
nanoseconds acquire::poll_without_queue(const refusal& r) noexcept {
  const bool hinted =
      settings_.hints && !r.holders.empty() &&
      std::all_of(r.holders.begin(), r.holders.end(), [](const hold_record& h) { return h.foreign.empty(); });
  nanoseconds pause =
      hinted ? nanoseconds(longest_head_pause) : std::min<nanoseconds>(pauses_.pause(), longest_poll);
  for (const hold_record& holder : r.holders) {
    if (holder.expires_in) {
      pause = std::min<nanoseconds>(
          pause, *holder.expires_in + spread_.between(least_after_expiry, most_after_expiry));
    }
  }
  return pause;
}

acquire_action acquire::unknown(instant now, const error& why) {
  if (over()) {
    return {};
  }
  phase_ = phase::sleeping;
  unsettled_ = std::min(unsettled_.value_or(sent_), sent_);
  queued_ = queued_ || joins();
  trouble_ = why;
  if (one_try() || hopeless(why.code())) {
    return fail(why);
  }
  return wait_or_fail(now, now + pauses_.pause());
}

acquire_action acquire::wait_or_fail(instant now, instant wake) {
  return out_of_time(now) ? give_up() : sleep_until(wake);
}

bool acquire::out_of_time(instant now) const noexcept {
  const bool silent = trouble_ && !settings_.wait && now >= later(heard_, store_silence_limit);
  return silent || now >= give_up_at_;
}

/// A caller who waited for a store that was never there wants to hear of the store, not of the time.
acquire_action acquire::give_up() {
  return fail(trouble_.value_or(error(joins() ? errc::timed_out : errc::busy)));
}

acquire_action acquire::evicted(instant now, bool in_doubt) noexcept {
  if (over()) {
    return {};
  }
  if (in_doubt && one_try()) {
    phase_ = phase::sleeping;
    return fail(
        error(errc::busy));  // else a store that never answers evictions would keep a try going for ever
  }
  return attempt(now);
}

acquire_action acquire::hint(instant now) noexcept {
  if (phase_ == phase::sleeping && settings_.voters > 1) {
    const instant look = now + moment_of_its_own();
    return look < wake_at_ ? sleep_until(look) : acquire_action{};
  }
  if (phase_ == phase::sleeping) {
    return attempt(now);
  }
  hinted_ = phase_ == phase::trying || phase_ == phase::evicting;
  return {};
}

acquire_action acquire::next(instant now) noexcept {
  const instant look = later(now, settings_.claim_time);
  return phase_ == phase::sleeping && look < wake_at_ ? sleep_until(look) : acquire_action{};
}

acquire_action acquire::tick(instant now) {
  if (over()) {
    return {};
  }
  if (now >= give_up_at_ && joins()) {
    return give_up();
  }
  if (phase_ == phase::sleeping && now >= wake_at_) {
    return attempt(now);
  }
  return {};
}

acquire_action acquire::cancel(error why) {
  if (over()) {
    return {};
  }
  return fail(std::move(why));
}

}  // namespace cremone::core
