// SPDX-License-Identifier: Apache-2.0
//
// Marks in a Redis server, on the tool's own connection. The URL is that of a store of locks, so
// one URL does for both. Options that concern locks alone have no effect here.
#include "backends/redis/settings.hpp"
#include "base/text.hpp"
#include "fence/open_parts.hpp"
#include "fence/redis_line.hpp"

#include <cremone/fence_redis.hpp>

#include <utility>
#include <vector>

namespace cremone::fence {

namespace {

class redis_marks final : public mark_store {
 public:
  redis_marks(std::unique_ptr<redis_line> over, std::string prefix)
      : over_(std::move(over)), commands_(std::move(prefix)) {}

  [[nodiscard]] std::string name() const override { return over_->place(); }
  [[nodiscard]] result<void> check(const resource_name& resource, fence_token token) override {
    return run_to_ok(*over_, resource, commands_.check(resource, token));
  }
  [[nodiscard]] result<fence_token> highest(const resource_name& resource) override {
    return read_highest(*over_, commands_, resource);
  }
  [[nodiscard]] result<void> create() override { return {}; }

 private:
  std::unique_ptr<redis_line> over_;
  redis_commands commands_;
};

/// The server's reply to AUTH, or advice where the reply may contain the password: a server that
/// does not know AUTH repeats the whole command.
std::string shown_refusal(const std::string& said, const std::string& password) {
  const bool repeats = said.starts_with("ERR unknown command") || said.find(password) != std::string::npos;
  return repeats ? "AUTH failed. The server's message is not shown, because it may repeat the password. "
                   "Check that the server is Redis, and check the user and the password"
                 : "it says: " + one_line(said);
}

/// One command that is answered with OK or an error.
result<redis::reply> say(redis_line& over, std::initializer_list<std::string_view> words) {
  return over.ask({words.begin(), words.size()}, redis_exchange::effect::none);
}

result<void> log_in(redis_line& over, const redis::node_settings& to) {
  if (!to.password.empty()) {
    const auto said =
        to.user.empty() ? say(over, {"AUTH", to.password}) : say(over, {"AUTH", to.user, to.password});
    if (!said) {
      return said.error();
    }
    if (said->is(redis::reply::kind::error)) {
      return error(errc::access_denied, over.place() + ": " + shown_refusal(said->text, to.password));
    }
  }
  if (to.db != 0) {
    const auto said = say(over, {"SELECT", std::to_string(to.db)});
    if (!said) {
      return said.error();
    }
    if (said->is(redis::reply::kind::error)) {
      return error(said->text.starts_with("NOAUTH") ? errc::access_denied : errc::misconfigured,
                   over.place() + ": it says: " + one_line(said->text));
    }
  }
  return {};
}

}  // namespace

opened_marks open_redis(const destination& where) {
  const auto to = redis::parse_settings(where.parts);
  if (!to) {
    return to.error();
  }
  auto over = redis_line::open(to->where, "Redis at " + to->store);
  if (!over) {
    return over.error();
  }
  if (auto fine = log_in(**over, *to); !fine) {
    return fine.error();
  }
  return std::unique_ptr<mark_store>(std::make_unique<redis_marks>(std::move(*over), to->prefix));
}

}  // namespace cremone::fence
