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

std::string without_password(std::string_view word) {
  const std::string_view password = password_in(word);
  std::string out(word);
  if (!password.empty()) {
    out.replace(static_cast<std::size_t>(password.data() - word.data()), password.size(), password.size(),
                '*');
  }
  return out;
}

std::string without_passwords(std::string_view text) {
  std::string out;
  for (;;) {
    const auto end = text.find(' ');
    out += without_password(text.substr(0, end));
    if (end == std::string_view::npos) {
      return out;
    }
    out += ' ';
    text.remove_prefix(end + 1);
  }
}

void hide_passwords(int count, char** words) noexcept {
  for (int i = 0; i < count; ++i) {
    const std::string_view word = words[i];
    const std::string_view password = password_in(word);
    std::fill_n(words[i] + (password.empty() ? 0 : password.data() - word.data()), password.size(), '*');
  }
}

}  // namespace cremone::cli
