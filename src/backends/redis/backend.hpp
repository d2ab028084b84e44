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

namespace cremone::redis {

/// redis://, rediss://, redis+unix:// or one of sentinels; see settings.hpp. Connects in the background.
[[nodiscard]] result<std::shared_ptr<backend>> open_backend(const url& u, const std::shared_ptr<env>& e,
                                                            const std::shared_ptr<transport>& net,
                                                            const std::shared_ptr<const event_hub>& events);

}  // namespace cremone::redis
