// SPDX-License-Identifier: Apache-2.0
//
// Checks how the votes of several servers become a lock or none: by a majority that gave the same number, without waiting for
// those who do not matter, and with another round only when there has to be one.
#include "core/coordinator.hpp"

#include "core/breaker.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>
#include <vector>

namespace cremone::core {
namespace {

using namespace std::chrono_literals;
using kind = coordinator_action::kind;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr instant at(std::chrono::nanoseconds t) { return instant(1h) + t; }

coordinator of(std::size_t nodes, bool tokens = true) { return {{nodes, tokens, 50ms}, at(0ms)}; }

coordinator_action yes(coordinator& c, std::size_t node, std::uint64_t number,
                       std::chrono::nanoseconds t = 1ms) {
  return c.answered(node, at(t), vote_answer::yes, number);
}
coordinator_action no(coordinator& c, std::size_t node, vote_answer why = vote_answer::held,
                      std::chrono::nanoseconds t = 1ms) {
  return c.answered(node, at(t), why);
}

TEST(Coordinator, SucceedsWithTheNumberThatAMajorityGave) {
  auto c = of(5);
  EXPECT_EQ(yes(c, 3, 100).what, kind::nothing);
  EXPECT_EQ(yes(c, 0, 100).what, kind::nothing);
  const auto won = yes(c, 4, 100);
  EXPECT_EQ(won.what, kind::succeed);
  EXPECT_EQ(won.token, 100U);
  EXPECT_EQ(c.rounds(), 1);
  EXPECT_EQ(yes(c, 1, 100).what, kind::nothing) << "a straggler decided it again";
}

TEST(Coordinator, KnowsWhoseVoteMayHaveToBeTakenBack) {
  auto c = of(5);
  (void)yes(c, 0, 100);
  (void)no(c, 1, vote_answer::held);
  (void)no(c, 2, vote_answer::quarantined);
  (void)no(c, 3, vote_answer::unsure);
  EXPECT_TRUE(c.may_have_voted(0));
  EXPECT_FALSE(c.may_have_voted(1)) << "another has it";
  EXPECT_FALSE(c.may_have_voted(2)) << "it votes for nobody";
  EXPECT_TRUE(c.may_have_voted(3)) << "it did not say";
  EXPECT_TRUE(c.may_have_voted(4)) << "it has not answered yet";
}

TEST(Coordinator, OfOneIsThatOne) {
  auto c = of(1);
  EXPECT_EQ(yes(c, 0, 7).token, 7U);
}

TEST(Coordinator, OfAnEvenNumberNeedsMoreThanHalf) {
  auto c = of(4);
  (void)yes(c, 0, 5);
  EXPECT_EQ(yes(c, 1, 5).what, kind::nothing);
  EXPECT_EQ(no(c, 2).what, kind::nothing);
  EXPECT_EQ(no(c, 3).what, kind::fail);
}

TEST(Coordinator, NeedsNoNumbersWhereThereAreNone) {
  auto c = of(3, false);
  (void)yes(c, 0, 1);
  EXPECT_EQ(yes(c, 1, 2).what, kind::succeed);
}

TEST(Coordinator, AsksForOneMoreThanAllThatWereGivenWhenTheyDiffer) {
  auto c = of(3);
  (void)yes(c, 0, 100);
  (void)yes(c, 1, 207);
  const auto again = yes(c, 2, 150);
  ASSERT_EQ(again.what, kind::commit);
  EXPECT_EQ(again.token, 208U);
  EXPECT_THAT(again.to, ElementsAre(0, 1, 2));
  EXPECT_EQ(c.committed(1, at(2ms), 208).what, kind::nothing);
  const auto won = c.committed(0, at(2ms), 208);
  EXPECT_EQ(won.what, kind::succeed);
  EXPECT_EQ(won.token, 208U);
  EXPECT_EQ(c.rounds(), 2);
}

TEST(Coordinator, DoesNotAskThoseAgainWhoSaidNo) {
  auto c = of(5);
  (void)no(c, 0);
  (void)yes(c, 1, 1);
  (void)no(c, 2, vote_answer::quarantined);
  (void)yes(c, 3, 2);
  EXPECT_THAT(yes(c, 4, 3).to, ElementsAre(1, 3, 4));
}

TEST(Coordinator, WaitsForTheSlowerOnesWhenTheyMayBringTheMissingNumber) {
  auto c = of(5);
  (void)yes(c, 0, 100, 2ms);
  (void)yes(c, 1, 100, 2ms);
  EXPECT_EQ(yes(c, 2, 130, 4ms).what, kind::nothing);
  EXPECT_EQ(c.wake_at(), at(8ms)) << "as long again as the others took";
  EXPECT_EQ(yes(c, 3, 100, 5ms).token, 100U);
  EXPECT_EQ(c.wake_at(), instant::max());
}

TEST(Coordinator, StopsWaitingForThem) {
  auto c = of(5);
  (void)yes(c, 0, 100, 2ms);
  (void)yes(c, 1, 100, 2ms);
  (void)yes(c, 2, 130, 4ms);
  EXPECT_EQ(c.tick(at(7ms)).what, kind::nothing);
  const auto again = c.tick(at(8ms));
  EXPECT_EQ(again.what, kind::commit);
  EXPECT_EQ(again.token, 131U);
}

// The servers would show another token than the holder has.
TEST(Coordinator, DoesNotTakeANumberThatItHasAskedToChange) {
  auto c = of(3);
  (void)yes(c, 0, 59);
  (void)yes(c, 1, 60);
  ASSERT_EQ(c.tick(at(50ms)).token, 61U);
  EXPECT_EQ(yes(c, 2, 60, 51ms).what, kind::nothing) << "the second and the third had the same, a moment ago";
  (void)c.committed(1, at(52ms), 61);
  const auto won = c.committed(0, at(52ms), 61);
  EXPECT_EQ(won.what, kind::succeed);
  EXPECT_EQ(won.token, 61U);
}

TEST(Coordinator, GivesUpWhenVotesAreLostBetweenTheRounds) {
  auto c = of(3);
  (void)yes(c, 0, 1);
  (void)no(c, 1);
  ASSERT_EQ(yes(c, 2, 2).what, kind::commit);
  EXPECT_EQ(c.commit_failed(0, at(2ms)).what, kind::fail);
}

TEST(Coordinator, GivesWayAfterAFewRounds) {
  auto c = of(3);
  (void)yes(c, 0, 1);
  (void)no(c, 1);
  coordinator_action next = yes(c, 2, 2);
  int rounds = 1;
  while (next.what == kind::commit) {
    ++rounds;
    ASSERT_LE(rounds, coordinator::most_rounds);
    EXPECT_EQ(c.committed(0, at(3ms), next.token).what, kind::nothing);
    next = c.committed(2, at(3ms), next.token + 1);  // another lock of its bucket came in between, each time
  }
  EXPECT_EQ(next.what, kind::fail);
  EXPECT_EQ(rounds, coordinator::most_rounds);
}

// Should the holder be dead, its other votes are in the way too, and have to be watched as well.
TEST(Coordinator, HearsTheOthersOutForAsLongAgainWhenAMajorityShowsThatAnotherHasIt) {
  auto c = of(5);
  (void)yes(c, 0, 1);
  (void)no(c, 1);
  (void)no(c, 2);
  EXPECT_EQ(no(c, 3, vote_answer::unreachable, 2ms).what, kind::nothing);
  EXPECT_EQ(c.wake_at(), at(4ms));
  EXPECT_TRUE(c.waits_for(4));
  EXPECT_EQ(c.tick(at(4ms)).what, kind::fail);
}

TEST(Coordinator, FailsAtOnceWhenAllHaveAnsweredOrAreSilentAnyway) {
  auto c = of(3);
  c.doubt(2);
  (void)no(c, 0);
  EXPECT_EQ(no(c, 1).what, kind::fail);
}

// A network on which every answer takes 70 ms is none that is broken.
TEST(Coordinator, GivesTheRestAsLongAgainAsTheOthersTook) {
  auto c = of(5);
  (void)no(c, 0, vote_answer::quarantined, 70ms);
  (void)no(c, 1, vote_answer::quarantined, 70ms);
  EXPECT_EQ(yes(c, 2, 1, 70ms).what, kind::nothing);
  EXPECT_EQ(c.wake_at(), at(140ms));
  (void)yes(c, 3, 1, 71ms);
  EXPECT_EQ(yes(c, 4, 1, 72ms).what, kind::succeed);
}

TEST(Coordinator, LearnsNothingAboutTheNetworkFromOneThatCannotBeAsked) {
  auto c = of(3);
  (void)no(c, 0, vote_answer::unreachable, 0ms);
  (void)yes(c, 1, 1, 70ms);
  EXPECT_EQ(c.wake_at(), instant::max()) << "the third is as far away as the second";
  EXPECT_EQ(yes(c, 2, 1, 90ms).what, kind::succeed);
}

TEST(Coordinator, HearsTheOthersOutBeforeItBlamesThoseWhoAreAway) {
  auto c = of(5);
  (void)no(c, 0, vote_answer::unreachable);
  (void)no(c, 1, vote_answer::unreachable);
  EXPECT_EQ(no(c, 2, vote_answer::unreachable).what, kind::nothing);
  EXPECT_EQ(c.wake_at(), at(50ms)) << "but not for long";
  EXPECT_EQ(yes(c, 3, 1).what, kind::nothing);
  EXPECT_EQ(no(c, 4).what, kind::fail);
  EXPECT_EQ(c.missing(), 0U);
}

TEST(Coordinator, HurriesTheRestOnceAMajorityHasAnswered) {
  auto c = of(5);
  (void)yes(c, 0, 1);
  (void)yes(c, 1, 1);
  EXPECT_EQ(c.wake_at(), instant::max()) << "two of five say nothing about the other three";
  (void)no(c, 2);
  EXPECT_EQ(c.wake_at(), at(50ms));
  EXPECT_EQ(c.tick(at(49ms)).what, kind::nothing);
  EXPECT_EQ(c.tick(at(50ms)).what, kind::fail);
}

TEST(Coordinator, DoesNotWaitForAServerThatWasSilentLately) {
  auto c = of(3);
  c.doubt(2);
  (void)yes(c, 0, 1, 2ms);
  EXPECT_EQ(yes(c, 1, 2, 2ms).what, kind::commit) << "the third could have had either number";
}

TEST(Coordinator, HopesForOneThatWasSilentWhenNobodyElseCanHelp) {
  auto c = of(3);
  c.doubt(2);
  (void)no(c, 0);
  EXPECT_EQ(yes(c, 1, 4).what, kind::nothing);
  EXPECT_EQ(c.wake_at(), at(50ms));
  EXPECT_EQ(yes(c, 2, 4, 20ms).what, kind::succeed);
}

/// Servers that give each number once, as the scripts do, in any order of answers, with clients that propose anything: no two who
/// succeed have the same token, and who began after another had succeeded has a higher one.
TEST(Coordinator, NeverGivesATokenTwiceNorALowerOneLater) {
  std::mt19937_64 luck(7);
  for (int round = 0; round < 2000; ++round) {
    const std::size_t nodes = 1 + luck() % 6;
    std::vector<std::uint64_t> counters(nodes);
    const auto take = [&](std::size_t node, std::uint64_t proposed) {
      counters[node] = proposed > counters[node] ? proposed : counters[node] + 1;
      return counters[node];
    };
    struct runner {
      coordinator machine;
      std::vector<std::size_t> to_ask;                               // first round
      std::vector<std::pair<std::size_t, std::uint64_t>> to_commit;  // later ones
      std::uint64_t proposed;
      std::uint64_t floor;  // the highest token of those who had succeeded when it began
    };
    std::vector<runner> all;
    std::set<std::uint64_t> tokens;
    for (int turn = 0; turn < 200; ++turn) {
      if (all.size() < 3 && luck() % 4 == 0) {
        runner r{of(nodes), {}, {}, luck() % 40, tokens.empty() ? 0 : *tokens.rbegin()};
        for (std::size_t i = 0; i < nodes; ++i) {
          r.to_ask.push_back(i);
        }
        all.push_back(std::move(r));
      }
      if (all.empty()) {
        continue;
      }
      const std::size_t who = luck() % all.size();
      runner& r = all[who];
      coordinator_action next;
      if (!r.to_ask.empty()) {
        const std::size_t i = luck() % r.to_ask.size();
        const std::size_t node = r.to_ask[i];
        r.to_ask.erase(r.to_ask.begin() + static_cast<std::ptrdiff_t>(i));
        next = luck() % 8 == 0 ? r.machine.answered(node, at(1ms), vote_answer::unsure)
                               : r.machine.answered(node, at(1ms), vote_answer::yes, take(node, r.proposed));
      } else if (!r.to_commit.empty()) {
        const auto [node, number] = r.to_commit.back();
        r.to_commit.pop_back();
        next = luck() % 8 == 0 ? r.machine.commit_failed(node, at(2ms))
                               : r.machine.committed(node, at(2ms), take(node, number));
      } else {
        next.what = kind::fail;
      }
      for (const std::size_t node : next.to) {
        r.to_commit.emplace_back(node, next.token);
      }
      if (next.what == kind::succeed) {
        EXPECT_TRUE(tokens.insert(next.token).second) << "given twice: " << next.token;
        EXPECT_GT(next.token, r.floor);
      }
      if (next.what == kind::succeed || next.what == kind::fail) {
        all.erase(all.begin() + static_cast<std::ptrdiff_t>(who));
      }
    }
  }
}

TEST(Breaker, OpensAtTheThirdSilenceInARow) {
  breaker b;
  b.bad(at(0ms));
  b.bad(at(1ms));
  b.good();
  b.bad(at(2ms));
  b.bad(at(3ms));
  EXPECT_FALSE(b.open());
  EXPECT_TRUE(b.may_ask(at(3ms)));
  b.bad(at(4ms));
  EXPECT_TRUE(b.open());
}

TEST(Breaker, LetsOneThroughInEachPauseWhichGrows) {
  breaker b;
  for (int i = 0; i < breaker::patience; ++i) {
    b.bad(at(0ms));
  }
  EXPECT_FALSE(b.may_ask(at(99ms)));
  EXPECT_TRUE(b.may_ask(at(100ms)));
  EXPECT_FALSE(b.may_ask(at(101ms))) << "one is enough to find out";
  b.bad(at(150ms));
  EXPECT_FALSE(b.may_ask(at(349ms)));
  EXPECT_TRUE(b.may_ask(at(350ms)));
  for (int i = 0; i < 10; ++i) {
    b.bad(at(1s));
  }
  EXPECT_TRUE(b.may_ask(at(2s))) << "it never grows beyond a second";
}

TEST(Breaker, ClosesWithTheFirstAnswer) {
  breaker b;
  for (int i = 0; i < 8; ++i) {
    b.bad(at(0ms));
  }
  b.good();
  EXPECT_FALSE(b.open());
  EXPECT_TRUE(b.may_ask(at(0ms)));
}

}  // namespace
}  // namespace cremone::core
