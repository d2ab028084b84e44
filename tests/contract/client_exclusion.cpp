// SPDX-License-Identifier: Apache-2.0
//
// Through the public client: one holder at a time, hand-over to those who wait, and refusals that say who is in
// the way.
#include "contract/suite.hpp"

#include "base/process.hpp"
#include "support/crowd.hpp"
#include "support/wait_for.hpp"

#include <array>
#include <atomic>
#include <chrono>
#include <future>
#include <string>
#include <vector>

namespace cremone::contract {

namespace {

using namespace std::chrono_literals;
using std::chrono::steady_clock;
using test::generous;
using test::wait_for;

class Exclusion : public client_test {
 protected:
  /// Answered, and not asked for the answer yet.
  [[nodiscard]] static bool ready(const std::future<result<lease>>& w) {
    return w.valid() && w.wait_for(0s) == std::future_status::ready;
  }

  /// Waits for the lock on a thread of its own.
  [[nodiscard]] std::future<result<lease>> wait_in_background(client& by) {
    return std::async(std::launch::async, [this, &by] { return by.acquire(lock_, {.wait = generous}); });
  }
};

INSTANTIATE_TEST_SUITE_P(Contract, Exclusion, ::testing::ValuesIn(tested_stores()), store_name);

TEST_P(Exclusion, HoldsBetweenClientsAndWithinOne) {
  lease held = take(ann_, lock_);
  EXPECT_TRUE(held.held());
  for (client* by : {&ann_, &bob_}) {
    const auto no = by->acquire(lock_, {.wait = no_wait});
    ASSERT_FALSE(no);
    EXPECT_EQ(no.error().code(), errc::busy);
  }
  EXPECT_TRUE(held.release());
  EXPECT_FALSE(held.held());
  expect_free(lock_);
}

TEST_P(Exclusion, HandsTheLockOnWithAGreaterToken) {
  fence_token last;
  for (int i = 0; i < 10; ++i) {
    lease held = take(i % 2 == 0 ? ann_ : bob_, lock_, {.wait = no_wait});
    expect_later(held.token(), last);
    if (seam_.like().records) {
      EXPECT_EQ(held.token(), inspect(lock_).last);
    } else {
      EXPECT_EQ(inspect(lock_).holders.size(), 1U) << "there is no place for the token in it";
    }
    last = held.token();
    EXPECT_TRUE(held.release());
  }
}

TEST_P(Exclusion, EndsWithTheLastHandleWithoutARelease) {
  { const lease held = take(ann_, lock_); }
  expect_free(lock_);
  EXPECT_TRUE(take(bob_, lock_, {.wait = generous}).held());
}

TEST_P(Exclusion, HandsTheLockToAClientThatWaits) {
  lease first = take(ann_, lock_);
  const fence_token before = first.token();
  auto waiting = wait_in_background(bob_);
  expect_waiting(lock_, 1);
  EXPECT_EQ(waiting.wait_for(0s), std::future_status::timeout) << "it must still wait";
  EXPECT_TRUE(first.release());
  const auto second = waiting.get();
  ASSERT_TRUE(second) << second.error().message();
  EXPECT_TRUE(second->held());
  expect_later(second->token(), before);
}

TEST_P(Exclusion, ServesAllWhoWaitAndInOrderWhereThereIsAQueue) {
  std::array<client, 4> clients;
  std::vector<std::future<result<lease>>> waiting;
  lease held = take(ann_, lock_);
  for (client& c : clients) {
    c = store().open_client();
    waiting.push_back(wait_in_background(c));
    expect_waiting(lock_, waiting.size());
  }
  for (std::size_t turn = 0; turn < waiting.size(); ++turn) {
    const fence_token last = held.token();
    const auto freed = steady_clock::now();
    EXPECT_TRUE(held.release());
    std::size_t served = 0;
    ASSERT_TRUE(wait_for([&] {
      served = 0;
      while (served < waiting.size() && !ready(waiting[served])) {
        ++served;
      }
      return served < waiting.size();
    })) << "nobody is served";
    if (seam_.like().fifo && steady_clock::now() - freed < seam_.like().claim_time) {
      EXPECT_EQ(served, turn) << "out of order, though the head had time to claim the lock";
    }
    auto got = waiting[served].get();
    ASSERT_TRUE(got) << got.error().message();
    expect_later(got->token(), last);
    held = std::move(*got);
  }
}

TEST_P(Exclusion, RefusesBusyNamingTheHolder) {
  const lease held = take(ann_, lock_, {.label = "nightly report"});
  const auto no = bob_.acquire(lock_, {.wait = no_wait});
  ASSERT_FALSE(no);
  EXPECT_EQ(no.error().code(), errc::busy);
  const std::string message = no.error().message();
  const process_identity me = this_process();
  const std::string user = seam_.like().records ? me.user : "";  // else there is no place for it
  for (const std::string& part : {lock_.str(), seam_.like().store, me.host, "pid " + std::to_string(me.pid),
                                  user, std::string("nightly report")}) {
    EXPECT_NE(message.find(part), std::string::npos) << "'" << part << "' is not in: " << message;
  }
}

TEST_P(Exclusion, TimesOutNoSoonerThanAskedAndLeavesNoPlace) {
  const lease held = take(ann_, lock_, {.label = "the one in the way"});
  const instant began = validity_clock::now();
  const auto no = bob_.acquire(lock_, {.wait = 200ms});
  const auto waited = validity_clock::now() - began;
  ASSERT_FALSE(no);
  EXPECT_EQ(no.error().code(), errc::timed_out);
  EXPECT_NE(no.error().message().find("the one in the way"), std::string::npos) << no.error().message();
  EXPECT_GE(waited, 200ms);
  EXPECT_LT(waited, 200ms + generous);
  EXPECT_TRUE(wait_for([&] { return inspect(lock_).waiters.empty(); }));
  EXPECT_TRUE(held.held());
}

TEST_P(Exclusion, KeepsACounterExactUnderEightThreadsAndTwoClients) {
  constexpr int rounds = 200;
  // Read and written as two steps, so that two holders at once would lose a count. Atomic only because a store in
  // another process orders these threads without a sanitizer's knowledge.
  std::atomic<int> counter = 0;
  std::atomic<std::uint64_t> last_token = 0;
  test::crowd(8, [&](std::size_t i) {
    client& mine = i % 2 == 0 ? ann_ : bob_;
    for (int round = 0; round < rounds; ++round) {
      auto held = mine.acquire(lock_);
      ASSERT_TRUE(held) << held.error().message();
      const std::uint64_t before = last_token.load();
      const int count = counter.load();
      std::this_thread::yield();
      counter.store(count + 1);
      last_token.store(held->token().value());
      expect_later(held->token(), fence_token(before));
      EXPECT_TRUE(held->release());
    }
  });
  EXPECT_EQ(counter, 8 * rounds);
  expect_free(lock_);
}

}  // namespace

}  // namespace cremone::contract
