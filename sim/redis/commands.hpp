// SPDX-License-Identifier: Apache-2.0
//
// The table of commands: which there are, how many words each takes, and who may say it. What each does is in the files named
// below.
#pragma once

#include "sim/redis/state.hpp"

#include <cstddef>
#include <span>
#include <string_view>

namespace cremone::sim {

enum class allowed : unsigned char {
  anywhere,
  not_in_scripts,
  when_subscribed,  ///< also by who has subscribed, but not in scripts
  anywhere_and_when_subscribed,
};

struct command {
  std::string_view name;  ///< in lower case; "config|get" for a part of one
  int words;              ///< with its name; at least so many when it is negative
  void (*run)(request&);  ///< none when it has parts
  allowed by = allowed::anywhere;
};

/// In the order of their names.
[[nodiscard]] std::span<const command> all_commands() noexcept;

/// Runs a command of a connection, or one that a script calls: looks it up, refuses it or does it, and counts it.
void execute(request& r);

// strings.cpp
void run_get(request& r);
void run_getrange(request& r);
void run_incr(request& r);
void run_incrby(request& r);
void run_mget(request& r);
void run_mset(request& r);
void run_set(request& r);
void run_strlen(request& r);

// keys.cpp
void run_dbsize(request& r);
void run_del(request& r);
void run_exists(request& r);
void run_flush(request& r);
void run_scan(request& r);
void run_type(request& r);

// expiry.cpp
void run_expire(request& r);
void run_persist(request& r);
void run_pexpire(request& r);
void run_pttl(request& r);
void run_ttl(request& r);

// hashes.cpp
void run_hdel(request& r);
void run_hexists(request& r);
void run_hget(request& r);
void run_hgetall(request& r);
void run_hlen(request& r);
void run_hmget(request& r);
void run_hset(request& r);

// sorted_sets.cpp
void run_zadd(request& r);
void run_zcard(request& r);
void run_zcount(request& r);
void run_zrange(request& r);
void run_zrangebyscore(request& r);
void run_zrank(request& r);
void run_zrem(request& r);
void run_zscore(request& r);

// administration.cpp
void run_auth(request& r);
void run_config_get(request& r);
void run_config_resetstat(request& r);
void run_echo(request& r);
void run_info(request& r);
void run_ping(request& r);
void run_role(request& r);
void run_select(request& r);
void run_time(request& r);

// channels.cpp
void run_publish(request& r);
void run_pubsub_numsub(request& r);
void run_subscribe(request& r);
void run_unsubscribe(request& r);
/// Nobody hears anything by this connection any more.
void forget_listener(server_state& server, std::uint64_t connection);

// scripting.cpp
void run_eval(request& r);
void run_evalsha(request& r);
void run_script_exists(request& r);
void run_script_flush(request& r);
void run_script_load(request& r);

}  // namespace cremone::sim
