// SPDX-License-Identifier: Apache-2.0
#include "sim/redis/commands.hpp"

#include "sim/redis/access.hpp"

#include <algorithm>
#include <array>

namespace cremone::sim {

namespace {

constexpr auto at_top = allowed::not_in_scripts;
constexpr auto listening = allowed::when_subscribed;

constexpr std::array table = {
    command{"auth", -2, run_auth, at_top},
    command{"config", -2, nullptr, at_top},
    command{"config|get", -3, run_config_get, at_top},
    command{"config|resetstat", 2, run_config_resetstat, at_top},
    command{"dbsize", 1, run_dbsize},
    command{"del", -2, run_del},
    command{"echo", 2, run_echo},
    command{"eval", -3, run_eval, at_top},
    command{"evalsha", -3, run_evalsha, at_top},
    command{"exists", -2, run_exists},
    command{"expire", -3, run_expire},
    command{"flushall", -1, run_flush},
    command{"flushdb", -1, run_flush},
    command{"get", 2, run_get},
    command{"getrange", 4, run_getrange},
    command{"hdel", -3, run_hdel},
    command{"hexists", 3, run_hexists},
    command{"hget", 3, run_hget},
    command{"hgetall", 2, run_hgetall},
    command{"hlen", 2, run_hlen},
    command{"hmget", -3, run_hmget},
    command{"hset", -4, run_hset},
    command{"incr", 2, run_incr},
    command{"incrby", 3, run_incrby},
    command{"info", -1, run_info},
    command{"mget", -2, run_mget},
    command{"mset", -3, run_mset},
    command{"persist", 2, run_persist},
    command{"pexpire", -3, run_pexpire},
    command{"ping", -1, run_ping, allowed::anywhere_and_when_subscribed},
    command{"pttl", 2, run_pttl},
    command{"publish", 3, run_publish},
    command{"pubsub", -2, nullptr},
    command{"pubsub|numsub", -2, run_pubsub_numsub},
    command{"role", 1, run_role, at_top},
    command{"scan", -2, run_scan},
    command{"script", -2, nullptr, at_top},
    command{"script|exists", -3, run_script_exists, at_top},
    command{"script|flush", -2, run_script_flush, at_top},
    command{"script|load", 3, run_script_load, at_top},
    command{"select", 2, run_select},
    command{"set", -3, run_set},
    command{"strlen", 2, run_strlen},
    command{"subscribe", -2, run_subscribe, listening},
    command{"time", 1, run_time},
    command{"ttl", 2, run_ttl},
    command{"type", 2, run_type},
    command{"unsubscribe", -1, run_unsubscribe, listening},
    command{"zadd", -4, run_zadd},
    command{"zcard", 2, run_zcard},
    command{"zcount", 4, run_zcount},
    command{"zrange", -4, run_zrange},
    command{"zrangebyscore", -4, run_zrangebyscore},
    command{"zrank", 3, run_zrank},
    command{"zrem", -3, run_zrem},
    command{"zscore", 3, run_zscore},
};
static_assert(std::is_sorted(table.begin(), table.end(),
                             [](const command& a, const command& b) { return a.name < b.name; }));

const command* named(std::string_view name) {
  const auto at = std::lower_bound(table.begin(), table.end(), name,
                                   [](const command& c, std::string_view n) { return c.name < n; });
  return at != table.end() && at->name == name ? &*at : nullptr;
}

bool fits(const command& c, std::size_t words) {
  return c.words < 0 ? words >= static_cast<std::size_t>(-c.words)
                     : words == static_cast<std::size_t>(c.words);
}

bool may_script(const command& c) {
  return c.by == allowed::anywhere || c.by == allowed::anywhere_and_when_subscribed;
}

bool may_listener(const command& c) {
  return c.by == allowed::when_subscribed || c.by == allowed::anywhere_and_when_subscribed;
}

constexpr std::size_t longest_shown = 128;

/// 'a' 'b' and so on, as much as Redis shows.
std::string shown(std::span<const std::string_view> words) {
  std::string out;
  for (const std::string_view word : words) {
    if (out.size() >= longest_shown) {
      break;
    }
    out += '\'';
    out += word.substr(0, longest_shown - out.size() + 1);
    out += "' ";
  }
  return out;
}

void say_unknown(request& r, const command* container) {
  if (r.from_script) {
    return append_error(r.out, "ERR Unknown Redis command called from script");
  }
  if (container != nullptr) {
    std::string name(container->name);
    std::transform(name.begin(), name.end(), name.begin(),
                   [](char c) { return static_cast<char>(c - 'a' + 'A'); });
    return append_error(r.out, "ERR unknown subcommand '" + std::string(r.word(1).substr(0, longest_shown)) +
                                   "'. Try " + name + " HELP.");
  }
  append_error(r.out, "ERR unknown command '" + std::string(r.word(0).substr(0, longest_shown)) +
                          "', with args beginning with: " + shown(r.words.subspan(1)));
}

/// Null, and said so, when there is no such command.
const command* look_up(request& r) {
  std::string name = lowered(r.word(0));
  const command* const c = name.find('|') == std::string::npos ? named(name) : nullptr;
  if (c == nullptr) {
    say_unknown(r, nullptr);
    return nullptr;
  }
  if (c->run != nullptr || r.words.size() < 2) {
    return c;
  }
  name += '|';
  name += lowered(r.word(1));
  const command* const part = named(name);
  if (part == nullptr) {
    say_unknown(r, c);
  }
  return part;
}

/// False, and said so, when it may not run now.
bool admit(request& r, const command& c) {
  if (!fits(c, r.words.size()) || c.run == nullptr) {
    if (r.from_script) {
      append_error(r.out, "ERR Wrong number of args calling Redis command from script");
    } else {
      say_wrong_count(r, c.name);
    }
    return false;
  }
  if (r.from_script && !may_script(c)) {
    append_error(r.out, "ERR This Redis command is not allowed from script");
    return false;
  }
  if (!r.from_script && !may_listener(c)) {
    const auto self = r.server.connections.find(r.connection);
    if (self != r.server.connections.end() && !self->second.channels.empty()) {
      append_error(r.out, "ERR Can't execute '" + std::string(c.name) +
                              "': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed "
                              "in this context");
      return false;
    }
  }
  return true;
}

}  // namespace

std::span<const command> all_commands() noexcept { return table; }

void execute(request& r) {
  const command* const c = look_up(r);
  if (c == nullptr) {
    return;
  }
  const auto place = static_cast<std::size_t>(c - table.data());
  if (!admit(r, *c)) {
    r.server.counts[place].rejected += r.from_script ? 0U : 1U;
    return;
  }
  const std::size_t before = r.out.size();
  c->run(r);
  auto& count = r.server.counts[place];
  ++count.calls;
  count.failed += r.out.size() > before && r.out[before] == '-' ? 1U : 0U;
}

}  // namespace cremone::sim
