// SPDX-License-Identifier: Apache-2.0
//
// Fenced commands over any connection to Redis: the user's hiredis connection (redis.cpp) or the
// tool's own (redis_line.cpp). Decides what a reply means. A connection carries one command and
// its reply, and reports whether the command left at all.
#pragma once

#include "base/resp.hpp"

#include <cremone/fence_redis.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace cremone::fence {

/// One connection to a Redis server. Threads: one at a time.
class redis_exchange {
 public:
  /// Whether a command whose reply is missing may have written something.
  enum class effect : bool { none, write };

  redis_exchange() = default;
  redis_exchange(const redis_exchange&) = delete;
  redis_exchange& operator=(const redis_exchange&) = delete;
  virtual ~redis_exchange() = default;

  /// For messages: "Redis 10.0.0.7:6379".
  [[nodiscard]] virtual std::string place() const = 0;

  /// Whether a command can be sent now. Called before the first command of each operation.
  [[nodiscard]] virtual result<void> ready() { return {}; }

  /// Sends one command and waits for its reply, which may be an error of Redis. *unreachable*: not
  /// all of the command was sent, or it has no effect. *outcome_unknown*: it was sent, and no
  /// usable reply came.
  [[nodiscard]] virtual result<redis::reply> ask(std::span<const std::string_view> words, effect what) = 0;
};

/// The error of an ask() without a reply: the code, and what the missing reply means.
[[nodiscard]] error without_reply(const std::string& place, std::string_view why,
                                  redis_exchange::effect what);

// The operations of redis_gate, with its errors.

[[nodiscard]] result<redis_reply> run_command(redis_exchange& over, const resource_name& resource,
                                              const result<redis_command>& what);
/// For commands that are answered with OK.
[[nodiscard]] result<void> run_to_ok(redis_exchange& over, const resource_name& resource,
                                     const result<redis_command>& what);
/// For commands that are answered with a number.
[[nodiscard]] result<std::int64_t> run_to_count(redis_exchange& over, const resource_name& resource,
                                                const result<redis_command>& what);
[[nodiscard]] result<fence_token> read_highest(redis_exchange& over, const redis_commands& commands,
                                               const resource_name& resource);

}  // namespace cremone::fence
