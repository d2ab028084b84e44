// SPDX-License-Identifier: Apache-2.0
//
// What `cremone fence` can do, one function and one file each; as in commands.hpp.
#pragma once

#include "cli/parser.hpp"

namespace cremone::cli {

[[nodiscard]] outcome fence_write_command(const arguments& given);
[[nodiscard]] outcome fence_append_command(const arguments& given);
[[nodiscard]] outcome fence_check_command(const arguments& given);
[[nodiscard]] outcome fence_show_command(const arguments& given);
[[nodiscard]] outcome fence_init_command(const arguments& given);

}  // namespace cremone::cli
