// SPDX-License-Identifier: Apache-2.0
//
// Checks what an acquisition does about a server that may have forgotten: it watches the quarantine as it would a silent
// hold, ends it when nobody can hold a lock from before any more, and tells the caller otherwise.
#include "unit/acquire_fixture.hpp"

#include <gtest/gtest.h>

namespace cremone::core {
namespace {

using namespace core::testing;

constexpr milliseconds quarantine_length = 61s;
constexpr nanoseconds quarantine_silence = silence_of(quarantine_length, usual_drift);

[[nodiscard]] std::vector<hold_record> life(std::uint8_t n = 1) {
  return {hold_of(owner(n), 0, quarantine_length)};
}

[[nodiscard]] refusal quarantined(std::span<const hold_record> life, bool may_end_at_once = false) {
  return {.why = error(errc::quarantined),
          .holders = life,
          .place = {},
          .retry_after = {},
          .may_end_at_once = may_end_at_once};
}

TEST(AcquireQuarantine, IsWatchedForItsWholeLengthAndThenEnded) {
  const auto first = life();
  acquisition a = trying(without_end());
  ASSERT_EQ(a.refused(1s, quarantined(first)).what, kind::sleep);
  ASSERT_EQ(a.machine.hint(at(2s)).what, kind::attempt);
  ASSERT_EQ(a.refused(1s + quarantine_silence - 1ns, quarantined(first)).what, kind::sleep);
  ASSERT_EQ(a.machine.hint(at(2s + quarantine_silence)).what, kind::attempt);
  const acquire_action end = a.refused(1s + quarantine_silence, quarantined(first));
  ASSERT_EQ(end.what, kind::evict);
  EXPECT_EQ(end.victims, std::vector{first[0].version});
  EXPECT_EQ(a.machine.evicted(at(2s + quarantine_silence), false).what, kind::attempt);
}

TEST(AcquireQuarantine, WakesWhenItIsOver) {
  const auto first = life();
  acquisition a = trying(without_end());
  (void)a.refused(0s, quarantined(first));
  (void)a.machine.hint(at(1s));
  const acquire_action sleep = a.refused(quarantine_silence - 1ms, quarantined(first));
  ASSERT_EQ(sleep.what, kind::sleep);
  EXPECT_LE(sleep.until, at(quarantine_silence));
}

TEST(AcquireQuarantine, BeginsAnewWithTheNextLifeOfTheServer) {
  const auto first = life(1);
  const auto second = life(2);
  acquisition a = trying(without_end());
  (void)a.refused(0s, quarantined(first));
  (void)a.machine.hint(at(1s));
  (void)a.refused(50s, quarantined(second));
  (void)a.machine.hint(at(51s));
  EXPECT_EQ(a.refused(quarantine_silence + 1s, quarantined(second)).what, kind::sleep);
  (void)a.machine.hint(at(quarantine_silence + 2s));
  EXPECT_EQ(a.refused(50s + quarantine_silence, quarantined(second)).what, kind::evict);
}

TEST(AcquireQuarantine, IsEndedAtOnceWhereNothingCanHaveBeenForgotten) {
  const auto first = life();
  acquisition a = trying(one_try());
  EXPECT_EQ(a.refused(0s, quarantined(first, true)).what, kind::evict);
  EXPECT_EQ(a.machine.evicted(at(1ms), false).what, kind::attempt);
}

TEST(AcquireQuarantine, IsNotEndedOverAndOver) {
  const auto first = life();
  acquisition a = trying(without_end());
  (void)a.refused(0s, quarantined(first, true));
  (void)a.machine.evicted(at(1ms), false);
  EXPECT_EQ(a.refused(2ms, quarantined(first, true)).what, kind::sleep) << "it would be a busy loop";
}

TEST(AcquireQuarantine, IsToldToOneWhoTriesOnce) {
  const auto first = life();
  acquisition a = trying(one_try());
  const acquire_action told = a.refused(0s, quarantined(first));
  ASSERT_EQ(told.what, kind::fail);
  EXPECT_EQ(told.why->code(), errc::quarantined);
  EXPECT_FALSE(told.withdraw);
}

TEST(AcquireQuarantine, IsRememberedForTheNextWhoTriesWhateverLockThatWants) {
  const auto first = life();
  acquisition a = trying(one_try());
  (void)a.refused(0s, quarantined(first));
  acquire_settings other = one_try();
  other.name = "another lock";
  acquire b(other);
  (void)b.start(at(quarantine_silence));
  EXPECT_EQ(b.refused(at(quarantine_silence), quarantined(first), a.seen).what, kind::evict);
}

TEST(AcquireQuarantine, SaysNothingAboutTheHoldersOfTheLock) {
  const auto first = life();
  const std::vector<hold_record> holders = {holder()};
  acquisition a = trying(without_end());
  (void)a.refused(0s, busy(holders, 0));
  (void)a.machine.hint(at(1s));
  (void)a.refused(1s, quarantined(first));
  EXPECT_TRUE(a.seen.since("lock", holders[0].version)) << "what was seen of a holder stays seen";
}

}  // namespace
}  // namespace cremone::core
