// SPDX-License-Identifier: Apache-2.0
//
// Text that comes from outside and is shown to people: what must not reach a terminal, and how to show it anyway.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace cremone {

/// Where the first control character begins, else npos: C0, DEL, and C1 as UTF-8 writes it (a terminal obeys
/// U+009B like ESC [).
[[nodiscard]] std::size_t find_control(std::string_view text) noexcept;

/// The same text with each control character as \xNN.
[[nodiscard]] std::string printable(std::string_view text);

}  // namespace cremone
