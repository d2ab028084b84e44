// SPDX-License-Identifier: Apache-2.0
#include "engine/engine.hpp"

#include "core/validate.hpp"
#include "engine/acquire_op.hpp"
#include "engine/release_op.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>

namespace cremone::detail {

namespace {

std::chrono::nanoseconds random_phase(env& e) {
  std::array<std::uint8_t, 4> raw{};
  e.random(raw);
  std::uint32_t number = 0;
  std::memcpy(&number, raw.data(), sizeof number);
  return std::chrono::nanoseconds(number);  // up to 4 s: more than any grid of renewals
}

bool knows(const traits& t, mode m) noexcept {
  return m == mode::exclusive || (m == mode::shared && t.shared) || (m == mode::slot && t.slots);
}

}  // namespace

engine::engine(std::shared_ptr<env> e, std::shared_ptr<backend> store, std::unique_ptr<seen_notes> seen,
               std::shared_ptr<const event_hub> events, process_identity me)
    : me_(std::move(me)),
      env_(std::move(e)),
      store_(std::move(store)),
      traits_(store_->describe()),
      events_(std::move(events)),
      leases_(std::make_shared<keeper>(env_, store_)),
      phase_(random_phase(*env_)),
      holders_(traits_, std::move(seen)),
      warden_(traits_.quarantines && traits_.voters > 1 ? std::make_shared<warden>(*env_, *store_, holders_)
                                                        : nullptr),
      sweeper_(traits_.sweeps ? std::make_shared<sweeper>(*env_, *store_, holders_, *events_) : nullptr) {}

void engine::look_after_quarantines() {
  if (warden_ && !closed()) {
    warden_->look(shared_from_this());
  }
}

void engine::watch_quarantine(quarantine_state& state) {
  if (!state.quarantined || state.version == hold_version{}) {
    return;  // it begins when somebody asks for a lock
  }
  hold_record stands_for_it;
  stands_for_it.version = state.version;
  stands_for_it.ttl = state.length;
  const instant now = env_->now();
  const lock_name& name = core::quarantine_name();
  holders_.recall(name, {&stands_for_it, 1}, now);
  const instant over =
      holders_.with_table([&](core::observations& table) { return table.note(name, stands_for_it, now); });
  holders_.leave(name, now);
  state.left = std::chrono::ceil<std::chrono::milliseconds>(std::max(over - now, instant::duration(0)));
}

void engine::gave_out() {
  if (seen_open_ || seen_open_.exchange(true)) {
    return;
  }
  if (traits_.quarantines) {
    holders_.saw_open(env_->now());
  }
  if (sweeper_) {
    sweeper_->start(shared_from_this(), phase_);
  }
  if (warden_) {
    warden_->look(shared_from_this());
  }
}

error engine::not_at_home() const {
  return {errc::unsupported, "this client was opened by process " + std::to_string(me_.pid) +
                                 " before a fork; the child must open one of its own"};
}

owner_id engine::fresh_owner() noexcept {
  owner_id::bytes raw{};
  env_->random(raw);
  return owner_id(raw);
}

result<void> engine::check(const lock_name& name, const acquire_options& options) const {
  if (auto fine = core::validate_new_name(name); !fine) {
    return fine;
  }
  if (auto fine = core::validate_options(options, traits_.max_ttl); !fine) {
    return fine;
  }
  if (!knows(traits_, options.mode)) {
    return error(errc::unsupported,
                 traits_.store + " knows no " + std::string(to_string(options.mode)) + " locks");
  }
  return {};
}

std::shared_ptr<acquire_op> engine::acquire(const lock_name& name, const acquire_options& options,
                                            callback<void(result<lease>)> done) {
  activity counted(*this);  // before looking whether we are closed: close() waits for what got past that
  if (const result<void> fine = closed() ? client_closed() : check(name, options); !fine) {
    done(fine.error());
    return nullptr;
  }
  owner_data who{me_.host, me_.pid, me_.user, std::string(options.label), env_->wall_now()};
  acquire_options chosen = options;
  chosen.ttl = core::ttl_of(options, traits_.max_ttl);
  auto op = std::make_shared<acquire_op>(shared_from_this(), name, chosen, std::move(who), std::move(done));
  counted.hand_over();
  op->start();
  return op;
}

void engine::release(const lock_name& name, const owner_id& owner, std::chrono::milliseconds patience,
                     callback<void(result<void>)> done) {
  activity counted(*this);
  const auto op = std::make_shared<release_op>(shared_from_this(), name, owner, patience, std::move(done));
  counted.hand_over();
  op->start();
  if (op->over()) {
    return;  // the usual case with a store that answers inline
  }
  {
    const std::lock_guard lock(mutex_);
    if (!given_up_) {
      releases_.emplace(op->number(), op);
      if (op->over()) {
        releases_.erase(op->number());
      }
      return;
    }
  }
  op->give_up();
}

void engine::end_handle(const std::shared_ptr<hold>& h, callback<void(result<void>)> done) {
  const activity counted(
      *this);  // before the hold leaves the keeper: close() waits for the release that follows
  part(*h, std::move(done));
}

void engine::part(hold& h, callback<void(result<void>)> done) {
  switch (leases_->drop_handle(h)) {
    case keeper::parting::others: return done({});
    case keeper::parting::lost: return done(*h.loss);
    case keeper::parting::release: return release(h.name, h.owner, h.ttl, std::move(done));
    case keeper::parting::release_lost:
      if (!closed()) {
        // The holder has stopped by now, and the store may still show it: clear that for those who wait.
        release(h.name, h.owner, h.ttl, [](const result<void>&) {});
      }
      return done(*h.loss);
  }
}

void engine::finished() noexcept {
  if (--under_way_ == 0 && closed_) {
    const std::lock_guard lock(mutex_);
    quiet_.notify_all();
  }
}

void engine::finished(const std::shared_ptr<release_op>& op) noexcept {
  {
    const std::lock_guard lock(mutex_);
    releases_.erase(op->number());
  }
  finished();
}

bool engine::register_waiting(const std::shared_ptr<acquire_op>& op) {
  const std::lock_guard lock(mutex_);
  return !closed_ && waiting_.emplace(op->number(), op).second;
}

void engine::unregister_waiting(const std::shared_ptr<acquire_op>& op) noexcept {
  const std::lock_guard lock(mutex_);
  waiting_.erase(op->number());
}

void engine::close(std::chrono::milliseconds grace) noexcept {
  decltype(waiting_) waiting;
  {
    const std::lock_guard lock(mutex_);
    if (closed_.exchange(true)) {
      return;
    }
    waiting = waiting_;
  }
  holders_.closing();
  for (const auto& [number, op] : waiting) {
    op->cancel(client_closed());
  }
  for (const auto& h : leases_->close()) {
    release(h->name, h->owner, grace, [](const result<void>&) {});
  }
  if (sweeper_ && seen_open_) {
    ++under_way_;
    sweeper_->step(shared_from_this(), [self = shared_from_this()] { self->finished(); });
  }

  ++under_way_;
  store_->settle([self = shared_from_this()] { self->finished(); });

  {
    std::unique_lock lock(mutex_);
    quiet_.wait_for(lock, grace, [&] { return under_way_ == 0; });
  }
  holders_.leave_the_rest(env_->now());
  store_->close();
  env_->stop();

  // Whatever the store made of them, their callers get an answer.
  decltype(releases_) unanswered;
  {
    const std::lock_guard lock(mutex_);
    given_up_ = true;
    unanswered.swap(releases_);
  }
  for (const auto& [number, op] : unanswered) {
    op->give_up();
  }
}

}  // namespace cremone::detail
