// SPDX-License-Identifier: Apache-2.0
//
// Checks the arithmetic on which exclusion rests: what a holder may believe, how long an observer must watch, and that
// the two never overlap. Knows no state machine.
#include "core/validity.hpp"

#include "unit/moments.hpp"

#include <gtest/gtest.h>

namespace cremone::core {
namespace {

using namespace cremone::testing;

constexpr std::int64_t rough_drift = 50'000;  // ppm; what a simulation may assume

TEST(Validity, CountsFromTheSendAndIsShorterThanTheTtlByDriftAndTwoMilliseconds) {
  EXPECT_EQ(valid_until(at(7s), 30s, usual_drift), at(7s) + 30s - 30ms - 2ms - 1ns);
  EXPECT_EQ(valid_until(at(7s), 100ms, usual_drift), at(7s) + 100ms - 100us - 2ms - 1ns);
  EXPECT_EQ(valid_until(at(7s), 60s, rough_drift), at(7s) + 60s - 3s - 2ms - 1ns);
}

TEST(Validity, SilenceIsLongerThanTheTtlByTheDrift) {
  EXPECT_EQ(silence_of(30s, usual_drift), 30s + 30ms + 1ns);
  EXPECT_EQ(silence_of(100ms, usual_drift), 100ms + 100us + 1ns);
}

TEST(Validity, LeavesTheShortestLeaseMostOfItsTime) {
  EXPECT_EQ(min_ttl, 100ms);
  EXPECT_GT(valid_until(at(0s), min_ttl, usual_drift), at(min_ttl * 9 / 10));
  EXPECT_GT(valid_until(at(0s), min_ttl, rough_drift), at(min_ttl * 9 / 10));
}

/// Is the holder's last valid moment before the observer's first moment of eviction, both in true time?
/// A clock that is `rate` ppm off reads t(1 + rate/10^6) after a true time t, so that a reading r stands for
/// r / (1 + rate/10^6). Multiplied out: exact, in whole numbers.
bool apart(milliseconds ttl, std::int64_t drift, std::int64_t holder_rate, std::int64_t observer_rate) {
  const std::int64_t believed = (valid_until(at(0s), ttl, drift) - at(0s)).count();
  const std::int64_t watched = silence_of(ttl, drift).count();
  return believed * (1'000'000 + observer_rate) < watched * (1'000'000 + holder_rate);
}

TEST(Validity, EndsBeforeAnyObserverMayEvictWhileEveryClockIsRightWithinTheDrift) {
  for (const std::int64_t drift : {std::int64_t{0}, std::int64_t{200}, usual_drift, rough_drift}) {
    for (milliseconds ttl = 100ms; ttl <= 60s; ttl += 13ms) {
      for (const std::int64_t holder : {-drift, -drift / 2, std::int64_t{0}, drift / 2, drift}) {
        for (const std::int64_t observer : {-drift, -drift / 2, std::int64_t{0}, drift / 2, drift}) {
          ASSERT_TRUE(apart(ttl, drift, holder, observer)) << "ttl " << ttl.count() << " ms, drift " << drift
                                                           << ", rates " << holder << " and " << observer;
        }
      }
    }
  }
}

// The margin is there for a reason: with clocks much worse than assumed the two do meet.
TEST(Validity, PromisesNothingWhenClocksAreWorseThanTheDrift) {
  EXPECT_FALSE(apart(60s, usual_drift, -3 * usual_drift, 3 * usual_drift));
}

TEST(Later, AddsTheSpan) {
  EXPECT_EQ(later(at(1s), 2s), at(3s));
  EXPECT_EQ(later(at(1s), 0s), at(1s));
}

TEST(Later, SaturatesAtTheEndOfTime) {
  EXPECT_EQ(later(at(1s), milliseconds::max()), instant::max());
  EXPECT_EQ(later(instant::max(), 1ms), instant::max());
  EXPECT_EQ(later(instant::max(), 0ms), instant::max());
  EXPECT_EQ(later(instant::max() - 1s, 1s), instant::max());
  EXPECT_EQ(later(instant::max() - 1s, 2s), instant::max());
}

TEST(Later, AddsUpToTheLastMilliseconds) {
  EXPECT_EQ(later(instant::max() - 1s, 998ms), instant::max() - 2ms);
}

}  // namespace
}  // namespace cremone::core
