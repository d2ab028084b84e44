// SPDX-License-Identifier: Apache-2.0
#include "backends/redis/pace.hpp"

#include <gtest/gtest.h>

#include <chrono>

namespace cremone::redis {
namespace {

using namespace std::chrono_literals;

class RedisPace : public ::testing::Test {
 protected:
  /// Replies take this long now.
  void replies_take(std::chrono::nanoseconds time) { pace_.answered(now_ - time, now_); }

  /// A request behind so many others, the oldest of which was made so long ago.
  [[nodiscard]] bool rides_along(std::size_t outstanding, std::chrono::nanoseconds oldest) {
    return pace_.rides_along(outstanding, now_ - oldest, now_);
  }

  static constexpr std::size_t many = pace::busy_from;
  const instant now_ = instant(1h);
  pace pace_;
};

TEST_F(RedisPace, LetsNobodyWaitBeforeTheFirstReply) { EXPECT_FALSE(rides_along(many, 0ns)); }

TEST_F(RedisPace, LetsARequestRideAlongWhenManyAreOutAndAReplyIsNear) {
  replies_take(1ms);
  EXPECT_TRUE(rides_along(many, 900us));
  EXPECT_FALSE(rides_along(many - 1, 900us)) << "the server would run out of work";
}

TEST_F(RedisPace, DoesNotWaitForAReplyThatIsFarAway) {
  replies_take(50ms);
  EXPECT_FALSE(rides_along(many, 10us)) << "the first of a burst on a slow line";
  EXPECT_FALSE(rides_along(many, 50ms - pace::near - 1us));
  EXPECT_TRUE(rides_along(many, 50ms - pace::near));
}

TEST_F(RedisPace, DoesNotWaitForAReplyThatIsOverdue) {
  replies_take(100us);
  EXPECT_TRUE(rides_along(many, 100us + pace::overdue));
  EXPECT_FALSE(rides_along(many, 101us + pace::overdue));
}

TEST_F(RedisPace, SendsWhenEnoughAreTogether) {
  replies_take(100us);
  for (int round = 0; round < 2; ++round) {
    for (std::size_t i = 1; i < pace::most_together; ++i) {
      EXPECT_TRUE(rides_along(many, 50us)) << i;
    }
    EXPECT_FALSE(rides_along(many, 50us));
  }
}

TEST_F(RedisPace, CountsAnewAfterAReply) {
  replies_take(100us);
  EXPECT_TRUE(rides_along(many, 50us));
  replies_take(100us);
  for (std::size_t i = 1; i < pace::most_together; ++i) {
    EXPECT_TRUE(rides_along(many, 50us)) << i;
  }
}

}  // namespace
}  // namespace cremone::redis
