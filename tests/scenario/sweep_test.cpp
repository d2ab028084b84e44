// SPDX-License-Identifier: Apache-2.0
//
// Silent holds of names that nobody asks for: found by a client that sweeps, watched, and removed before it goes.
#include "backends/memory/backend.hpp"
#include "engine/sweeper.hpp"
#include "scenario/forwarding_backend.hpp"
#include "support/manual_env.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace cremone::test {
namespace {

using namespace std::chrono_literals;

/// Shows one hold, and answers an eviction of it when the test says so.
class haunted_store final : public forwarding_backend {
 public:
  explicit haunted_store(const std::shared_ptr<env>& e)
      : forwarding_backend(
            std::make_shared<memory::memory_backend>(e, std::make_shared<memory::store>(), "memory://")) {}

  void sweep(std::uint64_t, callback<void(result<sweep_step>)> reply) override {
    lock_record lock;
    lock.name = lock_name("forgotten");
    hold_record silent;
    silent.version = {owner_id({1}), 1};
    silent.ttl = 2s;
    lock.holders.push_back(silent);
    reply(sweep_step{{lock}, 0});
  }
  void evict(const lock_name&, const hold_version&, callback<void(answer)> reply) override {
    evictions.push_back(std::move(reply));
  }

  std::vector<callback<void(answer)>> evictions;
};

TEST(Sweep, IsOverOnlyWhenWhatItRemovesIsGone) {
  const auto outside = std::make_shared<manual_env>();
  haunted_store store(outside);
  detail::lookout known(store.describe(), nullptr);
  const event_hub nobody;
  const auto sweep = std::make_shared<detail::sweeper>(*outside, store, known, nobody);
  int over = 0;
  sweep->step(nullptr, [&] { ++over; });
  EXPECT_EQ(over, 1) << "it was seen for the first time: there is nothing to wait for";
  EXPECT_TRUE(store.evictions.empty());

  outside->advance(2100ms);
  sweep->step(nullptr, [&] { ++over; });
  ASSERT_EQ(store.evictions.size(), 1U);
  EXPECT_EQ(over, 1) << "a client that closes now would take the eviction with it";
  std::exchange(store.evictions.front(), nullptr)(done{});
  EXPECT_EQ(over, 2);
}

}  // namespace
}  // namespace cremone::test
