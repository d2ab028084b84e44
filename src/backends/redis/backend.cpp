// SPDX-License-Identifier: Apache-2.0
#include "backends/redis/backend.hpp"

#include "backends/redis/classic.hpp"
#include "backends/redis/record.hpp"
#include "backends/redis/settings.hpp"

namespace cremone::redis {

result<std::shared_ptr<backend>> open_backend(const url& u, const std::shared_ptr<env>& e,
                                              const std::shared_ptr<transport>& net,
                                              const std::shared_ptr<const event_hub>& events) {
  const auto settings = parse_settings(u);
  if (!settings) {
    return settings.error();
  }
  if (settings->layout == layout::classic) {
    const auto made = std::make_shared<classic_backend>(e, net, *settings, events);
    made->start();
    return std::shared_ptr<backend>(made);
  }
  const auto made = std::make_shared<record_backend>(e, net, *settings, events);
  made->start();
  return std::shared_ptr<backend>(made);
}

}  // namespace cremone::redis
