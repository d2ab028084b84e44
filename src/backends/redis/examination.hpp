// SPDX-License-Identifier: Apache-2.0
//
// Asks a Redis server what diagnosis wants to know: INFO, CONFIG GET, its time, how long it takes to answer, and what the
// ACL denies. A question that is denied or not answered leaves its part untold. Changes nothing in the server but a key
// of our own that comes and goes.
#pragma once

#include "backends/redis/diagnosis.hpp"
#include "backends/redis/fitness.hpp"
#include "backends/redis/node.hpp"
#include "base/env.hpp"

#include <cremone/callback.hpp>
#include <cremone/finding.hpp>
#include <cremone/result.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace cremone::redis {

struct examination_order {
  /// A whole command that answers with the names of the commands that the ACL denies, as lua/rights.lua does.
  std::vector<std::string> rights_command{};
  std::optional<quarantine_state> quarantine{};  ///< what the layout knows of it, to be told with the rest
  bool perhaps_unused = false;                   ///< then there may be none at all
  std::shared_ptr<fitness> among{};              ///< knows the others, where several vote
};

/// Within `examination_limit`, on the executor. *unreachable*, *access_denied* and the like when nobody answers at all or
/// nobody may even log in.
void examine(const std::shared_ptr<env>& e, const std::shared_ptr<node>& server, examination_order order,
             callback<void(result<std::vector<finding>>)> reply);

/// Who asked waits 5 s (client.cpp).
inline constexpr std::chrono::milliseconds examination_limit{4'000};

/// Enough to see a server that stalls now and then, and done in a second where a round trip takes 50 ms.
inline constexpr int pings_wanted = 20;

}  // namespace cremone::redis
