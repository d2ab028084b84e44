// SPDX-License-Identifier: Apache-2.0
#include "backends/redis/digest.hpp"

#include "base/check.hpp"

#include <openssl/evp.h>

namespace cremone::redis {

owner_id::bytes sha1(std::string_view text) noexcept {
  // Looking the algorithm up takes longer than a name takes to digest. Never freed: a client may live until the end.
  static const EVP_MD* const algorithm = ::EVP_MD_fetch(nullptr, "SHA1", nullptr);
  owner_id::bytes out{};
  unsigned size = 0;
  CREMONE_CHECK(::EVP_Digest(text.data(), text.size(), out.data(), &size, algorithm, nullptr) == 1);
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
