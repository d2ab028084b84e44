// SPDX-License-Identifier: Apache-2.0
//
// Checks the table of locks around the rules: what is listed and shown, and that idle locks are forgotten, so that names
// used once do not pile up. The rules of one lock are checked beside this.
#include "unit/memory_fixture.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace cremone::memory {
namespace {

using namespace memory::testing;

// A fresh lock is kept until the round has come by once, so that each shard may be a few above its limit.
constexpr std::size_t idle_bound = store::shard_count * (store::idle_per_shard + 8);

/// Takes and releases this many locks of different names, each by an owner of its own.
void use_once(desk& d, std::uint32_t count) {
  for (std::uint32_t i = 1; i <= count; ++i) {
    d.lock = "used once " + std::to_string(i);
    ASSERT_TRUE(granted(d.ask(i)));
    ASSERT_TRUE(was_done(d.release(i)));
  }
}

TEST(MemoryStore, StaysBoundedWhenAHundredThousandNamesAreUsedOnce) {
  desk d;
  use_once(d, 100'000);
  EXPECT_LE(d.shelf->remembered(), idle_bound);
  EXPECT_GE(d.shelf->remembered(), idle_bound / 2) << "yet it keeps the latest, for their tombstones";
}

TEST(MemoryStore, StaysBoundedWhenNamesAreOnlyReleased) {
  desk d;
  for (std::uint32_t i = 1; i <= 20'000; ++i) {
    d.lock = std::to_string(i);
    ASSERT_EQ(reason_in(d.release(i)), errc::not_held);
  }
  EXPECT_LE(d.shelf->remembered(), idle_bound);
}

TEST(MemoryStore, StaysBoundedWhenHoldersAreEvicted) {
  desk d;
  for (std::uint32_t i = 1; i <= 20'000; ++i) {
    d.lock = std::to_string(i);
    ASSERT_TRUE(granted(d.ask(i)));
    ASSERT_TRUE(was_done(d.evict(i, 0)));
  }
  EXPECT_LE(d.shelf->remembered(), idle_bound);
}

// A waiter that vanished holds nothing: once its lease is over, nobody uses such a lock.
TEST(MemoryStore, StaysBoundedWhenWaitersVanish) {
  desk d;
  for (std::uint32_t i = 1; i <= 20'000; ++i) {
    d.lock = std::to_string(i);
    ASSERT_TRUE(granted(d.ask(1'000'000 + i)));
    ASSERT_FALSE(granted(d.wait(2'000'000 + i)));
    ASSERT_TRUE(was_done(d.release(1'000'000 + i)));
  }
  d.pass(waiter_lease);
  use_once(d, 20'000);
  EXPECT_LE(d.shelf->remembered(), idle_bound);
}

TEST(MemoryStore, StaysBoundedWhenTheSameNamesAreUsedAgainAndAgain) {
  desk d;
  for (int round = 0; round < 5; ++round) {
    for (std::uint32_t i = 1; i <= 10'000; ++i) {
      d.lock = std::to_string(i);
      const std::uint32_t who = static_cast<std::uint32_t>(round) * 10'000 + i;
      ASSERT_TRUE(granted(d.ask(who)));
      ASSERT_TRUE(was_done(d.release(who)));
    }
  }
  EXPECT_LE(d.shelf->remembered(), idle_bound);
}

TEST(MemoryStore, NeverForgetsALockThatIsHeldOrWaitedFor) {
  desk d;
  d.lock = "held";
  ASSERT_TRUE(granted(d.ask(1'000'001)));
  d.lock = "waited for";
  ASSERT_TRUE(granted(d.ask(1'000'002)));
  ASSERT_FALSE(granted(d.wait(1'000'003)));
  ASSERT_TRUE(was_done(d.release(1'000'002)));
  use_once(d, 20'000);
  EXPECT_LE(d.shelf->remembered(), idle_bound + 2);
  d.lock = "held";
  EXPECT_EQ(d.version()->owner, owner(1'000'001));
  EXPECT_TRUE(was_done(d.renew(1'000'001, 1)));
  d.lock = "waited for";
  EXPECT_TRUE(granted(d.wait(1'000'003)));
}

TEST(MemoryStore, NeverForgetsALockThatWasIdleAndIsInUseAgain) {
  desk d;
  ASSERT_TRUE(granted(d.ask(1'000'001)));
  ASSERT_TRUE(was_done(d.release(1'000'001)));
  ASSERT_TRUE(granted(d.ask(1'000'002)));
  use_once(d, 20'000);
  d.lock = "lock";
  EXPECT_EQ(d.version()->owner, owner(1'000'002));
  ASSERT_TRUE(was_done(d.release(1'000'002)));
  use_once(d, 20'000);
  EXPECT_LE(d.shelf->remembered(), idle_bound);
}

TEST(MemoryStore, KeepsTombstonesOfLocksThatBecameIdleLately) {
  desk d;
  ASSERT_TRUE(granted(d.ask(1'000'001)));
  ASSERT_TRUE(was_done(d.release(1'000'001)));
  use_once(d, store::idle_per_shard - 1);
  d.lock = "lock";
  EXPECT_EQ(reason_in(d.ask(1'000'001)), errc::not_held);
}

TEST(MemoryStore, KeepsTombstonesHoweverOftenAFewOtherLocksAreUsed) {
  desk d;
  ASSERT_TRUE(granted(d.ask(1'000'001)));
  ASSERT_TRUE(was_done(d.release(1'000'001)));
  for (std::uint32_t i = 1; i <= 20'000; ++i) {
    d.lock = std::to_string(i % 64);  // some of them in the same shard
    ASSERT_TRUE(granted(d.ask(i)));
    ASSERT_TRUE(was_done(d.release(i)));
  }
  d.lock = "lock";
  EXPECT_EQ(reason_in(d.ask(1'000'001)), errc::not_held);
}

// Whatever else is in use, one who has just left must not come back by a late request.
TEST(MemoryStore, KeepsAFreshTombstoneAlsoWhenManyLocksAreInUse) {
  constexpr std::uint32_t in_use = 4 * idle_bound;
  desk d;
  for (std::uint32_t i = 1; i <= in_use; ++i) {
    d.lock = std::to_string(i);
    ASSERT_TRUE(granted(d.ask(i)));
  }
  for (std::uint32_t i = 1; i <= in_use; i += 7) {
    d.lock = std::to_string(i);
    ASSERT_TRUE(was_done(d.release(i)));
    ASSERT_EQ(reason_in(d.ask(i)), errc::not_held) << "lock " << i;
  }
}

TEST(MemoryStore, RefusesARenewalOfALockItHasForgotten) {
  desk d;
  EXPECT_EQ(reason_in(d.renew(1, 1)), errc::lost);
  EXPECT_EQ(d.shelf->remembered(), 0U) << "asking for nothing leaves nothing";
  EXPECT_EQ(reason_in(d.evict(1, 0)), errc::not_held);
  EXPECT_EQ(d.shelf->remembered(), 0U);
}

// ---- looking ----------------------------------------------------------------------------------------------

TEST(MemoryInspect, ShowsNothingOfALockThatIsNotKnown) {
  desk d;
  const lock_record r = d.look();
  EXPECT_EQ(r.name, lock_name("lock"));
  EXPECT_TRUE(r.holders.empty());
  EXPECT_TRUE(r.waiters.empty());
  EXPECT_EQ(d.shelf->remembered(), 0U);
}

TEST(MemoryInspect, ShowsHolderAndWaiters) {
  desk d;
  const fence_token token = token_in(d.ask(1));
  ASSERT_FALSE(granted(d.wait(2)));
  ASSERT_FALSE(granted(d.wait(3)));
  const lock_record r = d.look();
  ASSERT_EQ(r.holders.size(), 1U);
  EXPECT_EQ(r.holders[0].version.owner, owner(1));
  EXPECT_EQ(r.holders[0].token, token);
  ASSERT_EQ(r.waiters.size(), 2U);
  EXPECT_EQ(r.waiters[0].owner, owner(2));
  EXPECT_EQ(r.waiters[1].owner, owner(3));
}

std::vector<std::string> listed(desk& d) {
  std::vector<std::string> names;
  for (const lock_record& r : d.shelf->list(d.time)) {
    names.push_back(r.name.str());
  }
  return names;
}

TEST(MemoryList, IsEmptyAtFirst) {
  desk d;
  EXPECT_TRUE(listed(d).empty());
}

TEST(MemoryList, ShowsWhatIsHeldOrWaitedForOrderedByName) {
  desk d;
  for (const auto* const name : {"delta", "alpha", "charlie", "bravo"}) {
    d.lock = name;
    ASSERT_TRUE(granted(d.ask(1)));
  }
  d.lock = "charlie";
  ASSERT_FALSE(granted(d.wait(2)));
  ASSERT_TRUE(was_done(d.release(1)));
  d.lock = "delta";
  ASSERT_TRUE(was_done(d.release(1)));
  EXPECT_EQ(listed(d), (std::vector<std::string>{"alpha", "bravo", "charlie"}));
}

TEST(MemoryList, DropsALockWhoseLastWaiterVanished) {
  desk d;
  ASSERT_TRUE(granted(d.ask(1)));
  ASSERT_FALSE(granted(d.wait(2)));
  ASSERT_TRUE(was_done(d.release(1)));
  EXPECT_EQ(listed(d).size(), 1U);
  d.pass(waiter_lease);
  EXPECT_TRUE(listed(d).empty());
}

}  // namespace
}  // namespace cremone::memory
