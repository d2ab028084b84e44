// SPDX-License-Identifier: Apache-2.0
//
// What a user of the server has to be allowed, as the scripts `rights` name it and as ACL SETUSER wants it.
#pragma once

#include "backends/redis/settings.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cremone::redis {

// Any other right is the name of a command.
inline constexpr std::string_view right_to_keys = "~";
inline constexpr std::string_view right_to_channels = "&";

/// The rule that grants it: no more than docs/redis.md gives the user.
[[nodiscard]] std::string acl_rule(std::string_view right, layout l, std::string_view prefix);

/// What an error reply says that the ACL denies. None: it is about something else; empty: it does not say what.
[[nodiscard]] std::optional<std::string> denied_right(std::string_view error_reply);

/// As ACL SETUSER wants it.
[[nodiscard]] std::string acl_user(std::string_view user);

/// For the user: what lacks at this server, and how to grant it.
[[nodiscard]] std::string lacking_text(std::string_view server, const node_settings& to,
                                       const std::vector<std::string>& rights);

}  // namespace cremone::redis
