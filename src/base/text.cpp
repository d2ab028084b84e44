// SPDX-License-Identifier: Apache-2.0
#include "base/text.hpp"

#include <algorithm>

namespace cremone {

namespace {

/// How many bytes at the start of `text` are a control character; it is not empty.
std::size_t control_size(std::string_view text) noexcept {
  const auto first = static_cast<unsigned char>(text[0]);
  if (first < 0x20 || first == 0x7f) {
    return 1;
  }
  if (first == 0xc2 && text.size() > 1) {
    const auto second = static_cast<unsigned char>(text[1]);
    return second >= 0x80 && second <= 0x9f ? 2 : 0;
  }
  return 0;
}

}  // namespace

std::size_t find_control(std::string_view text) noexcept {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (control_size(text.substr(i)) > 0) {
      return i;
    }
  }
  return std::string_view::npos;
}

std::string printable(std::string_view text) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string out;
  while (!text.empty()) {
    const std::size_t control = control_size(text);
    for (std::size_t i = 0; i < control; ++i) {
      const auto byte = static_cast<unsigned char>(text[i]);
      out += "\\x";
      out += digits[byte / 16U];
      out += digits[byte % 16U];
    }
    if (control == 0) {
      out += text[0];
    }
    text.remove_prefix(std::max<std::size_t>(control, 1));
  }
  return out;
}

}  // namespace cremone
