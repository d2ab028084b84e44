// SPDX-License-Identifier: Apache-2.0
//
// Checks whom an acquisition evicts and when: only a version that it, or another acquisition of its client, saw
// unchanged for the whole silence. How long that is, is checked with the observations.
#include "unit/acquire_fixture.hpp"

#include <gtest/gtest.h>

namespace cremone::core {
namespace {

using namespace core::testing;

TEST(AcquireEviction, NeverHappensAtFirstSight) {
  const std::vector<hold_record> holders = {holder(0, 100ms)};
  acquisition a = trying(without_end());
  EXPECT_EQ(a.refused(1h, busy(holders, 0)).what, kind::sleep);
}

TEST(AcquireEviction, CountsFromTheReplyNotFromTheRequest) {
  const std::vector<hold_record> holders = {holder()};
  acquisition a = trying(without_end());
  ASSERT_EQ(a.refused(2s, busy(holders, 0)).what,
            kind::sleep);  // sent at the origin, answered two seconds later
  ASSERT_EQ(a.machine.hint(at(3s)).what, kind::attempt);
  EXPECT_EQ(a.refused(2s + holder_silence - 1ns, busy(holders, 0)).what, kind::sleep);
  ASSERT_EQ(a.machine.hint(at(holder_silence + 2s)).what, kind::attempt);
  EXPECT_EQ(a.refused(2s + holder_silence, busy(holders, 0)).what, kind::evict);
}

TEST(AcquireEviction, NeverHitsAHolderThatRenews) {
  acquisition a = trying(without_end());
  for (std::uint64_t seq = 0; seq < 100; ++seq) {
    const std::vector<hold_record> holders = {holder(seq)};
    const nanoseconds now = seq * nanoseconds(holder_ttl);
    ASSERT_EQ(a.refused(now, busy(holders, 0)).what, kind::sleep);
    ASSERT_EQ(a.machine.hint(at(now)).what, kind::attempt);
  }
}

TEST(AcquireEviction, NamesTheVersionThatWasWatched) {
  const std::vector<hold_record> holders = {holder(41)};
  acquisition a = trying(without_end());
  (void)a.seen.note("lock", holders[0], at(0s));
  const acquire_action evict = a.refused(holder_silence, busy(holders, 0));
  EXPECT_EQ(evict.what, kind::evict);
  EXPECT_EQ(evict.victims, std::vector{(hold_version{owner(77), 41})});
  EXPECT_FALSE(evict.withdraw);
}

TEST(AcquireEviction, PicksTheSilentOneOfSeveralHolders) {
  const std::vector<hold_record> readers = {
      hold_of(owner(1), 5, holder_ttl), hold_of(owner(2), 0, holder_ttl), hold_of(owner(3), 9, holder_ttl)};
  acquisition a = trying(without_end());
  (void)a.seen.note("lock", readers[1], at(0s));
  const acquire_action evict = a.refused(holder_silence, busy(readers, 0));
  EXPECT_EQ(evict.what, kind::evict);
  EXPECT_EQ(evict.victims, std::vector{readers[1].version});
}

TEST(AcquireEviction, IsNotForStoresThatExpireHoldsThemselves) {
  const std::vector<hold_record> holders = {holder()};
  acquire_settings settings = without_end();
  settings.observed_takeover = false;
  acquisition a = trying(settings);
  (void)a.seen.note("lock", holders[0], at(0s));
  EXPECT_EQ(a.refused(10 * holder_silence, busy(holders, 0)).what, kind::sleep);
  EXPECT_EQ(a.seen.size(), 1U) << "nor is anything noted";
  ASSERT_EQ(a.machine.hint(at(10 * holder_silence)).what, kind::attempt);
  const std::vector<hold_record> next = {hold_of(owner(5), 0, holder_ttl)};
  ASSERT_EQ(a.refused(10 * holder_silence, busy(next, 0)).what, kind::sleep);
  EXPECT_EQ(a.seen.size(), 1U);
}

TEST(AcquireEviction, SharesWhatWasSeenAmongTheAcquisitionsOfAClient) {
  const std::vector<hold_record> holders = {holder()};
  acquisition first = trying(without_end());
  ASSERT_EQ(first.refused(0s, busy(holders, 0)).what, kind::sleep);
  acquire second(without_end());
  (void)second.start(at(holder_silence));
  EXPECT_EQ(second.refused(at(holder_silence), busy(holders, 1), first.seen).what, kind::evict);
}

TEST(AcquireEviction, KeepsItsPlaceInTheQueueWhileItEvicts) {
  acquisition a = evicting(waiting(10s), 0);
  ASSERT_EQ(a.machine.evicted(at(2ms), false).what, kind::attempt);
  ASSERT_EQ(a.refused(3ms, busy({}, 0)).what, kind::sleep);
  EXPECT_TRUE(a.machine.cancel(error(errc::cancelled)).withdraw);
}

TEST(AcquireEviction, LetsAWaiterStartOverWithTheSuccessor) {
  acquisition a = evicting(without_end(), 0);
  ASSERT_EQ(a.machine.evicted(at(2ms), false).what, kind::attempt);
  const std::vector<hold_record> successor = {hold_of(owner(78), 0, holder_ttl)};
  EXPECT_EQ(a.refused(3ms, busy(successor, 0)).what, kind::sleep);
}

// The holder is still there although the store answered: it refuses evictions, or the answers get lost.
TEST(AcquireEviction, IsNotRepeatedInABusyLoop) {
  const std::vector<hold_record> holders = {holder()};
  for (const bool in_doubt : {false, true}) {
    acquisition a = evicting(without_end(), 0);
    int evictions = 1;
    for (; evictions < 100; ++evictions) {
      ASSERT_EQ(a.machine.evicted(at(2ms), in_doubt).what, kind::attempt);
      if (a.refused(2ms, busy(holders, 0)).what != kind::evict) break;
    }
    EXPECT_LT(evictions, 5) << (in_doubt ? "unanswered" : "refused");
  }
}

TEST(AcquireTakeover, NeedsNoRoomInTheClientsTable) {
  acquisition a = trying(waiting(std::nullopt));
  for (std::size_t i = 0; i < observations::max_size; ++i) {
    (void)a.seen.note(std::to_string(i), holder(), at(0s));
  }
  const std::vector<hold_record> holders = {holder()};
  ASSERT_EQ(a.refused(1ms, busy(holders, 0)).what, kind::sleep);
  (void)a.machine.hint(at(holder_silence));
  ASSERT_EQ(a.refused(holder_silence, busy(holders, 0)).what, kind::sleep) << "1 ms too early";
  (void)a.machine.hint(at(holder_silence + 1ms));
  EXPECT_EQ(a.refused(holder_silence + 1ms, busy(holders, 0)).what, kind::evict);
}

TEST(AcquireTakeover, ByASingleTryUsesWhatAnEarlierProcessSaw) {
  const std::vector<hold_record> holders = {holder(3)};
  acquisition a = trying(one_try());
  a.seen.restore("lock", holders[0].version, at(1ms) - holder_silence, at(1ms));
  const acquire_action evict = a.refused(1ms, busy(holders));
  EXPECT_EQ(evict.what, kind::evict);
  EXPECT_EQ(evict.victims, std::vector{holders[0].version});

  acquisition too_soon = trying(one_try());
  too_soon.seen.restore("lock", holders[0].version, at(2ms) - holder_silence, at(1ms));
  EXPECT_EQ(too_soon.refused(1ms, busy(holders)).what, kind::fail);
}

TEST(AcquireTakeover, RemembersWhatAnEarlierProcessSawThoughTheTableForgets) {
  const std::vector<hold_record> holders = {holder()};
  acquisition a = trying(without_end());
  a.seen.restore("lock", holders[0].version, at(0s) - holder_silence + 1s, at(1ms));
  ASSERT_EQ(a.refused(1ms, busy(holders, 0)).what, kind::sleep);
  a.seen.forget("lock");  // as when others need the room
  ASSERT_EQ(a.machine.hint(at(1s)).what, kind::attempt);
  EXPECT_EQ(a.refused(1s, busy(holders, 0)).what, kind::evict);
}

TEST(AcquireTakeover, StartsOverWithAVersionThatChangedWhenTheTableHasNoRoom) {
  acquisition a = trying(waiting(std::nullopt));
  for (std::size_t i = 0; i < observations::max_size; ++i) {
    (void)a.seen.note(std::to_string(i), holder(), at(0s));
  }
  const std::vector<hold_record> before = {holder(0)};
  const std::vector<hold_record> after = {holder(1)};
  ASSERT_EQ(a.refused(1ms, busy(before, 0)).what, kind::sleep);
  (void)a.machine.hint(at(1s));
  ASSERT_EQ(a.refused(1s, busy(after, 0)).what, kind::sleep);
  (void)a.machine.hint(at(holder_silence + 999ms));
  ASSERT_EQ(a.refused(holder_silence + 999ms, busy(after, 0)).what, kind::sleep);
  (void)a.machine.hint(at(holder_silence + 1s));
  EXPECT_EQ(a.refused(holder_silence + 1s, busy(after, 0)).what, kind::evict);
}

}  // namespace
}  // namespace cremone::core
