// SPDX-License-Identifier: Apache-2.0
#include "engine/acquire_op.hpp"

#include "core/quorum.hpp"
#include "engine/describe.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <functional>
#include <utility>

namespace cremone::detail {

namespace {

using kind = core::acquire_action::kind;

core::acquire_settings settings_for(const engine& e, const lock_name& name, const acquire_options& options,
                                    const owner_id& owner) {
  const traits& t = e.store_traits();
  std::uint64_t seed = 0;
  std::memcpy(&seed, owner.raw().data(), sizeof seed);
  return {.name = name,
          .ttl = *options.ttl,
          .max_hold = options.max_hold,
          .wait = options.wait == forever ? std::nullopt : std::optional(options.wait),
          .drift_ppm = t.drift_ppm,
          .fifo = t.fifo,
          .voters = t.voters,
          .hints = t.hints,
          .observed_takeover = t.observed_takeover,
          .take_over_abandoned = options.take_over_abandoned,
          .waiter_refresh = t.waiter_refresh,
          .claim_time = t.claim_time,
          .seed = seed};
}

}  // namespace

acquire_op::acquire_op(std::shared_ptr<engine> by, const lock_name& name, const acquire_options& options,
                       owner_data who, callback<void(result<lease>)> done)
    : engine_(std::move(by)),
      request_{.name = name,
               .owner = engine_->fresh_owner(),
               .mode = options.mode,
               .ttl = *options.ttl,
               .who = std::move(who),
               .join = false,
               .wake = {},
               .waiter = engine_->fresh_owner(),
               .proposal = {}},
      max_hold_(options.max_hold),
      renewals_per_ttl_(options.renewals_per_ttl),
      takes_over_(options.take_over_abandoned),
      machine_(settings_for(*engine_, name, options, request_.owner)),
      done_(std::move(done)) {}

void acquire_op::start() {
  request_.wake = weak_from_this();
  deliver([](inbox& in) { in.start = true; });
}

void acquire_op::hint() noexcept {
  deliver([](inbox& in) { in.hint = true; });
}

void acquire_op::next() noexcept {
  deliver([](inbox& in) { in.next = true; });
}

void acquire_op::cancel(error why) {
  deliver([&](inbox& in) { in.cancel = std::move(why); });
}

template <class F>
void acquire_op::deliver(F&& put) {
  {
    const std::lock_guard lock(mutex_);
    std::forward<F>(put)(inbox_);
    if (draining_) {
      return;  // the thread that drains will see it, this one included further up its stack
    }
    draining_ = true;
  }
  drain();
}

void acquire_op::drain() {
  const auto keep = shared_from_this();
  while (true) {
    inbox news;
    {
      const std::lock_guard lock(mutex_);
      if (inbox_.empty()) {
        draining_ = false;
        return;
      }
      news = std::exchange(inbox_, {});
    }
    handle(std::move(news));
  }
}

void acquire_op::handle(inbox&& news) {
  if (news.start && (engine_->store_traits().answers_inline || enlist())) {
    perform(machine_.start(now()));
  }
  if (news.answer) {  // before a cancellation: what is granted is granted
    perform(on_answer(std::move(*news.answer)));
  }
  if (news.evicted) {
    perform(machine_.evicted(now(), *news.evicted));
  }
  if (news.cancel) {
    perform(machine_.cancel(std::move(*news.cancel)));
  }
  if (news.hint) {
    perform(machine_.hint(now()));
  }
  if (news.next) {
    perform(machine_.next(now()));
  }
  if (news.tick) {
    perform(machine_.tick(now()));
  }
}

core::acquire_action acquire_op::on_answer(acquire_answer&& a) {
  const instant now = this->now();  // after the answer was read
  if (const auto* yes = std::get_if<grant>(&a)) {
    granted_ = *yes;
    if (yes->some_quarantined) {
      engine_->look_after_quarantines();
    }
    return machine_.granted(now, yes->repeated);
  }
  if (auto* no = std::get_if<rejection>(&a)) {
    last_no_ = std::move(*no);
    return on_refusal(now);
  }
  return machine_.unknown(now, std::get<unknown>(a).why);
}

core::acquire_action acquire_op::on_refusal(instant now) {
  lookout& known = engine_->holders();
  const bool quarantined = last_no_.why == errc::quarantined;
  if (last_no_.some_quarantined && !quarantined) {
    engine_->look_after_quarantines();
  }
  if (last_no_.why == errc::busy) {
    engine_->gave_out();
  }
  bool& recalled = quarantined ? recalled_quarantine_ : recalled_;
  if (!recalled && (quarantined || last_no_.why == errc::busy)) {
    known.recall(quarantined ? core::quarantine_name() : request_.name, last_no_.holders, now);
    recalled = true;
    if (quarantined) {  // for others of this machine, who may ask how long it still takes, or come after us
      known.with_table([&](core::observations& seen) {
        for (const hold_record& h : last_no_.holders) {
          (void)seen.note(core::quarantine_name(), h, now);
        }
      });
      known.leave(core::quarantine_name(), now);
    }
  }
  const bool at_once = quarantined && last_no_.nothing_forgotten && !known.ever_open();
  return known.with_table([&](core::observations& seen) {
    return machine_.refused(now,
                            {.why = last_no_.why,
                             .holders = last_no_.holders,
                             .place = last_no_.place,
                             .retry_after = last_no_.retry_after,
                             .may_end_at_once = at_once,
                             .complete = last_no_.complete,
                             .split = last_no_.split,
                             .abstained = last_no_.abstained,
                             .spent = last_no_.spent},
                            seen);
  });
}

void acquire_op::perform(const core::acquire_action& action) {
  if (action.withdraw) {
    withdraw();
  }
  switch (action.what) {
    case kind::nothing: return;
    case kind::attempt: return send_attempt(action);
    case kind::evict: return send_evict(action);
    case kind::sleep:
      if (action.observing_until) {
        report_observation(*action.observing_until);
      }
      return sleep_until(action.until);
    case kind::succeed: return succeed(action);
    case kind::fail: return fail(*action.why);
  }
}

void acquire_op::send_attempt(const core::acquire_action& action) {
  if (action.fresh) {
    request_.owner = engine_->fresh_owner();
  }
  request_.join = action.join;
  if (!engine_->store_traits().answers_inline) {
    sleep_until(action.until);  // the answer may come too late
  }
  engine_->store().try_acquire(request_, [self = shared_from_this()](acquire_answer a) {
    self->deliver([&](inbox& in) { in.answer = std::move(a); });
  });
}

/// Some evictions, which are over when the last of them is answered.
class acquire_op::purge {
 public:
  purge(std::shared_ptr<acquire_op> by, std::vector<hold_version> of)
      : victims(std::move(of)), by_(std::move(by)), left_(victims.size()) {}

  void take(const hold_version& victim, const answer& a) {
    if (std::holds_alternative<done>(a)) {
      by_->report_eviction(victim);
    }
    in_doubt_ = in_doubt_ || std::holds_alternative<unknown>(a);
    if (--left_ == 0) {
      by_->deliver([&](inbox& in) { in.evicted = in_doubt_.load(); });
    }
  }

  const std::vector<hold_version> victims;

 private:
  const std::shared_ptr<acquire_op> by_;
  std::atomic<std::size_t> left_;
  std::atomic<bool> in_doubt_ = false;
};

void acquire_op::send_evict(const core::acquire_action& action) {
  const auto all = std::make_shared<purge>(shared_from_this(), action.victims);
  for (const hold_version& victim : all->victims) {
    engine_->store().evict(request_.name, victim, [all, &victim](const answer& a) { all->take(victim, a); });
  }
}

/// While the evictions' answers are on their way nobody else touches what was refused last. The store tells of a quarantine that
/// has ended by itself. Of one owner it is told once, whose votes may be many.
void acquire_op::report_eviction(const hold_version& of) {
  const auto victim = std::find_if(last_no_.holders.begin(), last_no_.holders.end(),
                                   [&](const hold_record& h) { return h.version == of; });
  if (last_no_.why != errc::busy || victim == last_no_.holders.end()) {
    return;
  }
  bool news = false;
  {
    const std::lock_guard lock(mutex_);
    news = taken_over_.insert(of.owner).second;
  }
  if (news) {
    engine_->events().tell(event_kind::evicted, "lock '" + request_.name.str() + "' was taken over from " +
                                                    describe_owner(victim->owner) +
                                                    ", silent for its ttl of " + describe_time(victim->ttl));
  }
}

void acquire_op::report_observation(instant until) {
  const auto hold = std::find_if(last_no_.holders.begin(), last_no_.holders.end(), looks_abandoned);
  if (hold != last_no_.holders.end()) {
    const auto span = std::chrono::ceil<std::chrono::milliseconds>(until - now());
    engine_->events().tell(event_kind::observing,
                           describe_observation(request_.name, engine_->store_traits().store, *hold, span));
  }
}

/// Lets close() find us from now on; false, and all is over, if that has begun already.
bool acquire_op::enlist() {
  if (!registered_) {
    registered_ = engine_->register_waiting(shared_from_this());
    if (!registered_) {
      perform(machine_.cancel(client_closed()));
    }
  }
  return registered_;
}

void acquire_op::sleep_until(instant when) {
  if (!enlist()) {
    return;
  }
  if (!timer_) {
    timer_ = engine_->outside().make_timer([weak = weak_from_this()] {
      if (const auto self = weak.lock()) {
        self->deliver([](inbox& in) { in.tick = true; });
      }
    });
  }
  timer_->arm(when);
}

/// Makes the store forget the owner id, as a holder and as a waiter. Ordered behind what was sent for it.
void acquire_op::withdraw() {
  // Also when the ttl is over: a server that was stopped carries out the request when it wakes up, and the ttl of what
  // it then grants begins only there.
  engine_->release(request_.name, request_.owner, std::max(request_.ttl, core::store_silence_limit),
                   [](const result<void>&) {});
}

void acquire_op::succeed(const core::acquire_action& action) {
  engine_->gave_out();
  engine_->holders().with_table([&](core::observations& seen) { seen.forget(request_.name); });
  const core::lease_timing timing{request_.ttl, engine_->store_traits().drift_ppm, engine_->phase(),
                                  max_hold_, renewals_per_ttl_};
  auto h =
      std::make_shared<hold>(engine_, request_.name, request_.owner, granted_.token, timing, action.since);
  if (!engine_->leases().add(*h)) {
    withdraw();
    return finish(client_closed());
  }
  finish(hold::to_lease(std::move(h)));
}

void acquire_op::fail(const error& why) {
  if (!last_no_.holders.empty()) {  // before the caller hears of it, who may exit then
    engine_->holders().leave(last_no_.why == errc::quarantined ? core::quarantine_name() : request_.name,
                             now());
  }
  finish(explained(why));
}

void acquire_op::finish(result<lease> r) {
  timer_.reset();
  if (registered_) {
    engine_->unregister_waiting(shared_from_this());
  }
  std::exchange(done_, nullptr)(std::move(r));
  engine_->finished();
}

error acquire_op::explained(const error& why) {
  error told = describe_failure(why, request_, last_no_, engine_->store_traits().store,
                                engine_->outside().wall_now(), silence());
  const bool watched = (why == errc::busy && !takes_over_) || why == errc::quarantined;
  if (watched && engine_->holders().cannot_keep_notes()) {
    return {told.code(),
            told.detail() +
                "; this observation cannot be kept for the next attempt: set CREMONE_STATE_DIR to a writable "
                "directory, or let one call wait (`cremone run --wait`)"};
  }
  return told;
}

/// How long the one who is in the way has been seen silent, where silence leads to a takeover. Of several votes, or servers in
/// quarantine, that one counts by which enough of them are over.
std::optional<std::chrono::nanoseconds> acquire_op::silence() {
  const bool quarantined = last_no_.why == errc::quarantined;
  if (last_no_.holders.empty() || !engine_->store_traits().observed_takeover ||
      (!quarantined && count_owners(last_no_.holders) != 1)) {
    return std::nullopt;
  }
  const lock_name& name = quarantined ? core::quarantine_name() : request_.name;
  const instant now = this->now();
  std::vector<std::chrono::nanoseconds> silent;  // not seen yet: for no time
  engine_->holders().with_table([&](const core::observations& seen) {
    for (const hold_record& h : last_no_.holders) {
      silent.push_back(now - seen.since(name, h.version).value_or(now));
    }
  });
  std::sort(silent.begin(), silent.end(), std::greater<>());
  const std::size_t voters = engine_->store_traits().voters;
  const std::size_t voting = voters - std::min(voters, last_no_.abstained);
  const std::size_t needed = core::majority_of(voters) - std::min(core::majority_of(voters), voting);
  const std::size_t last = quarantined ? std::clamp(needed, std::size_t{1}, silent.size()) : silent.size();
  return silent[last - 1];
}

}  // namespace cremone::detail
