// SPDX-License-Identifier: Apache-2.0
#include "base/text.hpp"

#include <algorithm>
#include <array>
#include <utility>

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

/// Each bidirectional control character: its code, and how UTF-8 writes it.
constexpr std::array<std::pair<std::string_view, std::string_view>, 12> bidirectional_controls = {{
    {"U+061C", "\xd8\x9c"},
    {"U+200E", "\xe2\x80\x8e"},
    {"U+200F", "\xe2\x80\x8f"},
    {"U+202A", "\xe2\x80\xaa"},
    {"U+202B", "\xe2\x80\xab"},
    {"U+202C", "\xe2\x80\xac"},
    {"U+202D", "\xe2\x80\xad"},
    {"U+202E", "\xe2\x80\xae"},
    {"U+2066", "\xe2\x81\xa6"},
    {"U+2067", "\xe2\x81\xa7"},
    {"U+2068", "\xe2\x81\xa8"},
    {"U+2069", "\xe2\x81\xa9"},
}};

/// How many bytes at the start of `text` are a bidirectional control character.
std::size_t bidirectional_size(std::string_view text) noexcept {
  for (const auto& [code, bytes] : bidirectional_controls) {
    if (text.starts_with(bytes)) {
      return bytes.size();
    }
  }
  return 0;
}

}  // namespace

std::optional<bidirectional> find_bidirectional(std::string_view text) {
  std::optional<bidirectional> first;
  for (const auto& [code, bytes] : bidirectional_controls) {
    const std::size_t at = text.find(bytes);
    if (at != std::string_view::npos && (!first || at < first->at)) {
      first = bidirectional{at, std::string(code)};
    }
  }
  return first;
}

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
    const std::size_t control = std::max(control_size(text), bidirectional_size(text));
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
