// SPDX-License-Identifier: Apache-2.0
//
// Checks from which moment a granted lease counts, and that a grant which comes too late is given back. Knows nothing
// of refusals.
#include "unit/acquire_fixture.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cremone::core {
namespace {

using namespace core::testing;

constexpr bool fresh = false;
constexpr bool repeated = true;

void expect_succeeded(const acquire_action& action, nanoseconds since) {
  EXPECT_EQ(action.what, kind::succeed);
  EXPECT_EQ(action.since, at(since));
}

/// Its first attempt, sent at the origin, went unanswered; the second left at one second.
acquisition asked_twice(const acquire_settings& settings = waiting(10min)) {
  acquisition a = trying(settings);
  EXPECT_EQ(a.unknown(900ms).what, kind::sleep);
  EXPECT_EQ(a.machine.hint(at(1s)).what, kind::attempt);
  return a;
}

// ---- from when a lease counts -----------------------------------------------------------------------------

TEST(AcquireGrant, CountsFromTheSendNotFromTheAnswer) {
  acquisition a(waiting(10min));
  (void)a.machine.start(at(5s));
  expect_succeeded(a.machine.granted(at(9s), fresh), 5s);
}

TEST(AcquireGrant, CountsFromTheSendOfTheAttemptThatWasGranted) {
  acquisition a = sleeping(waiting(10min));
  ASSERT_EQ(a.machine.hint(at(7s)).what, kind::attempt);
  expect_succeeded(a.machine.granted(at(8s), fresh), 7s);
}

TEST(AcquireGrant, CountsARepeatedGrantFromTheFirstUnansweredAttempt) {
  acquisition a = asked_twice();
  expect_succeeded(a.machine.granted(at(1100ms), repeated), 0s);
}

TEST(AcquireGrant, CountsFromTheFirstOfSeveralUnansweredAttempts) {
  acquisition a = asked_twice();
  ASSERT_EQ(a.unknown(2s).what, kind::sleep);
  ASSERT_EQ(a.machine.hint(at(3s)).what, kind::attempt);
  expect_succeeded(a.machine.granted(at(4s), repeated), 0s);
}

TEST(AcquireGrant, CountsAFreshGrantAfterAnUnansweredAttemptFromItsOwnSend) {
  acquisition a = asked_twice();
  expect_succeeded(a.machine.granted(at(1100ms), fresh), 1s);
}

TEST(AcquireGrant, CountsARepeatedGrantWithoutAnUnansweredAttemptFromItsOwnSend) {
  acquisition a(waiting(10min));
  (void)a.machine.start(at(5s));
  expect_succeeded(a.machine.granted(at(6s), repeated), 5s);
}

// The attempt before the refusal may still have been the one that was granted.
TEST(AcquireGrant, DoesNotForgetAnUnansweredAttemptBecauseOfARefusal) {
  acquisition a = asked_twice();
  ASSERT_EQ(a.refused(1100ms, busy({}, 0)).what, kind::sleep);
  ASSERT_EQ(a.machine.hint(at(2s)).what, kind::attempt);
  expect_succeeded(a.machine.granted(at(2100ms), repeated), 0s);
}

TEST(AcquireGrant, IsNoLeaseWhenTheAnswerTookLongerThanMaxHold) {
  acquire_settings settings = waiting(10min);
  settings.max_hold = 2s;
  acquisition in_time = trying(settings);
  expect_succeeded(in_time.machine.granted(at(2s) - 1ns, fresh), 0s);
  acquisition late = trying(settings);
  const acquire_action action = late.machine.granted(at(2s), fresh);
  EXPECT_EQ(action.what, kind::attempt);
  EXPECT_TRUE(action.withdraw) << "the store believes that we hold it";
}

TEST(AcquireGrant, IsTakenAlsoAfterTheWaitIsOver) {
  acquisition a = trying(waiting(1s));
  expect_succeeded(a.machine.granted(at(1500ms), fresh), 0s);
}

// ---- too late ---------------------------------------------------------------------------------------------

/// The lease that was granted must not be used: it is given back, and a fresh owner id asks again.
void expect_attempt_anew(const acquire_action& action) {
  EXPECT_EQ(action.what, kind::attempt);
  EXPECT_TRUE(action.withdraw);
}

TEST(AcquireGrant, IsGivenBackWhenTheValidityIsOverBeforeItIsHeardOf) {
  const instant end = valid_until(at(0s), lease_ttl, usual_drift);
  acquisition in_time = trying(waiting(10min));
  EXPECT_EQ(in_time.machine.granted(end - 1ns, fresh).what, kind::succeed);
  acquisition late = trying(waiting(10min));
  const acquire_action again = late.machine.granted(end, fresh);
  expect_attempt_anew(again);
  EXPECT_TRUE(again.join);
  EXPECT_EQ(again.until, at(10min));
  EXPECT_FALSE(late.machine.over());
}

TEST(AcquireGrant, CountsFromTheFreshAttemptAfterOneThatCameTooLate) {
  acquisition a = trying(waiting(10min));
  expect_attempt_anew(a.machine.granted(at(40s), fresh));
  expect_succeeded(a.machine.granted(at(41s), fresh), 40s);
}

TEST(AcquireGrant, IsGivenBackWhenTheUnansweredAttemptThatTookTheLockIsTooLongAgo) {
  acquisition a = asked_twice();
  ASSERT_EQ(a.unknown(29s).what, kind::sleep);
  ASSERT_EQ(a.machine.hint(at(29s)).what, kind::attempt);
  expect_attempt_anew(a.machine.granted(at(31s), repeated));
  expect_succeeded(a.machine.granted(at(32s), repeated), 31s);  // the old attempts belong to another owner id
}

TEST(AcquireGrant, LeavesNothingToWithdrawOfTheOwnerThatWasGivenBack) {
  acquisition a = asked_twice();
  expect_attempt_anew(a.machine.granted(at(100s), repeated));
  ASSERT_EQ(a.refused(101s, no(errc::unreachable)).what, kind::sleep);
  EXPECT_FALSE(a.machine.cancel(error(errc::cancelled)).withdraw)
      << "the fresh owner id never reached the store";
}

TEST(AcquireGrant, IsWithdrawnWhenCancelledDuringTheFreshAttempt) {
  acquisition a = trying(waiting(10min));
  expect_attempt_anew(a.machine.granted(at(40s), fresh));
  EXPECT_TRUE(a.machine.cancel(error(errc::cancelled)).withdraw);
}

/// It gives up, says that the store is too slow, and leaves nothing behind.
void expect_too_slow(const acquire_action& action) {
  ASSERT_EQ(action.what, kind::fail);
  EXPECT_EQ(action.why->code(), errc::outcome_unknown);
  EXPECT_THAT(action.why->detail(), ::testing::HasSubstr("30000 ms"));
  EXPECT_TRUE(action.withdraw);
}

TEST(AcquireGrant, EndsTheWaitWhenItComesTooLateForBoth) {
  acquisition a = trying(waiting(10s));
  expect_too_slow(a.machine.granted(at(40s), fresh));
  EXPECT_TRUE(a.machine.over());
}

TEST(AcquireGrant, ThatCameTooLateIsWhatTheCallerHearsOfWhenTheWaitEnds) {
  acquisition a = trying(waiting(60s));
  expect_attempt_anew(a.machine.granted(at(40s), fresh));
  expect_too_slow(a.machine.tick(at(60s)));
}

TEST(AcquireGrant, ThatCameTooLateIsForgottenWhenTheStoreAnswersInTime) {
  acquisition a = trying(waiting(60s));
  expect_attempt_anew(a.machine.granted(at(40s), fresh));
  ASSERT_EQ(a.refused(41s, busy({}, 0)).what, kind::sleep);
  EXPECT_EQ(a.machine.tick(at(60s)).why->code(), errc::timed_out);
}

// A store whose answers always take longer than the lease must not keep a single try going for ever.
TEST(AcquireGrant, EndsASingleTryWhenItComesTooLate) {
  acquisition a = trying(one_try());
  expect_too_slow(a.machine.granted(at(40s), fresh));
  EXPECT_TRUE(a.machine.over());
}

// ---- an owner id that others have seen die ----------------------------------------------------------------

/// The first attempt went unanswered, and so did nothing else for so long that others took its hold over.
acquisition spent(std::optional<milliseconds> wait) {
  acquisition a = trying(waiting(wait));
  EXPECT_EQ(a.unknown(50ms).what, kind::sleep);
  EXPECT_EQ(a.machine.hint(at(1s)).what, kind::attempt);
  return a;
}

TEST(AcquireSpentOwner, StartsAnewWithAnotherOne) {
  for (const errc gone : {errc::not_held, errc::lost}) {
    acquisition a = spent(std::nullopt);
    const acquire_action anew = a.refused(2s, no(gone));
    EXPECT_EQ(anew.what, kind::attempt);
    EXPECT_TRUE(anew.withdraw);
    EXPECT_TRUE(anew.join);
    const acquire_action yes = a.machine.granted(at(3s), false);
    EXPECT_EQ(yes.what, kind::succeed);
    EXPECT_EQ(yes.since, at(2s));
  }
}

TEST(AcquireSpentOwner, GivesUpWhenTheTimeIsOver) {
  acquisition a = spent(2s);
  const acquire_action end = a.refused(2s, no(errc::not_held));
  EXPECT_EQ(end.what, kind::fail);
  EXPECT_EQ(end.why->code(), errc::timed_out);
  EXPECT_TRUE(end.withdraw);
}

TEST(AcquireSpentOwner, IsNoReasonToTryAgainForEver) {
  acquisition a = spent(std::nullopt);
  ASSERT_EQ(a.refused(2s, no(errc::not_held)).what, kind::attempt);
  EXPECT_EQ(a.refused(3s, no(errc::not_held)).what, kind::fail);
}

}  // namespace
}  // namespace cremone::core
