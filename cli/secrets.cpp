// SPDX-License-Identifier: Apache-2.0
#include "cli/secrets.hpp"

#include <algorithm>

namespace cremone::cli {

std::string_view password_in(std::string_view word) noexcept {
  constexpr std::string_view mark = ":/";  // one slash may have been forgotten
  const auto scheme = word.find(mark);
  if (scheme == std::string_view::npos) {
    return {};
  }
  const auto begin = word.find(':', scheme + mark.size());
  const auto end = word.rfind('@');
  if (begin == std::string_view::npos || end == std::string_view::npos || end <= begin) {
    return {};
  }
  return word.substr(begin + 1, end - begin - 1);
}

namespace {

std::string masked(std::string_view text, std::string_view part) {
  std::string out(text);
  if (!part.empty()) {
    out.replace(static_cast<std::size_t>(part.data() - text.data()), part.size(), part.size(), '*');
  }
  return out;
}

/// Masks each word of the text, and keeps the blanks between them.
template <class Mask>
std::string by_word(std::string_view text, Mask mask) {
  std::string out;
  for (;;) {
    const auto end = text.find(' ');
    out += mask(text.substr(0, end));
    if (end == std::string_view::npos) {
      return out;
    }
    out += ' ';
    text.remove_prefix(end + 1);
  }
}

/// From the first ':' to the last '@' of a word without a scheme.
std::string_view between_colon_and_at(std::string_view word) noexcept {
  const auto begin = word.find(':');
  const auto end = word.rfind('@');
  if (begin == std::string_view::npos || end == std::string_view::npos || end <= begin) {
    return {};
  }
  return word.substr(begin + 1, end - begin - 1);
}

bool has_scheme(std::string_view word) noexcept { return word.find(":/") != std::string_view::npos; }

/// Like a URL whose scheme is missing: /:password@host, perhaps in quotes.
bool begins_with_slash(std::string_view word) noexcept {
  const auto first = word.find_first_not_of("'\"`(");
  return first != std::string_view::npos && word[first] == '/';
}

}  // namespace

std::string without_password(std::string_view word) {
  if (has_scheme(word)) {
    return masked(word, password_in(word));
  }
  return by_word(word, [](std::string_view one) { return masked(one, between_colon_and_at(one)); });
}

std::string without_passwords(std::string_view text) {
  return by_word(text, [](std::string_view one) {
    const bool hides = !has_scheme(one) && begins_with_slash(one);
    return masked(one, hides ? between_colon_and_at(one) : password_in(one));
  });
}

void hide_passwords(int count, char** words) noexcept {
  for (int i = 0; i < count; ++i) {
    const std::string_view word = words[i];
    const std::string_view password = password_in(word);
    std::fill_n(words[i] + (password.empty() ? 0 : password.data() - word.data()), password.size(), '*');
  }
}

}  // namespace cremone::cli
