// SPDX-License-Identifier: Apache-2.0
//
// One Redis server as a store of locks, in the layout that the URL asks for. Many of these make a Redlock, one of them a
// quorum of one (engine/quorum).
#pragma once

#include "base/env.hpp"
#include "base/events.hpp"
#include "base/transport.hpp"
#include "base/url.hpp"

#include <cremone/backend.hpp>

#include <memory>
#include <string>
#include <vector>

namespace cremone::redis {

/// redis://, rediss://, redis+unix:// or one of sentinels; see settings.hpp. Connects in the background.
[[nodiscard]] result<std::shared_ptr<backend>> open_backend(const url& u, const std::shared_ptr<env>& e,
                                                            const std::shared_ptr<transport>& net,
                                                            const std::shared_ptr<const event_hub>& events);

/// redlock:// or redlocks://: several servers that vote on each lock.
struct opened_ring {
  std::vector<std::shared_ptr<backend>> nodes;
  std::vector<std::string> names;  ///< of the nodes, for messages; no secrets in them
  std::string store;               ///< likewise of them all
  std::string identity;            ///< traits::identity of them all
  bool strict = false;             ///< when a majority has forgotten, only a person lets them go on
};
[[nodiscard]] result<opened_ring> open_ring(const url& u, const std::shared_ptr<env>& e,
                                            const std::shared_ptr<transport>& net,
                                            const std::shared_ptr<const event_hub>& events);

}  // namespace cremone::redis
