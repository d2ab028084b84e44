// SPDX-License-Identifier: Apache-2.0
//
// SHA-1, as Redis names scripts by it. Not for secrets. Only in builds with Redis: it is OpenSSL's.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace cremone {

[[nodiscard]] std::array<std::uint8_t, 20> sha1(std::string_view text) noexcept;
[[nodiscard]] std::string sha1_hex(std::string_view text);

}  // namespace cremone
