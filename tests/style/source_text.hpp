// SPDX-License-Identifier: Apache-2.0
//
// Reads C++ as far as the tree's rules need it: comments, literals, lines, directives and words. It decides
// what is code and what is not; it must not know any rule, and it must not become a compiler.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cremone::style {

// A source text twice, both as long as the original and with its line breaks, so that positions agree.
struct stripped_text {
  std::string without_comments;  // comments are blanks
  std::string code;              // string and character literals are blanks as well
};
[[nodiscard]] stripped_text strip(std::string_view text);

// The lines without their line breaks. They, and all that follows, are views into what was passed in.
[[nodiscard]] std::vector<std::string_view> split_lines(std::string_view text);

// What follows `#` and the directive's name, if the line is that directive.
[[nodiscard]] std::optional<std::string_view> after_directive(std::string_view line, std::string_view name);

// A word, `::`, or any other single character that is not blank. Lines are counted from 1.
struct token {
  std::string_view text;
  std::size_t line = 0;
};
[[nodiscard]] std::vector<token> tokenize(std::string_view code);

}  // namespace cremone::style
