// SPDX-License-Identifier: Apache-2.0
//
// What happened between two looks at a store: who got a lock, who let go, who began or ceased to wait. Pure.
#pragma once

#include <cremone/record.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cremone::cli {

struct change {
  enum class kind : std::uint8_t {
    released,  ///< a hold is over: released, lost or evicted
    left,      ///< one who waited does so no more, and did not get the lock
    waiting,
    held,
  };
  kind what{};
  std::string name;
  owner_data who;
  fence_token token;  ///< of a hold; else 0
};

[[nodiscard]] std::string_view to_string(change::kind k) noexcept;

/// In the order in which they make sense: who goes before who comes. Both lists are ordered by name, as the store gives
/// them.
[[nodiscard]] std::vector<change> changes_between(const std::vector<lock_record>& before,
                                                  const std::vector<lock_record>& after);

/// Time, event, name, host, pid, user, token, label, with tabs between.
[[nodiscard]] std::string to_line(const change& c, wall_time now);

}  // namespace cremone::cli
