// SPDX-License-Identifier: Apache-2.0
#include "cli/secrets.hpp"

#include <algorithm>

namespace cremone::cli {

std::string_view password_in(std::string_view text) noexcept {
  constexpr std::string_view mark = "://";
  const auto scheme = text.find(mark);
  if (scheme == std::string_view::npos) {
    return {};
  }
  const auto begin = text.find(':', scheme + mark.size());
  const auto end = text.rfind('@');
  if (begin == std::string_view::npos || end == std::string_view::npos || end <= begin) {
    return {};
  }
  return text.substr(begin + 1, end - begin - 1);
}

std::string without_password(std::string_view text) {
  const std::string_view password = password_in(text);
  std::string out(text);
  if (!password.empty()) {
    out.replace(static_cast<std::size_t>(password.data() - text.data()), password.size(), password.size(),
                '*');
  }
  return out;
}

void hide_passwords(int count, char** words) noexcept {
  for (int i = 0; i < count; ++i) {
    const std::string_view word = words[i];
    const std::string_view password = password_in(word);
    std::fill_n(words[i] + (password.empty() ? 0 : password.data() - word.data()), password.size(), '*');
  }
}

}  // namespace cremone::cli
