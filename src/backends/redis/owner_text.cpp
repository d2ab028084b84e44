// SPDX-License-Identifier: Apache-2.0
#include "backends/redis/owner_text.hpp"

#include <cstddef>
#include <cstdint>

namespace cremone::redis {

namespace {

int digit(char c) noexcept {
  if (c >= '0' && c <= '9') {
    return c - '0';
  }
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

}  // namespace

std::optional<owner_id> parse_owner(std::string_view hex) noexcept {
  owner_id::bytes raw{};
  if (hex.size() != 2 * raw.size()) {
    return std::nullopt;
  }
  for (std::size_t i = 0; i < raw.size(); ++i) {
    const int high = digit(hex[2 * i]);
    const int low = digit(hex[2 * i + 1]);
    if (high < 0 || low < 0) {
      return std::nullopt;
    }
    raw[i] = static_cast<std::uint8_t>(high * 16 + low);
  }
  return owner_id(raw);
}

}  // namespace cremone::redis
