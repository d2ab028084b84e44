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

// ---- a try that takes over abandoned holds

[[nodiscard]] acquire_settings observing_try() {
  acquire_settings s = one_try();
  s.take_over_abandoned = true;
  return s;
}

/// The store's clock says that this hold was renewed so long ago.
[[nodiscard]] std::vector<hold_record> renewed(milliseconds ago, std::uint64_t seq = 0) {
  std::vector<hold_record> holders = {holder(seq)};
  holders[0].renewed_ago = ago;
  return holders;
}

TEST(AcquireObservingTry, HoldRenewedWithinItsTtlIsBusyAtOnce) {
  for (const milliseconds ago : {milliseconds(0), holder_ttl / 3, holder_ttl}) {
    acquisition a = trying(observing_try());
    EXPECT_EQ(a.refused(1ms, busy(renewed(ago))).what, kind::fail) << ago.count();
  }
}

TEST(AcquireObservingTry, SilentHoldIsEvictedOnlyAfterItsWholeTtl) {
  for (const milliseconds ago : {milliseconds(holder_ttl) + 1ms, milliseconds(1h), milliseconds(-1)}) {
    const std::vector<hold_record> silent = renewed(ago);
    acquisition a = trying(observing_try());
    const acquire_action stays = a.refused(1ms, busy(silent));
    ASSERT_EQ(stays.what, kind::sleep) << ago.count();
    EXPECT_EQ(stays.observing_until, at(1ms + holder_silence));

    const acquire_action again = a.machine.tick(stays.until);
    ASSERT_EQ(again.what, kind::attempt);
    EXPECT_FALSE(again.join) << "a try takes no place in the queue";
    EXPECT_EQ(a.refused(holder_silence, busy(silent)).what, kind::sleep);
    (void)a.machine.tick(at(1ms + holder_silence));
    EXPECT_EQ(a.refused(1ms + holder_silence, busy(silent)).what, kind::evict);
  }
}

TEST(AcquireObservingTry, RenewalDuringObservationEndsTryBusy) {
  acquisition a = trying(observing_try());
  ASSERT_EQ(a.refused(1ms, busy(renewed(1h))).what, kind::sleep);
  (void)a.machine.tick(at(1s));
  // The server's clock was set once more, so the renewed hold looks abandoned again.
  const acquire_action end = a.refused(1s, busy(renewed(1h, 1)));
  EXPECT_EQ(end.what, kind::fail);
  EXPECT_EQ(end.why->code(), errc::busy);
  EXPECT_FALSE(end.withdraw);
}

TEST(AcquireObservingTry, SuccessorOfSilentHoldEndsTryBusy) {
  acquisition a = trying(observing_try());
  ASSERT_EQ(a.refused(1ms, busy(renewed(1h))).what, kind::sleep);
  (void)a.machine.tick(at(1s));
  std::vector<hold_record> successor = {hold_of(owner(78), 0, holder_ttl)};
  successor[0].renewed_ago = 1ms;
  EXPECT_EQ(a.refused(1s, busy(successor)).why->code(), errc::busy);
}

TEST(AcquireObservingTry, SecondSilentHoldDoesNotProlongObservation) {
  acquisition a = trying(observing_try());
  ASSERT_EQ(a.refused(1ms, busy(renewed(1h))).what, kind::sleep);
  std::vector<hold_record> other = {hold_of(owner(78), 0, 1h)};
  other[0].renewed_ago = 2h;
  (void)a.machine.tick(at(1s));
  (void)a.refused(1s, busy(other));
  (void)a.machine.tick(at(holder_silence + 2s));
  EXPECT_EQ(a.refused(holder_silence + 2s, busy(other)).why->code(), errc::busy);
}

TEST(AcquireObservingTry, OneRenewedVoteShowsThatTheOwnerLives) {
  acquire_settings several = observing_try();
  several.voters = 3;
  std::vector<hold_record> votes = {holder(), holder(), holder()};
  for (std::size_t i = 0; i < votes.size(); ++i) {
    votes[i].version.life = i + 1;
    votes[i].renewed_ago = i == 0 ? milliseconds(1s) : milliseconds(1h);
  }
  acquisition lives = trying(several);
  EXPECT_EQ(lives.refused(1ms, busy(votes)).what, kind::fail);
  votes[0].renewed_ago = 1h;
  acquisition dead = trying(several);
  EXPECT_EQ(dead.refused(1ms, busy(votes)).what, kind::sleep);
}

TEST(AcquireObservingTry, WithoutTheOptionSilentHoldIsBusyAtOnce) {
  acquisition a = trying(one_try());
  EXPECT_EQ(a.refused(1ms, busy(renewed(1h))).what, kind::fail);
}

}  // namespace
}  // namespace cremone::core
