// SPDX-License-Identifier: Apache-2.0
//
// What stands at a lock's key in the layout `classic`: "cremone1:<40 hex>:<host>:<pid>:<label>". Other programs
// compare it as a whole and never look inside; ours tell a hold of cremone from a foreign one by it, and whose it is.
#pragma once

#include <cremone/record.hpp>
#include <cremone/types.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace cremone::redis {

/// As much of a value as the scripts return. Ours are shorter: host 64, label 256 bytes at most.
inline constexpr std::size_t longest_value = 512;

/// "cremone1:<40 hex>:", which no two acquisitions share: how every value of ours begins, and as much of it as the scripts
/// compare.
inline constexpr std::size_t mark_size = 50;
void append_mark(std::string& out, const owner_id& owner);
[[nodiscard]] std::string owner_mark(const owner_id& owner);

[[nodiscard]] std::string encode_value(const owner_id& owner, const owner_data& who);

/// The hold that a value stands for. One that is not ours is `foreign`, and its id is the SHA-1 of what the scripts
/// return of the value, by which force.lua finds it again.
[[nodiscard]] hold_record decode_value(std::string_view value);

}  // namespace cremone::redis
