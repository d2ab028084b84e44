// SPDX-License-Identifier: Apache-2.0
//
// The statements of a store, each prepared once per connection, and what its files share about rows. The SQL is in the
// folder beside this.
#pragma once

#include "backends/sqlite/sql.hpp"
#include "backends/sqlite/store.hpp"

#include <algorithm>
#include <chrono>
#include <string>

namespace cremone::sqlite {

struct store::statements {
  statement acquire{sql::acquire};
  statement give{sql::give};
  statement release{sql::release};
  statement renew{sql::renew};
  statement evict{sql::evict};
  statement look{sql::look};
  statement list{sql::list};
  statement queue{sql::queue};
  statement head{sql::head};
  statement drop_silent{sql::drop_silent};
  statement my_place{sql::my_place};
  statement ahead{sql::ahead};
  statement join{sql::join};
  statement count_ticket{sql::count_ticket};
  statement stay{sql::stay};
  statement pass_over{sql::pass_over};
  statement miss{sql::miss};
  statement leave{sql::leave};
  statement bury{sql::bury};
  statement raise_mark{sql::raise_mark};
  statement set_mark{sql::set_mark};
  statement new_boot{sql::new_boot};
  statement sweep{sql::sweep};
  statement forget{sql::forget};
  statement swept{sql::swept};
  statement swept_to{sql::swept_to};
};

/// A lock as one transaction finds it.
struct store::row {
  std::int64_t token = 0;
  std::optional<hold_record> holder;
  std::int64_t freed = 0;
  bool spent = false;  // the one who asks was released or evicted before
};

[[nodiscard]] inline std::int64_t ticks(instant t) noexcept { return t.time_since_epoch().count(); }

/// The time is read before it is this one's turn to write, and others may have written later times by then. Only what
/// is further ahead than this is of an earlier boot, or of another time namespace.
inline constexpr std::chrono::nanoseconds turn_may_take = std::chrono::minutes(1);

/// The five columns that say who somebody is, from `host` on.
[[nodiscard]] inline owner_data owner_from(const rows& from, int host) {
  return {.host = std::string(from.text(host)),
          .pid = from.number(host + 1),
          .user = std::string(from.text(host + 2)),
          .label = std::string(from.text(host + 3)),
          .since = wall_time(std::chrono::microseconds(from.number(host + 4)))};
}

[[nodiscard]] inline owner_id owner_in(bytes raw) {
  owner_id::bytes id{};
  std::copy_n(raw.begin(), std::min(raw.size(), id.size()), id.begin());
  return owner_id(id);
}

/// A waiter needs its process; a command that outlives it waits for nothing.
[[nodiscard]] inline bool gone(liveness l) noexcept {
  return l == liveness::dead || l == liveness::command_only;
}

}  // namespace cremone::sqlite
