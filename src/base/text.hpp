// SPDX-License-Identifier: Apache-2.0
//
// Text that comes from outside and is shown to people: what must not reach a terminal, and how to show it anyway.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace cremone {

/// Where the first control character begins, else npos: C0, DEL, and C1 as UTF-8 writes it (a terminal obeys
/// U+009B like ESC [).
[[nodiscard]] std::size_t find_control(std::string_view text) noexcept;

/// A character that changes the order in which a terminal shows text.
struct bidirectional {
  std::size_t at = 0;  ///< where it begins
  std::string code;    ///< "U+202E"
};

/// The first bidirectional control character: U+061C, U+200E, U+200F, U+202A to U+202E, U+2066 to
/// U+2069.
[[nodiscard]] std::optional<bidirectional> find_bidirectional(std::string_view text);

/// The same text with each control character, bidirectional ones included, as \xNN.
[[nodiscard]] std::string printable(std::string_view text);

}  // namespace cremone
