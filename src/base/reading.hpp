// SPDX-License-Identifier: Apache-2.0
//
// Reading what programs write: words one after the other, and numbers.
#pragma once

#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>

namespace cremone {

/// A number that is the whole text. Nothing if there is anything else, or if it does not fit.
template <class Number>
[[nodiscard]] std::optional<Number> whole_number(std::string_view text, int base = 10) noexcept {
  Number n{};
  const char* const end = text.data() + text.size();
  const auto [stop, failed] = std::from_chars(text.data(), end, n, base);
  return failed == std::errc() && stop == end ? std::optional(n) : std::nullopt;
}

/// Cuts off and returns what stands before the first `mark`, which goes too. All of it if there is none.
inline std::string_view cut(std::string_view& text, char mark) noexcept {
  const auto at = text.find(mark);
  const std::string_view first = text.substr(0, at);
  text.remove_prefix(at == std::string_view::npos ? text.size() : at + 1);
  return first;
}

}  // namespace cremone
