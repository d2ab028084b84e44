// SPDX-License-Identifier: Apache-2.0
//
// Checks how a lock is given back when the store says yes, no, or nothing at all, and what the caller is told. Knows
// no store and sends nothing.
#include "core/release.hpp"

#include "unit/moments.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace cremone::core {
namespace {

using namespace cremone::testing;
using next = release::next;

constexpr milliseconds patience = 30s;

release fresh() { return {at(0s), patience, 1}; }

error silence() { return {errc::outcome_unknown, "no answer within 50 ms"}; }
error out_of_reach() { return {errc::unreachable, "connection refused"}; }

errc outcome_of(const release& r) { return r.outcome() ? errc{} : r.outcome().error().code(); }
constexpr errc ok{};

TEST(Release, IsFineWhenDone) {
  release r = fresh();
  EXPECT_EQ(r.done(), next::finished);
  EXPECT_EQ(outcome_of(r), ok);
}

TEST(Release, TellsOfALossWhenTheStoreKnowsNoSuchHold) {
  release r = fresh();
  EXPECT_EQ(r.refused(at(1ms), error(errc::not_held)), next::finished);
  EXPECT_EQ(outcome_of(r), errc::lost);
}

TEST(Release, IsFineWhenNotHeldFollowsARequestWithoutAnswer) {
  release r = fresh();
  EXPECT_EQ(r.unknown(at(1ms), silence()), next::sleep);
  EXPECT_EQ(r.refused(at(1s), error(errc::not_held)), next::finished);
  EXPECT_EQ(outcome_of(r), ok) << "our own first request had arrived";
}

TEST(Release, TellsOfALossWhenNotHeldFollowsRequestsThatNeverLeft) {
  release r = fresh();
  EXPECT_EQ(r.refused(at(1ms), out_of_reach()), next::sleep);
  EXPECT_EQ(r.refused(at(1s), error(errc::not_held)), next::finished);
  EXPECT_EQ(outcome_of(r), errc::lost);
}

TEST(Release, IsFineWhenARepeatedRequestIsDone) {
  release r = fresh();
  EXPECT_EQ(r.unknown(at(1ms), silence()), next::sleep);
  EXPECT_EQ(r.refused(at(1s), out_of_reach()), next::sleep);
  EXPECT_EQ(r.done(), next::finished);
  EXPECT_EQ(outcome_of(r), ok);
}

TEST(Release, EndsAtOnceWhenTheStoreSaysNoForAnotherReason) {
  for (const errc why : {errc::access_denied, errc::unsupported, errc::protocol_error}) {
    release r = fresh();
    EXPECT_EQ(r.refused(at(1ms), error(why)), next::finished) << to_string(why);
    EXPECT_EQ(outcome_of(r), why);
  }
}

TEST(Release, IsRepeatedWhenTheDiskWasFull) {
  release r = fresh();
  EXPECT_EQ(r.refused(at(1ms), error(errc::storage_error)), next::sleep);
  EXPECT_EQ(outcome_of(r), errc::storage_error);
  EXPECT_EQ(r.done(), next::finished);
  EXPECT_TRUE(r.outcome().has_value());
}

TEST(Release, TellsTheOutcomeSoFarWhileItSleeps) {
  release r = fresh();
  EXPECT_EQ(r.unknown(at(1ms), silence()), next::sleep);
  EXPECT_EQ(outcome_of(r), errc::outcome_unknown) << "for a client that closes now";
}

/// Answers every request with `answer`, at once, until the machine gives up. The pauses that it made.
template <class F>
std::vector<nanoseconds> pauses_until_the_end(release& r, F answer) {
  std::vector<nanoseconds> pauses;
  instant now = at(0s);
  while (answer(r, now) == next::sleep && pauses.size() < 1000) {
    pauses.push_back(r.wake_at() - now);
    now = r.wake_at();
  }
  return pauses;
}

next never_answered(release& r, instant now) { return r.unknown(now, silence()); }
next never_reached(release& r, instant now) { return r.refused(now, out_of_reach()); }

void expect_growing_pauses(const std::vector<nanoseconds>& pauses) {
  ASSERT_GT(pauses.size(), 10U);
  nanoseconds total{};
  nanoseconds longest = 20ms;
  for (const nanoseconds pause : pauses) {
    EXPECT_GE(pause, longest / 2);
    EXPECT_LE(pause, longest);
    longest = std::min<nanoseconds>(longest * 2, 1s);
    total += pause;
  }
  EXPECT_GE(total, patience);
  EXPECT_LE(total, patience + 1s) << "one pause may begin just before the patience ends";
}

TEST(Release, AsksAgainWithGrowingPausesWhileThePatienceLastsAndThenSaysThatItDoesNotKnow) {
  release r = fresh();
  expect_growing_pauses(pauses_until_the_end(r, never_answered));
  EXPECT_EQ(outcome_of(r), errc::outcome_unknown);
  EXPECT_EQ(r.outcome().error().detail(), silence().detail());
}

TEST(Release, AsksAStoreOutOfReachAgainUntilThePatienceEnds) {
  release r = fresh();
  expect_growing_pauses(pauses_until_the_end(r, never_reached));
  EXPECT_EQ(outcome_of(r), errc::unreachable);
}

// "Unreachable" promises that nothing was executed. An earlier request without an answer may have been.
TEST(Release, NeverClaimsThatNothingWasExecutedOnceARequestWentUnanswered) {
  release r = fresh();
  EXPECT_EQ(r.unknown(at(1ms), silence()), next::sleep);
  EXPECT_EQ(r.refused(at(patience), out_of_reach()), next::finished);
  EXPECT_EQ(outcome_of(r), errc::outcome_unknown);
}

TEST(Release, GivesUpAtTheEndOfThePatienceNotBefore) {
  release early = fresh();
  EXPECT_EQ(early.unknown(at(patience) - 1ns, silence()), next::sleep);
  release late = fresh();
  EXPECT_EQ(late.unknown(at(patience), silence()), next::finished);
}

TEST(Release, ToleratesPatienceWithoutEnd) {
  release r(at(0s), milliseconds::max(), 1);
  EXPECT_EQ(r.unknown(at(1h), silence()), next::sleep);
  EXPECT_LE(r.wake_at(), at(1h) + 20ms);
}

TEST(Release, SpreadsByItsSeed) {
  release one(at(0s), patience, 1);
  release same(at(0s), patience, 1);
  release other(at(0s), patience, 2);
  const auto first = pauses_until_the_end(one, never_answered);
  EXPECT_EQ(first, pauses_until_the_end(same, never_answered));
  EXPECT_NE(first, pauses_until_the_end(other, never_answered));
}

}  // namespace
}  // namespace cremone::core
