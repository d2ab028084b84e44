// SPDX-License-Identifier: Apache-2.0
#include "backends/redis/rights.hpp"

#include "base/text.hpp"

namespace cremone::redis {

std::string acl_rule(std::string_view right, layout l, std::string_view prefix) {
  if (right == right_to_keys && l == layout::classic) {
    return "~*";  // its locks have the names that users give them
  }
  if (right == right_to_keys || right == right_to_channels) {
    return std::string(right) + std::string(prefix) + ":*";
  }
  return "+" + printable(right);
}

}  // namespace cremone::redis
