// SPDX-License-Identifier: Apache-2.0
#include "sim/redis/numbers.hpp"

#include "base/reading.hpp"

#include <array>
#include <charconv>
#include <cmath>

namespace cremone::sim {

std::optional<std::int64_t> integer_in(std::string_view text) noexcept {
  const std::string_view digits = text.starts_with('-') ? text.substr(1) : text;
  const bool one_spelling = text == "0" || (!digits.empty() && digits.front() != '0');
  return one_spelling ? whole_number<std::int64_t>(text) : std::nullopt;
}

std::optional<double> score_in(std::string_view text) noexcept {
  if (text.starts_with('+') && !text.starts_with("+-")) {
    text.remove_prefix(1);
  }
  double score = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, failed] = std::from_chars(text.data(), end, score);
  const bool fine = failed == std::errc() && stop == end && !std::isnan(score);
  return fine ? std::optional(score) : std::nullopt;
}

void append_score(std::string& out, double score) {
  constexpr int precision = 17;  // enough to tell any two numbers apart
  std::array<char, 40> text{};
  const auto [end, failed] =
      std::to_chars(text.data(), text.data() + text.size(), score, std::chars_format::general, precision);
  out.append(text.data(), end);
}

void append_integer(std::string& out, std::int64_t n) {
  std::array<char, 24> text{};
  const auto [end, failed] = std::to_chars(text.data(), text.data() + text.size(), n);
  out.append(text.data(), end);
}

}  // namespace cremone::sim
