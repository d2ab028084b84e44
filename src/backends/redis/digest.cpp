// SPDX-License-Identifier: Apache-2.0
#include "backends/redis/digest.hpp"

#include <openssl/sha.h>

namespace cremone::redis {

owner_id::bytes sha1(std::string_view text) noexcept {
  owner_id::bytes out{};
  static_assert(sizeof(owner_id::bytes) == SHA_DIGEST_LENGTH);
  ::SHA1(reinterpret_cast<const unsigned char*>(text.data()), text.size(), out.data());
  return out;
}

std::string sha1_hex(std::string_view text) { return owner_id(sha1(text)).hex(); }

std::uint32_t bucket_of(std::string_view name) noexcept {
  const owner_id::bytes digest = sha1(name);
  std::uint32_t first = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    first = (first << 8U) | digest[i];
  }
  return first % bucket_count;
}

}  // namespace cremone::redis
