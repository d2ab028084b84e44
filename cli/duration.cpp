// SPDX-License-Identifier: Apache-2.0
#include "cli/duration.hpp"

#include "base/text.hpp"

#include <array>
#include <charconv>
#include <cmath>

namespace cremone::cli {

namespace {

struct unit {
  std::string_view name;
  std::int64_t milliseconds;
};

constexpr std::array units = {unit{"ms", 1},        unit{"s", 1000},       unit{"m", 60'000},
                              unit{"h", 3'600'000}, unit{"d", 86'400'000}, unit{"", 1000}};

constexpr double longest =
    9.2e15;  // in milliseconds; below 2^53 it would be exact, here a fraction may be cut

error not_a_duration(std::string_view text) {
  return {errc::invalid_argument,
          "'" + printable(text) + "' is not a length of time; write 500ms, 10s, 2m, 1h or 1.5 (seconds)"};
}

std::string two_units(std::int64_t value, std::int64_t small, const char* big_name, const char* small_name) {
  std::string text = std::to_string(value / small) + big_name;
  if (value % small != 0) {
    text += " " + std::to_string(value % small) + small_name;
  }
  return text;
}

}  // namespace

result<std::chrono::milliseconds> parse_duration(std::string_view text) {
  double number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, failed] = std::from_chars(text.data(), end, number, std::chars_format::fixed);
  if (failed != std::errc{} || !std::isfinite(number) || std::signbit(number)) {
    return not_a_duration(text);
  }
  const std::string_view name(rest, static_cast<std::size_t>(end - rest));
  for (const unit& u : units) {
    if (u.name == name) {
      const double length = number * static_cast<double>(u.milliseconds);
      if (length > longest) {
        return not_a_duration(text);
      }
      return std::chrono::milliseconds(std::llround(length));
    }
  }
  return not_a_duration(text);
}

std::string shown(std::chrono::milliseconds length) {
  const std::int64_t ms = length.count();
  if (ms <= 0) {
    return "0s";
  }
  if (ms < 1000) {
    return std::to_string(ms) + "ms";
  }
  const std::int64_t seconds = ms / 1000;
  if (seconds < 60) {
    return std::to_string(seconds) + "s";
  }
  if (seconds < 3600) {
    return two_units(seconds, 60, "m", "s");
  }
  if (seconds < 86'400) {
    return two_units(seconds / 60, 60, "h", "m");
  }
  return two_units(seconds / 3600, 24, "d", "h");
}

}  // namespace cremone::cli
