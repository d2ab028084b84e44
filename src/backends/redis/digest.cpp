// SPDX-License-Identifier: Apache-2.0
#include "backends/redis/digest.hpp"

namespace cremone::redis {

std::uint32_t bucket_of(std::string_view name) noexcept {
  const auto digest = sha1(name);
  std::uint32_t first = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    first = (first << 8U) | digest[i];
  }
  return first % bucket_count;
}

}  // namespace cremone::redis
