// SPDX-License-Identifier: Apache-2.0
//
// Waiting where several servers vote: who asks at the same moment as others divides the votes with them, and nobody gets the lock.
#include "unit/acquire_fixture.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace cremone::core::testing {
namespace {

acquire_settings of_five() {
  acquire_settings s = waiting(10min);
  s.fifo = false;
  s.voters = 5;
  return s;
}

refusal divided(const std::vector<hold_record>& votes) {
  refusal r = busy(votes);
  r.split = true;
  r.spent = true;
  return r;
}

/// One vote for each of `count` others, which nobody renews.
std::vector<hold_record> votes_for(std::size_t count) {
  std::vector<hold_record> all;
  for (std::size_t i = 0; i < count; ++i) {
    all.push_back(hold_of(owner(80 + static_cast<std::uint32_t>(i)), 0, holder_ttl));
  }
  return all;
}

/// Asks again whenever it is time, always with the same result, for so long. How often it asked in the last second.
int asks_in_the_last_second(const refusal& always, std::chrono::seconds length) {
  acquisition a = trying(of_five());
  instant now = at(0s);
  int asked = 0;
  while (now < at(length)) {
    const acquire_action next = a.machine.refused(now, always, a.seen);
    EXPECT_EQ(next.what, kind::sleep);
    now = next.until;
    EXPECT_EQ(a.machine.tick(now).what, kind::attempt);
    asked += now >= at(length - 1s) ? 1 : 0;
  }
  return asked;
}

TEST(AcquireVotes, ThatWereDividedAreAskedForAgainSoonAndThenLessOften) {
  const std::vector<hold_record> votes = votes_for(2);
  nanoseconds longest{};
  acquisition a = trying(of_five());
  instant now = at(0s);
  for (int i = 0; i < 50; ++i) {
    const acquire_action next = a.machine.refused(now, divided(votes), a.seen);
    ASSERT_EQ(next.what, kind::sleep);
    EXPECT_LE(next.until, now + (i == 0 ? 4ms : 128ms));
    longest = std::max<nanoseconds>(longest, next.until - now);
    now = next.until;
    ASSERT_EQ(a.machine.tick(now).what, kind::attempt);
  }
  EXPECT_GT(longest, 64ms) << "a crowd needs more room";
}

TEST(AcquireVotes, NextAttemptHasAnotherOwnerIdWhenTheLastIsSpent) {
  acquisition a = trying(of_five());
  const std::vector<hold_record> votes = votes_for(1);
  const acquire_action pause = a.refused(1ms, divided(votes));
  EXPECT_TRUE(a.machine.tick(pause.until).fresh);
}

// Three of five are with some who are gone: nobody can win until they are removed. Asked for all the time, five servers would be
// kept busy for a whole ttl.
TEST(AcquireVotes, ThatDoNotComeBackAreAskedForLikeALockThatIsHeld) {
  const std::vector<hold_record> gone = votes_for(3);
  EXPECT_LE(asks_in_the_last_second(divided(gone), 8s), 2);
}

TEST(AcquireVotes, ThatNobodyHasToGiveAreMissingLikeThoseThatDoNotComeBack) {
  const std::vector<hold_record> gone = votes_for(1);
  refusal r = divided(gone);
  r.abstained = 2;
  EXPECT_LE(asks_in_the_last_second(r, 8s), 2);
  r.abstained = 1;
  EXPECT_GT(asks_in_the_last_second(r, 8s), 4);
}

TEST(AcquireVotes, ThatDoNotComeBackDoNotMatterWhileTheOthersAreAMajority) {
  const std::vector<hold_record> gone = votes_for(2);
  EXPECT_GT(asks_in_the_last_second(divided(gone), 8s), 4);
}

TEST(AcquireVotes, ThatDoNotComeBackAreRemovedWhenTheirTimeIsOver) {
  const std::vector<hold_record> gone = votes_for(3);
  acquisition a = trying(of_five());
  acquire_action next = a.refused(0ms, divided(gone));
  while (next.what == kind::sleep && next.until < at(1min)) {
    ASSERT_EQ(a.machine.tick(next.until).what, kind::attempt);
    next = a.machine.refused(next.until, divided(gone), a.seen);
  }
  EXPECT_EQ(next.what, kind::evict);
  EXPECT_EQ(next.victims.size(), 3U);
}

}  // namespace
}  // namespace cremone::core::testing
