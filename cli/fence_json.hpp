// SPDX-License-Identifier: Apache-2.0
//
// What the commands of `cremone fence` print with --json: one line with its line break. The keys are an interface that scripts rely on: they
// are only ever added.
#pragma once

#include "cli/fence_options.hpp"

#include <cremone/types.hpp>

#include <optional>
#include <string>

namespace cremone::cli {

/// {"resource", "store", "highest"}: "store" is null for a file, "highest" where no token was seen.
[[nodiscard]] std::string show_json(const fenced_subject& subject, fence_token highest);

/// {"resource", "store", "token", "passed", "highest"}: "highest" is null where it could not be asked.
[[nodiscard]] std::string check_json(const fenced_subject& subject, fence_token presented, bool passed,
                                     const result<fence_token>& highest);

/// {"store", "needed", "table", "statement", "done"}: "store" is null where nobody was asked; nothing is needed where "table" and "statement"
/// are null.
[[nodiscard]] std::string init_json(const std::string& store, const std::string& table,
                                    const std::optional<std::string>& statement, bool done);

}  // namespace cremone::cli
