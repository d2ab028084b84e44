// SPDX-License-Identifier: Apache-2.0
//
// Fenced writes in Redis, each one script and so one step: on the user's own hiredis connection, or as the words of a command for any
// other client. Component fence_redis, which needs hiredis; its header is not shown here.
#pragma once

#include <cremone/fence.hpp>
#include <cremone/result.hpp>
#include <cremone/types.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

struct redisContext;  // hiredis's

namespace cremone::fence {

/// What Redis answered. Errors never get here, they are the error of a result; except within an array, where they are text.
struct redis_reply {
  std::variant<std::nullptr_t, std::int64_t, std::string, std::vector<redis_reply>> value{};
};

using redis_field = std::pair<std::string, std::string>;

/// The most words that one fenced command takes: keys of del(), fields and values of hset(). A script has no room for many more.
inline constexpr std::size_t redis_most_words = 7000;

/// The longest reply that redis_gate reads, in bytes. The script of run() chooses the size of its
/// reply; all other replies are a few bytes long.
inline constexpr std::size_t redis_largest_reply = std::size_t{8} << 20U;

/// A fenced command as words, for clients other than hiredis: send evalsha(); if the answer is the error NOSCRIPT, send eval(), which
/// carries the text of the script and makes the server know it. The answer is that of the plain command. What it means
/// when it is an error: read_redis_error().
struct redis_command {
  std::string sha{};                 ///< SHA-1 of the script
  std::string script{};              ///< its text
  std::vector<std::string> words{};  ///< how many keys, the keys, the arguments

  [[nodiscard]] std::vector<std::string> evalsha() const;
  [[nodiscard]] std::vector<std::string> eval() const;
};

/// Makes the commands that redis_gate sends; asks nobody. *invalid_argument*: the prefix, the name, the token, no key, a key that is the mark's own, a
/// time to live that is not above zero, more than redis_most_words, a script that is empty or has a line `#!`.
class redis_commands {
 public:
  explicit redis_commands(std::string prefix = "cremone") : prefix_(std::move(prefix)) {}

  [[nodiscard]] result<redis_command> set(const resource_name& resource, fence_token token,
                                          std::string_view key, std::string_view value,
                                          std::optional<std::chrono::milliseconds> ttl = {}) const;
  [[nodiscard]] result<redis_command> hset(const resource_name& resource, fence_token token,
                                           std::string_view key, std::span<const redis_field> fields) const;
  [[nodiscard]] result<redis_command> del(const resource_name& resource, fence_token token,
                                          std::span<const std::string> keys) const;
  [[nodiscard]] result<redis_command> run(const resource_name& resource, fence_token token,
                                          std::string_view script, std::span<const std::string> keys,
                                          std::span<const std::string> arguments) const;
  [[nodiscard]] result<redis_command> check(const resource_name& resource, fence_token token) const;

  /// PREFIX:fence:RESOURCE; GET it to see the highest token.
  [[nodiscard]] result<std::string> mark_key(const resource_name& resource) const;

 private:
  std::string prefix_;
};

/// What an error means that Redis answered to a fenced command: the codes are those of redis_gate. `said` is without the minus sign of
/// the wire; `where`: "Redis 10.0.0.7:6379".
[[nodiscard]] error read_redis_error(std::string_view said, const resource_name& resource,
                                     std::string_view where = "Redis");

/// Fenced writes. The mark of a resource is the key PREFIX:fence:RESOURCE, without a time to live, and nobody may give it one: when it
/// has gone, every token passes. It moves only together with the
/// write: a write that fails, for instance with WRONGTYPE, leaves it as it was. In Redis Cluster a resource and its keys need a
/// common {hash tag}. What is promised, and the scripts for other languages: docs/fence-redis.md.
///
/// Tokens are below 2^53. A server that forgets (a restart without a file, FLUSHALL, a failover) forgets mark and data
/// together, unless somebody deletes just one of them; eviction with allkeys-* does that.
///
/// Ownership: the connection stays the user's and must outlive this. It must be blocking, and at rest: nothing in its pipeline, and
/// not between MULTI and EXEC, where a command is only queued: DISCARD then, since EXEC would execute it.
/// Threads: as the connection: one at a time.
///
/// Limits: a reply has at most redis_largest_reply bytes. The caller sets the time limits, because
/// the connection is the caller's: redisConnectWithTimeout() bounds the connect, and
/// redisSetTimeout() bounds each read and each write. Without them a call waits for ever for a
/// silent server. hiredis has no limit for a whole call: a server that sends a byte before each
/// timeout holds up the caller for as long as it likes. Where that matters, call shutdown() on the
/// connection's socket from another thread.
///
/// | answer           | when                                                                     | what is written              |
/// |------------------|--------------------------------------------------------------------------|------------------------------|
/// | stale_token      | the resource has seen a higher one                                       | nothing                      |
/// | invalid_argument | see redis_commands; WRONGTYPE: a key holds another type; no Lua          | nothing, but see run()       |
/// | misconfigured    | the mark's key holds something else; a cluster; the connection is not at rest, or in a MULTI | nothing  |
/// | access_denied    | NOAUTH, NOPERM, the ACL                                                  | nothing, but see run()       |
/// | storage_error    | OOM, READONLY, MISCONF, NOREPLICAS                                       | nothing, but see run()       |
/// | busy             | LOADING, BUSY: try again                                                 | nothing                      |
/// | unreachable      | no connection, or it is gone; not all was sent                           | nothing                      |
/// | outcome_unknown  | sent, but no reply came, or the reply is too long or is not valid Redis  | perhaps                      |
/// |                  | protocol. The call may be repeated with the same token                   |                              |
/// | protocol_error   | whatever else Redis said; a script's own error                           | nothing, but see run()       |
///
/// After *unreachable* and *outcome_unknown* hiredis does not use this connection again: redisReconnect() it, or make another.
///
///     cremone::fence::redis_gate gate(connection);
///     auto cached = gate.set("prices", lease.token(), "price:42", "17.50", std::chrono::minutes(5));
///     if (!cached) report(cached.error().message());
class redis_gate {
 public:
  explicit redis_gate(redisContext* connection, std::string prefix = "cremone")
      : connection_(connection), commands_(std::move(prefix)) {}

  /// SET key value [PX ttl]
  [[nodiscard]] result<void> set(const resource_name& resource, fence_token token, std::string_view key,
                                 std::string_view value, std::optional<std::chrono::milliseconds> ttl = {});

  /// HSET key field value …; how many fields are new.
  [[nodiscard]] result<std::int64_t> hset(const resource_name& resource, fence_token token,
                                          std::string_view key, std::span<const redis_field> fields);

  /// DEL key …; how many there were. Works also when the server has no memory left.
  [[nodiscard]] result<std::int64_t> del(const resource_name& resource, fence_token token,
                                         std::span<const std::string> keys);

  /// Runs a Lua script, with KEYS and ARGV as it knows them, if the token is current; what it returned. A script that ends with an error before any
  /// of its commands has succeeded, also one that only reads, leaves the mark as it was; later, when some of it may have been written, the mark stays raised, and the error says so.
  /// Commands are called by redis.call and redis.pcall; _G and loadstring are not there. The server keeps the text: values belong into ARGV.
  [[nodiscard]] result<redis_reply> run(const resource_name& resource, fence_token token,
                                        std::string_view script, std::span<const std::string> keys,
                                        std::span<const std::string> arguments);

  /// Lets the token pass and remembers it, without a write of data. The mark is written each time, so that no replica lets a token pass.
  [[nodiscard]] result<void> check(const resource_name& resource, fence_token token);

  /// The highest token that the resource has seen; zero for none.
  [[nodiscard]] result<fence_token> highest(const resource_name& resource);

 private:
  redisContext* connection_;
  redis_commands commands_;
};

}  // namespace cremone::fence
