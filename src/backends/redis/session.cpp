// SPDX-License-Identifier: Apache-2.0
#include "backends/redis/session.hpp"

#include "backends/redis/errors.hpp"

#include <array>
#include <cstring>
#include <utility>

namespace cremone::redis {

namespace {

constexpr std::chrono::milliseconds first_pause{10};
constexpr std::chrono::milliseconds longest_pause{1000};

/// A connection that lasted this long was a good one: the next attempt need not wait for long.
constexpr std::chrono::milliseconds good_while{1000};

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
                 std::weak_ptr<session_user> user)
    : env_(std::move(e)),
      net_(std::move(net)),
      to_(std::move(to)),
      user_(std::move(user)),
      pauses_(first_pause, longest_pause, seed_from(*env_)) {}

void session::start() {
  env_->post([weak = weak_from_this()] {
    if (const auto self = weak.lock(); self && self->stage_ == stage::idle && !self->closed_) {
      self->connect();
    }
  });
}

void session::connect() {
  if (!timer_) {
    timer_ = env_->make_timer([weak = weak_from_this()] {
      if (const auto self = weak.lock(); self && !self->closed_) {
        self->on_timer();
      }
    });
  }
  if (const auto user = user_.lock()) {
    user->trying();
  }
  stage_ = stage::connecting;
  reader_ =
      reply_reader(to_.password.empty() ? reply_reader::beginning::shown : reply_reader::beginning::hidden);
  line_ = std::make_shared<line>(weak_from_this());
  timer_->arm(env_->now() + connect_limit);
  connection_ = net_->open(to_.where, line_);
}

void session::on_timer() {
  switch (stage_) {
    case stage::idle: return connect();
    case stage::connecting:
      return lost({errc::unreachable, to_.node + " did not let us in within " +
                                          std::to_string(connect_limit.count()) + " ms" +
                                          (to_.where.tls ? "; does it speak TLS?" : "")});
    case stage::up: return;
  }
}

/// All at once, one round trip. PING comes last: its answer says that we may speak.
void session::greet() {
  std::string bytes;
  greetings_due_ = 0;
  const auto say = [&](std::initializer_list<std::string_view> words) {
    append_command(bytes, words);
    ++greetings_due_;
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
  connection_->put(bytes);
  connection_->flush();
}

void session::take(std::string_view bytes) {
  const auto from = line_;
  reader_.feed(bytes);
  while (line_ == from && !closed_) {  // whoever is told of a reply may cut or close
    auto next = reader_.next();
    if (!next) {
      return lost({next.error().code(), to_.node + " " + next.error().detail()});
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
    const bool to_auth = !to_.password.empty() && greetings_due_ == (to_.db != 0 ? 3U : 2U);
    const complaint said = understand(r.text, to_.node, !to_auth);
    lost({said.code, said.detail});
    return false;
  }
  if (!r.is(reply::kind::status)) {
    lost({errc::protocol_error,
          to_.node + " answered the greeting with " + shape_of(r) + "; is it a Redis server?"});
    return false;
  }
  if (--greetings_due_ > 0) {
    return true;
  }
  stage_ = stage::up;
  up_since_ = env_->now();
  timer_->disarm();
  if (const auto user = user_.lock()) {
    user->up(connection_);
  }
  return true;
}

void session::cut(const error& why) {
  if (!closed_ && stage_ != stage::idle) {
    lost(why);
  }
}

void session::lost(const error& why) {
  const instant now = env_->now();
  if (stage_ == stage::up && now - up_since_ >= good_while) {
    pauses_.reset();
  }
  stage_ = stage::idle;
  line_.reset();
  if (const auto old = std::exchange(connection_, nullptr)) {
    old->close();
  }
  timer_->arm(now + pauses_.pause());
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
    if (const auto old = std::exchange(self->connection_, nullptr)) {
      old->close();
    }
  });
}

}  // namespace cremone::redis
