// SPDX-License-Identifier: Apache-2.0
//
// Commands and replies as a person who reads a trace wants them: scripts by their names, owners and texts cut short.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>

namespace cremone::sim {

using script_names = std::map<std::string, std::string, std::less<>>;  ///< by SHA-1

/// Adds those of both layouts for the life of a server with this run id.
void add_script_names(script_names& to, const std::string& run_id);

[[nodiscard]] std::string shown_command(std::span<const std::string_view> words, const script_names& names);
[[nodiscard]] std::string shown_reply(std::string_view resp);

}  // namespace cremone::sim
