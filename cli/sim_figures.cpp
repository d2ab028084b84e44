// SPDX-License-Identifier: Apache-2.0
#include "cli/sim_figures.hpp"

#include <algorithm>
#include <array>
#include <charconv>

namespace cremone::cli {

namespace {
constexpr std::string_view gap = "  ";
}  // namespace

std::string painted(std::string_view text, std::string_view colour, const palette& colours) {
  return std::string(colour) + std::string(text) + std::string(colour.empty() ? colour : colours.plain);
}

std::string grouped(std::uint64_t n) {
  std::string digits = std::to_string(n);
  for (std::size_t at = digits.size(); at > 3;) {
    at -= 3;
    digits.insert(at, 1, ',');
  }
  return digits;
}

std::string with_decimals(double value, int decimals) {
  std::array<char, 400> room{};  // the largest double has 309 digits before its point
  const auto end =
      std::to_chars(room.data(), room.data() + room.size(), value, std::chars_format::fixed, decimals);
  return {room.data(), end.ptr};
}

std::string roughly(double value) {
  if (value >= 100) {
    return grouped(static_cast<std::uint64_t>(std::min(value, 1e18)));
  }
  return with_decimals(value, value >= 10 ? 1 : 2);
}

std::string as_rows(const std::vector<figure>& figures, const palette& colours) {
  std::size_t name = 0;
  std::size_t number = 0;
  for (const figure& f : figures) {
    name = std::max(name, width(f.name));
    number = std::max(number, width(f.number));
  }
  std::string text;
  for (const figure& f : figures) {
    text += padded(f.name, name) + std::string(gap) + std::string(number - width(f.number), ' ') + f.number;
    text += f.about.empty() ? "\n" : std::string(gap) + painted(f.about, colours.dim, colours) + "\n";
  }
  return text;
}

}  // namespace cremone::cli
