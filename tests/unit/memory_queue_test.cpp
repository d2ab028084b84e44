// SPDX-License-Identifier: Apache-2.0
//
// Checks the queue of a lock: order of arrival, the claim time of the head, dead waiters, and that a mere try overtakes
// nobody who is alive. Whom a release wakes is checked beside this.
#include "unit/memory_fixture.hpp"

#include <gtest/gtest.h>

#include <initializer_list>

namespace cremone::memory {
namespace {

using namespace memory::testing;

/// Owner 1 holds the lock and these wait for it.
desk held_with(std::initializer_list<std::uint32_t> waiters) {
  desk d;
  EXPECT_TRUE(granted(d.ask(1)));
  for (const std::uint32_t who : waiters) {
    EXPECT_FALSE(granted(d.wait(who)));
  }
  return d;
}

/// Owner 1 has just released it; these wait.
desk freed_with(std::initializer_list<std::uint32_t> waiters) {
  desk d = held_with(waiters);
  EXPECT_TRUE(was_done(d.release(1)));
  return d;
}

std::vector<owner_id> queue_of(desk& d) {
  std::vector<owner_id> all;
  for (const waiter_record& w : d.look().waiters) {
    all.push_back(w.owner);
  }
  return all;
}

// ---- order ------------------------------------------------------------------------------------------------

TEST(MemoryQueue, TellsEachOneItsPlace) {
  desk d = held_with({});
  EXPECT_EQ(place_in(d.wait(2)), 0U);
  EXPECT_EQ(place_in(d.wait(3)), 1U);
  EXPECT_EQ(place_in(d.wait(4)), 2U);
  EXPECT_EQ(place_in(d.wait(3)), 1U) << "asking again changes nothing";
  EXPECT_EQ(queue_of(d), (std::vector<owner_id>{owner(2), owner(3), owner(4)}));
}

TEST(MemoryQueue, GrantsInTheOrderOfArrivalWhoeverAsksFirst) {
  desk d = freed_with({2, 3, 4});
  EXPECT_EQ(place_in(d.wait(4)), 2U);
  EXPECT_EQ(place_in(d.wait(3)), 1U);
  EXPECT_TRUE(granted(d.wait(2)));
  ASSERT_TRUE(was_done(d.release(2)));
  EXPECT_EQ(place_in(d.wait(4)), 1U);
  EXPECT_TRUE(granted(d.wait(3)));
  ASSERT_TRUE(was_done(d.release(3)));
  EXPECT_TRUE(granted(d.wait(4)));
}

TEST(MemoryQueue, GivesTicketsThatGrowWithTheOrderOfArrival) {
  desk d;
  const std::uint64_t first = grant_in(d.ask(1)).ticket;
  ASSERT_FALSE(granted(d.wait(2)));
  ASSERT_FALSE(granted(d.wait(3)));
  ASSERT_TRUE(was_done(d.release(1)));
  const std::uint64_t second = grant_in(d.wait(2)).ticket;
  ASSERT_TRUE(was_done(d.release(2)));
  const std::uint64_t third = grant_in(d.wait(3)).ticket;
  EXPECT_LT(first, second);
  EXPECT_LT(second, third);
}

TEST(MemoryQueue, RemembersTheTicketUnderWhichOneWaited) {
  desk d = held_with({2, 3});
  const std::uint64_t shown = d.look().waiters[0].ticket;
  EXPECT_LT(shown, d.look().waiters[1].ticket);
  ASSERT_TRUE(was_done(d.release(1)));
  EXPECT_EQ(grant_in(d.wait(2)).ticket, shown);
}

TEST(MemoryQueue, LeavesTheQueueByTheGrant) {
  desk d = freed_with({2, 3});
  ASSERT_TRUE(granted(d.wait(2)));
  EXPECT_EQ(queue_of(d), (std::vector<owner_id>{owner(3)}));
}

TEST(MemoryQueue, ClosesUpWhenOneLeaves) {
  desk d = held_with({2, 3, 4});
  ASSERT_TRUE(was_done(d.release(3)));
  EXPECT_EQ(place_in(d.wait(4)), 1U);
  ASSERT_TRUE(was_done(d.release(2)));
  EXPECT_EQ(place_in(d.wait(4)), 0U);
}

TEST(MemoryQueue, KeepsWhoAWaiterIs) {
  desk d = held_with({});
  acquire_request r = d.request(2);
  r.join = true;
  r.who.label = "report";
  (void)d.shelf->try_acquire(r, d.time);
  EXPECT_EQ(d.look().waiters.at(0).who.label, "report");
  EXPECT_EQ(d.look().waiters.at(0).mode, mode::exclusive);
}

// ---- a mere try -------------------------------------------------------------------------------------------

TEST(MemoryTry, DoesNotJoinTheQueue) {
  desk d = held_with({});
  EXPECT_EQ(place_in(d.ask(2)), std::nullopt);
  EXPECT_TRUE(queue_of(d).empty());
}

TEST(MemoryTry, NeverOvertakesALiveQueue) {
  desk d = freed_with({2});
  const rejection no = refusal_in(d.ask(9));
  EXPECT_EQ(no.why.code(), errc::busy);
  EXPECT_TRUE(no.holders.empty()) << "nobody holds it; it is kept for the one who waits";
  EXPECT_TRUE(granted(d.wait(2)));
}

TEST(MemoryTry, MustLetTheClaimTimeOfEveryWaiterPass) {
  desk d = freed_with({2, 3});
  d.pass(2 * claim_time - 1ns);
  EXPECT_FALSE(granted(d.ask(9)));
  d.pass(1ns);
  EXPECT_TRUE(granted(d.ask(9)));
}

TEST(MemoryTry, TakesTheLockForTheHeadIfTheHeadItselfTries) {
  desk d = freed_with({2});
  EXPECT_TRUE(granted(d.ask(2)));
  EXPECT_TRUE(queue_of(d).empty());
}

// ---- the claim time ---------------------------------------------------------------------------------------

TEST(MemoryClaim, KeepsAFreeLockForTheHead) {
  desk d = freed_with({2, 3, 4});
  d.pass(claim_time - 1ns);
  EXPECT_FALSE(granted(d.wait(3)));
  EXPECT_FALSE(granted(d.wait(4)));
  EXPECT_TRUE(granted(d.wait(2)));
}

TEST(MemoryClaim, PassesToOneMoreAfterEachClaimTime) {
  desk d = freed_with({2, 3, 4});
  d.pass(claim_time);
  EXPECT_FALSE(granted(d.wait(4)));
  EXPECT_TRUE(granted(d.wait(3)));
  desk e = freed_with({2, 3, 4});
  e.pass(2 * claim_time);
  EXPECT_TRUE(granted(e.wait(4)));
}

TEST(MemoryClaim, CountsFromTheReleaseNotFromTheArrival) {
  desk d = held_with({2, 3});
  d.pass(2 * claim_time);
  ASSERT_TRUE(was_done(d.release(1)));
  EXPECT_FALSE(granted(d.wait(3)));
}

TEST(MemoryClaim, CountsAlsoFromAnEviction) {
  desk d = held_with({2, 3});
  d.pass(2 * claim_time);
  ASSERT_TRUE(was_done(d.evict(1, 0)));
  EXPECT_FALSE(granted(d.wait(3)));
  d.pass(claim_time);
  EXPECT_TRUE(granted(d.wait(3)));
}

TEST(MemoryClaim, SkipsAHeadThatMissesItButKeepsItsTicket) {
  desk d = freed_with({2, 3, 4});
  d.pass(claim_time);
  ASSERT_TRUE(granted(d.wait(3)));
  EXPECT_EQ(queue_of(d), (std::vector<owner_id>{owner(2), owner(4)}));
  EXPECT_EQ(place_in(d.wait(4)), 0U) << "the one who missed it is out of the reckoning";
  EXPECT_EQ(place_in(d.wait(2)), 0U) << "until it asks again: then it is the head as before";
  EXPECT_EQ(place_in(d.wait(4)), 1U);
  ASSERT_TRUE(was_done(d.release(3)));
  EXPECT_FALSE(granted(d.wait(4)));
  EXPECT_TRUE(granted(d.wait(2)));
}

TEST(MemoryClaim, IsLostToADeadWaiterOnlyOnce) {
  desk d = freed_with({2, 3, 4, 5});
  d.pass(claim_time);  // 2 is dead, and costs this
  ASSERT_TRUE(granted(d.wait(3)));
  ASSERT_TRUE(was_done(d.release(3)));
  EXPECT_TRUE(granted(d.wait(4))) << "at once";
  ASSERT_TRUE(was_done(d.release(4)));
  EXPECT_TRUE(granted(d.wait(5))) << "at once";
  ASSERT_TRUE(was_done(d.release(5)));
  EXPECT_TRUE(granted(d.ask(6))) << "a try, too, overtakes nobody who is alive";
}

// ---- waiters that vanish ----------------------------------------------------------------------------------

TEST(MemoryWaiter, IsForgottenWhenItHasNotAskedForTenSeconds) {
  desk d = held_with({2});
  d.pass(waiter_lease - 1ns);
  EXPECT_EQ(queue_of(d).size(), 1U);
  d.pass(1ns);
  EXPECT_TRUE(queue_of(d).empty());
  EXPECT_EQ(place_in(d.wait(3)), 0U);
}

TEST(MemoryWaiter, LivesOnByAskingAgain) {
  desk d = held_with({2});
  for (int i = 0; i < 10; ++i) {
    d.pass(waiter_lease - 1ms);
    EXPECT_EQ(place_in(d.wait(2)), 0U);
  }
}

TEST(MemoryWaiter, DoesNotLiveOnByAMereTry) {
  desk d = held_with({2});
  d.pass(6s);
  EXPECT_FALSE(granted(d.ask(2)));
  d.pass(4s);
  EXPECT_TRUE(queue_of(d).empty());
}

TEST(MemoryWaiter, JoinsAtTheEndWhenItComesBackTooLate) {
  desk d = held_with({2});
  d.pass(waiter_lease);
  ASSERT_EQ(place_in(d.wait(3)), 0U);
  EXPECT_EQ(place_in(d.wait(2)), 1U);
}

TEST(MemoryWaiter, CostsNothingOnceItIsForgotten) {
  desk d = held_with({2, 3});
  d.pass(6s);
  ASSERT_FALSE(granted(d.wait(3)));  // 3 lives on, 2 does not
  d.pass(5s);
  ASSERT_TRUE(was_done(d.release(1)));
  EXPECT_TRUE(granted(d.wait(3)));
}

TEST(MemoryWaiter, MayLeave) {
  desk d = held_with({2});
  EXPECT_TRUE(was_done(d.release(2)));
  EXPECT_TRUE(queue_of(d).empty());
  EXPECT_EQ(d.version()->owner, owner(1)) << "the holder is not touched";
}

// ---- a crowd ----------------------------------------------------------------------------------------------

TEST(MemoryQueue, KeepsTheOrderOfACrowdThatComesAndGoes) {
  constexpr std::uint32_t count = 300;
  desk d = held_with({});
  for (std::uint32_t who = 2; who < count; ++who) {
    EXPECT_EQ(place_in(d.wait(who)), who - 2);
  }
  for (std::uint32_t who = 3; who < count; who += 2) {
    EXPECT_TRUE(was_done(d.release(who)));  // gives up
  }
  std::uint32_t holder = 1;
  for (std::uint32_t who = 2; who < count; who += 2) {
    EXPECT_EQ(place_in(d.wait(count - 2)), (count - 2 - who) / 2);
    ASSERT_TRUE(was_done(d.release(holder)));
    ASSERT_EQ(grant_in(d.wait(who)).ticket, who) << "tickets are given in the order of arrival";
    holder = who;
  }
  EXPECT_TRUE(queue_of(d).empty());
}

TEST(MemoryQueue, LetsOneBackInAtItsOldPlaceThatHadMissedItsTurn) {
  desk d = freed_with({2, 3, 4});
  d.pass(2 * claim_time);
  ASSERT_TRUE(granted(d.wait(4))) << "the two ahead had their time";
  EXPECT_EQ(place_in(d.wait(3)), 0U) << "2 is out of the reckoning";
  EXPECT_EQ(place_in(d.wait(2)), 0U);
  EXPECT_EQ(place_in(d.wait(3)), 1U) << "2 is back";
  EXPECT_EQ(queue_of(d), (std::vector<owner_id>{owner(2), owner(3)}));
}

}  // namespace
}  // namespace cremone::memory
