// SPDX-License-Identifier: Apache-2.0
//
// Fenced writes in Redis, each one script and so one step: on the user's own hiredis connection, or as the words of a command for any
// other client. Component fence_redis, which needs hiredis; its header is not shown here.
#pragma once

#include <cremone/fence.hpp>
#include <cremone/result.hpp>
#include <cremone/types.hpp>

#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

struct redisContext;  // hiredis's

namespace cremone::fence {

/// What Redis answered. Errors never get here: they are the error of a result.
struct redis_reply {
  std::variant<std::nullptr_t, std::int64_t, std::string, std::vector<redis_reply>> value{};
};

using redis_field = std::pair<std::string, std::string>;

/// The words of a fenced command, for clients other than hiredis: send `evalsha`; if the answer is the error NOSCRIPT, send `eval`, which
/// carries the text of the script and makes the server know it. What the answer means: read_redis_reply().
struct redis_command {
  std::vector<std::string> evalsha{};
  std::vector<std::string> eval{};
};

/// Fenced writes. The mark of a resource is the key PREFIX:fence:RESOURCE. It moves only together with the write: a write that fails, for instance
/// with WRONGTYPE, leaves it as it was. In Redis Cluster a resource and its keys need a common {hash tag}.
///
/// Tokens are below 2^53. A server that forgets (a restart without a file, FLUSHALL, eviction with allkeys-*) forgets mark and data
/// together, unless somebody deletes just one of them.
///
/// Ownership: the connection stays the user's and must outlive this. It must be blocking, and at rest: nothing in its pipeline.
/// Threads: as the connection: one at a time.
///
/// All writes answer *stale_token*, *invalid_argument* (the token, the name), *misconfigured* (the mark's key holds something else),
/// *access_denied*, *storage_error* (out of memory, read-only), *unreachable* (the connection is gone and nothing was sent), *outcome_unknown* (no answer came), and
/// *protocol_error* with what Redis said otherwise (WRONGTYPE; an error of the script).
///
///     cremone::fence::redis_gate gate(connection);
///     auto cached = gate.set("prices", lease.token(), "price:42", "17.50", std::chrono::minutes(5));
///     if (!cached) report(cached.error().message());
class redis_gate {
 public:
  explicit redis_gate(redisContext* connection, std::string prefix = "cremone");

  /// SET key value [PX ttl]
  [[nodiscard]] result<void> set(const resource_name& resource, fence_token token, std::string_view key,
                                 std::string_view value, std::optional<std::chrono::milliseconds> ttl = {});

  /// HSET key field value …; how many fields are new.
  [[nodiscard]] result<std::int64_t> hset(const resource_name& resource, fence_token token,
                                          std::string_view key, std::span<const redis_field> fields);

  /// DEL key …; how many there were.
  [[nodiscard]] result<std::int64_t> del(const resource_name& resource, fence_token token,
                                         std::span<const std::string> keys);

  /// Runs a Lua script, with KEYS and ARGV as it knows them, if the token is current; what it returned. A script that ends with an error before any
  /// of its commands has succeeded leaves the mark as it was; later, when some of it may have been written, the mark stays raised.
  [[nodiscard]] result<redis_reply> run(const resource_name& resource, fence_token token,
                                        std::string_view script, std::span<const std::string> keys,
                                        std::span<const std::string> arguments);

  /// Lets the token pass and remembers it, without a write.
  [[nodiscard]] result<void> check(const resource_name& resource, fence_token token);

  /// The highest token that the resource has seen; zero for none.
  [[nodiscard]] result<fence_token> highest(const resource_name& resource);

 private:
  redisContext* connection_;
  std::string prefix_;
};

}  // namespace cremone::fence
