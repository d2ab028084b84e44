// SPDX-License-Identifier: Apache-2.0
//
// An owner id out of the 40 hex digits that owner_id::hex() makes of it.
#pragma once

#include <cremone/types.hpp>

#include <optional>
#include <string_view>

namespace cremone::redis {

/// Nothing unless it is 40 digits, in lower case.
[[nodiscard]] std::optional<owner_id> parse_owner(std::string_view hex) noexcept;

}  // namespace cremone::redis
