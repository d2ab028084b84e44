// SPDX-License-Identifier: Apache-2.0
#include "engine/keeper.hpp"

#include "base/check.hpp"
#include "engine/describe.hpp"

#include <string>

namespace cremone::detail {

using core::life;
using std::chrono::nanoseconds;
using verdict = core::watchdog::verdict;

/// Renewals that travel together, and the holds that keep their names alive.
struct keeper::batch {
  std::vector<renewal> items;
  std::vector<std::shared_ptr<hold>> holds;
};

bool keeper::add(hold& h) {
  const std::lock_guard lock(mutex_);
  if (closed_) {
    return false;
  }
  link(h);
  arm(h.wake);
  return true;
}

/// The timer is only ever moved forward. When the lease it was set for is gone it fires for nothing, at most once
/// in a third of a ttl, and costs the common lock and unlock nothing.
void keeper::arm(instant when) {
  if (when >= timer_at_) {
    return;
  }
  if (!timer_) {
    timer_ = env_->make_timer([weak = weak_from_this()] {
      if (const auto self = weak.lock()) {
        self->tick();
      }
    });
  }
  timer_at_ = when;
  timer_->arm(when);
}

void keeper::link(hold& h) {
  auto at = due_.lower_bound(h.wake);
  if (at == due_.end() || at->first != h.wake) {
    if (spare_.empty()) {
      at = due_.try_emplace(at, h.wake);
    } else {
      spare_.key() = h.wake;
      at = due_.insert(at, std::move(spare_));
    }
  }
  at->second.push_back(h);
}

void keeper::unlink(hold& h) noexcept {
  if (!h.is_linked()) {
    return;
  }
  const auto at = due_.find(h.wake);
  at->second.erase(at->second.iterator_to(h));
  if (at->second.empty()) {
    spare_ = due_.extract(at);
  }
}

void keeper::requeue(hold& h) {
  unlink(h);
  h.wake = h.dog.wake_at();
  h.deadline.store(h.dog.deadline(), std::memory_order_release);
  link(h);
}

/// With the mutex held, when the watchdog has just said `lost`; announce() follows without it.
void keeper::lose(hold& h, error why) {
  unlink(h);
  h.deadline.store(instant::min(), std::memory_order_release);
  h.loss = std::move(why);
}

/// Tells the holder, where its callbacks cannot delay anyone's renewal.
void keeper::announce(const std::shared_ptr<hold>& h) {
  callback<void()> tell = [self = shared_from_this(), h] {
    std::optional<std::stop_source> stop;
    std::vector<callback<void(const error&)>> callbacks;
    {
      const std::lock_guard lock(self->mutex_);
      stop = h->stop;
      callbacks = std::move(h->on_lost);
      h->on_lost.clear();
    }
    if (stop) {
      stop->request_stop();
    }
    for (auto& fn : callbacks) {
      fn(*h->loss);  // written once, before this was posted
    }
  };
  if (!env_->post_user(tell)) {
    tell();  // the callback thread is gone with its client, or was never to be had: better here than never
  }
}

namespace {

/// Any answer, even a refusal, shows that the store is reachable.
bool is_silence(const error& why) noexcept {
  return why == errc::unreachable || why == errc::outcome_unknown;
}

error taken_away(const hold& h, const std::string& detail) {
  return {errc::lost,
          "the store gave lock '" + h.name.str() + "' away" + (detail.empty() ? "" : ": " + detail)};
}

error closed_under(const hold& h) {
  return {errc::lost, "the client of lock '" + h.name.str() + "' was closed"};
}

}  // namespace

/// "redis://db:6379 has been silent for 17.2 s (db:6379 did not answer in time)"
std::string keeper::silence_of(const hold& h, instant now) const {
  constexpr std::chrono::milliseconds shown_step{100};
  const auto length = std::chrono::floor<std::chrono::milliseconds>(now - h.heard);
  const std::string span = describe_time(length - length % shown_step);
  if (!h.trouble && !h.dog.in_flight()) {
    return "this process sent no renewal to " + store_name_ + " for " + span + "; was this process stopped?";
  }
  const std::string detail =
      h.trouble && !h.trouble->detail().empty() ? " (" + h.trouble->detail() + ")" : "";
  return store_name_ +
         (!h.trouble || is_silence(*h.trouble) ? " has been silent for " + span
                                               : " has refused to renew the lease") +
         detail;
}

error keeper::ran_out(const hold& h, instant now) const {
  if (h.dog.at_max_hold()) {
    return {errc::lost,
            "lock '" + h.name.str() + "' was held for its max_hold of " + describe_time(h.max_hold)};
  }
  return {errc::lost, "the lease of lock '" + h.name.str() +
                          "' ran out: no renewal succeeded within its ttl of " + describe_time(h.ttl) + "; " +
                          silence_of(h, now)};
}

result<void> keeper::last_renewal(hold& h) {
  const bool alive = held(h);
  const std::lock_guard lock(mutex_);
  if (h.loss) {
    return *h.loss;
  }
  if (!alive || h.dog.state() != life::held) {
    return error(errc::not_held, "the lease of lock '" + h.name.str() + "' was released");
  }
  const instant now = env_->now();
  // A renewal comes at a third of the ttl, or sooner.
  const bool overdue = now - h.heard >= nanoseconds(h.ttl) / 2;
  if (!h.trouble && !overdue) {
    return {};
  }
  return error(h.trouble ? h.trouble->code() : errc::unreachable, silence_of(h, now));
}

void keeper::tick() {
  std::vector<std::shared_ptr<hold>> lost;
  std::vector<std::shared_ptr<batch>> batches;
  {
    const std::lock_guard lock(mutex_);
    timer_at_ = instant::max();
    const instant now = env_->now();  // validity of all renewals below counts from here, before any is sent
    while (!due_.empty() && due_.begin()->first <= now) {
      hold& h = due_.begin()->second.front();
      switch (h.dog.tick(now)) {
        case verdict::lost:
          lose(h, ran_out(h, now));
          lost.push_back(h.shared_from_this());
          continue;
        case verdict::renew:
          if (batches.empty() || batches.back()->items.size() == batch_limit) {
            batches.push_back(std::make_shared<batch>());
          }
          batches.back()->items.push_back({&h.name, h.owner, h.dog.seq(), h.token, h.ttl});
          batches.back()->holds.push_back(h.shared_from_this());
          break;
        case verdict::nothing: break;
      }
      requeue(h);
    }
    if (!due_.empty()) {
      arm(due_.begin()->first);
    }
  }
  for (const auto& h : lost) {
    announce(h);
  }
  for (auto& b : batches) {
    send(std::move(b));
  }
}

void keeper::send(std::shared_ptr<batch> b) {
  const batch& sent = *b;
  store_->renew(sent.items, [self = shared_from_this(), b = std::move(b)](
                                const std::vector<answer>& answers) { self->answered(*b, answers); });
}

void keeper::answered(const batch& b, const std::vector<answer>& answers) {
  CREMONE_CHECK(answers.size() == b.holds.size());  // the seam's promise
  std::vector<std::shared_ptr<hold>> lost;
  {
    const std::lock_guard lock(mutex_);
    const instant now = env_->now();  // after the answer was read
    for (std::size_t i = 0; i < answers.size(); ++i) {
      hold& h = *b.holds[i];
      verdict v = verdict::nothing;
      if (std::holds_alternative<done>(answers[i])) {
        h.trouble.reset();
        h.heard = now;
        v = h.dog.renewed(now);
      } else if (const auto* no = std::get_if<refused>(&answers[i])) {
        h.trouble = no->why;
        v = h.dog.refused(now, no->why.code());
      } else {
        h.trouble = std::get<unknown>(answers[i]).why;
        v = h.dog.unknown(now);
      }
      if (h.trouble && !is_silence(*h.trouble)) {
        h.heard = now;
      }
      if (v == verdict::lost) {
        lose(h, now >= h.dog.deadline() ? ran_out(h, now) : taken_away(h, h.trouble->detail()));
        lost.push_back(b.holds[i]);
      } else if (h.dog.state() == life::held && h.is_linked()) {
        requeue(h);
      }
    }
    if (!due_.empty()) {
      arm(due_.begin()->first);
    }
  }
  for (const auto& h : lost) {
    announce(h);
  }
}

bool keeper::held(hold& h) {
  const instant seen = h.deadline.load(std::memory_order_acquire);
  if (seen == instant::min()) {
    return false;
  }
  const instant now = env_->now();
  if (now < seen) {
    return true;
  }
  {
    const std::lock_guard lock(mutex_);
    if (h.dog.expire(now) != verdict::lost) {
      return h.dog.held_at(now);  // renewed, released or lost between the load and the lock
    }
    lose(h, ran_out(h, now));
  }
  announce(h.shared_from_this());
  return false;
}

result<void> keeper::add_handle(hold& h) {
  const bool alive = held(h);
  const std::lock_guard lock(mutex_);
  if (h.loss) {
    return *h.loss;
  }
  if (!alive || h.dog.state() != life::held) {
    return error(errc::not_held, "the lease of lock '" + h.name.str() + "' was released");
  }
  ++h.handles;
  return {};
}

keeper::parting keeper::drop_handle(hold& h) {
  (void)held(h);  // a validity that is over makes this a loss, not a release
  std::vector<callback<void(const error&)>> unused;  // destroyed without the mutex: they may own leases
  const std::lock_guard lock(mutex_);
  CREMONE_CHECK(h.handles > 0);
  const bool last = --h.handles == 0;
  if (h.loss) {
    return last ? parting::release_lost : parting::lost;
  }
  if (!last) {
    return parting::others;
  }
  CREMONE_CHECK(h.dog.release());
  unlink(h);
  h.deadline.store(instant::min(), std::memory_order_release);
  unused.swap(h.on_lost);
  return parting::release;
}

std::stop_token keeper::stop_token_of(hold& h) {
  const std::lock_guard lock(mutex_);
  if (!h.stop) {
    h.stop.emplace();
    if (h.loss) {
      h.stop->request_stop();
    }
  }
  return h.stop->get_token();
}

void keeper::on_lost(hold& h, callback<void(const error&)> fn) {
  {
    const std::lock_guard lock(mutex_);
    h.on_lost.push_back(std::move(fn));
    if (!h.loss) {
      return;
    }
  }
  announce(h.shared_from_this());
}

std::vector<std::shared_ptr<hold>> keeper::close() {
  std::vector<std::shared_ptr<hold>> all;
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    while (!due_.empty()) {
      hold& h = due_.begin()->second.front();
      all.push_back(h.shared_from_this());
      (void)h.dog.abandon();
      lose(h, closed_under(h));
    }
  }
  for (const auto& h : all) {
    announce(h);
  }
  return all;
}

}  // namespace cremone::detail
