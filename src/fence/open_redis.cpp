// SPDX-License-Identifier: Apache-2.0
//
// Marks in a Redis server. Its URL is read as that of a store of locks, so that one URL does for both; what in it is about locks alone does not
// matter here.
#include "backends/redis/settings.hpp"
#include "base/text.hpp"
#include "fence/open_parts.hpp"
#include "fence/redis_advice.hpp"

#include <cremone/fence_redis.hpp>

#include <hiredis/hiredis.h>
#include <sys/time.h>

#include <utility>
#include <vector>

namespace cremone::fence {

namespace {

timeval as_timeval(std::chrono::seconds s) { return {.tv_sec = s.count(), .tv_usec = 0}; }

/// Who gave only a URL has no connection to look after.
template <class T>
result<T> of_the_tool(result<T> answer) {
  return answer ? std::move(answer)
                : error(answer.error().code(), without_reconnect_advice(answer.error().detail()));
}

class redis_marks final : public mark_store {
 public:
  redis_marks(std::shared_ptr<redisContext> connection, const redis::node_settings& to)
      : connection_(std::move(connection)), store_(to.store), gate_(connection_.get(), to.prefix) {}

  [[nodiscard]] std::string name() const override { return "Redis at " + store_; }
  [[nodiscard]] result<void> check(const resource_name& resource, fence_token token) override {
    return of_the_tool(gate_.check(resource, token));
  }
  [[nodiscard]] result<fence_token> highest(const resource_name& resource) override {
    return of_the_tool(gate_.highest(resource));
  }
  [[nodiscard]] result<void> create() override { return {}; }

 private:
  std::shared_ptr<redisContext> connection_;
  std::string store_;
  redis_gate gate_;
};

/// One command that is answered with OK or an error.
result<void> say(redisContext* connection, const std::vector<std::string>& words, errc refused,
                 const std::string& where) {
  std::vector<const char*> texts;
  std::vector<std::size_t> lengths;
  for (const std::string& word : words) {
    texts.push_back(word.data());
    lengths.push_back(word.size());
  }
  const std::unique_ptr<redisReply, void (*)(void*)> reply(
      static_cast<redisReply*>(
          ::redisCommandArgv(connection, static_cast<int>(words.size()), texts.data(), lengths.data())),
      ::freeReplyObject);
  if (!reply) {
    return error(errc::unreachable, where + " did not answer: " + one_line(connection->errstr));
  }
  if (reply->type == REDIS_REPLY_ERROR) {
    return error(refused, where + " says: " + one_line({reply->str, reply->len}));
  }
  return {};
}

result<void> log_in(redisContext* connection, const redis::node_settings& to, const std::string& where) {
  if (!to.password.empty()) {
    std::vector<std::string> words = {"AUTH"};
    if (!to.user.empty()) {
      words.push_back(to.user);
    }
    words.push_back(to.password);
    if (auto fine = say(connection, words, errc::access_denied, where); !fine) {
      return fine;
    }
  }
  if (to.db != 0) {
    return say(connection, {"SELECT", std::to_string(to.db)}, errc::misconfigured, where);
  }
  return {};
}

}  // namespace

opened_marks open_redis(const destination& where) {
  const auto to = redis::parse_settings(where.parts);
  if (!to) {
    return to.error();
  }
  const std::string name = "Redis at " + to->store;
  const timeval patience = as_timeval(connect_patience);
  const std::shared_ptr<redisContext> connection(
      to->where.path.empty() ? ::redisConnectWithTimeout(to->where.host.c_str(), to->where.port, patience)
                             : ::redisConnectUnixWithTimeout(to->where.path.c_str(), patience),
      ::redisFree);
  if (!connection || connection->err != 0) {
    return error(errc::unreachable, name + ": " + (connection ? one_line(connection->errstr) : "no memory"));
  }
  if (::redisSetTimeout(connection.get(), as_timeval(answer_patience)) != REDIS_OK) {
    return error(errc::unreachable, name + ": " + one_line(connection->errstr));
  }
  if (auto fine = log_in(connection.get(), *to, name); !fine) {
    return fine.error();
  }
  return std::unique_ptr<mark_store>(std::make_unique<redis_marks>(connection, *to));
}

}  // namespace cremone::fence
