// SPDX-License-Identifier: Apache-2.0
//
// The contract for memory://: a store of its own per test, not one from the registry of the process, so that no
// test sees another's locks.
#include "contract/suite.hpp"

#include "backends/memory/backend.hpp"

namespace cremone::contract {

namespace {

class memory_store final : public store_under_test {
 public:
  [[nodiscard]] std::string url() const override { return "memory://"; }

  [[nodiscard]] std::shared_ptr<backend> connect(const std::shared_ptr<env>& outside) override {
    return std::make_shared<memory::memory_backend>(outside, store_, url());
  }

 private:
  std::shared_ptr<memory::store> store_ = std::make_shared<memory::store>();
};

}  // namespace

std::vector<store_kind> tested_stores() { return {{"memory", start<memory_store>}}; }

}  // namespace cremone::contract
