// SPDX-License-Identifier: Apache-2.0
//
// Amounts as people read them: two or three digits and a unit. Not for programs.
#pragma once

#include <cremone/types.hpp>

#include <chrono>
#include <cstdint>
#include <string>

namespace cremone {

/// "40 KiB", "2.9 MiB", "12 GiB".
[[nodiscard]] std::string shown_bytes(std::uint64_t bytes);

/// "120 µs", "1.5 ms", "60 s". Not negative.
[[nodiscard]] std::string shown_length(std::chrono::microseconds length);

/// "2026-11-15T21:42:07Z".
[[nodiscard]] std::string shown_time(wall_time t);

}  // namespace cremone
