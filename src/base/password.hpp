// SPDX-License-Identifier: Apache-2.0
//
// Where the password of a URL is: in itself, in a file, or in a variable of the environment. Knows neither who wants it nor what
// for.
#pragma once

#include "base/url.hpp"

#include <cremone/result.hpp>

#include <string>

namespace cremone {

/// By ?password_file=FILE (its first line), by ?password_env=VARIABLE, or `in_the_url`; empty if there is none. `whose`: what the two
/// options begin with, empty or "sentinel_". *invalid_argument* for two of them, *misconfigured* for one that cannot be read; the
/// password is in no message.
[[nodiscard]] result<std::string> password_of(const url& u, const std::string& whose,
                                              const std::string& in_the_url);

}  // namespace cremone
