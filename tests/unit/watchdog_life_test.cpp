// SPDX-License-Identifier: Apache-2.0
//
// Checks the state table of the watchdog, cell by cell: held, released, lost, and that the last two are final. When
// renewals are due is checked elsewhere.
#include "unit/watchdog_fixture.hpp"

#include <gtest/gtest.h>

#include <array>
#include <string_view>

namespace cremone::core {
namespace {

using namespace core::testing;

// ---- held -------------------------------------------------------------------------------------------------

TEST(Watchdog, HoldsFromTheGrantToTheEndOfValidity) {
  const watchdog dog = granted();
  EXPECT_EQ(dog.state(), life::held);
  EXPECT_EQ(dog.deadline(), end_of(at(0s)));
  EXPECT_TRUE(dog.held_at(at(0s)));
  EXPECT_TRUE(dog.held_at(dog.deadline() - 1ns));
  EXPECT_FALSE(dog.held_at(dog.deadline()));
}

TEST(Watchdog, DoesNothingBeforeARenewalIsDue) {
  watchdog dog = granted();
  EXPECT_EQ(dog.tick(at(0s)), verdict::nothing);
  EXPECT_EQ(dog.tick(dog.wake_at() - 1ns), verdict::nothing);
  EXPECT_EQ(dog.seq(), 0U);
}

TEST(Watchdog, RenewsWhenDueAndNumbersTheRenewals) {
  watchdog dog = granted();
  for (std::uint64_t seq = 1; seq <= 5; ++seq) {
    const instant due = dog.wake_at();
    EXPECT_EQ(dog.tick(due), verdict::renew);
    EXPECT_EQ(dog.seq(), seq);
    EXPECT_EQ(dog.renewed(due + 1ms), verdict::nothing);
  }
}

TEST(Watchdog, SendsNoSecondRenewalWhileOneIsUnderWay) {
  watchdog dog = renewing();
  EXPECT_EQ(dog.wake_at(), dog.deadline());
  EXPECT_EQ(dog.tick(at(15s)), verdict::nothing);
  EXPECT_EQ(dog.tick(dog.deadline() - 1ns), verdict::nothing);
  EXPECT_EQ(dog.seq(), 1U);
}

TEST(Watchdog, CountsValidityFromTheSendOfTheRenewalNotFromItsAnswer) {
  watchdog dog = granted();
  ASSERT_EQ(dog.tick(at(12s)), verdict::renew);
  EXPECT_EQ(dog.deadline(), end_of(at(0s))) << "a renewal that was only sent extends nothing";
  EXPECT_EQ(dog.renewed(at(20s)), verdict::nothing);
  EXPECT_EQ(dog.deadline(), end_of(at(12s)));
  EXPECT_EQ(dog.state(), life::held);
}

TEST(Watchdog, LosesWhenNobodyAnswersUntilTheEnd) {
  watchdog dog = renewing();
  EXPECT_EQ(dog.tick(dog.deadline()), verdict::lost);
  EXPECT_EQ(dog.state(), life::lost);
}

TEST(Watchdog, LosesRatherThanRenewsWhenItWakesTooLate) {
  watchdog dog = granted();
  EXPECT_EQ(dog.tick(dog.deadline()), verdict::lost);
  EXPECT_EQ(dog.seq(), 0U) << "a stopped process that wakes up must not renew first";
}

TEST(Watchdog, DeclaresLostWhenTheReplyComesAfterExpiry) {
  watchdog dog = renewing();
  const instant end = dog.deadline();
  EXPECT_EQ(dog.renewed(end), verdict::lost);
  EXPECT_EQ(dog.state(), life::lost);
  EXPECT_EQ(dog.deadline(), end) << "the late reply extends nothing";
  EXPECT_FALSE(dog.held_at(at(15s)));
}

TEST(Watchdog, TakesAReplyOneTickBeforeTheEnd) {
  watchdog dog = renewing();
  EXPECT_EQ(dog.renewed(dog.deadline() - 1ns), verdict::nothing);
  EXPECT_EQ(dog.state(), life::held);
}

TEST(Watchdog, LosesAtOnceWhenTheStoreSaysThatTheLockIsNotOurs) {
  for (const errc why : {errc::lost, errc::not_held}) {
    watchdog dog = renewing();
    EXPECT_EQ(dog.refused(at(11s), why), verdict::lost) << to_string(why);
    EXPECT_EQ(dog.state(), life::lost);
    EXPECT_FALSE(dog.held_at(at(11s)));
    EXPECT_EQ(dog.wake_at(), instant::max());
  }
}

TEST(Watchdog, KeepsTheLeaseWhenTheStoreRefusesForAnyOtherReason) {
  for (const errc why : {errc::unreachable, errc::quarantined, errc::access_denied, errc::storage_error,
                         errc::misconfigured, errc::protocol_error, errc::busy, errc::outcome_unknown}) {
    watchdog dog = renewing();
    EXPECT_EQ(dog.refused(at(11s), why), verdict::nothing) << to_string(why);
    EXPECT_EQ(dog.state(), life::held);
    EXPECT_EQ(dog.deadline(), end_of(at(0s))) << "nor does it extend it";
    EXPECT_EQ(dog.tick(dog.wake_at()), verdict::renew) << "and it is tried again";
  }
}

TEST(Watchdog, KeepsTheLeaseWhenARenewalsOutcomeIsUnknown) {
  watchdog dog = renewing();
  EXPECT_EQ(dog.unknown(at(11s)), verdict::nothing);
  EXPECT_EQ(dog.state(), life::held);
  EXPECT_EQ(dog.deadline(), end_of(at(0s)));
  EXPECT_EQ(dog.tick(dog.wake_at()), verdict::renew);
  EXPECT_EQ(dog.seq(), 2U) << "another renewal has another number";
}

TEST(Watchdog, LosesWhenAFailureIsHeardAfterTheEnd) {
  watchdog unanswered = renewing();
  EXPECT_EQ(unanswered.unknown(unanswered.deadline()), verdict::lost);
  watchdog unreached = renewing();
  EXPECT_EQ(unreached.refused(unreached.deadline(), errc::unreachable), verdict::lost);
  watchdog not_ours = renewing();
  EXPECT_EQ(not_ours.refused(not_ours.deadline(), errc::lost), verdict::lost);
}

TEST(Watchdog, LosesForOneWhoAsksBetweenTwoTicks) {
  watchdog dog = granted();
  EXPECT_EQ(dog.expire(dog.deadline() - 1ns), verdict::nothing);
  EXPECT_EQ(dog.state(), life::held);
  EXPECT_EQ(dog.expire(dog.deadline()), verdict::lost);
  EXPECT_EQ(dog.state(), life::lost);
}

TEST(Watchdog, LosesWhenItsClientCloses) {
  watchdog dog = granted();
  EXPECT_EQ(dog.abandon(), verdict::lost);
  EXPECT_EQ(dog.state(), life::lost);
}

TEST(Watchdog, IsReleasedOnce) {
  watchdog dog = granted();
  EXPECT_TRUE(dog.release());
  EXPECT_EQ(dog.state(), life::released);
  EXPECT_FALSE(dog.held_at(at(1s)));
  EXPECT_FALSE(dog.release());
}

// ---- released and lost are final --------------------------------------------------------------------------

struct way_to_end {
  std::string_view name;
  watchdog dog;
};

/// Every way into the two final states, with a renewal under way where there can be one.
std::vector<way_to_end> ended() {
  std::vector<way_to_end> all = {{"released", granted()},           {"released while renewing", renewing()},
                                 {"expired at a tick", renewing()}, {"late reply", renewing()},
                                 {"refused", renewing()},           {"unknown too late", renewing()},
                                 {"expired when asked", granted()}, {"abandoned", renewing()}};
  const instant end = end_of(at(0s));
  (void)all[0].dog.release();
  (void)all[1].dog.release();
  (void)all[2].dog.tick(end);
  (void)all[3].dog.renewed(end);
  (void)all[4].dog.refused(at(11s), errc::lost);
  (void)all[5].dog.unknown(end);
  (void)all[6].dog.expire(end);
  (void)all[7].dog.abandon();
  return all;
}

using event = verdict (*)(watchdog&, instant);
constexpr std::array<event, 8> every_event = {
    [](watchdog& d, instant now) { return d.tick(now); },
    [](watchdog& d, instant now) { return d.expire(now); },
    [](watchdog& d, instant now) { return d.renewed(now); },
    [](watchdog& d, instant now) { return d.refused(now, errc::lost); },
    [](watchdog& d, instant now) { return d.refused(now, errc::unreachable); },
    [](watchdog& d, instant now) { return d.unknown(now); },
    [](watchdog& d, instant) { return d.abandon(); },
    [](watchdog& d, instant) { return d.release() ? verdict::renew : verdict::nothing; },
};

TEST(Watchdog, IsDeafOnceReleasedOrLost) {
  for (const auto& [name, dog] : ended()) {
    ASSERT_NE(dog.state(), life::held) << name;
    for (const event first : every_event) {
      for (const event second : every_event) {
        watchdog dead = dog;
        EXPECT_EQ(first(dead, at(12s)), verdict::nothing) << name;
        EXPECT_EQ(second(dead, at(100s)), verdict::nothing) << name;
        EXPECT_EQ(dead.state(), dog.state()) << name;
        EXPECT_EQ(dead.wake_at(), instant::max()) << name;
        EXPECT_FALSE(dead.held_at(at(12s))) << name;
        EXPECT_EQ(dead.seq(), dog.seq()) << name;
      }
    }
  }
}

TEST(Watchdog, IsNeverRevivedByALateRenewedAfterTheLoss) {
  watchdog dog = renewing();
  ASSERT_EQ(dog.refused(at(11s), errc::lost), verdict::lost);
  EXPECT_EQ(dog.renewed(at(12s)), verdict::nothing);
  EXPECT_EQ(dog.state(), life::lost);
  EXPECT_EQ(dog.deadline(), end_of(at(0s)));
}

// redisson#7272: the renewal outlived the unlock.
TEST(Watchdog, StopsForGoodWhenUnlockedDuringARenewal) {
  watchdog dog = renewing();
  EXPECT_TRUE(dog.release());
  EXPECT_EQ(dog.renewed(at(11s)), verdict::nothing);
  EXPECT_EQ(dog.state(), life::released);
  EXPECT_EQ(dog.wake_at(), instant::max());
  for (nanoseconds t = 11s; t < 120s; t += 500ms) {
    ASSERT_EQ(dog.tick(at(t)), verdict::nothing);
  }
  EXPECT_EQ(dog.seq(), 1U);
}

TEST(Watchdog, SaysLostExactlyOnce) {
  watchdog dog = renewing();
  int said = 0;
  for (nanoseconds t = 10s; t < 120s; t += 10ms) {
    for (const event e : every_event) {
      said += e(dog, at(t)) == verdict::lost ? 1 : 0;
    }
  }
  EXPECT_EQ(said, 1);
}

}  // namespace
}  // namespace cremone::core
