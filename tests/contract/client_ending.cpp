// SPDX-License-Identifier: Apache-2.0
//
// Through the public client: waits that end by a stop token, and clients that are closed. Whatever ends a call,
// no hold and no place in the queue is left behind.
#include "contract/suite.hpp"

#include "support/wait_for.hpp"

#include <chrono>
#include <future>
#include <optional>
#include <stop_token>

namespace cremone::contract {

namespace {

using namespace std::chrono_literals;
using test::generous;
using test::wait_for;

class Ending : public client_test {
 protected:
  /// A wait without end, on a thread of its own.
  [[nodiscard]] std::future<result<lease>> wait_in_background(client& by, std::stop_token stop = {}) {
    return std::async(std::launch::async, [this, &by, stop] { return by.acquire(lock_, {}, stop); });
  }

  void expect_cancelled(std::future<result<lease>>& waiting) {
    ASSERT_EQ(waiting.wait_for(generous), std::future_status::ready) << "it waits still";
    const auto no = waiting.get();
    ASSERT_FALSE(no);
    EXPECT_EQ(no.error().code(), errc::cancelled);
    EXPECT_TRUE(wait_for([&] { return inspect(lock_).waiters.empty(); })) << "its place is left behind";
  }
};

INSTANTIATE_TEST_SUITE_P(Contract, Ending, ::testing::ValuesIn(tested_stores()), store_name);

TEST_P(Ending, OfAWaitByAStopTokenLeavesNeitherPlaceNorHold) {
  lease held = take(ann_, lock_);
  std::stop_source stop;
  auto waiting = wait_in_background(bob_, stop.get_token());
  expect_waiting(lock_, 1);
  stop.request_stop();
  expect_cancelled(waiting);
  EXPECT_TRUE(held.held());
  EXPECT_TRUE(held.release());
  expect_free(lock_);
}

TEST_P(Ending, BeforeItBeganAsksForNothing) {
  std::stop_source stop;
  stop.request_stop();
  const auto no = ann_.acquire(lock_, {}, stop.get_token());
  ASSERT_FALSE(no);
  EXPECT_EQ(no.error().code(), errc::cancelled);
  expect_free(lock_);
}

TEST_P(Ending, ThatMeetsTheGrantLeavesALeaseOrNothing) {
  for (int round = 0; round < 100; ++round) {
    std::optional<lease> held = take(ann_, lock_, {.wait = generous});
    std::stop_source stop;
    auto waiting = wait_in_background(bob_, stop.get_token());
    expect_waiting(lock_, 1);
    std::jthread stopper([&] { stop.request_stop(); });
    held.reset();
    ASSERT_EQ(waiting.wait_for(generous), std::future_status::ready);
    auto got = waiting.get();
    if (got) {
      EXPECT_TRUE(got->held());
      EXPECT_TRUE(got->release());
    } else {
      EXPECT_EQ(got.error().code(), errc::cancelled);
    }
    expect_free(lock_);
  }
}

TEST_P(Ending, OfAClientFreesItsLocks) {
  const lease one = take(ann_, lock_);
  const lease two = take(ann_, "another");
  const auto stop = one.get_stop_token();
  ann_.close();
  EXPECT_FALSE(one.held());
  EXPECT_TRUE(wait_for([&] { return stop.stop_requested(); }));
  EXPECT_TRUE(take(bob_, lock_, {.wait = generous}).held());
  EXPECT_TRUE(take(bob_, "another", {.wait = generous}).held());
}

TEST_P(Ending, OfAClientByItsDestructorFreesItsLocks) {
  lease held;
  {
    client short_lived = store().open_client();
    held = take(short_lived, lock_);
  }
  EXPECT_FALSE(held.held());
  lease next = take(bob_, lock_, {.wait = generous});
  expect_later(next.token(), held.token());
  held = {};
  EXPECT_TRUE(next.held());
  EXPECT_EQ(inspect(lock_).holders.size(), 1U) << "the late handle freed another's hold";
}

TEST_P(Ending, OfAClientCancelsItsWaits) {
  lease held = take(ann_, lock_);
  auto waiting = wait_in_background(bob_);
  expect_waiting(lock_, 1);
  bob_.close();
  expect_cancelled(waiting);
  EXPECT_TRUE(held.held());
}

TEST_P(Ending, OfAClientIsFinal) {
  ann_.close();
  ann_.close();
  const auto no = ann_.acquire(lock_);
  ASSERT_FALSE(no);
  EXPECT_EQ(no.error().code(), errc::cancelled);
  EXPECT_EQ(ann_.acquire("").error(), errc::cancelled) << "also where the name would not do";
  EXPECT_EQ(ann_.inspect(lock_).error(), errc::cancelled);
  EXPECT_EQ(ann_.list().error(), errc::cancelled);
  expect_free(lock_);
}

}  // namespace

}  // namespace cremone::contract
