// SPDX-License-Identifier: Apache-2.0
//
// Checks that max_hold ends a lease however well it renews: the deadline stops there, no renewal is sent that could
// not move it, and the end is told apart from a store that fell silent. Without max_hold nothing of this is seen.
#include "unit/watchdog_fixture.hpp"

#include <gtest/gtest.h>

namespace cremone::core {
namespace {

using namespace core::testing;

lease_timing at_most(milliseconds max_hold) {
  lease_timing timing = usual;
  timing.max_hold = max_hold;
  return timing;
}

/// Answers every renewal a millisecond after it was sent. How many there were until the lease was lost.
std::uint64_t renew_well(watchdog& dog) {
  while (dog.state() == life::held && dog.seq() < 100) {
    const instant now = dog.wake_at();
    if (dog.tick(now) == verdict::renew) {
      (void)dog.renewed(now + 1ms);
    }
  }
  return dog.seq();
}

TEST(WatchdogMaxHold, EndsALeaseThatRenewsWell) {
  watchdog dog(at_most(2min), at(0s));
  EXPECT_GT(renew_well(dog), 5U);
  EXPECT_EQ(dog.state(), life::lost);
  EXPECT_EQ(dog.deadline(), at(2min));
  EXPECT_TRUE(dog.at_max_hold());
}

TEST(WatchdogMaxHold, IsLostAtItsEndAndNotBefore) {
  watchdog dog(at_most(5s), at(0s));
  EXPECT_EQ(dog.deadline(), at(5s));
  EXPECT_EQ(dog.wake_at(), at(5s));
  EXPECT_TRUE(dog.held_at(at(5s) - 1ns));
  EXPECT_FALSE(dog.held_at(at(5s)));
  EXPECT_EQ(dog.tick(at(5s) - 1ns), verdict::nothing);
  EXPECT_EQ(dog.tick(at(5s)), verdict::lost);
  EXPECT_EQ(dog.tick(at(5s)), verdict::nothing) << "it is said once";
}

TEST(WatchdogMaxHold, CountsFromTheSendOfTheRequestThatWasGranted) {
  const watchdog dog(at_most(5s), at(3s));
  EXPECT_EQ(dog.deadline(), at(8s));
}

TEST(WatchdogMaxHold, SendsNoRenewalThatCouldNotExtend) {
  watchdog brief(at_most(20s), at(0s));  // a renewal would be due after 10 s
  EXPECT_EQ(renew_well(brief), 0U);

  watchdog dog(at_most(35s), at(0s));
  const instant due = dog.wake_at();
  ASSERT_EQ(dog.tick(due), verdict::renew);
  ASSERT_EQ(dog.renewed(due + 1ms), verdict::nothing);
  EXPECT_EQ(dog.deadline(), at(35s));
  EXPECT_EQ(dog.tick(at(34s)), verdict::nothing) << "the last one reaches to the end";
  EXPECT_EQ(renew_well(dog), 1U);
}

TEST(WatchdogMaxHold, RenewsUntilTheLastRenewalReachesToTheEnd) {
  watchdog dog(at_most(2min), at(0s));
  instant last_sent{};
  while (dog.state() == life::held && dog.seq() < 100) {
    const instant now = dog.wake_at();
    if (dog.tick(now) == verdict::renew) {
      EXPECT_LT(dog.deadline(), at(2min)) << "else it could not have moved it";
      last_sent = now;
      (void)dog.renewed(now + 1ms);
    }
  }
  EXPECT_GE(end_of(last_sent), at(2min));
}

TEST(WatchdogMaxHold, DoesNotExcuseAStoreThatFellSilentBeforeIt) {
  watchdog dog(at_most(2min), at(0s));
  const instant due = dog.wake_at();
  ASSERT_EQ(dog.tick(due), verdict::renew);
  EXPECT_EQ(dog.tick(dog.deadline()), verdict::lost);
  EXPECT_EQ(dog.deadline(), end_of(at(0s)));
  EXPECT_FALSE(dog.at_max_hold()) << "it was not max_hold that ended it";
}

TEST(WatchdogMaxHold, NeverLengthensTheLease) {
  for (const milliseconds most : {milliseconds(1), milliseconds(29s), milliseconds(30s), milliseconds(1h)}) {
    const watchdog dog(at_most(most), at(0s));
    EXPECT_LE(dog.deadline(), end_of(at(0s))) << most.count();
    EXPECT_LE(dog.deadline(), at(most));
  }
}

TEST(WatchdogMaxHold, OfForeverChangesNothing) {
  watchdog dog(at_most(milliseconds::max()), at(0s));
  const watchdog plain = granted();
  EXPECT_EQ(dog.deadline(), plain.deadline());
  EXPECT_EQ(dog.wake_at(), plain.wake_at());
  for (int i = 0; i < 10'000; ++i) {
    const instant now = dog.wake_at();
    ASSERT_EQ(dog.tick(now), verdict::renew);
    ASSERT_EQ(dog.renewed(now + 1ms), verdict::nothing);
    ASSERT_FALSE(dog.at_max_hold());
  }
}

}  // namespace
}  // namespace cremone::core
