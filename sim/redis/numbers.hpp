// SPDX-License-Identifier: Apache-2.0
//
// Numbers as Redis reads and writes them. Strict where Redis is: an integer has one spelling only.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace cremone::sim {

/// Nothing for "01", "+1", "-0", " 1" and what does not fit.
[[nodiscard]] std::optional<std::int64_t> integer_in(std::string_view text) noexcept;

/// With "inf" and "-inf"; no NaN. Unlike Redis it takes no hexadecimal ones.
[[nodiscard]] std::optional<double> score_in(std::string_view text) noexcept;

/// "%.17g": integers have no point.
void append_score(std::string& out, double score);
void append_integer(std::string& out, std::int64_t n);

}  // namespace cremone::sim
