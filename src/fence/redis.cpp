// SPDX-License-Identifier: Apache-2.0
//
// Fenced commands on the user's hiredis connection: says them, and knows for each whether it was said at all, and whether it was answered.
// The only file of the fence that knows hiredis. What the words are and what errors mean is decided elsewhere.
#include "base/reading.hpp"
#include "fence/redis_advice.hpp"

#include <hiredis/hiredis.h>
#include <signal.h>
#include <sys/socket.h>
#include <time.h>

#include <cremone/fence_redis.hpp>

#include <algorithm>
#include <cerrno>
#include <initializer_list>
#include <memory>
#include <optional>

namespace cremone::fence {

namespace {

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

error unanswered(const redisContext* c, errc code, const std::string& meaning) {
  return {code, place(c) + ": the command was sent and not answered (" + c->errstr + "), " + meaning +
                    std::string(reconnect_advice)};
}

error perhaps_done(const redisContext* c) {
  return unanswered(c, errc::outcome_unknown,
                    "so that it may have been executed; with the same token it may be repeated");
}

error nothing_to_do(const redisContext* c) {
  return unanswered(c, errc::unreachable, "and only asks: nothing was to be written");
}

result<reply_ptr> ask(redisContext* c, error (*without_answer)(const redisContext*),
                      std::initializer_list<std::string_view> first, std::span<const std::string> rest = {}) {
  std::vector<const char*> words;
  std::vector<std::size_t> sizes;
  words.reserve(first.size() + rest.size());
  sizes.reserve(first.size() + rest.size());
  const auto add = [&](std::string_view word) {
    words.push_back(word.data());
    sizes.push_back(word.size());
  };
  std::for_each(first.begin(), first.end(), add);
  std::for_each(rest.begin(), rest.end(), add);
  if (const auto sent = send(c, words, sizes); !sent) {
    return sent.error();
  }
  void* answer = nullptr;
  if (redisGetReply(c, &answer) != REDIS_OK || answer == nullptr) {
    return without_answer(c);
  }
  return reply_ptr(static_cast<redisReply*>(answer));
}

/// Any of the types that a newer hiredis has is text, an integer or a list, too.
redis_reply converted(const redisReply& r) {
  switch (r.type) {
    case REDIS_REPLY_NIL: return {};
    case REDIS_REPLY_INTEGER: return {static_cast<std::int64_t>(r.integer)};
    default: break;
  }
  if (r.str != nullptr) {
    return {std::string(r.str, r.len)};
  }
  std::vector<redis_reply> all;
  all.reserve(r.elements);
  for (std::size_t i = 0; i < r.elements; ++i) {
    all.push_back(converted(*r.element[i]));
  }
  return {std::move(all)};
}

error unexpected(const redisContext* c, const resource_name& resource) {
  return {errc::protocol_error, "resource '" + resource.str() + "' in " + place(c) +
                                    ": the answer is none that this command has; is it Redis?"};
}

/// Between MULTI and EXEC nothing is answered, only kept; whether the token passes is known at EXEC, to whoever reads that.
std::optional<error> queued(const redisContext* c, const redisReply& r) {
  if (r.type != REDIS_REPLY_STATUS || std::string_view(r.str, r.len) != "QUEUED") {
    return std::nullopt;
  }
  return error(errc::misconfigured,
               place(c) +
                   ": the connection is in a MULTI: DISCARD it; the command was only queued, and nothing was "
                   "written, but EXEC would execute it");
}

bool is_noscript(const redisReply& r) {
  return r.type == REDIS_REPLY_ERROR && std::string_view(r.str, r.len).starts_with("NOSCRIPT");
}

result<redis_reply> answer_to(redisContext* c, const resource_name& resource,
                              const result<redis_command>& what) {
  if (!what) {
    return what.error();
  }
  if (const auto fine = usable(c); !fine) {
    return fine.error();
  }
  auto said = ask(c, perhaps_done, {"EVALSHA", what->sha}, what->words);
  if (said && is_noscript(**said)) {
    said = ask(c, perhaps_done, {"EVAL", what->script}, what->words);
  }
  if (!said) {
    return said.error();
  }
  const redisReply& r = **said;
  if (const auto kept = queued(c, r)) {
    return *kept;
  }
  if (r.type == REDIS_REPLY_ERROR) {
    return read_redis_error({r.str, r.len}, resource, place(c));
  }
  return converted(r);
}

result<void> done(redisContext* c, const resource_name& resource, const result<redis_command>& what) {
  const auto answer = answer_to(c, resource, what);
  if (!answer) {
    return answer.error();
  }
  const auto* const text = std::get_if<std::string>(&answer->value);
  if (text == nullptr || *text != "OK") {
    return unexpected(c, resource);
  }
  return {};
}

result<std::int64_t> counted(redisContext* c, const resource_name& resource,
                             const result<redis_command>& what) {
  const auto answer = answer_to(c, resource, what);
  if (!answer) {
    return answer.error();
  }
  const auto* const number = std::get_if<std::int64_t>(&answer->value);
  if (number == nullptr) {
    return unexpected(c, resource);
  }
  return *number;
}

}  // namespace

result<void> redis_gate::set(const resource_name& resource, fence_token token, std::string_view key,
                             std::string_view value, std::optional<std::chrono::milliseconds> ttl) {
  return done(connection_, resource, commands_.set(resource, token, key, value, ttl));
}

result<std::int64_t> redis_gate::hset(const resource_name& resource, fence_token token, std::string_view key,
                                      std::span<const redis_field> fields) {
  return counted(connection_, resource, commands_.hset(resource, token, key, fields));
}

result<std::int64_t> redis_gate::del(const resource_name& resource, fence_token token,
                                     std::span<const std::string> keys) {
  return counted(connection_, resource, commands_.del(resource, token, keys));
}

result<redis_reply> redis_gate::run(const resource_name& resource, fence_token token, std::string_view script,
                                    std::span<const std::string> keys,
                                    std::span<const std::string> arguments) {
  return answer_to(connection_, resource, commands_.run(resource, token, script, keys, arguments));
}

result<void> redis_gate::check(const resource_name& resource, fence_token token) {
  return done(connection_, resource, commands_.check(resource, token));
}

result<fence_token> redis_gate::highest(const resource_name& resource) {
  const auto key = commands_.mark_key(resource);
  if (!key) {
    return key.error();
  }
  if (const auto fine = usable(connection_); !fine) {
    return fine.error();
  }
  const auto said = ask(connection_, nothing_to_do, {"GET", *key});
  if (!said) {
    return said.error();
  }
  const redisReply& r = **said;
  if (const auto kept = queued(connection_, r)) {
    return *kept;
  }
  const std::string_view text = r.str == nullptr ? std::string_view{} : std::string_view(r.str, r.len);
  if (r.type == REDIS_REPLY_NIL) {
    return fence_token{};
  }
  const auto number = whole_number<std::uint64_t>(text);
  const bool digits = text.find_first_not_of("0123456789") == std::string_view::npos;
  if (r.type == REDIS_REPLY_STRING && digits && number && *number < fence_token::limit) {
    return fence_token(*number);
  }
  if (r.type == REDIS_REPLY_ERROR && !text.starts_with("WRONGTYPE")) {
    return read_redis_error(text, resource, place(connection_));
  }
  return read_redis_error("BADMARK something that is no fence token stands at " + *key, resource,
                          place(connection_));
}

}  // namespace cremone::fence
