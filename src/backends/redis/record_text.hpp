// SPDX-License-Identifier: Apache-2.0
//
// The texts in which the layout `record` keeps locks: what the scripts read and write, see lua/record/common.lua. What a
// server sends is not trusted: what makes no sense is no record.
#pragma once

#include <cremone/record.hpp>
#include <cremone/types.hpp>

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace cremone::redis {

/// One line each: host, user, pid, since in microseconds, label. Read back by `parse_who`.
[[nodiscard]] std::string encode_who(const owner_data& who);
[[nodiscard]] owner_data parse_who(std::string_view text);

/// The letter of a mode.
[[nodiscard]] char letter_of(mode m) noexcept;

/// "<owner> <seq> <ttl> <mode> <token>\n<who>".
[[nodiscard]] std::optional<hold_record> parse_hold(std::string_view text);

/// A whole lock without its waiters. `now`: the server's time in the same reply.
[[nodiscard]] std::optional<lock_record> parse_lock(std::string_view name, std::string_view record,
                                                    std::string_view now);

/// hold_record::renewed_ago, from two times of the server; empty when one of them is no time.
[[nodiscard]] std::optional<std::chrono::milliseconds> time_since(std::string_view renewed,
                                                                  std::string_view now);

/// One who waits: its owner id in hex, and "<ticket> <end of its lease> <channel> <mode>\n<who>".
[[nodiscard]] std::optional<waiter_record> parse_waiter(std::string_view owner, std::string_view entry);

}  // namespace cremone::redis
