// SPDX-License-Identifier: Apache-2.0
//
// Which changes of a connection are worth telling: the first failure after it was there or before it ever was, and that it
// is there again. Not each attempt in between.
#pragma once

#include "base/events.hpp"

#include <cremone/callback.hpp>
#include <cremone/result.hpp>

#include <memory>
#include <string>
#include <utility>

namespace cremone::redis {

/// To be told of every change: null when the connection is there, else why it is not.
[[nodiscard]] inline callback<void(const error*)> report_changes(std::shared_ptr<const event_hub> events,
                                                                 std::string node) {
  return [events = std::move(events), node = std::move(node), lost = false](const error* why) mutable {
    if (why != nullptr && !lost) {
      events->tell(event_kind::connection_lost, why->detail());
    } else if (why == nullptr && lost) {
      events->tell(event_kind::connection_restored, node + " can be reached again");
    }
    lost = why != nullptr;
  };
}

}  // namespace cremone::redis
