// SPDX-License-Identifier: Apache-2.0
//
// Checks what a record store keeps about holds: who may take, renew, release and evict, that requests may be repeated,
// and that a version and an owner that are over never come back. Queues and tokens are checked beside this.
#include "unit/memory_fixture.hpp"

#include <gtest/gtest.h>

namespace cremone::memory {
namespace {

using namespace memory::testing;

// ---- taking -----------------------------------------------------------------------------------------------

TEST(MemoryAcquire, GrantsAFreeLockToOneOnly) {
  desk d;
  const grant got = grant_in(d.ask(1));
  EXPECT_FALSE(got.repeated);
  EXPECT_GT(got.token.value(), 0U);
  EXPECT_EQ(reason_in(d.ask(2)), errc::busy);
  EXPECT_EQ(reason_in(d.ask(3)), errc::busy);
}

TEST(MemoryAcquire, TellsARefusedOneWhoIsInTheWay) {
  desk d;
  acquire_request r = d.request(1);
  r.ttl = 12s;
  r.who = {.host = "h", .pid = 7, .user = "bob", .label = "job", .since = {}};
  const grant got = grant_in(d.shelf->try_acquire(r, d.time));
  ASSERT_TRUE(was_done(d.shelf->renew({&d.lock, owner(1), 3, got.token, 13s}, d.time)));

  const rejection no = refusal_in(d.ask(2));
  ASSERT_EQ(no.holders.size(), 1U);
  EXPECT_EQ(no.holders[0].version, (hold_version{owner(1), got.token.value() + 3}));
  EXPECT_EQ(no.holders[0].ttl, 13s) << "of the last renewal";
  EXPECT_EQ(no.holders[0].token, got.token);
  EXPECT_EQ(no.holders[0].mode, mode::exclusive);
  EXPECT_EQ(no.holders[0].owner.label, "job");
  EXPECT_EQ(no.place, std::nullopt) << "it did not join";
}

TEST(MemoryAcquire, KeepsLocksApart) {
  desk d;
  ASSERT_TRUE(granted(d.ask(1)));
  d.lock = "other";
  EXPECT_TRUE(granted(d.ask(2)));
}

TEST(MemoryAcquire, RepeatsAGrantWithTheSameTokenAndVersion) {
  desk d;
  const grant first = grant_in(d.ask(1));
  ASSERT_TRUE(was_done(d.renew(1, 4)));
  const hold_version before = *d.version();
  for (int i = 0; i < 3; ++i) {
    const grant again = grant_in(i == 0 ? d.wait(1) : d.ask(1));
    EXPECT_TRUE(again.repeated);
    EXPECT_EQ(again.token, first.token);
    EXPECT_EQ(d.version(), before) << "else it would look like a renewal, or bring an old version back";
  }
}

TEST(MemoryAcquire, KnowsNoOtherModeThanExclusive) {
  for (const mode m : {mode::shared, mode::slot}) {
    desk d;
    acquire_request r = d.request(1);
    r.mode = m;
    r.join = true;
    EXPECT_EQ(reason_in(d.shelf->try_acquire(r, d.time)), errc::unsupported);
    EXPECT_TRUE(d.look().waiters.empty()) << "and leaves no trace";
    EXPECT_TRUE(granted(d.ask(2)));
  }
}

// ---- renewing ---------------------------------------------------------------------------------------------

TEST(MemoryRenew, StoresTheGreaterOfTheNextNumberAndTheOneGiven) {
  desk d;
  ASSERT_TRUE(granted(d.ask(1)));
  const std::uint64_t first = d.version()->seq;
  EXPECT_EQ(first, d.look().last.value()) << "it begins with the token";
  const auto stored_after = [&](std::uint64_t given) {
    EXPECT_TRUE(was_done(d.renew(1, given)));
    return d.version()->seq - first;
  };
  EXPECT_EQ(stored_after(1), 1U);
  EXPECT_EQ(stored_after(2), 2U);
  EXPECT_EQ(stored_after(9), 9U);
  EXPECT_EQ(stored_after(3), 10U) << "a late renewal";
  EXPECT_EQ(stored_after(10), 11U);
  EXPECT_EQ(stored_after(0), 12U);
}

TEST(MemoryRenew, NeverBringsAVersionBack) {
  desk d;
  ASSERT_TRUE(granted(d.ask(1)));
  std::uint64_t last = 0;
  for (const std::uint64_t given : {5U, 1U, 5U, 5U, 4U, 20U, 6U, 20U, 21U, 0U}) {
    ASSERT_TRUE(was_done(d.renew(1, given)));
    EXPECT_GT(d.version()->seq, last);
    last = d.version()->seq;
    (void)d.ask(1);  // nor does a repeated grant
    EXPECT_EQ(d.version()->seq, last);
  }
}

TEST(MemoryRenew, IsRefusedAsLostToAnyoneButTheHolder) {
  desk d;
  EXPECT_EQ(reason_in(d.renew(1, 1)), errc::lost) << "nobody holds it";
  ASSERT_TRUE(granted(d.ask(1)));
  ASSERT_FALSE(granted(d.wait(2)));
  const std::uint64_t before = d.version()->seq;
  EXPECT_EQ(reason_in(d.renew(2, 1)), errc::lost) << "a waiter";
  EXPECT_EQ(reason_in(d.renew(3, 1)), errc::lost) << "a stranger";
  EXPECT_EQ(d.version()->seq, before);
}

TEST(MemoryRenew, IsRefusedAsLostAfterReleaseAndEviction) {
  desk d;
  ASSERT_TRUE(granted(d.ask(1)));
  ASSERT_TRUE(was_done(d.release(1)));
  EXPECT_EQ(reason_in(d.renew(1, 1)), errc::lost);
  ASSERT_TRUE(granted(d.ask(2)));
  ASSERT_TRUE(was_done(d.evict(2, 0)));
  EXPECT_EQ(reason_in(d.renew(2, 1)), errc::lost);
  EXPECT_EQ(d.version(), std::nullopt);
}

// ---- releasing --------------------------------------------------------------------------------------------

TEST(MemoryRelease, FreesTheLock) {
  desk d;
  ASSERT_TRUE(granted(d.ask(1)));
  EXPECT_TRUE(was_done(d.release(1)));
  EXPECT_EQ(d.version(), std::nullopt);
  EXPECT_TRUE(granted(d.ask(2)));
}

TEST(MemoryRelease, IsRefusedToOneWhoNeitherHoldsNorWaits) {
  desk d;
  EXPECT_EQ(reason_in(d.release(1)), errc::not_held);
  ASSERT_TRUE(granted(d.ask(2)));
  EXPECT_EQ(reason_in(d.release(3)), errc::not_held);
  EXPECT_EQ(d.version()->owner, owner(2)) << "and touches nobody else";
}

TEST(MemoryRelease, IsRefusedTheSecondTime) {
  desk d;
  ASSERT_TRUE(granted(d.ask(1)));
  ASSERT_TRUE(was_done(d.release(1)));
  EXPECT_EQ(reason_in(d.release(1)), errc::not_held);
}

TEST(MemoryRelease, NeverTouchesTheSuccessor) {
  desk d;
  ASSERT_TRUE(granted(d.ask(1)));
  ASSERT_TRUE(was_done(d.evict(1, 0)));
  ASSERT_TRUE(granted(d.ask(2)));
  EXPECT_EQ(reason_in(d.release(1)), errc::not_held);
  EXPECT_EQ(d.version()->owner, owner(2));
}

// ---- evicting ---------------------------------------------------------------------------------------------

TEST(MemoryEvict, RemovesAHoldOnlyInTheVersionThatWasSeen) {
  desk d;
  ASSERT_TRUE(granted(d.ask(1)));
  ASSERT_TRUE(was_done(d.renew(1, 1)));
  EXPECT_EQ(reason_in(d.evict(1, 0)), errc::not_held) << "it has renewed since";
  EXPECT_EQ(reason_in(d.evict(1, 2)), errc::not_held);
  EXPECT_EQ(reason_in(d.evict(2, 1)), errc::not_held);
  EXPECT_EQ(d.version(), (hold_version{owner(1), d.look().last.value() + 1}));
  EXPECT_TRUE(was_done(d.evict(1, 1)));
  EXPECT_EQ(d.version(), std::nullopt);
}

TEST(MemoryEvict, IsRefusedWhenThereIsNothingToEvict) {
  desk d;
  EXPECT_EQ(reason_in(d.evict(1, 0)), errc::not_held);
  ASSERT_TRUE(granted(d.ask(1)));
  ASSERT_TRUE(was_done(d.evict(1, 0)));
  EXPECT_EQ(reason_in(d.evict(1, 0)), errc::not_held);
}

TEST(MemoryEvict, DoesNotHitAWaiter) {
  desk d;
  ASSERT_TRUE(granted(d.ask(1)));
  ASSERT_FALSE(granted(d.wait(2)));
  EXPECT_EQ(reason_in(d.evict(2, 0)), errc::not_held);
  EXPECT_EQ(d.look().waiters.size(), 1U);
}

// ---- tombstones -------------------------------------------------------------------------------------------

TEST(MemoryTombstone, RefusesALateAcquireOfOneWhoHasReleased) {
  desk d;
  ASSERT_TRUE(granted(d.ask(1)));
  ASSERT_TRUE(was_done(d.release(1)));
  EXPECT_EQ(reason_in(d.ask(1)), errc::not_held);
  EXPECT_EQ(reason_in(d.wait(1)), errc::not_held);
  EXPECT_TRUE(d.look().waiters.empty());
}

TEST(MemoryTombstone, RefusesALateAcquireOfOneWhoWasEvicted) {
  desk d;
  ASSERT_TRUE(granted(d.ask(1)));
  ASSERT_TRUE(was_done(d.evict(1, 0)));
  EXPECT_EQ(reason_in(d.ask(1)), errc::not_held);
}

TEST(MemoryTombstone, RefusesALateAcquireOfAWaiterWhoHasLeft) {
  desk d;
  ASSERT_TRUE(granted(d.ask(1)));
  ASSERT_FALSE(granted(d.wait(2)));
  ASSERT_TRUE(was_done(d.release(2)));
  ASSERT_TRUE(was_done(d.release(1)));
  EXPECT_EQ(reason_in(d.ask(2)), errc::not_held);
}

// A request that was given up may still be under way when its withdrawal arrives.
TEST(MemoryTombstone, RefusesAnAcquireThatComesAfterItsOwnRelease) {
  desk d;
  EXPECT_EQ(reason_in(d.release(1)), errc::not_held);
  EXPECT_EQ(reason_in(d.ask(1)), errc::not_held);
  EXPECT_TRUE(granted(d.ask(2)));
}

/// Holders from `first` to `last` take the lock and give it back.
void hold_and_release(desk& d, std::uint32_t first, std::uint32_t last) {
  for (std::uint32_t who = first; who <= last; ++who) {
    ASSERT_TRUE(granted(d.ask(who)));
    ASSERT_TRUE(was_done(d.release(who)));
  }
}

/// Contenders from `first` to `last` withdraw a request that has not arrived yet.
void give_up(desk& d, std::uint32_t first, std::uint32_t last) {
  for (std::uint32_t who = first; who <= last; ++who) {
    ASSERT_EQ(reason_in(d.release(who)), errc::not_held);
  }
}

TEST(MemoryTombstone, RemembersTheLastEightHolders) {
  desk d;
  hold_and_release(d, 1, 9);
  for (std::uint32_t who = 2; who <= 9; ++who) {
    EXPECT_EQ(reason_in(d.ask(who)), errc::not_held) << who;
  }
  EXPECT_TRUE(granted(d.ask(1))) << "what is older cannot be under way any more";
}

TEST(MemoryTombstone, IsNotPushedOutByContendersThatGaveUp) {
  desk d;
  hold_and_release(d, 1, 8);
  ASSERT_TRUE(granted(d.ask(100)));
  for (std::uint32_t who = 200; who < 300; ++who) {
    ASSERT_FALSE(granted(d.wait(who)));
    ASSERT_TRUE(was_done(d.release(who)));
  }
  give_up(d, 300, 400);
  for (std::uint32_t who = 1; who <= 8; ++who) {
    EXPECT_EQ(reason_in(d.ask(who)), errc::not_held) << who;
  }
}

TEST(MemoryTombstone, RemembersTheLastEightContendersThatGaveUpHoweverManyHoldersCameAndWent) {
  desk d;
  hold_and_release(d, 1, 20);
  give_up(d, 201, 208);
  hold_and_release(d, 21, 40);
  for (std::uint32_t who = 201; who <= 208; ++who) {
    EXPECT_EQ(reason_in(d.ask(who)), errc::not_held) << who;
  }
}

TEST(MemoryTombstone, IsNotWrittenTwice) {
  desk d;
  give_up(d, 201, 204);
  for (int i = 0; i < 20; ++i) {
    give_up(d, 204, 204);
  }
  give_up(d, 205, 208);
  EXPECT_EQ(reason_in(d.ask(201)), errc::not_held) << "eight owners fit, however often each says goodbye";
}

}  // namespace
}  // namespace cremone::memory
