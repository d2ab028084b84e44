// SPDX-License-Identifier: Apache-2.0
//
// Checks when an acquisition gives up and what it then says: the time is over, the store says no for good, or the store
// says nothing. Knows nothing of who holds the lock.
#include "unit/acquire_fixture.hpp"

#include <gtest/gtest.h>

namespace cremone::core {
namespace {

using namespace core::testing;

errc reason(const acquire_action& action) {
  EXPECT_EQ(action.what, kind::fail);
  return action.why ? action.why->code() : errc{};
}

// ---- refusals that last -----------------------------------------------------------------------------------

TEST(AcquireRefusal, EndsTheWaitAtOnceWhenTryingAgainIsOfNoUse) {
  for (const errc why : {errc::access_denied, errc::unsupported, errc::storage_error, errc::misconfigured,
                         errc::invalid_argument, errc::protocol_error, errc::not_held, errc::lost,
                         errc::cancelled, errc::stale_token, errc::timed_out, errc::outcome_unknown}) {
    for (const auto& settings : {waiting(10s), without_end(), one_try()}) {
      acquisition a = trying(settings);
      const acquire_action end = a.refused(1ms, no(why));
      EXPECT_EQ(reason(end), why);
      EXPECT_FALSE(end.withdraw) << "the store has said that it does not know us";
      EXPECT_TRUE(a.machine.over());
    }
  }
}

TEST(AcquireRefusal, KeepsTheStoresWords) {
  acquisition a = trying(waiting(10s));
  const refusal denied{.why = error(errc::access_denied, "user bob may not EVAL"),
                       .holders = {},
                       .place = {},
                       .retry_after = {}};
  EXPECT_EQ(a.refused(1ms, denied).why->detail(), "user bob may not EVAL");
}

TEST(AcquireRefusal, WithdrawsFromTheQueueWhenALaterAnswerEndsTheWait) {
  acquisition a = sleeping(waiting(10s));
  ASSERT_EQ(a.machine.hint(at(1s)).what, kind::attempt);
  const acquire_action end = a.refused(2s, no(errc::storage_error));
  EXPECT_EQ(reason(end), errc::storage_error);
  EXPECT_TRUE(end.withdraw);
}

TEST(AcquireRefusal, WithdrawsWhenAnEarlierAttemptWentUnanswered) {
  acquisition a = trying(waiting(10s));
  ASSERT_EQ(a.unknown(50ms).what, kind::sleep);
  ASSERT_EQ(a.machine.hint(at(1s)).what, kind::attempt);
  EXPECT_TRUE(a.refused(2s, no(errc::access_denied)).withdraw);
}

// ---- the end of a bounded wait ----------------------------------------------------------------------------

TEST(AcquireDeadline, SaysTimedOutWhenTheLockStayedBusy) {
  acquisition a = sleeping(waiting(10s));
  EXPECT_EQ(reason(a.machine.tick(at(10s))), errc::timed_out);
}

TEST(AcquireDeadline, SaysTimedOutWhenTheLastRefusalComesAfterTheEnd) {
  acquisition a = trying(waiting(10s));
  const acquire_action end = a.refused(10s, busy({}, 0));
  EXPECT_EQ(reason(end), errc::timed_out);
  EXPECT_TRUE(end.withdraw);
}

TEST(AcquireDeadline, IsNotMovedByAHint) {
  acquisition a = trying(waiting(10s));
  ASSERT_EQ(a.machine.hint(at(1s)).what, kind::nothing);
  EXPECT_EQ(reason(a.refused(10s, busy({}, 0))), errc::timed_out);
}

TEST(AcquireDeadline, TellsOfTheStoreWhenItCouldNotBeReached) {
  acquisition a = trying(waiting(10s));
  ASSERT_EQ(a.refused(1ms, no(errc::unreachable)).what, kind::sleep);
  const acquire_action end = a.machine.tick(at(10s));
  EXPECT_EQ(reason(end), errc::unreachable);
  EXPECT_FALSE(end.withdraw);
}

TEST(AcquireDeadline, TellsOfTheStoreWhenItNeverAnswered) {
  acquisition a = trying(waiting(10s));
  ASSERT_EQ(a.unknown(50ms).what, kind::sleep);
  const acquire_action end = a.machine.tick(at(10s));
  EXPECT_EQ(reason(end), errc::outcome_unknown);
  EXPECT_EQ(end.why->detail(), no_answer().detail());
  EXPECT_TRUE(end.withdraw);
}

TEST(AcquireDeadline, TellsOfTheStoreWhenTheSilenceOutlastsTheWait) {
  acquisition a = trying(waiting(10s));
  EXPECT_EQ(reason(a.unknown(10s)), errc::outcome_unknown);
}

TEST(AcquireDeadline, SaysTimedOutWhenTheStoreCameBack) {
  acquisition a = trying(waiting(10s));
  ASSERT_EQ(a.refused(1ms, no(errc::unreachable)).what, kind::sleep);
  ASSERT_EQ(a.machine.hint(at(1s)).what, kind::attempt);
  ASSERT_EQ(a.refused(2s, busy({}, 0)).what, kind::sleep);
  EXPECT_EQ(reason(a.machine.tick(at(10s))), errc::timed_out);
}

// ---- an unbounded wait for a store that is silent ---------------------------------------------------------

enum class word : std::uint8_t { none, out_of_reach, busy, quarantined };

/// What the acquisition does with this answer.
acquire_action hear(acquisition& a, word w, nanoseconds now) {
  switch (w) {
    case word::none: return a.unknown(now);
    case word::out_of_reach: return a.refused(now, no(errc::unreachable));
    case word::busy: return a.refused(now, busy({}, 0));
    case word::quarantined: return a.refused(now, no(errc::quarantined));
  }
  return {};
}

/// Waits without end while the store always says the same, until `most` has passed. When it gave up, and why.
std::pair<nanoseconds, errc> patience_with(acquisition& a, word w, nanoseconds from, nanoseconds most) {
  nanoseconds now = from;
  acquire_action next = hear(a, w, now);
  while (next.what == kind::sleep && now < from + most) {
    now = next.until - at(0s);
    EXPECT_EQ(a.machine.tick(at(now)).what, kind::attempt);
    next = hear(a, w, now);
  }
  return {now, next.why ? next.why->code() : errc{}};
}

TEST(AcquireSilence, EndsAnUnboundedWaitAfterHalfAMinuteWithoutAnyAnswer) {
  acquisition a = trying(without_end());
  const auto [end, why] = patience_with(a, word::none, 0s, 10min);
  EXPECT_EQ(why, errc::outcome_unknown);
  EXPECT_GE(end, store_silence_limit);
  EXPECT_LE(end, store_silence_limit + 1s);
}

TEST(AcquireSilence, EndsAnUnboundedWaitForAStoreOutOfReach) {
  acquisition a = trying(without_end());
  const auto [end, why] = patience_with(a, word::out_of_reach, 0s, 10min);
  EXPECT_EQ(why, errc::unreachable);
  EXPECT_GE(end, store_silence_limit);
  EXPECT_LE(end, store_silence_limit + 1s);
}

TEST(AcquireSilence, DoesNotEndAnUnboundedWaitWhileBusyAnswersCome) {
  acquisition a = trying(without_end());
  const auto [end, why] = patience_with(a, word::busy, 0s, 1h);
  EXPECT_GE(end, 1h);
  EXPECT_EQ(why, errc{});
}

TEST(AcquireSilence, DoesNotEndAnUnboundedWaitDuringAQuarantine) {
  acquisition a = trying(without_end());
  const auto [end, why] = patience_with(a, word::quarantined, 0s, 1h);
  EXPECT_GE(end, 1h);
  EXPECT_EQ(why, errc{});
}

TEST(AcquireSilence, CountsFromTheLastAnswer) {
  acquisition a = trying(without_end());
  ASSERT_EQ(a.unknown(20s).what, kind::sleep);
  ASSERT_EQ(a.machine.hint(at(24s)).what, kind::attempt);
  ASSERT_EQ(a.refused(25s, busy({}, 0)).what, kind::sleep);
  ASSERT_EQ(a.machine.hint(at(26s)).what, kind::attempt);
  const auto [end, why] = patience_with(a, word::none, 27s, 10min);
  EXPECT_EQ(why, errc::outcome_unknown);
  EXPECT_GE(end, 25s + store_silence_limit);
  EXPECT_LE(end, 26s + store_silence_limit);
}

TEST(AcquireSilence, IsNoMatterForABoundedWaitThatIsLonger) {
  acquisition a = trying(waiting(5min));
  const auto [end, why] = patience_with(a, word::none, 0s, 4min);
  EXPECT_GE(end, 4min);
  EXPECT_EQ(why, errc{});
}

}  // namespace
}  // namespace cremone::core
