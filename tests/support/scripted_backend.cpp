// SPDX-License-Identifier: Apache-2.0
#include "support/scripted_backend.hpp"

#include "base/check.hpp"

#include <algorithm>
#include <atomic>
#include <iterator>
#include <utility>

namespace cremone::test {

namespace {

using kind = store_call::kind;

error closed_error() { return {errc::unreachable, "scripted:// was closed"}; }

error never_answered() { return {errc::outcome_unknown, "scripted:// was closed before it answered"}; }

std::vector<store_call::item> copy_of(std::span<const renewal> items) {
  std::vector<store_call::item> copy;
  std::transform(items.begin(), items.end(), std::back_inserter(copy), [](const renewal& r) {
    return store_call::item{*r.name, r.owner, r.seq, r.token, r.ttl};
  });
  return copy;
}

}  // namespace

script script::yes() {
  const auto last = std::make_shared<std::atomic<std::uint64_t>>(0);
  return {.acquire =
              [last](const acquire_request&) {
                const std::uint64_t next = ++*last;
                return acquire_answer(grant{.token = fence_token(next), .ticket = next});
              },
          .renew = [](std::span<const renewal> items) { return std::vector<answer>(items.size(), done{}); },
          .release = [](const release_request&) { return answer(done{}); },
          .evict = [](const lock_name&, const hold_version&) { return answer(done{}); },
          .force = [](const lock_name&, const owner_id&) { return answer(done{}); }};
}

traits network_traits() {
  traits t;
  t.store = "scripted://";
  t.fifo = true;
  t.hints = true;
  t.observed_takeover = true;
  return t;
}

scripted_backend::scripted_backend(std::shared_ptr<env> e, traits t)
    : env_(std::move(e)), traits_(std::move(t)) {}

void scripted_backend::follow(script s) {
  const std::lock_guard lock(mutex_);
  script_ = std::make_shared<const script>(std::move(s));
}

void scripted_backend::behave(manners m) {
  const std::lock_guard lock(mutex_);
  manners_ = m;
}

/// With the mutex held.
std::size_t scripted_backend::note(store_call call) {
  call.index = calls_.size();
  call.at = env_->now();
  calls_.push_back(std::move(call));
  return calls_.size() - 1;
}

/// Notes the call, and answers it if the script has an answer. The script is asked without the mutex, so that it
/// may block or look at this store.
template <class Answer, class Script>
void scripted_backend::take(store_call call, callback<void(Answer)> reply, Answer when_closed,
                            Script&& scripted) {
  std::shared_ptr<const script> now;
  bool refuse = false;
  std::size_t index = 0;
  {
    const std::lock_guard lock(mutex_);
    index = note(std::move(call));
    now = script_;
    refuse = closed_;
  }
  if (refuse) {
    return give(std::move(reply), std::move(when_closed));
  }
  if (std::optional<Answer> a = std::forward<Script>(scripted)(*now)) {
    return give(std::move(reply), std::move(*a));
  }
  {
    const std::lock_guard lock(mutex_);
    if (!closed_ || manners_ == manners::rude) {
      waiting_.emplace(index, std::move(reply));
      return;
    }
  }
  give_up_on(index, std::move(reply));
}

template <class Answer>
void scripted_backend::give(callback<void(Answer)> reply, Answer a) {
  if (traits_.answers_inline) {
    return reply(std::move(a));
  }
  env_->post([reply = std::move(reply), a = std::move(a)]() mutable { reply(std::move(a)); });
}

void scripted_backend::give_up_on(std::size_t index, waiting_reply reply) {
  if (auto* to_acquire = std::get_if<reply_to_acquire>(&reply)) {
    return give<acquire_answer>(std::move(*to_acquire), unknown{never_answered()});
  }
  if (auto* to_one = std::get_if<reply_to_one>(&reply)) {
    return give<cremone::answer>(std::move(*to_one), unknown{never_answered()});
  }
  std::size_t items = 0;
  {
    const std::lock_guard lock(mutex_);
    items = calls_[index].items.size();
  }
  give(std::get<reply_to_renew>(std::move(reply)),
       std::vector<cremone::answer>(items, unknown{never_answered()}));
}

template <class Answer>
void scripted_backend::answer_waiting(std::size_t index, Answer a) {
  std::optional<waiting_reply> found;
  {
    const std::lock_guard lock(mutex_);
    if (auto at = waiting_.extract(index)) {
      found = std::move(at.mapped());
    }
  }
  CREMONE_CHECK(found);  // each call is answered once: the test answers one that does not wait
  give(std::get<callback<void(Answer)>>(std::move(*found)), std::move(a));
}

void scripted_backend::answer(std::size_t index, acquire_answer a) { answer_waiting(index, std::move(a)); }
void scripted_backend::answer(std::size_t index, cremone::answer a) { answer_waiting(index, std::move(a)); }
void scripted_backend::answer(std::size_t index, std::vector<cremone::answer> a) {
  answer_waiting(index, std::move(a));
}

void scripted_backend::drop_waiting() {
  std::map<std::size_t, waiting_reply> dropped;  // destroyed without the mutex: they own much
  const std::lock_guard lock(mutex_);
  dropped.swap(waiting_);
}

std::vector<store_call> scripted_backend::calls() const {
  const std::lock_guard lock(mutex_);
  return calls_;
}

std::vector<store_call> scripted_backend::calls(kind what) const {
  std::vector<store_call> all = calls();
  std::erase_if(all, [what](const store_call& c) { return c.what != what; });
  return all;
}

std::size_t scripted_backend::waiting() const {
  const std::lock_guard lock(mutex_);
  return waiting_.size();
}

bool scripted_backend::closed() const {
  const std::lock_guard lock(mutex_);
  return closed_;
}

void scripted_backend::try_acquire(const acquire_request& request, callback<void(acquire_answer)> reply) {
  rejection no;
  no.why = closed_error();
  take<acquire_answer>(
      {.what = kind::acquire, .name = request.name, .owner = request.owner, .request = request},
      std::move(reply), std::move(no),
      [&](const script& s) { return s.acquire ? s.acquire(request) : std::nullopt; });
}

void scripted_backend::renew(std::span<const renewal> items,
                             callback<void(std::vector<cremone::answer>)> reply) {
  take<std::vector<cremone::answer>>(
      {.what = kind::renew, .items = copy_of(items)}, std::move(reply),
      std::vector<cremone::answer>(items.size(), refused{closed_error()}),
      [&](const script& s) { return s.renew ? s.renew(items) : std::nullopt; });
}

void scripted_backend::release(const release_request& request, callback<void(cremone::answer)> reply) {
  take<cremone::answer>({.what = kind::release, .name = request.name, .owner = request.owner},
                        std::move(reply), refused{closed_error()},
                        [&](const script& s) { return s.release ? s.release(request) : std::nullopt; });
}

void scripted_backend::evict(const lock_name& name, const hold_version& version,
                             callback<void(cremone::answer)> reply) {
  take<cremone::answer>({.what = kind::evict, .name = name, .version = version}, std::move(reply),
                        refused{closed_error()},
                        [&](const script& s) { return s.evict ? s.evict(name, version) : std::nullopt; });
}

void scripted_backend::force(const lock_name& name, const owner_id& holder,
                             callback<void(cremone::answer)> reply) {
  take<cremone::answer>({.what = kind::force, .name = name, .owner = holder}, std::move(reply),
                        refused{closed_error()},
                        [&](const script& s) { return s.force ? s.force(name, holder) : std::nullopt; });
}

void scripted_backend::inspect(const lock_name& name, callback<void(result<lock_record>)> reply) {
  {
    const std::lock_guard lock(mutex_);
    note({.what = kind::inspect, .name = name});
  }
  lock_record nothing;
  nothing.name = name;
  give<result<lock_record>>(std::move(reply), std::move(nothing));
}

void scripted_backend::list(callback<void(result<std::vector<lock_record>>)> reply) {
  {
    const std::lock_guard lock(mutex_);
    note({.what = kind::list});
  }
  give<result<std::vector<lock_record>>>(std::move(reply), std::vector<lock_record>{});
}

void scripted_backend::close() noexcept {
  std::map<std::size_t, waiting_reply> left;
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    if (manners_ == manners::proper) {
      left.swap(waiting_);
    }
  }
  for (auto& [index, reply] : left) {
    give_up_on(index, std::move(reply));
  }
}

}  // namespace cremone::test
