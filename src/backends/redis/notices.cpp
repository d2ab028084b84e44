// SPDX-License-Identifier: Apache-2.0
#include "backends/redis/notices.hpp"

#include "backends/redis/errors.hpp"
#include "base/reading.hpp"

#include <algorithm>
#include <utility>

namespace cremone::redis {

notices::notices(std::shared_ptr<env> e, std::shared_ptr<transport> net, const node_settings& to,
                 std::shared_ptr<whereabouts> follow)
    : env_(std::move(e)),
      net_(std::move(net)),
      to_(to),
      follow_(std::move(follow)),
      channels_(to.prefix + (to.layout == layout::classic ? ":classic:free:" : ":free:")),
      wanted_(bucket_count, false) {}

std::string notices::channel_of(std::uint32_t bucket) const { return channels_ + std::to_string(bucket); }

bool notices::wait(const lock_name& name, const owner_id& owner, std::weak_ptr<hint_sink> sink,
                   std::uint32_t heard) {
  std::shared_ptr<connection> by;
  bool fresh = false;
  {
    const std::lock_guard lock(mutex_);
    if (closed_) {
      return false;
    }
    auto& [bucket, in_order] = crowds_[name];
    const auto known =
        std::find_if(in_order.begin(), in_order.end(), [&](const waiter& w) { return w.owner == owner; });
    fresh = known == in_order.end();
    if (!fresh) {
      known->sink = std::move(sink);
      known->told = known->told && heard_[bucket] != heard;
    } else {
      bucket = bucket_of(name.str());
      in_order.push_back({owner, std::move(sink), heard_[bucket] != heard});
      ++waiting_;
    }
    if (!wanted_[bucket]) {
      wanted_[bucket] = true;
      subscribe(bucket);
      by = connection_;
    }
    if (!session_) {
      session_ = std::make_shared<session>(env_, net_, to_, weak_from_this(), route{nullptr, follow_});
      session_->start();
    }
  }
  if (by) {
    by->flush();
  }
  return fresh;
}

/// With the mutex held. Without a connection it waits for the next one.
void notices::subscribe(std::uint32_t bucket) {
  if (connection_) {
    std::string bytes;
    append_command(bytes, {"SUBSCRIBE", channel_of(bucket)});
    connection_->put(bytes);
  }
}

void notices::leave(const lock_name& name, const owner_id& owner, bool served) {
  if (waiting_ == 0) {
    return;
  }
  std::shared_ptr<hint_sink> instead;
  {
    const std::lock_guard lock(mutex_);
    const auto crowd_at = crowds_.find(name);
    if (crowd_at == crowds_.end()) {
      return;
    }
    auto& in_order = crowd_at->second.in_order;
    const auto known =
        std::find_if(in_order.begin(), in_order.end(), [&](const waiter& w) { return w.owner == owner; });
    if (known == in_order.end()) {
      return;
    }
    const bool pass_on = known->told && !served;
    in_order.erase(known);
    --waiting_;
    if (pass_on) {
      instead = next_of(name);
    }
    if (in_order.empty()) {
      crowds_.erase(name);
    }
  }
  if (instead) {
    instead->hint();
  }
}

/// The first who waits for this lock and lives, marked as told. With the mutex held.
std::shared_ptr<hint_sink> notices::next_of(const lock_name& name) {
  const auto crowd_at = crowds_.find(name);
  if (crowd_at == crowds_.end()) {
    return nullptr;
  }
  auto& in_order = crowd_at->second.in_order;
  for (auto w = in_order.begin(); w != in_order.end();) {
    if (auto sink = w->sink.lock()) {
      w->told = true;
      return sink;
    }
    w = in_order.erase(w);  // it went without a word
    --waiting_;
  }
  return nullptr;
}

/// Of one of our channels; none if it is not.
std::optional<std::uint32_t> notices::bucket_in(std::string_view channel) const {
  if (!channel.starts_with(channels_)) {
    return std::nullopt;
  }
  const auto bucket = whole_number<std::uint32_t>(channel.substr(channels_.size()));
  return bucket && *bucket < bucket_count ? bucket : std::nullopt;
}

void notices::released(std::string_view channel, const lock_name& name) {
  const auto bucket = bucket_in(channel);
  if (!bucket) {
    return;  // not from one of ours
  }
  ++heard_[*bucket];  // before looking who waits: whoever comes later compares
  std::shared_ptr<hint_sink> first;
  {
    const std::lock_guard lock(mutex_);
    first = next_of(name);
    if (!first) {
      crowds_.erase(name);
    }
  }
  if (first) {
    first->hint();
  }
}

/// A subscription is in force. What was released before was told to nobody here.
void notices::confirmed(std::string_view channel) {
  std::optional<std::uint32_t> bucket = bucket_in(channel);
  {
    const std::lock_guard lock(mutex_);
    if (unconfirmed_ > 0) {  // all of them together, and not each time those of one
      if (--unconfirmed_ > 0) {
        return;
      }
      bucket.reset();
    }
  }
  tell_first_of_each(bucket);
}

void notices::tell_first_of_each(std::optional<std::uint32_t> bucket) {
  std::vector<std::shared_ptr<hint_sink>> all;
  {
    const std::lock_guard lock(mutex_);
    for (auto crowd_at = crowds_.begin(); crowd_at != crowds_.end();) {
      if (bucket && crowd_at->second.bucket != *bucket) {
        ++crowd_at;
        continue;
      }
      if (auto sink = next_of(crowd_at->first)) {
        all.push_back(std::move(sink));
        ++crowd_at;
      } else {
        crowd_at = crowds_.erase(crowd_at);
      }
    }
  }
  for (const auto& sink : all) {
    sink->hint();
  }
}

void notices::up(std::shared_ptr<connection> by) {
  {
    const std::lock_guard lock(mutex_);
    if (closed_) {
      return;
    }
    connection_ = by;
    unconfirmed_ = 0;
    for (std::uint32_t bucket = 0; bucket < bucket_count; ++bucket) {
      if (wanted_[bucket]) {
        subscribe(bucket);
        ++unconfirmed_;
      }
    }
  }
  by->flush();
}

void notices::received(reply&& r) {
  using kind = reply::kind;
  if (r.is(kind::error)) {
    const complaint said = understand(r.text, line()->server(), to_);
    {
      const std::lock_guard lock(mutex_);
      denied_ = error(said.code, said.detail);
      if (unconfirmed_ > 0 && --unconfirmed_ > 0) {
        return;
      }
    }
    return tell_first_of_each(std::nullopt);  // so that they hear of it when they ask
  }
  const bool event =
      r.is(kind::list) && r.items.size() == 3 && r.items[0].is(kind::text) && r.items[1].is(kind::text);
  if (event && r.items[0].text == "message" && r.items[2].is(kind::text)) {
    return released(r.items[1].text, lock_name(std::move(r.items[2].text)));
  }
  if (event && r.items[0].text == "subscribe") {
    return confirmed(r.items[1].text);
  }
  const auto s = line();
  s->cut({errc::protocol_error, s->server() + " sent " + shape_of(r) + " where a notice was due"});
}

std::shared_ptr<session> notices::line() {
  const std::lock_guard lock(mutex_);
  return session_;
}

void notices::down(const error& /*why*/) {
  const std::lock_guard lock(mutex_);
  connection_.reset();
}

std::optional<error> notices::take_denial() {
  const std::lock_guard lock(mutex_);
  if (denied_) {
    wanted_.assign(bucket_count, false);
  }
  return std::exchange(denied_, std::nullopt);
}

void notices::close() noexcept {
  std::shared_ptr<session> s;
  std::shared_ptr<connection> last;
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    s = session_;
    last = std::exchange(connection_, nullptr);
    crowds_.clear();
    waiting_ = 0;
  }
  if (s) {
    s->close();
  }
  if (last) {
    last->close();
  }
}

}  // namespace cremone::redis
