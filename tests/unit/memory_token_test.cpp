// SPDX-License-Identifier: Apache-2.0
//
// Checks fenced order in the memory store: each token is greater than every earlier one of its lock, whatever the wall
// clock does and however much was forgotten. Who gets the lock is checked beside this.
#include "backends/memory/backend.hpp"
#include "unit/memory_fixture.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <string>

namespace cremone::memory {
namespace {

using namespace memory::testing;
using std::chrono::microseconds;

/// A fresh owner takes the lock and gives it back.
fence_token next_token(desk& d, std::uint32_t& who) {
  const fence_token t = token_in(d.ask(++who));
  EXPECT_TRUE(was_done(d.release(who)));
  return t;
}

TEST(MemoryToken, IsTheWallTimeInMicrosecondsAtFirst) {
  desk d;
  d.time.wall = wall_time(microseconds(1'700'000'000'123'456));
  EXPECT_EQ(token_in(d.ask(1)).value(), 1'700'000'000'123'456U);
}

TEST(MemoryToken, GrowsWhileTheWallClockStandsStill) {
  desk d;
  std::uint32_t who = 0;
  fence_token last;
  for (int i = 0; i < 100; ++i) {
    const fence_token t = next_token(d, who);
    EXPECT_GT(t, last);
    last = t;
  }
}

TEST(MemoryToken, GrowsWhenTheWallClockStepsBack) {
  desk d;
  std::uint32_t who = 0;
  d.time.wall = wall_time(microseconds(5'000'000));
  const fence_token before = next_token(d, who);
  for (const std::int64_t wall : {4'000'000, 1, 0, -1, -5'000'000}) {
    d.time.wall = wall_time(microseconds(wall));
    EXPECT_GT(next_token(d, who), before);
  }
  EXPECT_EQ(next_token(d, who).value(), before.value() + 6);
}

TEST(MemoryToken, FollowsTheWallClockAheadAgain) {
  desk d;
  std::uint32_t who = 0;
  (void)next_token(d, who);
  d.time.wall += 1h;
  EXPECT_EQ(next_token(d, who).value(), static_cast<std::uint64_t>(d.time.wall.time_since_epoch().count()));
}

TEST(MemoryToken, GrowsFromHolderToHolderThroughTheQueue) {
  desk d;
  const fence_token first = token_in(d.ask(1));
  ASSERT_FALSE(granted(d.wait(2)));
  ASSERT_TRUE(was_done(d.release(1)));
  EXPECT_GT(token_in(d.wait(2)), first);
}

TEST(MemoryToken, StaysBelowTwoToTheFiftyThreeUnderAnAbsurdClock) {
  constexpr std::int64_t two_53 = std::int64_t{1} << 53U;
  for (const std::int64_t wall :
       {std::numeric_limits<std::int64_t>::max(), two_53 + 1, two_53, two_53 - 1,
        two_53 - (std::int64_t{1} << 32U), std::numeric_limits<std::int64_t>::min()}) {
    desk d;
    std::uint32_t who = 0;
    d.time.wall = wall_time(microseconds(wall));
    fence_token last;
    for (int i = 0; i < 10; ++i) {
      const fence_token t = next_token(d, who);
      EXPECT_GT(t, last) << wall;
      EXPECT_LT(t.value(), fence_token::limit) << wall;
      last = t;
    }
    EXPECT_LT(last.value(), fence_token::limit - 1'000'000'000)
        << "there is room for the time after, too: " << wall;
  }
}

TEST(MemoryToken, OfAVictimIsPastOnceItWasEvicted) {
  desk d;
  const fence_token victim = token_in(d.ask(1));
  ASSERT_TRUE(was_done(d.evict(1, 0)));
  EXPECT_GT(d.look().last, victim) << "even before the next one comes";
  EXPECT_GT(token_in(d.ask(2)).value(), victim.value() + 1);
}

TEST(MemoryToken, IsShownAsTheHighestGivenSoFar) {
  desk d;
  EXPECT_EQ(d.look().last, fence_token{});
  const fence_token t = token_in(d.ask(1));
  EXPECT_EQ(d.look().last, t);
  ASSERT_TRUE(was_done(d.release(1)));
  EXPECT_EQ(d.look().last, t);
}

// The wall clock steps back while so many other locks come and go that this one is forgotten.
TEST(MemoryToken, GrowsAlsoAfterTheLockWasForgotten) {
  desk d;
  std::uint32_t who = 0;
  d.time.wall = wall_time(microseconds(9'000'000'000));
  const fence_token before = next_token(d, who);
  d.time.wall = wall_time(microseconds(1));
  for (int i = 0; i < 20'000; ++i) {
    d.lock = "other " + std::to_string(i);
    (void)next_token(d, who);
  }
  d.lock = "lock";
  ASSERT_EQ(d.look().last, fence_token{}) << "it should have been forgotten by now";
  EXPECT_GT(next_token(d, who), before);
}

TEST(MemoryToken, GrowsAlsoAfterAnEvictedLockWasForgotten) {
  lock_state state;
  desk d;
  lock_state::sink nobody;
  const fence_token floor(77);
  const auto got =
      state.try_acquire(d.request(1), {d.time.now, wall_time(microseconds(1))}, floor, store_limits{});
  EXPECT_EQ(token_in(got).value(), 78U) << "the floor is what the shard remembers";
  ASSERT_TRUE(was_done(state.evict({owner(1), 78}, d.time, nobody)));
  EXPECT_EQ(state.last().value(), 79U) << "and this is what it will remember";
}

// A store goes with its last client. The next one of that name, or of another, has to go on from there.
TEST(MemoryToken, GrowsAlsoWhenTheStoreIsMadeAnewWithTheClockBack) {
  desk d;
  const auto first = [&](const char* name, microseconds wall) {
    return token_in(shared_store(name)->try_acquire(d.request(1), {d.time.now, wall_time(wall)}));
  };
  const fence_token before = first("gone", microseconds(9'000'000'000));
  const fence_token after = first("gone", microseconds(1));
  EXPECT_GT(after, before);
  EXPECT_GT(first("another", microseconds(1)), after);
}

}  // namespace
}  // namespace cremone::memory
