// SPDX-License-Identifier: Apache-2.0
#include "backends/redis/backend.hpp"

#include "backends/redis/classic.hpp"
#include "backends/redis/record.hpp"
#include "backends/redis/settings.hpp"

namespace cremone::redis {

namespace {

/// `all`: null for one that is the only one.
std::shared_ptr<backend> opened(const node_settings& to, const std::shared_ptr<env>& e,
                                const std::shared_ptr<transport>& net,
                                const std::shared_ptr<const event_hub>& events,
                                const std::shared_ptr<roster>& all, std::size_t number) {
  if (to.layout == layout::classic) {
    const auto made = std::make_shared<classic_backend>(e, net, to, events);
    made->start(all, number);
    return made;
  }
  const auto made = std::make_shared<record_backend>(e, net, to, events);
  made->start(all, number);
  return made;
}

}  // namespace

result<std::shared_ptr<backend>> open_backend(const url& u, const std::shared_ptr<env>& e,
                                              const std::shared_ptr<transport>& net,
                                              const std::shared_ptr<const event_hub>& events) {
  const auto settings = parse_settings(u);
  if (!settings) {
    return settings.error();
  }
  return opened(*settings, e, net, events, nullptr, 0);
}

result<opened_ring> open_ring(const url& u, const std::shared_ptr<env>& e,
                              const std::shared_ptr<transport>& net,
                              const std::shared_ptr<const event_hub>& events) {
  auto settings = parse_ring(u);
  if (!settings) {
    return settings.error();
  }
  opened_ring out;
  out.store = std::move(settings->store);
  const node_settings& first = settings->nodes.front();
  out.strict = first.strict;
  if (first.layout == layout::record) {
    out.identity = "redlock " + first.ring + " " + first.prefix;
  }
  const auto all = settings->nodes.size() > 1 ? std::make_shared<roster>(settings->nodes.size()) : nullptr;
  for (std::size_t i = 0; i < settings->nodes.size(); ++i) {
    out.nodes.push_back(opened(settings->nodes[i], e, net, events, all, i));
    out.names.push_back(settings->nodes[i].node);
  }
  return out;
}

}  // namespace cremone::redis
