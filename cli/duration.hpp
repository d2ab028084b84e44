// SPDX-License-Identifier: Apache-2.0
//
// Lengths of time as people write and read them. Reads no clock.
#pragma once

#include <cremone/result.hpp>

#include <chrono>
#include <string>
#include <string_view>

namespace cremone::cli {

/// "500ms", "10s", "1.5m", "2h", "1d"; a plain number is seconds. Not negative, and at most some 290 years, so that
/// nothing overflows. *invalid_argument* says how to write it.
[[nodiscard]] result<std::chrono::milliseconds> parse_duration(std::string_view text);

/// How long something has been going on, to two units: "850ms", "12s", "3m 5s", "2h 10m", "4d 1h". What lies in the
/// future by a clock that differs is "0s".
[[nodiscard]] std::string shown(std::chrono::milliseconds length);

}  // namespace cremone::cli
