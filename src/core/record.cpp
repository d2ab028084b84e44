// SPDX-License-Identifier: Apache-2.0
#include <cremone/record.hpp>

namespace cremone {

std::string_view to_string(liveness l) noexcept {
  switch (l) {
    case liveness::untold: return "untold";
    case liveness::alive: return "alive";
    case liveness::command_only: return "command_only";
    case liveness::dead: return "dead";
  }
  return "untold";
}

bool looks_abandoned(const hold_record& hold) noexcept {
  const bool renewed =
      !hold.renewed_ago || (*hold.renewed_ago >= hold.renewed_ago->zero() && *hold.renewed_ago <= hold.ttl);
  return !renewed && hold.ttl > hold.ttl.zero() && hold.liveness != liveness::command_only;
}

}  // namespace cremone
