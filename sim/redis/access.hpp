// SPDX-License-Identifier: Apache-2.0
//
// What every command does with keys and arguments: looks keys up by the clock, notes which it changes, and says in Redis' words
// what is wrong.
#pragma once

#include "sim/redis/state.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

namespace cremone::sim {

inline constexpr std::string_view wrong_type =
    "WRONGTYPE Operation against a key holding the wrong kind of value";
inline constexpr std::string_view not_an_integer = "ERR value is not an integer or out of range";
inline constexpr std::string_view not_a_float = "ERR value is not a valid float";
inline constexpr std::string_view syntax_error = "ERR syntax error";

/// To be called with every key that a command changes.
void note_change(request& r, std::string_view key);

/// What stands at a key; null if nothing does. What is gone by the clock goes now.
[[nodiscard]] stored* find(request& r, std::string_view key);

/// The same for one type. False, and said so, when something else stands there.
template <class Value>
[[nodiscard]] bool find_as(request& r, std::string_view key, Value*& out) {
  stored* const s = find(r, key);
  out = s == nullptr ? nullptr : std::get_if<Value>(&s->value);
  if (s != nullptr && out == nullptr) {
    append_error(r.out, wrong_type);
    return false;
  }
  return true;
}

/// Removes it. Says whether it was there.
bool remove(request& r, std::string_view key);

/// The word at a place as a number. False, and said so, when it is none.
[[nodiscard]] bool read_integer(request& r, std::size_t place, std::int64_t& out);

void say_wrong_count(request& r, std::string_view command);

/// Is it this word, in any case?
[[nodiscard]] bool is_word(std::string_view text, std::string_view lower_case) noexcept;
[[nodiscard]] std::string lowered(std::string_view text);

/// `*`, `?`, `[a-z]`, `[^x]` and `\`, as in Redis.
[[nodiscard]] bool glob_matches(std::string_view pattern, std::string_view text) noexcept;

}  // namespace cremone::sim
