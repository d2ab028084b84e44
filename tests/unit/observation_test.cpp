// SPDX-License-Identifier: Apache-2.0
//
// Checks when a silent holder may be removed: after one version was seen unchanged for ttl(1 + ρ) on the observer's
// clock, and that every doubt makes it later. Knows nothing of what is done with the answer.
#include "core/observation.hpp"

#include "core/validity.hpp"
#include "unit/moments.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace cremone::core {
namespace {

using namespace cremone::testing;

constexpr milliseconds ttl = 10s;
constexpr nanoseconds silence = silence_of(ttl, usual_drift);

hold_record version(std::uint64_t seq) { return hold_of(owner(1), seq, ttl); }

TEST(Observations, LetAHoldBeEvictedOnlyAfterTtlAndDriftFromTheFirstSight) {
  observations seen(usual_drift);
  EXPECT_EQ(seen.note("lock", version(0), at(3s)), at(3s) + silence);
  EXPECT_GE(silence, 10s + 10ms);
}

TEST(Observations, CountFromTheFirstSightHoweverOftenTheVersionIsSeen) {
  observations seen(usual_drift);
  (void)seen.note("lock", version(0), at(3s));
  for (const auto t : {4s, 5s, 12s, 13s, 100s}) {
    EXPECT_EQ(seen.note("lock", version(0), at(t)), at(3s) + silence);
  }
}

TEST(Observations, StartOverWhenTheVersionChanged) {
  observations seen(usual_drift);
  (void)seen.note("lock", version(0), at(0s));
  EXPECT_EQ(seen.note("lock", version(1), at(9s)), at(9s) + silence);
  EXPECT_EQ(seen.note("lock", version(1), at(12s)), at(9s) + silence);
}

// Found by simulation: a server that lost its last writes gives the same numbers again, and whoever had seen one before the
// restart and none since took the holder for silent.
// The life before of a server that has restarted, or another server that votes.
TEST(Observations, WatchEachLifeForItself) {
  observations seen(usual_drift);
  hold_record before = version(7);
  before.version.life = 1;
  hold_record after = version(7);
  after.version.life = 2;
  (void)seen.note("lock", before, at(0s));
  EXPECT_EQ(seen.note("lock", after, at(9s)), at(9s) + silence);
  seen.restore("lock", before.version, at(1s), at(10s));
  EXPECT_EQ(seen.note("lock", after, at(11s)), at(9s) + silence) << "what was seen of the other life counted";
  EXPECT_EQ(seen.since("lock", before.version), at(0s));
}

TEST(Observations, NeverRipenForAHolderThatRenews) {
  observations seen(usual_drift);
  for (std::uint64_t seq = 0; seq < 1000; ++seq) {
    const instant now = at(seq * 9s);
    EXPECT_GT(seen.note("lock", version(seq), now), now);
  }
}

// Replies may be read in another order than the store wrote them.
TEST(Observations, StartOverAlsoWhenAnOlderVersionIsSeenAgain) {
  observations seen(usual_drift);
  (void)seen.note("lock", version(1), at(0s));
  (void)seen.note("lock", version(2), at(5s));
  EXPECT_EQ(seen.note("lock", version(1), at(6s)), at(6s) + silence);
  EXPECT_EQ(seen.note("lock", version(2), at(7s)), at(7s) + silence);
}

TEST(Observations, TakeTheTtlFromTheHoldThatIsWatched) {
  observations seen(usual_drift);
  EXPECT_EQ(seen.note("lock", hold_of(owner(1), 0, 100ms), at(0s)), at(0s) + silence_of(100ms, usual_drift));
  EXPECT_EQ(seen.note("lock", hold_of(owner(2), 0, 60s), at(0s)), at(0s) + silence_of(60s, usual_drift));
}

TEST(Observations, KeepOwnersApart) {
  observations seen(usual_drift);
  (void)seen.note("lock", hold_of(owner(1), 0, ttl), at(0s));
  EXPECT_EQ(seen.note("lock", hold_of(owner(2), 0, ttl), at(5s)), at(5s) + silence);
  EXPECT_EQ(seen.note("lock", hold_of(owner(1), 0, ttl), at(6s)), at(0s) + silence);
}

TEST(Observations, KeepLocksApart) {
  observations seen(usual_drift);
  (void)seen.note("lock", version(0), at(0s));
  EXPECT_EQ(seen.note("other", version(0), at(5s)), at(5s) + silence);
}

TEST(Observations, ForgettingMakesATakeoverLaterNeverEarlier) {
  observations seen(usual_drift);
  const instant before = seen.note("lock", version(0), at(0s));
  seen.forget("lock");
  EXPECT_EQ(seen.size(), 0U);
  const instant after = seen.note("lock", version(0), at(5s));
  EXPECT_EQ(after, at(5s) + silence);
  EXPECT_GT(after, before);
}

TEST(Observations, ForgetAllHoldersOfOneLockAndOfNoOther) {
  observations seen(usual_drift);
  for (const auto* const name : {"a", "lock", "lock2", "z"}) {
    (void)seen.note(name, hold_of(owner(1), 0, ttl), at(0s));
    (void)seen.note(name, hold_of(owner(2), 0, ttl), at(0s));
  }
  seen.forget("lock");
  EXPECT_EQ(seen.size(), 6U);
  for (const auto* const name : {"a", "lock2", "z"}) {
    EXPECT_EQ(seen.note(name, hold_of(owner(2), 0, ttl), at(1s)), at(0s) + silence) << name;
  }
  EXPECT_EQ(seen.note("lock", hold_of(owner(2), 0, ttl), at(1s)), at(1s) + silence);
}

TEST(Observations, ForgettingWhatWasNeverSeenDoesNothing) {
  observations seen(usual_drift);
  seen.forget("lock");
  (void)seen.note("lock", version(0), at(0s));
  seen.forget("other");
  EXPECT_EQ(seen.size(), 1U);
}

/// Fills the table with locks "0", "1", …, the n-th seen at n milliseconds.
void fill(observations& seen) {
  for (std::size_t i = 0; i < observations::max_size; ++i) {
    (void)seen.note(std::to_string(i), version(0), at(i * 1ms));
  }
}

TEST(Observations, AreBounded) {
  observations seen(usual_drift);
  fill(seen);
  EXPECT_EQ(seen.size(), observations::max_size);
  for (int i = 0; i < 1000; ++i) {
    (void)seen.note("further " + std::to_string(i), version(0), at(5s));
    ASSERT_EQ(seen.size(), observations::max_size);
  }
}

TEST(Observations, KeepWhatIsStillAskedAboutWhenFull) {
  observations seen(usual_drift);
  fill(seen);
  EXPECT_EQ(seen.note("one too many", version(0), at(5s)), at(5s) + silence);
  EXPECT_EQ(seen.note("one too many", version(0), at(6s)), at(6s) + silence) << "it was not remembered";
  EXPECT_EQ(seen.note("0", version(0), at(6s)), at(0s) + silence);
}

TEST(Observations, MakeRoomByTheOneLongestNotAskedAbout) {
  observations seen(usual_drift);
  fill(seen);
  (void)seen.note("0", version(0), at(5s));  // its watcher lives
  const auto later = at(1ms) + observations::unwatched_after;
  (void)seen.note("one too many", version(0), later - 1ns);
  EXPECT_EQ(seen.note("one too many", version(0), later), later + silence)
      << "a moment ago there was no room";
  EXPECT_EQ(seen.note("one too many", version(0), later + 1s), later + silence);
  EXPECT_EQ(seen.note("0", version(0), later), at(0s) + silence);
  EXPECT_EQ(seen.note("2", version(0), later), at(2ms) + silence);
  EXPECT_EQ(seen.note("1", version(0), later), later + silence) << "forgotten, which is later";
  EXPECT_EQ(seen.size(), observations::max_size);
}

TEST(Observations, FindRoomInAPlaceThatWasGivenBack) {
  observations seen(usual_drift);
  fill(seen);
  seen.forget("0");
  (void)seen.note("one too many", version(0), at(5s));
  EXPECT_EQ(seen.note("one too many", version(0), at(6s)), at(5s) + silence);
}

TEST(Observations, LetEachOfACrowdOfDeadHoldersRipenInTheEnd) {
  observations seen(usual_drift);
  std::vector<std::string> dead;
  for (std::size_t i = 0; i < 3 * observations::max_size; ++i) {
    dead.push_back(std::to_string(i));
  }
  instant now = at(0s);
  for (int round = 0; !dead.empty(); ++round, now += 3s) {
    ASSERT_LT(now, at(0s) + 5 * silence) << dead.size() << " are still not ripe";
    std::erase_if(dead, [&](const std::string& name) {
      const bool ripe = now >= seen.note(name, version(0), now);
      if (ripe) {
        seen.forget(name);
      }
      return ripe;
    });
  }
}

TEST(Observations, MakeRoomByOneThatWasSeenToLive) {
  observations seen(usual_drift);
  fill(seen);
  (void)seen.note("7", version(1), at(5s));
  (void)seen.note("one too many", version(0), at(5s));
  EXPECT_EQ(seen.note("one too many", version(0), at(6s)), at(5s) + silence);
  EXPECT_EQ(seen.note("7", version(1), at(6s)), at(6s) + silence) << "forgotten, which is later";
  EXPECT_EQ(seen.note("0", version(0), at(6s)), at(0s) + silence);
}

TEST(Observations, LetADeadHolderRipenAmongACrowdOfLivingOnes) {
  observations seen(usual_drift);
  instant ripe = instant::max();
  for (int second = 0; second < 30; ++second) {
    const instant now = at(second * 1s);
    for (std::size_t i = 0; i < observations::max_size + 100; ++i) {
      (void)seen.note(std::to_string(i), version(static_cast<std::uint64_t>(second / 3)),
                      now);  // a renewal each 3 s
    }
    if (second >= 10) {
      ripe = std::min(ripe, seen.note("dead", version(0), now));
    }
  }
  EXPECT_LE(ripe, at(11s) + silence);
}

// ---- what others saw, and what is left for others --------------------------------------------------------

TEST(Observations, CountFromTheSightOfAnEarlierProcess) {
  observations seen(usual_drift);
  seen.restore("lock", {owner(1), 0}, at(1s), at(9s));
  EXPECT_EQ(seen.note("lock", version(0), at(9s)), at(1s) + silence);
}

TEST(Observations, StartOverWhenTheVersionIsNotTheRestoredOne) {
  observations seen(usual_drift);
  seen.restore("lock", {owner(1), 0}, at(1s), at(9s));
  EXPECT_EQ(seen.note("lock", version(1), at(9s)), at(9s) + silence);
}

TEST(Observations, TakeTheEarlierOfTwoSightsOfOneVersion) {
  observations seen(usual_drift);
  (void)seen.note("lock", version(0), at(5s));
  seen.restore("lock", {owner(1), 0}, at(7s), at(9s));
  EXPECT_EQ(seen.note("lock", version(0), at(9s)), at(5s) + silence);
  seen.restore("lock", {owner(1), 0}, at(1s), at(9s));
  EXPECT_EQ(seen.note("lock", version(0), at(9s)), at(1s) + silence);
}

TEST(Observations, TakeALaterVersionFromOthersAndNoEarlierOne) {
  observations seen(usual_drift);
  (void)seen.note("lock", version(3), at(1s));
  seen.restore("lock", {owner(1), 2}, at(0s), at(9s));
  EXPECT_EQ(seen.note("lock", version(3), at(9s)), at(1s) + silence);
  seen.restore("lock", {owner(1), 4}, at(5s), at(9s));
  EXPECT_EQ(seen.note("lock", version(4), at(9s)), at(5s) + silence);
}

TEST(Observations, RestoreNothingThatIsNotInThePast) {
  observations seen(usual_drift);
  seen.restore("lock", {owner(1), 0}, at(9s), at(9s));
  seen.restore("lock", {owner(1), 0}, at(10s), at(9s));
  EXPECT_EQ(seen.size(), 0U);
}

TEST(Observations, StayBoundedWhenTheyAreRestored) {
  observations seen(usual_drift);
  for (std::size_t i = 0; i < observations::max_size; ++i) {
    seen.restore(std::to_string(i), {owner(1), 0}, at(0s), at(1s));
  }
  seen.restore("one too many", {owner(1), 0}, at(0s), at(1s));
  EXPECT_EQ(seen.size(), observations::max_size);
  EXPECT_EQ(seen.note("one too many", version(0), at(1s)), at(1s) + silence);
}

TEST(Observations, MakeRoomByARestoredOneThatWasRenewed) {
  observations seen(usual_drift);
  fill(seen);
  seen.restore("7", {owner(1), 1}, at(4s), at(5s));
  (void)seen.note("one too many", version(0), at(5s));
  EXPECT_EQ(seen.note("one too many", version(0), at(6s)), at(5s) + silence);
  EXPECT_EQ(seen.since("7", {owner(1), 1}), std::nullopt);
}

TEST(Observations, TellSinceWhenTheLatestVersionWasSeen) {
  observations seen(usual_drift);
  (void)seen.note("lock", version(0), at(3s));
  (void)seen.note("lock", version(0), at(5s));
  EXPECT_EQ(seen.since("lock", {owner(1), 0}), at(3s));
  EXPECT_EQ(seen.since("lock", {owner(1), 1}), std::nullopt);
  EXPECT_EQ(seen.since("lock", {owner(2), 0}), std::nullopt);
  EXPECT_EQ(seen.since("other", {owner(1), 0}), std::nullopt);
}

TEST(Observations, HandOutWhatTheySawOfOneLock) {
  observations seen(usual_drift);
  (void)seen.note("lock", hold_of(owner(2), 7, ttl), at(1s));
  (void)seen.note("lock", hold_of(owner(1), 0, ttl), at(2s));
  (void)seen.note("lock", hold_of(owner(2), 7, ttl), at(3s));
  (void)seen.note("lock2", hold_of(owner(3), 0, ttl), at(3s));
  const auto out = seen.seen_of("lock");
  ASSERT_EQ(out.size(), 2U);
  EXPECT_EQ(out[0].version, (hold_version{owner(1), 0}));
  EXPECT_EQ(out[1].version, (hold_version{owner(2), 7}));
  EXPECT_EQ(out[1].name, lock_name("lock"));
  EXPECT_EQ(out[1].first, at(1s));
  EXPECT_EQ(out[1].latest, at(3s));
  EXPECT_TRUE(seen.seen_of("loc").empty());
}

TEST(Observations, ForgetHoldersThatAreGone) {
  observations seen(usual_drift);
  for (const std::uint32_t who : {1U, 2U, 3U}) {
    (void)seen.note("lock", hold_of(owner(who), 0, ttl), at(0s));
  }
  const std::vector<hold_record> left = {hold_of(owner(2), 0, ttl)};
  seen.forget_all_but("lock", left);
  EXPECT_EQ(seen.size(), 1U);
  EXPECT_EQ(seen.note("lock", left[0], at(1s)), at(0s) + silence);
}

}  // namespace
}  // namespace cremone::core
