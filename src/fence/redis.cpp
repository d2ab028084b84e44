// SPDX-License-Identifier: Apache-2.0
//
// redis_gate: fenced commands on the user's hiredis connection. Sends a command and bounds the
// size of its reply. The only file of the fence that includes hiredis. Other files decide the words
// of a command and the meaning of its reply.
#include "fence/redis_exchange.hpp"

#include <hiredis/hiredis.h>
#include <signal.h>
#include <sys/socket.h>
#include <time.h>

#include <cremone/fence_redis.hpp>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <memory>
#include <utility>
#include <vector>

namespace cremone::fence {

namespace {

constexpr std::string_view reconnect_advice =
    ". hiredis does not use this connection again: call redisReconnect(), or open another connection";

struct free_reply {
  void operator()(redisReply* r) const noexcept { freeReplyObject(r); }
};
using reply_ptr = std::unique_ptr<redisReply, free_reply>;

/// A write to a connection that the other side has closed is an error to us, and no signal that ends the program: hiredis leaves that
/// to its user, who may not have thought of it.
class broken_pipe_is_an_error {
 public:
  broken_pipe_is_an_error() noexcept {
    ::sigemptyset(&it_);
    ::sigaddset(&it_, SIGPIPE);
    ::pthread_sigmask(SIG_BLOCK, &it_, &before_);
  }
  broken_pipe_is_an_error(const broken_pipe_is_an_error&) = delete;
  broken_pipe_is_an_error& operator=(const broken_pipe_is_an_error&) = delete;
  ~broken_pipe_is_an_error() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

  /// After a write that failed. Who has the signal blocked anyway keeps it: it may be from another write.
  void forget() const noexcept {
    if (::sigismember(&before_, SIGPIPE) == 0) {
      const timespec at_once{};
      ::sigtimedwait(&it_, nullptr, &at_once);
    }
  }

 private:
  sigset_t it_{};
  sigset_t before_{};
};

std::string place(const redisContext* c) {
  if (c != nullptr && c->connection_type == REDIS_CONN_UNIX && c->unix_sock.path != nullptr) {
    return std::string("Redis ") + c->unix_sock.path;
  }
  if (c != nullptr && c->connection_type == REDIS_CONN_TCP && c->tcp.host != nullptr) {
    return std::string("Redis ") + c->tcp.host + ":" + std::to_string(c->tcp.port);
  }
  return "Redis";
}

error gone(const redisContext* c, const std::string& why) {
  return {errc::unreachable,
          place(c) + ": nothing was written, the connection is gone: " + why + std::string(reconnect_advice)};
}

error not_at_rest(const redisContext* c, std::string_view what) {
  return {errc::misconfigured,
          place(c) + ": nothing was sent, because the connection is not at rest: " + std::string(what)};
}

/// An answer that nobody has read would be taken for ours; a connection that is closed already takes what we send and says nothing.
result<void> usable(redisContext* c) {
  if (c == nullptr) {
    return error(errc::unreachable, "there is no connection to Redis: the redisContext is null");
  }
  if (c->err != 0) {
    return gone(c, c->errstr);
  }
  if ((c->flags & REDIS_BLOCK) == 0) {
    return error(errc::misconfigured,
                 place(c) + ": a fenced write needs a blocking connection, and this one is not");
  }
  if (c->obuf != nullptr && *c->obuf != '\0') {
    return not_at_rest(c, "commands wait in its pipeline; read their replies first");
  }
  constexpr const char* unread = "there are replies that were not read";
  if (c->reader->pos < c->reader->len) {
    return not_at_rest(c, unread);
  }
  char next = 0;
  const auto seen = ::recv(c->fd, &next, 1, MSG_PEEK | MSG_DONTWAIT);
  if (seen == 0) {
    return gone(c, "the server has closed it");
  }
  if (seen < 0 && errno == ECONNRESET) {
    return gone(c, "the server has reset it");
  }
  // A push of RESP3 and a record of TLS begin otherwise, and may come at any time.
  if (seen > 0 && std::string_view("+-:$*_,#!=(%~").find(next) != std::string_view::npos) {
    return not_at_rest(c, unread);
  }
  return {};
}

/// A command that did not leave whole is not executed.
result<void> send(redisContext* c, std::vector<const char*>& words, const std::vector<std::size_t>& sizes) {
  if (redisAppendCommandArgv(c, static_cast<int>(words.size()), words.data(), sizes.data()) != REDIS_OK) {
    return gone(c, c->errstr);
  }
  const broken_pipe_is_an_error guard;
  for (int done = 0; done == 0;) {
    if (redisBufferWrite(c, &done) != REDIS_OK) {
      guard.forget();
      return gone(c, c->errstr);
    }
  }
  return {};
}

/// What hiredis has read, as our own reply. Each type that a newer hiredis adds is a text, an
/// integer or a list as well.
redis::reply converted(const redisReply& r) {
  using kind = redis::reply::kind;
  switch (r.type) {
    case REDIS_REPLY_NIL: return {};
    case REDIS_REPLY_INTEGER: return {.what = kind::integer, .number = r.integer, .text = {}, .items = {}};
    default: break;
  }
  if (r.str != nullptr) {
    const kind what = r.type == REDIS_REPLY_ERROR    ? kind::error
                      : r.type == REDIS_REPLY_STATUS ? kind::status
                                                     : kind::text;
    return {.what = what, .number = 0, .text = std::string(r.str, r.len), .items = {}};
  }
  redis::reply list{.what = kind::list, .number = 0, .text = {}, .items = {}};
  list.items.reserve(r.elements);
  for (std::size_t i = 0; i < r.elements; ++i) {
    list.items.push_back(converted(*r.element[i]));
  }
  return list;
}

/// hiredis refuses to use the connection from now on, as after an error of its own.
void give_up(redisContext* c, std::string_view why) noexcept {
  c->err = REDIS_ERR_PROTOCOL;
  c->errstr[why.copy(c->errstr, sizeof c->errstr - 1)] = '\0';
}

/// As redisGetReply() with nothing to send, but it stops reading at redis_largest_reply.
reply_ptr receive(redisContext* c) {
  void* reply = nullptr;
  for (std::size_t bytes = 0; reply == nullptr;) {
    const std::size_t before = c->reader->len;
    if (redisBufferRead(c) != REDIS_OK) {
      return nullptr;
    }
    bytes += c->reader->len - before;
    c->flags &= ~REDIS_BLOCK;  // then it only parses what was read, and handles pushes of RESP3
    const int parsed = redisGetReply(c, &reply);
    c->flags |= REDIS_BLOCK;
    if (parsed != REDIS_OK) {
      return nullptr;
    }
    if (reply == nullptr && bytes > redis_largest_reply) {
      give_up(c, "its reply is longer than 8 MiB");
      return nullptr;
    }
  }
  return reply_ptr(static_cast<redisReply*>(reply));
}
static_assert(redis_largest_reply == std::size_t{8} << 20U, "the message says 8 MiB");

class users_connection final : public redis_exchange {
 public:
  explicit users_connection(redisContext* c) noexcept : c_(c) {}

  [[nodiscard]] std::string place() const override { return fence::place(c_); }
  [[nodiscard]] result<void> ready() override { return usable(c_); }

  [[nodiscard]] result<redis::reply> ask(std::span<const std::string_view> words, effect what) override {
    std::vector<const char*> texts;
    std::vector<std::size_t> sizes;
    texts.reserve(words.size());
    sizes.reserve(words.size());
    for (const std::string_view word : words) {
      texts.push_back(word.data());
      sizes.push_back(word.size());
    }
    if (const auto sent = send(c_, texts, sizes); !sent) {
      return sent.error();
    }
    const reply_ptr reply = receive(c_);
    if (!reply) {
      const error why = without_reply(place(), c_->errstr, what);
      return error(why.code(), why.detail() + std::string(reconnect_advice));
    }
    return converted(*reply);
  }

 private:
  redisContext* c_;
};

}  // namespace

result<void> redis_gate::set(const resource_name& resource, fence_token token, std::string_view key,
                             std::string_view value, std::optional<std::chrono::milliseconds> ttl) {
  users_connection over(connection_);
  return run_to_ok(over, resource, commands_.set(resource, token, key, value, ttl));
}

result<std::int64_t> redis_gate::hset(const resource_name& resource, fence_token token, std::string_view key,
                                      std::span<const redis_field> fields) {
  users_connection over(connection_);
  return run_to_count(over, resource, commands_.hset(resource, token, key, fields));
}

result<std::int64_t> redis_gate::del(const resource_name& resource, fence_token token,
                                     std::span<const std::string> keys) {
  users_connection over(connection_);
  return run_to_count(over, resource, commands_.del(resource, token, keys));
}

result<redis_reply> redis_gate::run(const resource_name& resource, fence_token token, std::string_view script,
                                    std::span<const std::string> keys,
                                    std::span<const std::string> arguments) {
  users_connection over(connection_);
  return run_command(over, resource, commands_.run(resource, token, script, keys, arguments));
}

result<void> redis_gate::check(const resource_name& resource, fence_token token) {
  users_connection over(connection_);
  return run_to_ok(over, resource, commands_.check(resource, token));
}

result<fence_token> redis_gate::highest(const resource_name& resource) {
  users_connection over(connection_);
  return read_highest(over, commands_, resource);
}

}  // namespace cremone::fence
