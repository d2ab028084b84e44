// SPDX-License-Identifier: Apache-2.0
//
// What a user of the server has to be allowed, as the scripts `rights` name it and as ACL SETUSER wants it.
#pragma once

#include "backends/redis/settings.hpp"

#include <string>
#include <string_view>

namespace cremone::redis {

// Any other right is the name of a command.
inline constexpr std::string_view right_to_keys = "~";
inline constexpr std::string_view right_to_channels = "&";

/// The rule that grants it.
[[nodiscard]] std::string acl_rule(std::string_view right, layout l, std::string_view prefix);

}  // namespace cremone::redis
