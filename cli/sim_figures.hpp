// SPDX-License-Identifier: Apache-2.0
//
// Numbers as people read them, and rows of them. Knows nothing of what is counted.
#pragma once

#include "cli/output.hpp"

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cremone::cli {

[[nodiscard]] inline double seconds(std::chrono::nanoseconds t) noexcept {
  return std::chrono::duration<double>(t).count();
}

/// "1,234,567"
[[nodiscard]] std::string grouped(std::uint64_t n);

[[nodiscard]] std::string with_decimals(double value, int decimals);

/// Three digits that mean something, and no point behind more: "0.42", "12.3", "1,234".
[[nodiscard]] std::string roughly(double value);

/// In a colour of the palette; nothing is added where that is empty.
[[nodiscard]] std::string painted(std::string_view text, std::string_view colour, const palette& colours);

/// A number behind its name, with what there is to say about it.
struct figure {
  std::string name;
  std::string number;
  std::string about{};
};

/// One below the other, the last digits in one column.
[[nodiscard]] std::string as_rows(const std::vector<figure>& figures, const palette& colours);

}  // namespace cremone::cli
