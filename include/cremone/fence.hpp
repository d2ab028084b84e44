// SPDX-License-Identifier: Apache-2.0
//
// The side that checks the token. A lease can end while its holder sleeps; what it then writes must be refused where it is
// written. This header has the rule and its words. What applies it to a file is <cremone/fenced_file.hpp>, to a database
// <cremone/fence_sql.hpp>, to Redis <cremone/fence_redis.hpp>. None of them knows a lock, a lease or a client: a token is a
// number, from wherever it comes.
#pragma once

#include <cremone/result.hpp>
#include <cremone/types.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace cremone::fence {

/// What a lock protects, as the checking side calls it: 1 to 512 bytes of UTF-8 without control characters. The name of the lock
/// is a good one. Everything that is written under one lock may be one resource, and one resource must not be written
/// under two: their tokens have nothing to do with each other.
class resource_name {
 public:
  static constexpr std::size_t max_size = 512;

  resource_name(std::string text) : text_(std::move(text)) {}
  resource_name(std::string_view text) : text_(text) {}
  resource_name(const char* text) : text_(text == nullptr ? std::string_view{} : text) {}
  resource_name(const lock_name& lock) : text_(lock.str()) {}

  [[nodiscard]] const std::string& str() const noexcept { return text_; }

  friend bool operator==(const resource_name&, const resource_name&) = default;

 private:
  std::string text_;
};

/// The highest token that a resource has seen, and the rule. Whoever keeps one makes it durable in the same step as the write that
/// it let pass; a resource that forgets it after a restart protects nothing.
///
///     cremone::fence::mark seen;
///     (void)seen.admit(cremone::fence_token(41));   // true: the first
///     (void)seen.admit(cremone::fence_token(41));   // true: one holder writes many times
///     (void)seen.admit(cremone::fence_token(57));   // true: its successor
///     (void)seen.admit(cremone::fence_token(41));   // false, from now on
class mark {
 public:
  constexpr mark() = default;
  explicit constexpr mark(fence_token highest) noexcept : highest_(highest) {}

  /// Zero when none was seen.
  [[nodiscard]] constexpr fence_token highest() const noexcept { return highest_; }

  /// Would this token be let pass?
  [[nodiscard]] constexpr bool allows(fence_token presented) const noexcept { return presented >= highest_; }

  /// Lets it pass and remembers it, or does not and stays as it is.
  [[nodiscard]] constexpr bool admit(fence_token presented) noexcept {
    if (!allows(presented)) {
      return false;
    }
    highest_ = presented;
    return true;
  }

 private:
  fence_token highest_{};
};

/// Tokens at or above this are refused by databases and files, which keep them as signed numbers of 64 bits; by Redis from
/// fence_token::limit on, because its scripts count in doubles.
inline constexpr std::uint64_t token_limit = std::uint64_t{1} << 63U;

/// *invalid_argument* for zero, which is what a lease has that was released or never held, and for what is not below `limit`.
[[nodiscard]] result<void> check_token(fence_token token, std::uint64_t limit = token_limit);

/// *invalid_argument* says what is wrong with it.
[[nodiscard]] result<void> check_resource(const resource_name& resource);

/// *stale_token*, with both numbers and what to do. `where`: "resource 'ledger' in PostgreSQL database 'shop'".
[[nodiscard]] error stale(std::string_view where, fence_token presented, fence_token highest);

/// A token as text, as `cremone run` puts it into CREMONE_TOKEN: digits and nothing else, not zero, below 2^63.
/// *invalid_argument* says what it is instead.
[[nodiscard]] result<fence_token> parse_token(std::string_view text);

/// The token of the `cremone run` under which this process runs. *not_held* when there is none, or an empty one: the store
/// gives none, as Redlock in the classic layout.
///
///     const auto token = cremone::fence::token_from_environment();
///     if (!token) return report(token.error().message());
[[nodiscard]] result<fence_token> token_from_environment();

}  // namespace cremone::fence
