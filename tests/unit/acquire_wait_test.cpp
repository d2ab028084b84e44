// SPDX-License-Identifier: Apache-2.0
//
// Checks how long a waiter sleeps: by its place in the queue, by the holder in the way, by the store's advice, and where
// there is neither queue nor hint. When it ends is checked elsewhere.
#include "unit/acquire_fixture.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace cremone::core {
namespace {

using namespace core::testing;

/// How long a waiter sleeps whose first attempt gets this answer, one millisecond after it began.
nanoseconds pause_after(const refusal& r, const acquire_settings& settings = waiting(10min)) {
  acquisition a = trying(settings);
  const acquire_action next = a.refused(1ms, r);
  EXPECT_EQ(next.what, kind::sleep);
  return next.until - at(1ms);
}

nanoseconds pause_behind(milliseconds ttl, std::size_t place) {
  const std::vector<hold_record> holders = {holder(0, ttl)};
  return pause_after(busy(holders, place));
}

// ---- the head ---------------------------------------------------------------------------------------------

TEST(AcquireHead, AsksEverySixthOfTheHoldersTtlButAtLeastEverySecond) {
  EXPECT_EQ(pause_behind(600ms, 0), 100ms);
  EXPECT_EQ(pause_behind(3s, 0), 500ms);
  EXPECT_EQ(pause_behind(6s, 0), 1s);
  EXPECT_EQ(pause_behind(60s, 0), 1s);
}

TEST(AcquireHead, AsksEverySecondWhenNobodyHoldsTheLock) { EXPECT_EQ(pause_after(busy({}, 0)), 1s); }

TEST(AcquireHead, GoesByTheShortestLeaseOfSeveralHolders) {
  const std::vector<hold_record> readers = {holder(0, 60s), hold_of(owner(2), 0, 600ms),
                                            hold_of(owner(3), 0, 3s)};
  EXPECT_EQ(pause_after(busy(readers, 0)), 100ms);
}

TEST(AcquireHead, WakesWhenTheHoldersSilenceIsLongEnough) {
  const std::vector<hold_record> holders = {holder()};
  acquisition a = trying(waiting(10min));
  const instant ripe = at(300ms);
  (void)a.seen.note("lock", holders[0], ripe - holder_silence);
  EXPECT_EQ(a.refused(1ms, busy(holders, 0)).until, ripe);
  ASSERT_EQ(a.machine.tick(ripe).what, kind::attempt);
  EXPECT_EQ(a.machine.refused(ripe + 1ms, busy(holders, 0), a.seen).what, kind::evict);
}

TEST(AcquireHead, WakesForTheHolderThatIsRipeFirst) {
  const std::vector<hold_record> readers = {holder(), hold_of(owner(2), 0, holder_ttl)};
  acquisition a = trying(waiting(10min));
  (void)a.seen.note("lock", readers[0], at(500ms) - holder_silence);
  (void)a.seen.note("lock", readers[1], at(200ms) - holder_silence);
  EXPECT_EQ(a.refused(1ms, busy(readers, 0)).until, at(200ms));
}

// Takeover from a dead holder is at most one poll late for someone already waiting.
TEST(AcquireHead, TakesOverFromADeadHolderWithinTtlAndDriftOfTheFirstSight) {
  const std::vector<hold_record> holders = {holder()};
  acquisition a = trying(without_end());
  acquire_action next = a.refused(1ms, busy(holders, 0));
  instant now = at(1ms);
  for (int polls = 0; polls < 100 && next.what == kind::sleep; ++polls) {
    now = next.until;
    ASSERT_EQ(a.machine.tick(now).what, kind::attempt);
    next = a.machine.refused(now, busy(holders, 0), a.seen);
  }
  EXPECT_EQ(next.what, kind::evict);
  EXPECT_EQ(now, at(1ms) + holder_silence);
}

// ---- the others in the queue ------------------------------------------------------------------------------

TEST(AcquireQueue, AsksAfterOneClaimTimeForEachOneAheadButAtLeastAtEachRefresh) {
  EXPECT_EQ(pause_behind(60s, 1), claim_time);
  EXPECT_EQ(pause_behind(60s, 2), 2 * claim_time);
  EXPECT_EQ(pause_behind(60s, 5), 5 * claim_time);
  for (const std::size_t far : {std::size_t{6}, std::size_t{7}, std::size_t{1'000'000'000'000}}) {
    EXPECT_LE(pause_behind(60s, far), waiter_refresh);
    EXPECT_GE(pause_behind(60s, far), claim_time) << "each at a moment of its own";
  }
}

// Else those who hang cost the square of their number: each is passed over only when somebody asks.
TEST(AcquireQueue, AsksAfterEachClaimTimeWhileTheLockIsKeptForThoseAhead) {
  EXPECT_EQ(pause_after(busy({}, 1), waiting(10min)), claim_time);
  EXPECT_EQ(pause_after(busy({}, 5), waiting(10min)), claim_time);
  EXPECT_LE(pause_after(busy({}, 1000), waiting(10min)), waiter_refresh);
}

TEST(AcquireQueue, OfAStoreWithAVeryLongClaimTimeAsksAtEachRefresh) {
  acquire_settings patient = waiting(10min);
  patient.claim_time = 10 * waiter_refresh;
  const std::vector<hold_record> holders = {holder(0, 60s)};
  EXPECT_EQ(pause_after(busy(holders, 3), patient), waiter_refresh);
}

TEST(AcquireQueue, LetsOnlyTheFirstTwoWakeForASilentHolder) {
  const std::vector<hold_record> holders = {holder()};
  const auto wake_at_place = [&](std::size_t place) {
    acquisition a = trying(waiting(10min));
    (void)a.seen.note("lock", holders[0], at(300ms) - holder_silence);
    return a.refused(1ms, busy(holders, place)).until;
  };
  EXPECT_EQ(wake_at_place(0), at(300ms));
  EXPECT_EQ(wake_at_place(1), at(300ms));
  EXPECT_EQ(wake_at_place(2), at(1ms) + 2 * claim_time);
  EXPECT_GE(wake_at_place(50), at(1ms) + claim_time);
}

TEST(AcquireQueue, LooksAfterTheClaimTimeOfTheOneBeforeItWhenItIsNext) {
  const std::vector<hold_record> holders = {holder()};
  acquisition a = trying(without_end());
  const acquire_action far = a.refused(1ms, busy(holders, 5));
  ASSERT_GT(far.until, at(100ms) + claim_time);
  const acquire_action near = a.machine.next(at(100ms));
  EXPECT_EQ(near.what, kind::sleep);
  EXPECT_EQ(near.until, at(100ms) + claim_time);
  EXPECT_EQ(a.machine.next(at(200ms)).what, kind::nothing) << "never later than it would have looked";
  EXPECT_EQ(a.machine.tick(at(100ms) + claim_time).what, kind::attempt);
  EXPECT_EQ(a.machine.next(at(1s)).what, kind::nothing) << "it is asking";
}

TEST(AcquireQueue, SleepsNoLongerThanTheWaitLasts) {
  const std::vector<hold_record> holders = {holder(0, 60s)};
  EXPECT_EQ(pause_after(busy(holders, 5), waiting(700ms)), 699ms);
}

TEST(AcquireQueue, FollowsItsPlaceAsTheQueueMoves) {
  const std::vector<hold_record> holders = {holder(0, 60s)};
  acquisition a = trying(waiting(10min));
  EXPECT_EQ(a.refused(0s, busy(holders, 3)).until, at(3 * claim_time));
  ASSERT_EQ(a.machine.hint(at(1s)).what, kind::attempt);
  EXPECT_EQ(a.refused(1s, busy(holders, 1)).until, at(1s + claim_time));
}

// ---- without a queue or without hints ---------------------------------------------------------------------

acquire_settings without(bool acquire_settings::*trait) {
  acquire_settings settings = waiting(10min);
  settings.*trait = false;
  return settings;
}

TEST(AcquirePoll, AsksAtLeastEveryTenthOfASecondWhereNobodyWakesIt) {
  const std::vector<hold_record> holders = {holder(0, 60s)};
  acquisition a = trying(without(&acquire_settings::hints));
  instant now = at(0s);
  for (int i = 0; i < 50; ++i) {
    const acquire_action next = a.machine.refused(now, busy(holders, 0), a.seen);
    ASSERT_EQ(next.what, kind::sleep);
    ASSERT_LE(next.until - now, 100ms);
    ASSERT_GE(next.until - now, 5ms);
    now = next.until;
    ASSERT_EQ(a.machine.tick(now).what, kind::attempt);
  }
}

TEST(AcquirePoll, AsksAtLeastEveryTenthOfASecondWithoutAPlace) {
  EXPECT_LE(pause_after(busy()), 100ms);
  EXPECT_GE(pause_after(busy()), 5ms);
}

// ---- quarantine and a store out of reach ------------------------------------------------------------------

refusal quarantined(std::optional<milliseconds> retry_after) {
  refusal r = no(errc::quarantined);
  r.retry_after = retry_after;
  return r;
}

TEST(AcquireTrouble, SleepsAtLeastAsLongAsTheStoreAdvises) {
  EXPECT_EQ(pause_after(quarantined(45s)), 45s);
  EXPECT_GE(pause_after(quarantined(1ms)), 5ms) << "advice never makes a busy loop";
  EXPECT_GE(pause_after(quarantined(std::nullopt)), 5ms);
}

TEST(AcquireTrouble, FollowsNoAdviceBeyondTheEndOfTheWait) {
  EXPECT_EQ(pause_after(quarantined(45s), waiting(10s)), 10s - 1ms);
}

/// The pauses between attempts that all get the same answer at once.
template <class F>
std::vector<nanoseconds> pauses_between(int attempts, F answer) {
  acquisition a = trying(waiting(10min));
  std::vector<nanoseconds> pauses;
  nanoseconds now{};
  for (int i = 0; i < attempts; ++i) {
    const acquire_action next = answer(a, now);
    EXPECT_EQ(next.what, kind::sleep);
    pauses.push_back(next.until - at(now));
    now += pauses.back();
    EXPECT_EQ(a.machine.tick(at(now)).what, kind::attempt);
  }
  return pauses;
}

void expect_growing_to_a_second(const std::vector<nanoseconds>& pauses) {
  nanoseconds longest = 10ms;
  for (const nanoseconds pause : pauses) {
    EXPECT_GE(pause, longest / 2);
    EXPECT_LE(pause, longest);
    longest = std::min<nanoseconds>(longest * 2, 1s);
  }
}

TEST(AcquireTrouble, LeavesGrowingPausesForAStoreThatIsOutOfReachSilentOrInQuarantine) {
  expect_growing_to_a_second(pauses_between(
      20, [](acquisition& a, nanoseconds now) { return a.refused(now, no(errc::unreachable)); }));
  expect_growing_to_a_second(pauses_between(
      20, [](acquisition& a, nanoseconds now) { return a.refused(now, no(errc::quarantined)); }));
  expect_growing_to_a_second(
      pauses_between(20, [](acquisition& a, nanoseconds now) { return a.unknown(now); }));
}

TEST(AcquireTrouble, SpreadsWaitersByTheirSeeds) {
  acquire_settings other = waiting(10min);
  other.seed = 2;
  EXPECT_EQ(pause_after(no(errc::unreachable)), pause_after(no(errc::unreachable)));
  EXPECT_NE(pause_after(no(errc::unreachable)), pause_after(no(errc::unreachable), other));
}

}  // namespace
}  // namespace cremone::core
