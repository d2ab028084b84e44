// SPDX-License-Identifier: Apache-2.0
//
// Checks a single try: one answer ends it, except that a holder that has been silent for long enough is evicted first.
// Knows nothing of waiting.
#include "unit/acquire_fixture.hpp"

#include <gtest/gtest.h>

namespace cremone::core {
namespace {

using namespace core::testing;

const std::vector<hold_record> held = {holder()};

TEST(AcquireTry, IsBusyWhenRefusedAndLeavesNothingToWithdraw) {
  acquisition a = trying(one_try());
  const acquire_action end = a.refused(1ms, busy(held));
  EXPECT_EQ(end.what, kind::fail);
  EXPECT_EQ(end.why->code(), errc::busy);
  EXPECT_FALSE(end.withdraw);
  EXPECT_TRUE(a.machine.over());
}

TEST(AcquireTry, IsBusyAlsoWhenTheLockIsOnlyPromisedToOthers) {
  acquisition a = trying(one_try());
  EXPECT_EQ(a.refused(1ms, busy()).why->code(), errc::busy);
}

TEST(AcquireTry, SucceedsWhenGranted) {
  acquisition a = trying(one_try());
  EXPECT_EQ(a.machine.granted(at(1ms), false).what, kind::succeed);
}

TEST(AcquireTry, TellsOfTheStoreWhenItIsOutOfReachOrInQuarantine) {
  for (const errc why : {errc::unreachable, errc::quarantined}) {
    acquisition a = trying(one_try());
    const acquire_action end = a.refused(1ms, no(why));
    EXPECT_EQ(end.what, kind::fail);
    EXPECT_EQ(end.why->code(), why);
    EXPECT_FALSE(end.withdraw);
  }
}

TEST(AcquireTry, WithdrawsWhenTheOutcomeIsUnknown) {
  acquisition a = trying(one_try());
  const acquire_action end = a.unknown(50ms);
  EXPECT_EQ(end.what, kind::fail);
  EXPECT_EQ(end.why->code(), errc::outcome_unknown);
  EXPECT_TRUE(end.withdraw);
}

TEST(AcquireTry, IsNotEndedByTime) {
  acquisition a = trying(one_try());
  EXPECT_EQ(a.machine.tick(at(0s)).what, kind::nothing);
  EXPECT_EQ(a.machine.tick(at(1h)).what, kind::nothing);
}

TEST(AcquireTry, DoesNotStayForAHint) {
  acquisition a = trying(one_try());
  EXPECT_EQ(a.machine.hint(at(1ms)).what, kind::nothing);
  EXPECT_EQ(a.refused(2ms, busy(held)).what, kind::fail);
}

TEST(AcquireTry, EvictsAHolderSilentForLongEnoughAndAsksAgain) {
  acquisition a = trying(one_try());
  (void)a.seen.note("lock", held[0], at(1ms) - holder_silence);
  const acquire_action evict = a.refused(1ms, busy(held));
  EXPECT_EQ(evict.what, kind::evict);
  EXPECT_EQ(evict.victims, std::vector{held[0].version});

  const acquire_action again = a.machine.evicted(at(2ms), false);
  EXPECT_EQ(again.what, kind::attempt);
  EXPECT_FALSE(again.join);
  const acquire_action got = a.machine.granted(at(3ms), false);
  EXPECT_EQ(got.what, kind::succeed);
  EXPECT_EQ(got.since, at(2ms));
}

TEST(AcquireTry, IsBusyAMomentBeforeTheSilenceIsLongEnough) {
  acquisition a = trying(one_try());
  (void)a.seen.note("lock", held[0], at(1ms) - holder_silence + 1ns);
  EXPECT_EQ(a.refused(1ms, busy(held)).why->code(), errc::busy);
}

// A job that only ever tries must be able to take over from a holder that died.
TEST(AcquireTry, LeavesWhatItSawToTheNextTry) {
  acquisition first = trying(one_try());
  ASSERT_EQ(first.refused(1ms, busy(held)).what, kind::fail);
  acquire second(one_try());
  (void)second.start(at(holder_silence));
  EXPECT_EQ(second.refused(at(holder_silence + 1ms), busy(held), first.seen).what, kind::evict);
}

TEST(AcquireTry, AcceptsARefusalAfterTheEviction) {
  acquisition a = evicting(one_try(), std::nullopt);
  ASSERT_EQ(a.machine.evicted(at(2ms), false).what, kind::attempt);
  const std::vector<hold_record> successor = {hold_of(owner(78), 0, holder_ttl)};
  const acquire_action end = a.refused(3ms, busy(successor));
  EXPECT_EQ(end.why->code(), errc::busy);
  EXPECT_FALSE(end.withdraw);
}

TEST(AcquireTry, EndsBusyWhenTheEvictionIsInDoubt) {
  acquisition a = evicting(one_try(), std::nullopt);
  const acquire_action end = a.machine.evicted(at(2ms), true);
  EXPECT_EQ(end.what, kind::fail);
  EXPECT_EQ(end.why->code(), errc::busy);
  EXPECT_FALSE(end.withdraw);
}

// A store may refuse evictions, in quarantine for one. The holder is then still there at the next attempt.
TEST(AcquireTry, EndsWhenEvictionsDoNotRemoveTheHolder) {
  acquisition a = evicting(one_try(), std::nullopt);
  int evictions = 1;
  for (; evictions < 100 && !a.machine.over(); ++evictions) {
    ASSERT_EQ(a.machine.evicted(at(2ms), false).what, kind::attempt);
    (void)a.refused(2ms, busy(held));
  }
  EXPECT_LT(evictions, 5) << "it asks the same thing for ever";
}

}  // namespace
}  // namespace cremone::core
