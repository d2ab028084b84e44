// SPDX-License-Identifier: Apache-2.0
//
// The commands, one function and one file each. A command prints, complains and says how the process is to end; it
// never ends it.
#pragma once

#include "cli/parser.hpp"

namespace cremone::cli {

[[nodiscard]] outcome run_command(const arguments& given);
[[nodiscard]] outcome who_command(const arguments& given);
[[nodiscard]] outcome list_command(const arguments& given);
[[nodiscard]] outcome watch_command(const arguments& given);
[[nodiscard]] outcome release_command(const arguments& given);
[[nodiscard]] outcome doctor_command(const arguments& given);
[[nodiscard]] outcome quarantine_command(const arguments& given);
[[nodiscard]] outcome fence_command(const arguments& given);
[[nodiscard]] outcome sim_command(const arguments& given);  ///< only where the simulator is built

}  // namespace cremone::cli
