// SPDX-License-Identifier: Apache-2.0
//
// The contract for stores as a network makes them: answers come later on another thread, and some keep no queue
// and send no hints. Built over memory, so that these halves of the contract, and of the engine, are tested
// where no server runs.
#include "contract/suite.hpp"

#include "backends/memory/backend.hpp"
#include "support/distant_backend.hpp"

namespace cremone::contract {

namespace {

using test::distant_backend;

template <distant_backend::queue Queue>
class distant_store final : public store_under_test {
 public:
  [[nodiscard]] std::string url() const override { return "memory://distant"; }

  [[nodiscard]] std::shared_ptr<backend> connect(const std::shared_ptr<env>& outside) override {
    return std::make_shared<distant_backend>(
        outside, std::make_shared<memory::memory_backend>(outside, store_, url()), Queue);
  }

 private:
  std::shared_ptr<memory::store> store_ = std::make_shared<memory::store>();
};

}  // namespace

std::vector<store_kind> tested_stores() {
  using queue = distant_backend::queue;
  return {{"distant", start<distant_store<queue::as_inside>>},
          {"distant_without_queue", start<distant_store<queue::none>>}};
}

}  // namespace cremone::contract
