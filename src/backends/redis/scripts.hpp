// SPDX-License-Identifier: Apache-2.0
//
// The Lua scripts of the layouts, as the server knows them: by their SHA-1. The texts are in the folder beside this.
#pragma once

#include <string>
#include <string_view>

namespace cremone::redis {

struct script {
  std::string_view name;  ///< for messages
  std::string_view text;
  std::string sha;
};

/// Made once per process.
struct script_set {
  script grant;
  script release;
  script renew;
  script force;
  script inspect;
  script pick;
  script rights;
};
[[nodiscard]] const script_set& scripts();

}  // namespace cremone::redis
