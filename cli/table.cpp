// SPDX-License-Identifier: Apache-2.0
//
// Rows of text as a table for people or as tabbed lines for programs.
#include "cli/record_text.hpp"

#include <algorithm>

namespace cremone::cli {

namespace {

constexpr std::string_view gap = "  ";

std::string line_of(const std::vector<std::string>& row, const std::vector<std::size_t>& widths) {
  std::string line;
  for (std::size_t i = 0; i < row.size(); ++i) {
    const bool last = i + 1 == row.size();
    line += last ? row[i] : padded(row[i], widths[i]) + std::string(gap);
  }
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

}  // namespace

std::string as_table(const std::vector<std::string>& headings,
                     const std::vector<std::vector<std::string>>& rows, std::size_t columns,
                     const palette& colours) {
  std::vector<std::size_t> widths;
  std::transform(headings.begin(), headings.end(), std::back_inserter(widths), width);
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      widths[i] = std::max(widths[i], width(row[i]));
    }
  }
  std::string text = std::string(colours.strong) + cut(line_of(headings, widths), columns) +
                     std::string(colours.plain) + "\n";
  for (const auto& row : rows) {
    text += cut(line_of(row, widths), columns) + "\n";
  }
  return text;
}

std::string as_tabbed(const std::vector<std::vector<std::string>>& rows) {
  std::string text;
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      text += (i == 0 ? "" : "\t") + row[i];
    }
    text += "\n";
  }
  return text;
}

}  // namespace cremone::cli
