// SPDX-License-Identifier: Apache-2.0
//
// A real client, with its threads and its clock, over a scripted store.
#pragma once

#include "engine/asio_env.hpp"
#include "engine/engine.hpp"
#include "support/scripted_backend.hpp"

#include <cremone/client.hpp>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace cremone::test {

struct scripted_client {
  explicit scripted_client(const traits& t = network_traits()) {
    auto env = std::make_shared<detail::asio_env>();
    store = std::make_shared<scripted_backend>(env, t);
    store->follow(script::yes());
    locks = detail::access::make_client(std::make_shared<detail::engine>(std::move(env), store));
  }
  scripted_client(const scripted_client&) = delete;
  scripted_client& operator=(const scripted_client&) = delete;
  ~scripted_client() {
    locks.reset();
    store->drop_waiting();
  }

  [[nodiscard]] std::vector<lease> take_many(int count) {
    std::vector<lease> all;
    for (int i = 0; i < count; ++i) {
      all.push_back(locks->acquire("lock-" + std::to_string(i)).value());
    }
    return all;
  }

  std::shared_ptr<scripted_backend> store;
  std::optional<client> locks;
};

}  // namespace cremone::test
