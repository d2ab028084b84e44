// SPDX-License-Identifier: Apache-2.0
//
// Many threads, one client: exclusion, growing tokens and the order of arrival, shown on plain variables that only
// the lock protects. Run under ThreadSanitizer this also shows that a hand-over orders memory.
#include "backends/memory/backend.hpp"
#include "engine/asio_env.hpp"
#include "scenario/forwarding_backend.hpp"
#include "scenario/seam.hpp"
#include "support/crowd.hpp"
#include "support/sanitized.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <vector>

namespace cremone::test {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t thread_count = 16;
constexpr std::size_t rounds = sanitized ? 1'000 : 10'000;

/// Remembers all grants.
class recording_backend final : public forwarding_backend {
 public:
  using forwarding_backend::forwarding_backend;

  [[nodiscard]] std::vector<grant> in_order_of_tokens() const {
    const std::lock_guard lock(mutex_);
    auto all = grants_;
    std::sort(all.begin(), all.end(), [](const grant& a, const grant& b) { return a.token < b.token; });
    return all;
  }

 private:
  void granted(const grant& g) noexcept override {
    const std::lock_guard lock(mutex_);
    grants_.push_back(g);
  }

  mutable std::mutex mutex_;
  std::vector<grant> grants_;
};

class Threads : public ::testing::Test {
 protected:
  Threads() {
    // A thread that is not scheduled for a while must not be overtaken, as it would be by design.
    const memory::store_limits patient{.claim_time = 60s, .waiter_lease = 600s};
    auto env = std::make_shared<detail::asio_env>();
    auto store =
        std::make_shared<memory::memory_backend>(env, std::make_shared<memory::store>(patient), "memory://");
    record_ = std::make_shared<recording_backend>(std::move(store));
    locks_ = detail::access::make_client(std::make_shared<detail::engine>(std::move(env), record_));
  }

  std::shared_ptr<recording_backend> record_;
  client locks_;
};

TEST_F(Threads, OnOneNameExcludeEachOtherInTheOrderOfArrival) {
  std::size_t counter = 0;  // neither is atomic: the lock is all there is
  fence_token last;
  std::atomic<int> failures = 0;
  crowd(thread_count, [&](std::size_t) {
    for (std::size_t i = 0; i < rounds; ++i) {
      auto held = locks_.acquire("ledger");
      if (!held || held->token() <= last) {
        ++failures;
        return;
      }
      last = held->token();
      ++counter;
      if (!held->release()) {
        ++failures;
      }
    }
  });
  EXPECT_EQ(failures, 0);
  EXPECT_EQ(counter, thread_count * rounds);

  const auto grants = record_->in_order_of_tokens();
  ASSERT_EQ(grants.size(), thread_count * rounds);
  for (std::size_t i = 1; i < grants.size(); ++i) {
    ASSERT_GT(grants[i].ticket, grants[i - 1].ticket) << "grant " << i << " overtook an earlier arrival";
  }
}

TEST_F(Threads, OnNamesOfTheirOwnNeverMeet) {
  std::atomic<int> failures = 0;
  crowd(thread_count, [&](std::size_t t) {
    const lock_name mine("lock-" + std::to_string(t));
    fence_token last;
    for (std::size_t i = 0; i < rounds; ++i) {
      const auto held = locks_.acquire(mine, {.wait = no_wait});
      if (!held || held->token() <= last) {
        ++failures;
        return;
      }
      last = held->token();
    }
  });
  EXPECT_EQ(failures, 0);
  EXPECT_EQ(record_->in_order_of_tokens().size(), thread_count * rounds);
  EXPECT_TRUE(locks_.list().value().empty());
}

}  // namespace
}  // namespace cremone::test
