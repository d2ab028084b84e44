// SPDX-License-Identifier: Apache-2.0
#include "backends/redis/session.hpp"

#include "backends/redis/errors.hpp"
#include "base/check.hpp"
#include "base/text.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

namespace cremone::redis {

namespace {

constexpr std::chrono::milliseconds first_pause{10};
constexpr std::chrono::milliseconds longest_pause{1000};

/// A connection that lasted this long was a good one: the next attempt need not wait for long.
constexpr std::chrono::milliseconds good_while{1000};

constexpr std::size_t longest_role = 20;  // to be shown

std::uint64_t seed_from(env& e) {
  std::array<std::uint8_t, 8> raw{};
  e.random(raw);
  std::uint64_t seed = 0;
  std::memcpy(&seed, raw.data(), sizeof seed);
  return seed;
}

}  // namespace

/// The events of one connection.
class session::line final : public connection_events {
 public:
  explicit line(std::weak_ptr<session> of) : session_(std::move(of)) {}

  void opened() override {
    if (const auto s = current()) {
      s->greet();
    }
  }
  void received(std::string_view bytes) override {
    if (const auto s = current()) {
      s->take(bytes);
    }
  }
  void closed(const error& why) override {
    if (const auto s = current()) {
      s->lost(why);
    }
  }

 private:
  [[nodiscard]] std::shared_ptr<session> current() {
    auto s = session_.lock();
    return s && !s->closed_ && s->line_.get() == this ? s : nullptr;
  }

  const std::weak_ptr<session> session_;
};

session::session(std::shared_ptr<env> e, std::shared_ptr<transport> net, node_settings to,
                 std::weak_ptr<session_user> user, route by)
    : env_(std::move(e)),
      net_(std::move(net)),
      to_(std::move(to)),
      user_(std::move(user)),
      route_(std::move(by)),
      pauses_(first_pause, longest_pause, seed_from(*env_)) {
  CREMONE_CHECK(to_.sentinels.has_value() == (route_.to != nullptr));
}

void session::start() {
  env_->post([weak = weak_from_this()] {
    const auto self = weak.lock();
    if (!self || self->stage_ != stage::idle || self->closed_) {
      return;
    }
    if (self->route_.to && !self->route_.by) {
      self->route_.to->on_arrival([weak] {
        if (const auto follower = weak.lock(); follower && !follower->closed_) {
          follower->follow();
        }
      });
    }
    self->connect();
  });
}

std::string session::server() const {
  return at_ ? at_->shown() + " of '" + to_.sentinels->master + "'" : to_.node;
}

void session::connect() {
  if (!timer_) {
    timer_ = env_->make_timer([weak = weak_from_this()] {
      if (const auto self = weak.lock(); self && !self->closed_) {
        self->on_timer();
      }
    });
  }
  const bool follows = route_.to && !route_.by;
  if (follows && !route_.to->at()) {
    return;  // until it is known where
  }
  if (const auto user = user_.lock()) {
    user->trying();
  }
  stage_ = stage::connecting;
  tried_at_ = env_->now();
  timer_->arm(tried_at_ + connect_limit);
  if (route_.by) {
    return look();
  }
  if (follows) {
    at_ = route_.to->at();
  }
  open_at(follows ? *at_ : to_.where);
}

void session::look() {
  route_.by->find([weak = weak_from_this()](const result<sighted_master>& found) {
    const auto self = weak.lock();
    if (!self || self->closed_ || self->stage_ != stage::connecting) {
      return;
    }
    if (!found) {
      return self->lost(found.error());
    }
    self->at_ = found->at;
    self->said_by_ = found->said_by;
    self->open_at(found->at);
  });
}

void session::open_at(const endpoint& place) {
  reader_ =
      reply_reader(to_.password.empty() ? reply_reader::beginning::shown : reply_reader::beginning::hidden);
  line_ = std::make_shared<line>(weak_from_this());
  connection_ = net_->open(place, line_);
}

/// Who leads has arrived at the master.
void session::follow() {
  if (stage_ != stage::idle) {
    const std::string there = route_.to->at()->shown();
    if (at_->shown() == there) {
      return;
    }
    lost({errc::unreachable, server() + " is no longer the master; that is " + there});
  }
  connect();
}

void session::doubt() {
  const instant now = env_->now();
  if (!route_.by || stage_ != stage::up || now < no_doubt_before_) {
    return;
  }
  no_doubt_before_ = now + doubt_pause;
  route_.by->find([weak = weak_from_this()](const result<sighted_master>& found) {
    const auto self = weak.lock();
    if (!self || self->closed_ || self->stage_ != stage::up) {
      return;
    }
    if (found && found->at.shown() != self->at_->shown()) {
      self->lost({errc::unreachable, self->server() + " is no longer the master; that is " +
                                         found->at.shown() + ", says sentinel " + found->said_by});
    }
  });
}

void session::on_timer() {
  switch (stage_) {
    case stage::idle: return connect();
    case stage::connecting:
      return lost({errc::unreachable, server() + " did not let us in within " +
                                          std::to_string(connect_limit.count()) + " ms" +
                                          (to_.where.tls ? "; does it speak TLS?" : "")});
    case stage::up: timer_->arm(env_->now() + check_pause); return doubt();
  }
}

/// All at once, one round trip. The answer to PING says that we may speak, that to ROLE that it is of use.
void session::greet() {
  std::string bytes;
  greetings_ = 0;
  const auto say = [&](std::initializer_list<std::string_view> words) {
    append_command(bytes, words);
    ++greetings_;
  };
  if (!to_.user.empty()) {
    say({"AUTH", to_.user, to_.password});
  } else if (!to_.password.empty()) {
    say({"AUTH", to_.password});
  }
  if (to_.db != 0) {
    say({"SELECT", std::to_string(to_.db)});
  }
  say({"PING"});
  if (route_.to) {
    say({"ROLE"});
  }
  greetings_due_ = greetings_;
  connection_->put(bytes);
  connection_->flush();
}

void session::take(std::string_view bytes) {
  const auto from = line_;
  reader_.feed(bytes);
  while (line_ == from && !closed_) {  // whoever is told of a reply may cut or close
    auto next = reader_.next();
    if (!next) {
      return lost({next.error().code(), server() + " " + next.error().detail()});
    }
    if (!*next) {
      return;
    }
    if (stage_ == stage::connecting) {
      if (!greeted(**next)) {
        return;
      }
      continue;
    }
    if (const auto user = user_.lock()) {
      user->received(std::move(**next));
    }
  }
}

/// One answer to the greeting. False when it is none.
bool session::greeted(const reply& r) {
  if (r.is(reply::kind::error)) {
    // AUTH is said first, and is all that a server could repeat a password from.
    const bool to_auth = !to_.password.empty() && greetings_due_ == greetings_;
    const complaint said = understand(r.text, server(), to_, !to_auth);
    lost({said.code, said.detail});
    return false;
  }
  const bool to_role = route_.to && greetings_due_ == 1;
  if (to_role && !answered_role(r)) {
    return false;
  }
  if (!to_role && !r.is(reply::kind::status)) {
    lost({errc::protocol_error,
          server() + " answered the greeting with " + shape_of(r) + "; is it a Redis server?"});
    return false;
  }
  if (--greetings_due_ == 0) {
    come_up();
  }
  return true;
}

/// A sentinel may not have heard yet, or be cut off from those who know better. False when it is no master.
bool session::answered_role(const reply& r) {
  if (!r.is(reply::kind::list) || r.items.empty() || !r.items[0].is(reply::kind::text)) {
    lost({errc::protocol_error, server() + " answered ROLE with " + shape_of(r)});
    return false;
  }
  if (r.items[0].text != "master") {
    lost({errc::unreachable, server() + " is not the master: its role is " +
                                 printable(r.items[0].text.substr(0, longest_role))});
    return false;
  }
  return true;
}

void session::come_up() {
  stage_ = stage::up;
  up_since_ = env_->now();
  timer_->disarm();
  if (route_.by) {
    timer_->arm(up_since_ + check_pause);
  }
  if (const auto user = user_.lock()) {
    user->up(connection_);
  }
  if (route_.by && stage_ == stage::up) {
    route_.to->arrived(*at_);
  }
}

void session::hurry() {
  if (closed_ || stage_ != stage::idle || retry_at_ == instant{}) {
    return;
  }
  retry_at_ = std::min(retry_at_, std::max(env_->now(), tried_at_ + hurried_pause));
  timer_->arm(retry_at_);
}

void session::cut(const error& why) {
  if (!closed_ && stage_ != stage::idle) {
    lost(why);
  }
}

void session::lost(error why) {
  const instant now = env_->now();
  if (stage_ == stage::up && now - up_since_ >= good_while) {
    pauses_.reset();
  }
  if (route_.by && stage_ == stage::connecting && at_) {
    route_.by->led_astray();
    why = {why.code(), why.detail() + "; sentinel " + said_by_ + " calls it the master"};
  }
  if (route_.by) {
    route_.to->left();
  }
  stage_ = stage::idle;
  at_.reset();
  line_.reset();
  if (const auto old = std::exchange(connection_, nullptr)) {
    old->close();
  }
  retry_at_ = now + pauses_.pause();
  timer_->arm(retry_at_);
  if (const auto user = user_.lock()) {
    user->down(why);
  }
}

void session::close() noexcept {
  if (closed_.exchange(true)) {
    return;
  }
  // What is on the executor only is let go there; if that has ended by then, with this object.
  env_->post([self = shared_from_this()] {
    self->timer_.reset();
    self->line_.reset();
    if (self->route_.by) {
      self->route_.by->close();
    }
    if (const auto old = std::exchange(self->connection_, nullptr)) {
      old->close();
    }
  });
}

}  // namespace cremone::redis
