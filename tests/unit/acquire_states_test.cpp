// SPDX-License-Identifier: Apache-2.0
//
// Checks the state table of an acquisition: each state against each event, who has to be withdrawn at the end, and
// that over is over. How long it sleeps and what it evicts is checked elsewhere.
#include "unit/acquire_fixture.hpp"

#include <gtest/gtest.h>

#include <array>
#include <string_view>
#include <utility>

namespace cremone::core {
namespace {

using namespace core::testing;

void expect_failed(const acquire_action& action, errc why) {
  EXPECT_EQ(action.what, kind::fail);
  ASSERT_TRUE(action.why.has_value());
  EXPECT_EQ(action.why->code(), why);
}

acquire_action cancelled(acquisition& a) { return a.machine.cancel(error(errc::cancelled, "by the caller")); }

// ---- new --------------------------------------------------------------------------------------------------

TEST(AcquireNew, AsksAtOnceAndJoinsTheQueueIfItMayWait) {
  acquisition a(waiting(10s));
  const acquire_action first = a.machine.start(at(5s));
  EXPECT_EQ(first.what, kind::attempt);
  EXPECT_TRUE(first.join);
  EXPECT_FALSE(first.withdraw);
  EXPECT_EQ(first.until, at(15s)) << "the wait may end before the answer comes";
  EXPECT_FALSE(a.machine.over());
}

TEST(AcquireNew, JoinsNoQueueForASingleTry) {
  acquisition a(one_try());
  const acquire_action first = a.machine.start(at(5s));
  EXPECT_EQ(first.what, kind::attempt);
  EXPECT_FALSE(first.join);
  EXPECT_EQ(first.until, instant::max()) << "a try ends with its answer";
}

TEST(AcquireNew, NeverEndsAnUnboundedWaitByTime) {
  acquisition a(without_end());
  EXPECT_EQ(a.machine.start(at(5s)).until, instant::max());
  acquisition longest(waiting(milliseconds::max()));
  EXPECT_EQ(longest.machine.start(at(5s)).until, instant::max());
}

// ---- trying -----------------------------------------------------------------------------------------------

TEST(AcquireTrying, SucceedsWhenGranted) {
  acquisition a = trying(waiting(10s));
  const acquire_action got = a.machine.granted(at(5ms), false);
  EXPECT_EQ(got.what, kind::succeed);
  EXPECT_EQ(got.since, at(0s));
  EXPECT_FALSE(got.withdraw);
  EXPECT_TRUE(a.machine.over());
}

TEST(AcquireTrying, SleepsWhenRefused) {
  acquisition a = trying(waiting(10s));
  const acquire_action next = a.refused(5ms, busy({}, 0));
  EXPECT_EQ(next.what, kind::sleep);
  EXPECT_GT(next.until, at(5ms));
  EXPECT_FALSE(next.withdraw);
}

TEST(AcquireTrying, SleepsWhenTheOutcomeIsUnknown) {
  acquisition a = trying(waiting(10s));
  const acquire_action next = a.unknown(50ms);
  EXPECT_EQ(next.what, kind::sleep);
  EXPECT_GT(next.until, at(50ms));
  EXPECT_FALSE(next.withdraw) << "the same owner id asks again, which settles the matter";
}

TEST(AcquireTrying, NotesAHintAndAsksAgainAtOnceWhenRefused) {
  acquisition a = trying(waiting(10s));
  EXPECT_EQ(a.machine.hint(at(1ms)).what, kind::nothing);
  EXPECT_EQ(a.refused(5ms, busy({}, 0)).what, kind::attempt);
  EXPECT_EQ(a.refused(6ms, busy({}, 0)).what, kind::sleep) << "one hint, one attempt";
}

TEST(AcquireTrying, IgnoresATickBeforeTheWaitIsOver) {
  acquisition a = trying(waiting(10s));
  EXPECT_EQ(a.machine.tick(at(10s) - 1ns).what, kind::nothing);
}

TEST(AcquireTrying, GivesUpWhenTheWaitIsOverAndWithdrawsTheAttemptUnderWay) {
  acquisition a = trying(waiting(10s));
  const acquire_action end = a.machine.tick(at(10s));
  expect_failed(end, errc::timed_out);
  EXPECT_TRUE(end.withdraw);
}

TEST(AcquireTrying, LeavesNoHoldBehindWhenCancelled) {
  for (const auto& settings : {waiting(10s), without_end(), one_try()}) {
    acquisition a = trying(settings);
    const acquire_action end = cancelled(a);
    expect_failed(end, errc::cancelled);
    EXPECT_EQ(end.why->detail(), "by the caller");
    EXPECT_TRUE(end.withdraw);
    EXPECT_EQ(a.machine.granted(at(1s), false).what, kind::nothing) << "a late grant does nothing";
  }
}

// ---- evicting ---------------------------------------------------------------------------------------------

TEST(AcquireEvicting, AsksAgainWhateverTheAnswerIs) {
  for (const bool in_doubt : {false, true}) {
    acquisition a = evicting(waiting(10s), 0);
    const acquire_action next = a.machine.evicted(at(2ms), in_doubt);
    EXPECT_EQ(next.what, kind::attempt);
    EXPECT_TRUE(next.join);
    EXPECT_FALSE(next.withdraw);
    EXPECT_EQ(next.until, at(10s));
  }
}

TEST(AcquireEvicting, OnlyNotesAHint) {
  acquisition a = evicting(waiting(10s), 0);
  EXPECT_EQ(a.machine.hint(at(2ms)).what, kind::nothing);
  EXPECT_EQ(a.machine.evicted(at(3ms), false).what, kind::attempt);
}

TEST(AcquireEvicting, GivesUpWhenTheWaitIsOverNotBefore) {
  acquisition a = evicting(waiting(10s), 0);
  EXPECT_EQ(a.machine.tick(at(10s) - 1ns).what, kind::nothing);
  const acquire_action end = a.machine.tick(at(10s));
  expect_failed(end, errc::timed_out);
  EXPECT_TRUE(end.withdraw) << "it stands in the queue";
}

TEST(AcquireEvicting, WithdrawsItsPlaceWhenCancelled) {
  acquisition queued = evicting(waiting(10s), 0);
  EXPECT_TRUE(cancelled(queued).withdraw);
  acquisition unqueued = evicting(waiting(10s), std::nullopt);
  const acquire_action end = cancelled(unqueued);
  expect_failed(end, errc::cancelled);
  EXPECT_FALSE(end.withdraw) << "the store knows nothing of it";
}

// ---- sleeping ---------------------------------------------------------------------------------------------

TEST(AcquireSleeping, AsksAtOnceOnAHint) {
  acquisition a = sleeping(waiting(10s));
  const acquire_action next = a.machine.hint(at(2ms));
  EXPECT_EQ(next.what, kind::attempt);
  EXPECT_TRUE(next.join);
  EXPECT_EQ(next.until, at(10s));
  EXPECT_EQ(a.machine.granted(at(3ms), false).since, at(2ms)) << "validity counts from the new send";
}

TEST(AcquireSleeping, DoesNothingOnATickBeforeItsTime) {
  acquisition a = trying(waiting(10s));
  const instant wake = a.refused(1ms, busy({}, 0)).until;
  EXPECT_EQ(a.machine.tick(wake - 1ns).what, kind::nothing);
  EXPECT_EQ(a.machine.tick(wake).what, kind::attempt);
}

TEST(AcquireSleeping, GivesUpWhenTheWaitIsOver) {
  acquisition a = sleeping(waiting(10s));
  const acquire_action end = a.machine.tick(at(10s));
  expect_failed(end, errc::timed_out);
  EXPECT_TRUE(end.withdraw) << "it stands in the queue";
}

TEST(AcquireSleeping, WithdrawsItsPlaceWhenCancelled) {
  acquisition a = sleeping(waiting(10s));
  const acquire_action end = cancelled(a);
  expect_failed(end, errc::cancelled);
  EXPECT_TRUE(end.withdraw);
}

TEST(AcquireSleeping, WithdrawsWhenAnEarlierOutcomeIsUnknown) {
  acquisition a = trying(waiting(10s));
  ASSERT_EQ(a.unknown(50ms).what, kind::sleep);
  EXPECT_TRUE(cancelled(a).withdraw);
}

// A refusal of a later request does not settle the earlier one: it may still arrive.
TEST(AcquireSleeping, WithdrawsAlsoWhenAPlainRefusalFollowedTheUnknownOutcome) {
  acquisition a = trying(waiting(10s));
  const instant wake = a.unknown(50ms).until;
  ASSERT_EQ(a.machine.tick(wake).what, kind::attempt);
  ASSERT_EQ(a.refused(100ms, busy()).what, kind::sleep);
  EXPECT_TRUE(cancelled(a).withdraw);
}

TEST(AcquireSleeping, WithdrawsNothingWhenTheStoreKnowsNothing) {
  acquisition a = trying(waiting(10s));
  ASSERT_EQ(a.refused(5ms, no(errc::unreachable)).what, kind::sleep);
  EXPECT_FALSE(cancelled(a).withdraw);
}

// ---- over -------------------------------------------------------------------------------------------------

using event = acquire_action (*)(acquisition&);
constexpr std::array<event, 9> every_event = {
    [](acquisition& a) { return a.machine.granted(at(20s), false); },
    [](acquisition& a) { return a.machine.granted(at(200s), true); },
    [](acquisition& a) { return a.refused(20s, busy({}, 0)); },
    [](acquisition& a) { return a.refused(20s, no(errc::access_denied)); },
    [](acquisition& a) { return a.unknown(20s); },
    [](acquisition& a) { return a.machine.evicted(at(20s), true); },
    [](acquisition& a) { return a.machine.hint(at(20s)); },
    [](acquisition& a) { return a.machine.tick(at(20s)); },
    [](acquisition& a) { return a.machine.cancel(error(errc::cancelled)); },
};

/// Every way in which an acquisition ends.
constexpr std::array<std::pair<std::string_view, event>, 5> every_end = {{
    {"granted", [](acquisition& a) { return a.machine.granted(at(1ms), false); }},
    {"refused for good", [](acquisition& a) { return a.refused(1ms, no(errc::access_denied)); }},
    {"out of time", [](acquisition& a) { return a.machine.tick(at(10s)); }},
    {"unknown and out of time", [](acquisition& a) { return a.unknown(10s); }},
    {"cancelled", [](acquisition& a) { return cancelled(a); }},
}};

TEST(AcquireOver, IsDeafToEverything) {
  for (const auto& [name, end] : every_end) {
    for (const event first : every_event) {
      acquisition a = trying(waiting(10s));
      (void)end(a);
      ASSERT_TRUE(a.machine.over()) << name;
      for (const event next : {first, every_event[0], every_event[6]}) {
        const acquire_action action = next(a);
        EXPECT_EQ(action.what, kind::nothing) << name;
        EXPECT_FALSE(action.withdraw) << name;
        EXPECT_TRUE(a.machine.over()) << name;
      }
    }
  }
}

// Closing the client may overtake the call that starts the acquisition.
TEST(AcquireOver, StaysOverWhenItWasCancelledBeforeItStarted) {
  acquisition a(waiting(10s));
  const acquire_action end = cancelled(a);
  expect_failed(end, errc::cancelled);
  EXPECT_FALSE(end.withdraw) << "nothing was sent";
  EXPECT_EQ(a.machine.start(at(0s)).what, kind::nothing);
  EXPECT_TRUE(a.machine.over());
}

}  // namespace
}  // namespace cremone::core
