// SPDX-License-Identifier: Apache-2.0
//
// Checks when the watchdog renews: on a grid at about a third of the ttl, and after a failure soon, sooner towards the
// end, never in a busy loop. What becomes of the lease is checked elsewhere.
#include "unit/watchdog_fixture.hpp"

#include <gtest/gtest.h>

#include <set>
#include <tuple>
#include <vector>

namespace cremone::core {
namespace {

using namespace core::testing;

instant due(milliseconds lease_ttl, instant sent, nanoseconds phase = {}) {
  return watchdog({.ttl = lease_ttl, .drift_ppm = usual_drift, .phase = phase}, sent).wake_at();
}

// ---- the grid ---------------------------------------------------------------------------------------------

TEST(WatchdogGrid, RenewsNeverLaterThanAThirdOfTheTtlAndNeverMuchEarlier) {
  for (milliseconds t = 100ms; t <= 60s; t += 1ms) {
    const nanoseconds third = nanoseconds(t) / 3;
    const nanoseconds coarsest = nanoseconds(t) / 30;
    for (const nanoseconds sent : {0ns, 1ns, 777'777'777ns, nanoseconds(t), nanoseconds(3h)}) {
      for (const nanoseconds phase : {0ns, 123'456'789ns, 4'294'967'295ns}) {
        const nanoseconds wait = due(t, at(sent), phase) - at(sent);
        ASSERT_LE(wait, third) << "ttl " << t.count() << " ms";
        ASSERT_GT(wait, third - coarsest) << "ttl " << t.count() << " ms";
      }
    }
  }
}

TEST(WatchdogGrid, RenewsLeasesOfAboutTheSameAgeTogether) {
  for (const milliseconds t : {milliseconds(100ms), milliseconds(1s), milliseconds(30s), milliseconds(60s)}) {
    std::set<instant> wakes;
    for (int i = 0; i < 1000; ++i) {
      wakes.insert(due(t, at(i * nanoseconds(t) / 60'000)));  // all within a sixtieth of the ttl
    }
    EXPECT_LE(wakes.size(), 2U) << "ttl " << t.count() << " ms";
  }
}

TEST(WatchdogGrid, SpreadsClientsByTheirPhase) {
  std::set<instant> wakes;
  for (int client = 0; client < 100; ++client) {
    wakes.insert(due(ttl, at(0s), client * 7'654'321ns));
  }
  EXPECT_GT(wakes.size(), 90U);
}

TEST(WatchdogGrid, CountsTheNextRenewalFromTheSendOfTheLast) {
  watchdog dog = granted();
  ASSERT_EQ(dog.tick(at(12s)), verdict::renew);
  ASSERT_EQ(dog.renewed(at(19s)), verdict::nothing);
  EXPECT_EQ(dog.wake_at(), due(ttl, at(12s)));
}

TEST(WatchdogGrid, RenewsAtOnceWhenTheLastAnswerTookLongerThanAThird) {
  watchdog dog = granted();
  ASSERT_EQ(dog.tick(at(10s)), verdict::renew);
  ASSERT_EQ(dog.renewed(at(25s)), verdict::nothing);
  EXPECT_LT(dog.wake_at(), at(25s));
  EXPECT_EQ(dog.tick(at(25s)), verdict::renew);
}

// ---- after a failure --------------------------------------------------------------------------------------

using failure = verdict (*)(watchdog&, instant);

verdict unanswered(watchdog& dog, instant now) { return dog.unknown(now); }
verdict unreached(watchdog& dog, instant now) { return dog.refused(now, errc::unreachable); }

/// Lets every renewal fail at once until the lease is lost: when each was sent, and when the loss was said.
std::vector<instant> moments_until_loss(milliseconds lease_ttl, failure fail) {
  watchdog dog({.ttl = lease_ttl, .drift_ppm = usual_drift, .phase = {}}, at(0s));
  std::vector<instant> moments;
  while (moments.size() < 1000) {
    const instant now = dog.wake_at();
    moments.push_back(now);
    if (dog.tick(now) == verdict::lost || fail(dog, now) == verdict::lost) break;
  }
  return moments;
}

/// The retries lie inside the validity, come closer together, and are never closer than five milliseconds.
void expect_fair_retries(milliseconds lease_ttl, const std::vector<instant>& moments) {
  const instant end = valid_until(at(0s), lease_ttl, usual_drift);
  ASSERT_EQ(moments.back(), end) << "lost exactly at the end, ttl " << lease_ttl.count() << " ms";
  ASSERT_GE(moments.size(), 4U) << "tried several times";
  ASSERT_LE(moments.size(), 60U) << "but not all the time";
  nanoseconds before = nanoseconds(lease_ttl) / 12;
  for (std::size_t i = 1; i + 1 < moments.size(); ++i) {
    const nanoseconds pause = moments[i] - moments[i - 1];
    ASSERT_LT(moments[i], end);
    ASSERT_GE(pause, 5ms);
    ASSERT_LE(pause, std::max<nanoseconds>(before, 5ms)) << "sooner as the end comes nearer";
    before = pause;
  }
}

// redisson#775: one failed renewal ended renewal for good.
TEST(WatchdogRetry, TriesAgainInsideTheValiditySoonerTowardsTheEndAndNeverInABusyLoop) {
  for (milliseconds t = 100ms; t <= 60s; t += 97ms) {
    expect_fair_retries(t, moments_until_loss(t, unanswered));
    expect_fair_retries(t, moments_until_loss(t, unreached));
  }
}

TEST(WatchdogRetry, ComesCloserTowardsTheEnd) {
  const auto moments = moments_until_loss(30s, unanswered);
  const nanoseconds first = moments[1] - moments[0];
  const nanoseconds last = moments[moments.size() - 2] - moments[moments.size() - 3];
  EXPECT_GE(first, 1s);
  EXPECT_LE(last, 10ms);
}

TEST(WatchdogRetry, CountsThePauseFromTheFailureNotFromTheSend) {
  watchdog dog = renewing();
  ASSERT_EQ(dog.unknown(at(15s)), verdict::nothing);
  EXPECT_GT(dog.wake_at(), at(15s));
  EXPECT_EQ(dog.tick(dog.wake_at() - 1ns), verdict::nothing);
  EXPECT_EQ(dog.tick(dog.wake_at()), verdict::renew);
}

TEST(WatchdogRetry, WakesForTheLossWhenThereIsNoTimeLeftForAnotherTry) {
  watchdog dog = renewing();
  ASSERT_EQ(dog.unknown(dog.deadline() - 1ms), verdict::nothing);
  EXPECT_EQ(dog.wake_at(), dog.deadline());
  EXPECT_EQ(dog.tick(dog.wake_at()), verdict::lost);
}

TEST(WatchdogRetry, GoesBackToTheGridOnceARenewalSucceeds) {
  watchdog dog = renewing();
  ASSERT_EQ(dog.unknown(at(15s)), verdict::nothing);
  const instant retry = dog.wake_at();
  ASSERT_EQ(dog.tick(retry), verdict::renew);
  ASSERT_EQ(dog.renewed(retry + 1ms), verdict::nothing);
  EXPECT_EQ(dog.deadline(), end_of(retry));
  EXPECT_EQ(dog.wake_at(), due(ttl, retry));
}

// ---- outages ----------------------------------------------------------------------------------------------

/// What is left of the lease when the first renewal after an outage succeeds. The outage begins
/// just before a renewal is sent. Every renewal fails at once until the outage ends.
nanoseconds left_after(const lease_timing& timing, nanoseconds outage) {
  watchdog dog(timing, at(0s));
  const instant end = dog.wake_at() + outage;
  while (dog.state() == life::held) {
    const instant now = dog.wake_at();
    if (dog.tick(now) != verdict::renew) break;
    if (now >= end) return dog.deadline() - now;
    (void)dog.unknown(now);
  }
  return -1ns;
}

TEST(WatchdogOutage, LeaseSurvivesTheStatedOutageAndKeepsTheSpareTime) {
  for (milliseconds t = 100ms; t <= 60s; t += 97ms) {
    for (const int renewals : {3, 10, 15, 30}) {
      for (const nanoseconds spare : {nanoseconds(0), nanoseconds(t) / 6, nanoseconds(t) / 3}) {
        const lease_timing timing{.ttl = t, .drift_ppm = usual_drift, .renewals_per_ttl = renewals};
        const nanoseconds outage = survivable_outage(timing, spare);
        ASSERT_GE(left_after(timing, outage), spare) << t.count() << " ms, " << renewals << " renewals";
      }
    }
  }
}

TEST(WatchdogOutage, DefaultLeaseSurvivesJustUnderTwentySeconds) {
  EXPECT_GT(survivable_outage(usual, 0ns), 19'900ms);
  EXPECT_LT(survivable_outage(usual, 0ns), 20s);
  EXPECT_LT(left_after(usual, 21s), 0ns) << "the bound is tight but for the grid";
}

TEST(WatchdogOutage, LeaseWithoutTimeToSpareSurvivesNothing) {
  EXPECT_EQ(survivable_outage(usual, 30s), 0ns);
}

TEST(WatchdogGrid, RenewalIntervalFollowsTheOptionButIsAtLeastTenMilliseconds) {
  for (const auto& [lease_ttl, renewals, interval] :
       {std::tuple<milliseconds, int, nanoseconds>{30s, 15, 2s}, {30s, 3, 10s}, {100ms, 30, 10ms}}) {
    const instant wake =
        watchdog({.ttl = lease_ttl, .drift_ppm = usual_drift, .renewals_per_ttl = renewals}, at(0s))
            .wake_at();
    EXPECT_LE(wake - at(0s), interval);
    EXPECT_GT(wake - at(0s), interval * 9 / 10);
  }
}

}  // namespace
}  // namespace cremone::core
