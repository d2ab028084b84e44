// SPDX-License-Identifier: Apache-2.0
//
// Which changes of a connection are worth telling: the first failure after it was there or before it ever was, and that it
// is there again. Not each attempt in between.
#pragma once

#include "backends/redis/node.hpp"
#include "base/events.hpp"

#include <cremone/callback.hpp>
#include <cremone/result.hpp>

#include <memory>
#include <utility>

namespace cremone::redis {

/// To be told of every change: null when the connection is there, else why it is not.
[[nodiscard]] inline callback<void(const error*)> report_changes(std::shared_ptr<const event_hub> events,
                                                                 const std::weak_ptr<node>& of) {
  return [events = std::move(events), of, down = false, ever = false](const error* why) mutable {
    const auto server = of.lock();
    if (why != nullptr && !down) {
      events->tell(ever ? event_kind::connection_lost : event_kind::not_connected, why->detail());
    } else if (why == nullptr && down && server) {
      events->tell(ever ? event_kind::connection_restored : event_kind::connected,
                   server->server() + (ever ? " can be reached again" : " can be reached"));
    }
    down = why != nullptr;
    ever = ever || !down;
  };
}

}  // namespace cremone::redis
