// SPDX-License-Identifier: Apache-2.0
//
// Takes C++ text apart by looking at each character once. It follows the language's spelling of comments and
// literals and stops there: no macros, no templates, no meaning.
#include "style/source_text.hpp"

#include <algorithm>
#include <cctype>
#include <utility>

namespace cremone::style {
namespace {

bool is_word_char(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// Walks over a text once and blanks out comments and literals. It does not know templates or preprocessing,
// and an unclosed literal ends with its line, so that an apostrophe in `#error` does no harm.
class stripper {
 public:
  explicit stripper(std::string_view text) : text_(text), out_{std::string(text), std::string(text)} {}

  stripped_text run() {
    while (at_ < text_.size()) {
      const std::string_view rest = text_.substr(at_);
      if (rest.starts_with("//")) {
        skip_comment(end_of_line_comment());
      } else if (rest.starts_with("/*")) {
        skip_comment(after(text_.find("*/", at_ + 2), 2));
      } else if (rest.front() == '"' && is_raw_prefix(word_before())) {
        skip_literal(end_of_raw_string());
      } else if (rest.front() == '"' || (rest.front() == '\'' && !is_number(word_before()))) {
        skip_literal(end_of_literal(rest.front()));
      } else {
        ++at_;
      }
    }
    return std::move(out_);
  }

 private:
  [[nodiscard]] std::size_t after(std::size_t found, std::size_t length) const {
    return found == std::string_view::npos ? text_.size() : found + length;
  }

  // A backslash before the line break carries the comment on to the next line.
  [[nodiscard]] std::size_t end_of_line_comment() const {
    std::size_t end = text_.find('\n', at_);
    while (end != std::string_view::npos && text_[end - 1] == '\\') end = text_.find('\n', end + 1);
    return std::min(end, text_.size());
  }

  [[nodiscard]] std::size_t end_of_literal(char quote) const {
    std::size_t end = at_ + 1;
    while (end < text_.size() && text_[end] != quote && text_[end] != '\n') {
      end += text_[end] == '\\' ? 2U : 1U;
    }
    return std::min(end + 1, text_.size());
  }

  // R"delimiter( ... )delimiter"
  [[nodiscard]] std::size_t end_of_raw_string() const {
    const std::size_t open = text_.find('(', at_);
    if (open == std::string_view::npos) return text_.size();
    const std::string close = ")" + std::string(text_.substr(at_ + 1, open - at_ - 1)) + "\"";
    return after(text_.find(close, open), close.size());
  }

  // The word or number that ends where we stand; a number may have apostrophes in it, as in 1'000'000.
  [[nodiscard]] std::string_view word_before() const {
    std::size_t start = at_;
    while (start > 0 && (is_word_char(text_[start - 1]) || text_[start - 1] == '\'')) --start;
    return text_.substr(start, at_ - start);
  }

  static bool is_number(std::string_view word) {
    return !word.empty() && std::isdigit(static_cast<unsigned char>(word.front())) != 0;
  }

  static bool is_raw_prefix(std::string_view word) {
    return word == "R" || word == "LR" || word == "uR" || word == "UR" || word == "u8R";
  }

  void skip_comment(std::size_t end) {
    blank(out_.without_comments, at_, end);
    blank(out_.code, at_, end);
    at_ = end;
  }

  void skip_literal(std::size_t end) {
    blank(out_.code, at_, end);
    at_ = end;
  }

  static void blank(std::string& text, std::size_t from, std::size_t to) {
    for (std::size_t i = from; i < to; ++i) {
      if (text[i] != '\n') text[i] = ' ';
    }
  }

  std::string_view text_;
  stripped_text out_;
  std::size_t at_ = 0;
};

std::string_view trim(std::string_view text) {
  constexpr std::string_view blanks = " \t\r";
  text.remove_prefix(std::min(text.find_first_not_of(blanks), text.size()));
  text.remove_suffix(text.size() - (text.find_last_not_of(blanks) + 1));
  return text;
}

}  // namespace

stripped_text strip(std::string_view text) { return stripper(text).run(); }

std::vector<std::string_view> split_lines(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

std::optional<std::string_view> after_directive(std::string_view line, std::string_view name) {
  line = trim(line);
  if (!line.starts_with('#')) return std::nullopt;
  line = trim(line.substr(1));
  if (!line.starts_with(name)) return std::nullopt;
  return trim(line.substr(name.size()));
}

std::vector<token> tokenize(std::string_view code) {
  std::vector<token> tokens;
  std::size_t line = 1;
  for (std::size_t at = 0; at < code.size();) {
    std::size_t length = 1;
    if (is_word_char(code[at])) {
      while (at + length < code.size() && is_word_char(code[at + length])) ++length;
    } else if (code.substr(at).starts_with("::")) {
      length = 2;
    }
    if (code[at] == '\n') ++line;
    if (std::isspace(static_cast<unsigned char>(code[at])) == 0)
      tokens.push_back({code.substr(at, length), line});
    at += length;
  }
  return tokens;
}

}  // namespace cremone::style
