// SPDX-License-Identifier: Apache-2.0
//
// What `cremone sim` can do, one function and one file each; as in commands.hpp.
#pragma once

#include "cli/parser.hpp"

namespace cremone::cli {

[[nodiscard]] outcome sim_swarm_command(const arguments& given);
[[nodiscard]] outcome sim_replay_command(const arguments& given);

}  // namespace cremone::cli
