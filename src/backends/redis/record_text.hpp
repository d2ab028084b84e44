// SPDX-License-Identifier: Apache-2.0
//
// The texts in which the layout `record` keeps locks: what the scripts read and write, see lua/record/common.lua. What a
// server sends is not trusted: what makes no sense is no record.
#pragma once

#include <cremone/record.hpp>
#include <cremone/types.hpp>

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

/// A whole lock, but for those who wait.
[[nodiscard]] std::optional<lock_record> parse_lock(std::string_view name, std::string_view record);

/// One who waits: its owner id in hex, and "<ticket> <end of its lease> <channel> <mode>\n<who>".
[[nodiscard]] std::optional<waiter_record> parse_waiter(std::string_view owner, std::string_view entry);

}  // namespace cremone::redis
