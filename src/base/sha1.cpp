// SPDX-License-Identifier: Apache-2.0
#include "base/sha1.hpp"

#include "base/check.hpp"

#include <cremone/types.hpp>

#include <openssl/evp.h>

namespace cremone {

std::array<std::uint8_t, 20> sha1(std::string_view text) noexcept {
  // Looking the algorithm up takes longer than a name takes to digest. Never freed: a client may live until the end.
  static const EVP_MD* const algorithm = ::EVP_MD_fetch(nullptr, "SHA1", nullptr);
  std::array<std::uint8_t, 20> out{};
  unsigned size = 0;
  CREMONE_CHECK(::EVP_Digest(text.data(), text.size(), out.data(), &size, algorithm, nullptr) == 1);
  return out;
}

std::string sha1_hex(std::string_view text) { return owner_id(sha1(text)).hex(); }

}  // namespace cremone
