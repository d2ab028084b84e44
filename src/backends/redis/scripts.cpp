// SPDX-License-Identifier: Apache-2.0
#include "backends/redis/scripts.hpp"

#include "backends/redis/digest.hpp"
#include "backends/redis/lua.hpp"

namespace cremone::redis {

const script_set& scripts() {
  const auto made = [](std::string_view name, std::string_view text) {
    return script{name, text, sha1_hex(text)};
  };
  static const script_set all{made("grant", lua::grant),     made("release", lua::release),
                              made("renew", lua::renew),     made("force", lua::force),
                              made("inspect", lua::inspect), made("pick", lua::pick),
                              made("rights", lua::rights)};
  return all;
}

}  // namespace cremone::redis
