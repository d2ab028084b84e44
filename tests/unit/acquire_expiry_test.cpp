// SPDX-License-Identifier: Apache-2.0
//
// Checks how one waits where there is no queue and the store lets holds expire: until the holder's time is over, sooner
// by a hint, and by asking where the holder is another program's.
#include "unit/acquire_fixture.hpp"

#include <gtest/gtest.h>

#include <set>

namespace cremone::core {
namespace {

using namespace core::testing;

acquire_settings expiring(std::optional<milliseconds> wait) {
  acquire_settings s = waiting(wait);
  s.fifo = false;
  s.observed_takeover = false;
  return s;
}

hold_record with_time_left(std::optional<milliseconds> left, bool foreign = false) {
  hold_record h = holder();
  h.expires_in = left;
  h.foreign = foreign ? "another" : "";
  return h;
}

nanoseconds pause_behind(const hold_record& h, const acquire_settings& settings = expiring(10min)) {
  acquisition a = trying(settings);
  const std::vector<hold_record> holders = {h};
  const acquire_action next = a.refused(1ms, busy(holders));
  EXPECT_EQ(next.what, kind::sleep);
  return next.until - at(1ms);
}

TEST(AcquireExpiry, WakesWhenTheHoldersTimeIsOverAndALittleLater) {
  for (std::uint64_t seed = 1; seed < 100; ++seed) {
    acquire_settings s = expiring(10min);
    s.seed = seed;
    const nanoseconds pause = pause_behind(with_time_left(300ms), s);
    EXPECT_GT(pause, 300ms);
    EXPECT_LE(pause, 320ms);
  }
}

TEST(AcquireExpiry, SpreadsThoseWhoWaitForTheSameMoment) {
  std::set<nanoseconds> pauses;
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    acquire_settings s = expiring(10min);
    s.seed = seed * 0x9e3779b97f4a7c15U;
    pauses.insert(pause_behind(with_time_left(300ms), s));
  }
  EXPECT_GT(pauses.size(), 40U);
}

TEST(AcquireExpiry, AsksEverySecondWhereAReleaseIsHinted) {
  EXPECT_EQ(pause_behind(with_time_left(30s)), 1s);
  EXPECT_EQ(pause_behind(with_time_left(std::nullopt)), 1s);
}

TEST(AcquireExpiry, PollsBehindAnotherProgramWhichTellsNobody) {
  EXPECT_LE(pause_behind(with_time_left(30s, true)), 100ms);
  EXPECT_LE(pause_behind(with_time_left(std::nullopt, true)), 100ms);
  EXPECT_LE(pause_behind(with_time_left(2ms, true)), 22ms);
}

TEST(AcquireExpiry, EvictsNobody) {
  acquisition a = trying(expiring(10min));
  const std::vector<hold_record> holders = {with_time_left(0ms)};
  (void)a.seen.note("lock", holders[0], at(0s) - holder_silence * 2);
  EXPECT_EQ(a.refused(1ms, busy(holders)).what, kind::sleep);
}

TEST(AcquireExpiry, LetsTheStoreForgetAWaiterThatGivesUp) {
  acquisition a = trying(expiring(50ms));
  const std::vector<hold_record> holders = {with_time_left(30s)};
  (void)a.refused(1ms, busy(holders));
  const acquire_action end = a.machine.tick(at(50ms));
  EXPECT_EQ(end.what, kind::fail);
  EXPECT_TRUE(end.withdraw) << "it would be hinted in another's place";
}

TEST(AcquireExpiry, HasNothingToWithdrawAfterASingleTry) {
  acquisition a = trying(expiring(0ms));
  const std::vector<hold_record> holders = {with_time_left(30s)};
  const acquire_action end = a.refused(1ms, busy(holders));
  EXPECT_EQ(end.what, kind::fail);
  EXPECT_FALSE(end.withdraw);
}

TEST(AcquireUnknown, EndsAtOnceWhenItsCauseWillNotGoAway) {
  for (const errc cause :
       {errc::access_denied, errc::protocol_error, errc::storage_error, errc::misconfigured}) {
    acquisition a = trying(expiring(10min));
    const acquire_action end = a.machine.unknown(at(1ms), error(cause, "no"));
    ASSERT_EQ(end.what, kind::fail) << to_string(cause);
    EXPECT_EQ(end.why->code(), cause);
    EXPECT_TRUE(end.withdraw) << "it may have been carried out";
  }
}

}  // namespace
}  // namespace cremone::core
