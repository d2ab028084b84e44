// SPDX-License-Identifier: Apache-2.0
#include "backends/redis/pipeline.hpp"

#include "base/text.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace cremone::redis {

namespace {

/// Requests that time out together are answered together.
constexpr std::chrono::milliseconds sweep_step{5};

/// A request that rides along with the next reply is sent without it when none comes.
constexpr std::chrono::milliseconds longest_ride{5};

response not_sent(error why) {
  return {.what = response::fate::not_sent, .got = {}, .why = std::move(why), .asked = {}, .due = {}};
}
response no_answer(error why) {
  return {.what = response::fate::no_answer, .got = {}, .why = std::move(why), .asked = {}, .due = {}};
}

error closed_by_us() { return {errc::unreachable, "the client was closed"}; }

error in_doubt(const error& why) { return {errc::outcome_unknown, why.detail()}; }

}  // namespace

pipeline::pipeline(std::shared_ptr<env> e, std::shared_ptr<transport> net, const node_settings& to)
    : env_(std::move(e)),
      net_(std::move(net)),
      to_(to),
      place_(to.sentinels ? std::make_shared<whereabouts>() : nullptr),
      node_(to.node) {}

void pipeline::start() {
  const route by{place_ ? std::make_shared<finder>(env_, net_, to_) : nullptr, place_};
  session_ = std::make_shared<session>(env_, net_, to_, weak_from_this(), by);
  session_->start();
}

std::string pipeline::server() {
  const std::lock_guard lock(mutex_);
  return node_;
}

void pipeline::send(std::string bytes, std::chrono::milliseconds limit, order_tag tag,
                    callback<void(response)> answer) {
  const instant now = env_->now();
  submit(
      {.asked = now, .due = now + limit, .tag = tag, .answer = std::move(answer), .bytes = std::move(bytes)},
      false);
}

void pipeline::send_again(std::string bytes, instant due, order_tag tag, callback<void(response)> answer) {
  submit(
      {.asked = env_->now(), .due = due, .tag = tag, .answer = std::move(answer), .bytes = std::move(bytes)},
      true);
}

void pipeline::decline(error why, callback<void(response)> answer) {
  {
    const std::lock_guard lock(mutex_);
    if (state_ != state::closed) {
      return refuse(std::move(answer), std::move(why));
    }
  }
  answer(not_sent(std::move(why)));
}

error pipeline::too_many() const {
  return {errc::unreachable, node_ + " has not answered " + std::to_string(most_outstanding) +
                                 " requests yet; this one was not sent"};
}

void pipeline::submit(request r, bool again) {
  std::unique_lock lock(mutex_);
  if (state_ == state::closed) {
    lock.unlock();
    return r.answer(not_sent(closed_by_us()));  // there may be no executor any more
  }
  if (state_ == state::down) {
    if (r.tag.renews) {
      env_->post([by = session_] { by->hurry(); });
    }
    return refuse(std::move(r.answer), trouble_);
  }
  if (again && released_since(r.tag.owner)) {
    return refuse(std::move(r.answer),
                  {errc::cancelled, "the lock was given up before it could be asked for again"});
  }
  const std::size_t room = r.tag.reserved ? 2 * most_outstanding : most_outstanding;
  if (sent_.size() + waiting_.size() >= room) {
    return refuse(std::move(r.answer), too_many());
  }
  watch(r.due);
  if (state_ == state::connecting) {
    if (r.tag.first) {
      waiting_.push_front(std::move(r));
    } else {
      waiting_.push_back(std::move(r));
    }
    return;
  }
  const bool rides_along = !sent_.empty() && pace_.rides_along(sent_.size(), sent_.front().asked, r.asked);
  put(std::move(r));
  if (rides_along) {
    return arm(sent_.back().asked + longest_ride);
  }
  const auto by = connection_;
  lock.unlock();
  by->flush();
}

/// With the mutex held, so that the order of the bytes is that of the queue.
void pipeline::put(request&& r) {
  if (sent_.empty()) {
    heard_ = env_->now();
  }
  connection_->put(r.bytes);
  sent_.push_back(std::move(r));
}

/// With the mutex held. Answered later, on the executor.
void pipeline::refuse(callback<void(response)> answer, error why) {
  refused_.emplace_back(std::move(answer), std::move(why));
  if (refused_.size() == 1) {
    env_->post([weak = weak_from_this()] {
      if (const auto self = weak.lock()) {
        self->answer_refused();
      }
    });
  }
}

void pipeline::answer_refused() {
  decltype(refused_) all;
  {
    const std::lock_guard lock(mutex_);
    all.swap(refused_);
  }
  for (auto& [answer, why] : all) {
    answer(not_sent(std::move(why)));
  }
}

bool pipeline::released(std::uint64_t owner) {
  const std::lock_guard lock(mutex_);
  return released_since(owner);
}

/// With the mutex held. Looked for only when a script was not known or a waiter was refused.
bool pipeline::released_since(std::uint64_t owner) const {
  const auto ends_it = [&](const request& r) { return r.tag.ends && r.tag.owner == owner; };
  return std::any_of(sent_.begin(), sent_.end(), ends_it) ||
         std::any_of(waiting_.begin(), waiting_.end(), ends_it);
}

void pipeline::trying() {
  const std::lock_guard lock(mutex_);
  if (state_ != state::closed) {
    state_ = state::connecting;
  }
}

void pipeline::up(std::shared_ptr<connection> by) {
  {
    const std::lock_guard lock(mutex_);
    node_ = session_->server();
  }
  if (tell_) {
    tell_(nullptr);
  }
  {
    const std::lock_guard lock(mutex_);
    if (state_ == state::closed) {
      return;
    }
    state_ = state::up;
    connection_ = by;
    for (request& r : waiting_) {
      put(std::move(r));
    }
    waiting_.clear();
  }
  by->flush();
}

void pipeline::received(reply&& r) {
  std::optional<request> of;
  {
    const std::lock_guard lock(mutex_);
    if (state_ == state::closed) {
      return;
    }
    if (!sent_.empty()) {
      heard_ = env_->now();
      of = std::move(sent_.front());
      pace_.answered(of->asked, heard_);
      sent_.pop_front();
    }
  }
  if (!of) {
    return session_->cut({errc::protocol_error, node_ + " answered what nobody asked: " + shape_of(r)});
  }
  const bool refused = r.is(reply::kind::error);
  if (const standing s = refused && place_ ? standing_of(r.text) : standing::fine; s != standing::fine) {
    return answer_refused_by(s, std::move(*of), r);
  }
  if (of->answer) {
    of->answer({.what = response::fate::answered,
                .got = std::move(r),
                .why = {},
                .asked = std::move(of->bytes),
                .due = of->due});
  }
}

/// Another server may be the master by now. The request was not carried out, and there is hope that it will be: the caller
/// may ask again.
void pipeline::answer_refused_by(standing s, request&& of, const reply& r) {
  constexpr std::size_t enough = 200;
  const error why(errc::unreachable, node_ +
                                         (s == standing::no_master
                                              ? " is a replica now; the master is looked for ("
                                              : " has fewer replicas than min-replicas-to-write asks for (") +
                                         printable(r.text.substr(0, enough)) + ")");
  if (of.answer) {
    of.answer(not_sent(why));
  }
  if (s == standing::no_master) {
    session_->cut(why);
  } else {
    session_->doubt();
  }
}

void pipeline::down(const error& why) {
  std::deque<request> sent;
  std::deque<request> waiting;
  {
    const std::lock_guard lock(mutex_);
    if (state_ == state::closed) {
      return;
    }
    state_ = state::down;
    node_ = to_.node;
    trouble_ = why;
    connection_.reset();
    sent.swap(sent_);
    waiting.swap(waiting_);
  }
  if (tell_) {
    tell_(&why);
  }
  for (request& r : sent) {
    if (r.answer) {
      r.answer(no_answer(in_doubt(why)));
    }
  }
  for (request& r : waiting) {
    r.answer(not_sent(why));
  }
}

/// With the mutex held.
void pipeline::watch(instant due) {
  due_from_ = std::min(due_from_, due);
  arm(due_from_);
}

/// With the mutex held.
void pipeline::arm(instant when) {
  if (when >= armed_) {
    return;
  }
  if (!timer_) {
    timer_ = env_->make_timer([weak = weak_from_this()] {
      if (const auto self = weak.lock()) {
        self->on_timer();
      }
    });
  }
  armed_ = when;
  timer_->arm(when);
}

/// What still rides along is sent, and some request may be due. On the executor.
void pipeline::on_timer() {
  const instant now = env_->now();
  std::shared_ptr<connection> by;
  bool due = false;
  {
    const std::lock_guard lock(mutex_);
    if (state_ == state::closed) {
      return;
    }
    armed_ = instant::max();
    by = connection_;
    due = now >= due_from_;
    if (!due && due_from_ != instant::max()) {
      arm(due_from_);
    }
  }
  if (by) {
    by->flush();
  }
  if (due) {
    sweep(now);
  }
}

/// Those that are due get their answer: there is none. On the executor.
void pipeline::sweep(instant now) {
  std::vector<request> late;
  std::size_t unsent = 0;
  bool stalled = false;
  error still_connecting{errc::unreachable};
  {
    const std::lock_guard lock(mutex_);
    if (state_ == state::closed) {
      return;
    }
    due_from_ = instant::max();
    stalled = state_ == state::up && !sent_.empty() && now - heard_ >= stall_limit;
    instant next = sent_.empty() ? instant::max() : heard_ + stall_limit;
    for (auto r = waiting_.begin(); r != waiting_.end();) {
      if (r->due > now) {
        next = std::min(next, r->due);
        ++r;
        continue;
      }
      late.push_back(std::move(*r));
      r = waiting_.erase(r);
    }
    unsent = late.size();
    if (unsent > 0) {
      still_connecting = {errc::unreachable,
                          node_ + " cannot be spoken to yet: still connecting" +
                              (to_.where.tls ? " (does it speak TLS?)" : "") +
                              (trouble_.detail().empty() ? "" : ", after: " + trouble_.detail())};
    }
    for (request& r : sent_) {
      if (!r.answer) {
        continue;
      }
      if (r.due > now) {
        next = std::min(next, r.due);
        continue;
      }
      late.push_back(
          {.asked = r.asked, .due = r.due, .tag = r.tag, .answer = std::move(r.answer), .bytes = {}});
      r.answer = nullptr;  // its place stays: the reply may still come
    }
    if (next != instant::max()) {
      watch(std::max(next, now + sweep_step));
    }
  }
  for (std::size_t i = 0; i < late.size(); ++i) {
    late[i].answer(i < unsent ? not_sent(still_connecting)
                              : no_answer({errc::outcome_unknown, node_ + " did not answer in time"}));
  }
  if (late.size() > unsent) {
    session_->doubt();
  }
  if (stalled) {
    session_->cut({errc::unreachable, node_ + " has not answered for " +
                                          std::to_string(stall_limit.count() / 1000) +
                                          " s; connecting anew"});
  }
}

void pipeline::close() noexcept {
  std::deque<request> sent;
  std::deque<request> waiting;
  decltype(refused_) refused;
  std::shared_ptr<connection> last;
  {
    const std::lock_guard lock(mutex_);
    if (state_ == state::closed) {
      return;
    }
    state_ = state::closed;
    sent.swap(sent_);
    waiting.swap(waiting_);
    refused.swap(refused_);
    last = std::exchange(connection_, nullptr);
    timer_.reset();
  }
  session_->close();
  if (last) {
    last->close();
  }
  for (request& r : sent) {
    if (r.answer) {
      r.answer(no_answer(in_doubt(closed_by_us())));
    }
  }
  for (request& r : waiting) {
    r.answer(not_sent(closed_by_us()));
  }
  for (auto& [answer, why] : refused) {
    answer(not_sent(std::move(why)));
  }
}

}  // namespace cremone::redis
