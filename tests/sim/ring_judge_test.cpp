// SPDX-License-Identifier: Apache-2.0
//
// The judge of servers that vote again finds what it is there for, and excuses what a clock excuses and nothing else.
#include "sim/ring_judge.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <string>

namespace cremone::sim {
namespace {

using namespace std::chrono_literals;

/// Three servers that have been let in. The first two have given token 100 of 'a'.
class RingJudge : public testing::Test {
 protected:
  RingJudge() {
    for (int node = 1; node <= 3; ++node) {
      judge_.doubts(node);
    }
    pass(3s);
    for (int node = 1; node <= 3; ++node) {
      judge_.let_in(node, {.by_clock = true, .floor = 50, .due = 50}, empty_);
    }
    pass(1s);
    vote_and_get(100);
  }

  void pass(moment span) {
    world_.at(world_.now() + span, [] {});
    (void)world_.step();
  }
  void vote_and_get(std::uint64_t token) {
    judge_.gave(1, "a", "s:count:1", token);
    judge_.gave(2, "a", "s:count:1", token);
    judge_.acquired("a", token);
  }
  void forget(int node) {
    judge_.forgets(node);
    judge_.doubts(node);
  }
  void let_in(int node, bool by_clock, std::uint64_t floor, std::uint64_t due = 0) {
    judge_.let_in(node, {.by_clock = by_clock, .floor = floor, .due = due}, empty_);
  }
  [[nodiscard]] std::uint64_t unexpected(violation_kind k) const {
    return result_.unexpected[static_cast<std::size_t>(k)];
  }
  [[nodiscard]] std::uint64_t expected(violation_kind k) const {
    return result_.expected[static_cast<std::size_t>(k)];
  }

  world world_;
  const trace_sink nobody_;
  const trace trace_{nobody_};
  schedule_result result_;
  history facts_{world_, trace_, store_kind::record, result_};
  plan plan_ = three();
  const keyspace empty_;
  ring_judge judge_{plan_, world_, facts_};

 private:
  static plan three() {
    plan p;
    p.nodes = 3;
    p.max_ttl = 1000ms;
    return p;
  }
};

TEST_F(RingJudge, SeesNothingWrongInAFloorThatIsHighEnough) {
  forget(1);
  pass(2s);
  let_in(1, false, 100);
  EXPECT_FALSE(result_.failed());
}

TEST_F(RingJudge, SeesAServerThatDoesNotKnowATokenThatItHelpedToGive) {
  forget(1);
  pass(2s);
  let_in(1, false, 99);
  EXPECT_EQ(unexpected(violation_kind::token), 1U);
  forget(3);
  pass(2s);
  let_in(3, false, 60);
  EXPECT_EQ(unexpected(violation_kind::token), 1U) << "the third had no part in it";
}

TEST_F(RingJudge, DoesNotTakeANumberForATokenThatNobodyGot) {
  judge_.gave(1, "a", "s:count:1", 200);
  forget(1);
  pass(2s);
  let_in(1, false, 100);
  EXPECT_FALSE(result_.failed());
}

TEST_F(RingJudge, SeesTheClockTakeThePlaceOfAMajorityThatRemembers) {
  forget(1);
  pass(2s);
  let_in(1, true, 500, 500);
  EXPECT_EQ(unexpected(violation_kind::structure), 1U);
}

TEST_F(RingJudge, SeesTheClockTakeThePlaceOfAPerson) {
  plan_.strict = true;
  forget(1);
  forget(2);
  pass(2s);
  let_in(1, true, 500, 500);
  EXPECT_EQ(unexpected(violation_kind::structure), 1U);
}

TEST_F(RingJudge, LetsTheClockTakeThePlaceOfThoseWhoDoNotAnswerForLong) {
  forget(1);
  pass(3s);
  let_in(1, true, 500, 500);
  EXPECT_FALSE(result_.failed());
}

TEST_F(RingJudge, ExcusesTokensWhenAMajorityHasForgottenAndTheClockIsBehind) {
  forget(1);
  forget(2);
  pass(2s);
  let_in(1, true, 80, 80);
  EXPECT_FALSE(result_.failed());
  EXPECT_EQ(expected(violation_kind::token), 1U);
}

/// It was excused once: the floor that was written was taken for the one that was due.
TEST_F(RingJudge, ExcusesNothingWhenTheClockWasAheadAndTheFloorForgotIt) {
  forget(1);
  forget(2);
  pass(2s);
  let_in(1, true, 80, 120);
  EXPECT_EQ(unexpected(violation_kind::token), 1U);
}

TEST_F(RingJudge, CountsATokenThatWasOnItsWayWhenTheClockTookOver) {
  judge_.gave(1, "a", "s:count:1", 150);
  judge_.gave(2, "a", "s:count:1", 150);
  forget(1);
  forget(2);
  pass(2s);
  let_in(1, true, 120, 120);
  facts_.violated(violation_kind::token, "before anybody has it");
  EXPECT_EQ(unexpected(violation_kind::token), 1U);
  judge_.acquired("a", 150);
  facts_.violated(violation_kind::token, "after");
  EXPECT_EQ(expected(violation_kind::token), 1U);
}

TEST_F(RingJudge, DoesNotCountTokensThatWereGivenLater) {
  forget(1);
  forget(2);
  pass(2s);
  let_in(1, true, 120, 120);
  pass(1s);
  vote_and_get(300);
  facts_.violated(violation_kind::token, "one that nothing excuses");
  EXPECT_EQ(unexpected(violation_kind::token), 1U);
}

TEST_F(RingJudge, ExcusesNoTokenThatTheServerStillRemembers) {
  keyspace keys;
  keys.replace("s:count:1", std::string("100"));
  forget(1);
  forget(2);
  pass(2s);
  judge_.let_in(1, {.by_clock = true, .floor = 80, .due = 80}, keys);
  facts_.violated(violation_kind::token, "100 again", 100);
  EXPECT_EQ(unexpected(violation_kind::token), 1U);
  EXPECT_EQ(expected(violation_kind::token), 0U);
}

TEST_F(RingJudge, ExcusesNoTokenOfAnotherServer) {
  forget(3);
  forget(1);
  pass(2s);
  let_in(3, true, 80, 80);
  facts_.violated(violation_kind::token, "100 again", 100);
  EXPECT_EQ(unexpected(violation_kind::token), 1U) << "the third had no part in it";
}

TEST(MachineClock, LowestWallIncludesEverySettingOfTheSpan) {
  constexpr wall_time origin(std::chrono::seconds(1000));
  machine_clock clock(instant(1h), origin, 0);
  clock.set_wall(-5s, 10s);
  clock.set_wall(8s, 20s);
  EXPECT_EQ(clock.lowest_wall(0s, 30s), origin);
  EXPECT_EQ(clock.lowest_wall(9s, 30s), origin + 5s);
  EXPECT_EQ(clock.lowest_wall(12s, 30s), origin + 7s);
  EXPECT_EQ(clock.lowest_wall(25s, 30s), origin + 28s);
}

}  // namespace
}  // namespace cremone::sim
