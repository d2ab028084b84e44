// SPDX-License-Identifier: Apache-2.0
#include "backends/redis/wakes.hpp"

#include "backends/redis/errors.hpp"
#include "backends/redis/owner_text.hpp"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

namespace cremone::redis {

namespace {

constexpr std::size_t most_early = 64;

std::string random_name(env& e) {
  owner_id::bytes raw{};
  e.random(raw);
  return owner_id(raw).hex().substr(0, 16);
}

}  // namespace

wakes::wakes(std::shared_ptr<env> e, std::shared_ptr<transport> net, const node_settings& to,
             std::shared_ptr<whereabouts> follow)
    : env_(std::move(e)),
      net_(std::move(net)),
      to_(to),
      follow_(std::move(follow)),
      channel_("-" + to.prefix + ":wake:" + random_name(*env_)) {}

void wakes::wait(const lock_name& name, const owner_id& owner, std::weak_ptr<hint_sink> sink, bool listened) {
  std::shared_ptr<hint_sink> at_once;
  bool note = false;
  std::shared_ptr<session> fresh;
  {
    const std::lock_guard lock(mutex_);
    if (closed_) {
      return;
    }
    if (const auto early = std::find(early_.begin(), early_.end(), owner); early != early_.end()) {
      early_.erase(early);
      at_once = sink.lock();
    }
    waiting_.insert_or_assign(owner, waiter{name, std::move(sink)});
    if (!session_) {
      session_ = std::make_shared<session>(env_, net_, to_, weak_from_this(), route{nullptr, follow_});
      fresh = session_;
    }
    note = !listened && listening_;  // it came too late for the note about all the others
  }
  if (fresh) {
    fresh->start();
  }
  if (note) {
    note_(name, {owner});
  }
  if (at_once) {
    at_once->hint();
  }
}

void wakes::leave(const owner_id& owner) noexcept {
  const std::lock_guard lock(mutex_);
  waiting_.erase(owner);
}

void wakes::subscribe() {
  std::string bytes;
  append_command(bytes, {"SUBSCRIBE", std::string_view(channel_).substr(1)});
  connection_->put(bytes);
}

void wakes::up(std::shared_ptr<connection> by) {
  {
    const std::lock_guard lock(mutex_);
    if (closed_) {
      return;
    }
    connection_ = by;
    subscribe();
  }
  by->flush();
}

void wakes::called(const owner_id& owner, news what) {
  std::shared_ptr<hint_sink> sink;
  {
    const std::lock_guard lock(mutex_);
    const auto known = waiting_.find(owner);
    if (known == waiting_.end() && what == news::next) {
      return;  // it has just asked, and knows its place
    }
    if (known == waiting_.end()) {
      early_.push_back(owner);
      if (early_.size() > most_early) {
        early_.pop_front();
      }
      return;
    }
    sink = known->second.sink.lock();
  }
  if (sink) {
    what == news::turn ? sink->hint() : sink->next();
  }
}

/// After a time in which nobody could be told, everybody asks again.
void wakes::tell_all() {
  std::vector<std::shared_ptr<hint_sink>> all;
  {
    const std::lock_guard lock(mutex_);
    for (auto w = waiting_.begin(); w != waiting_.end();) {
      if (auto sink = w->second.sink.lock()) {
        all.push_back(std::move(sink));
        ++w;
      } else {
        w = waiting_.erase(w);  // it went without a word
      }
    }
  }
  for (const auto& sink : all) {
    sink->hint();
  }
}

void wakes::note_all() {
  std::map<lock_name, std::vector<owner_id>> locks;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [owner, w] : waiting_) {
      locks[w.name].push_back(owner);
    }
  }
  for (const auto& [name, owners] : locks) {
    note_(name, owners);
  }
}

void wakes::received(reply&& r) {
  using kind = reply::kind;
  if (r.is(kind::error)) {
    const complaint said = understand(r.text, line()->server(), to_);
    {
      const std::lock_guard lock(mutex_);
      denied_ = error(said.code, said.detail);
    }
    return tell_all();  // so that they hear of it when they ask
  }
  const bool event = r.is(kind::list) && r.items.size() == 3 && r.items[0].is(kind::text);
  if (event && r.items[0].text == "message" && r.items[2].is(kind::text)) {
    const std::string_view message = r.items[2].text;
    const bool next = message.starts_with('+');
    if (const auto owner = parse_owner(message.substr(next ? 1 : 0))) {
      called(*owner, next ? news::next : news::turn);
    }
    return;
  }
  if (event && r.items[0].text == "subscribe") {
    {
      const std::lock_guard lock(mutex_);
      listening_ = true;
    }
    return std::exchange(was_lost_, false) ? tell_all() : note_all();
  }
  const auto s = line();
  s->cut({errc::protocol_error, s->server() + " sent " + shape_of(r) + " where a wake was due"});
}

std::shared_ptr<session> wakes::line() {
  const std::lock_guard lock(mutex_);
  return session_;
}

void wakes::down(const error& /*why*/) {
  was_lost_ = listening_.exchange(false) || was_lost_;
  const std::lock_guard lock(mutex_);
  connection_.reset();
}

std::optional<error> wakes::take_denial() {
  std::shared_ptr<connection> by;
  std::optional<error> told;
  {
    const std::lock_guard lock(mutex_);
    told = std::exchange(denied_, std::nullopt);
    if (told && connection_) {
      subscribe();
      by = connection_;
    }
  }
  if (by) {
    by->flush();
  }
  return told;
}

void wakes::close() noexcept {
  std::shared_ptr<session> s;
  std::shared_ptr<connection> last;
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    s = session_;
    last = std::exchange(connection_, nullptr);
    waiting_.clear();
  }
  if (s) {
    s->close();
  }
  if (last) {
    last->close();
  }
}

}  // namespace cremone::redis
