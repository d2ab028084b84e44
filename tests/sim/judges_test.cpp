// SPDX-License-Identifier: Apache-2.0
//
// The judges find what they are there for. Each is shown what must not happen, made by hand.
#include "engine/hold.hpp"
#include "sim/history.hpp"
#include "sim/redis/server.hpp"
#include "sim/redis_guard.hpp"
#include "sim/resource.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

namespace cremone::sim {
namespace {

using namespace std::chrono_literals;

class Judges : public testing::Test {
 protected:
  std::shared_ptr<detail::hold> lease(const process& of, const char* name, std::uint64_t token,
                                      std::chrono::milliseconds ttl = 1000ms) {
    return std::make_shared<detail::hold>(nullptr, lock_name(name), owner_id{}, fence_token(token),
                                          core::lease_timing{ttl, 1000, {}, std::chrono::milliseconds::max()},
                                          of.shown_now());
  }
  void pass(moment span) {
    world_.at(world_.now() + span, [] {});
    (void)world_.step();
  }
  [[nodiscard]] std::size_t found(violation_kind k) const {
    std::size_t n = 0;
    for (const violation& v : result_.violations) {
      n += v.kind == k ? 1U : 0U;
    }
    return n;
  }

  world world_;
  const trace_sink nobody_;
  const trace trace_{nobody_};
  schedule_result result_;
  history facts_{world_, trace_, store_kind::record, result_};
  machine_clock clock_{instant(1h), wall_time(std::chrono::seconds(1'800'000'000)), 0};
  machine_clock slow_{instant(5h), wall_time(std::chrono::seconds(1'800'000'000)), -300'000};
  const std::shared_ptr<process> one_ =
      std::make_shared<process>(world_, "p1", clock_, dice(1), preemption{});
  const std::shared_ptr<process> two_ = std::make_shared<process>(world_, "p2", slow_, dice(2), preemption{});
};

TEST_F(Judges, SeeTwoWhoHoldOneLock) {
  (void)facts_.acquired(*one_, lease(*one_, "a", 1), 0s);
  facts_.look();
  EXPECT_EQ(found(violation_kind::exclusion), 0U);
  (void)facts_.acquired(*two_, lease(*two_, "a", 2), 0s);
  facts_.look();
  EXPECT_EQ(found(violation_kind::exclusion), 1U);
  facts_.look();
  EXPECT_EQ(found(violation_kind::exclusion), 1U) << "the same two were counted again";
}

TEST_F(Judges, GoByTheHoldersOwnClock) {
  (void)facts_.acquired(*two_, lease(*two_, "a", 1), 0s);
  pass(1200ms);  // its own clock says 840 ms
  (void)facts_.acquired(*one_, lease(*one_, "a", 2), 0s);
  facts_.look();
  EXPECT_EQ(found(violation_kind::exclusion), 1U);
}

TEST_F(Judges, SeeNothingWrongInLeasesThatAreOverReleasedOrOfOtherLocks) {
  (void)facts_.acquired(*one_, lease(*one_, "a", 1), 0s);
  (void)facts_.acquired(*two_, lease(*two_, "b", 2), 0s);
  facts_.look();
  pass(1001ms);
  const std::size_t second = facts_.acquired(*one_, lease(*one_, "a", 3), 500ms);
  facts_.look();
  facts_.ended(second);
  (void)facts_.acquired(*two_, lease(*two_, "a", 4), 500ms);
  facts_.killed(*two_);
  (void)facts_.acquired(*one_, lease(*one_, "a", 5), 500ms);
  facts_.look();
  EXPECT_TRUE(result_.violations.empty()) << result_.violations.front().what;
}

TEST_F(Judges, SeeATokenThatComesTwice) {
  (void)facts_.acquired(*one_, lease(*one_, "a", 7), 0s);
  (void)facts_.acquired(*one_, lease(*one_, "b", 7), 0s);
  EXPECT_EQ(found(violation_kind::token), 0U);
  (void)facts_.acquired(*two_, lease(*two_, "a", 7), 0s);
  EXPECT_EQ(found(violation_kind::token), 1U);
}

TEST_F(Judges, SeeATokenThatIsLowerThanOneGivenBeforeItWasAskedFor) {
  pass(1s);
  (void)facts_.acquired(*one_, lease(*one_, "a", 10), 0s);
  pass(1s);
  (void)facts_.acquired(*two_, lease(*two_, "a", 9), 500ms);
  EXPECT_EQ(found(violation_kind::token), 0U) << "they were under way together";
  (void)facts_.acquired(*two_, lease(*two_, "a", 8), 1500ms);
  EXPECT_EQ(found(violation_kind::token), 1U);
}

TEST_F(Judges, CountTokensApartOnlyWhenNothingIsLeftToPutThemInOrder) {
  (void)facts_.acquired(*one_, lease(*one_, "a", 7), 0s);
  (void)facts_.acquired(*one_, lease(*one_, "a", 7), 0s);
  EXPECT_TRUE(result_.failed());
  result_ = {};
  facts_.token_unfounded(7);
  (void)facts_.acquired(*one_, lease(*one_, "a", 7), 0s);
  EXPECT_EQ(found(violation_kind::token), 1U);
  EXPECT_FALSE(result_.failed());
  facts_.violated(violation_kind::exclusion, "two holders");
  EXPECT_TRUE(result_.failed()) << "memory and wall clocks excuse no second holder";
}

TEST_F(Judges, TokenAboveTheUnfoundedOneIsNotExcused) {
  facts_.token_unfounded(7);
  (void)facts_.acquired(*one_, lease(*one_, "a", 8), 0s);
  (void)facts_.acquired(*one_, lease(*one_, "a", 8), 0s);
  EXPECT_TRUE(result_.failed());
}

TEST_F(Judges, ExcuseNothingInThePublishedLayout) {
  history classic(world_, trace_, store_kind::classic, result_);
  classic.rates_without_bound();
  classic.token_unfounded(7);
  classic.violated(violation_kind::exclusion, "two holders");
  EXPECT_TRUE(result_.failed());
}

TEST_F(Judges, CountMoreThanTheyTell) {
  facts_.token_unfounded(7);
  for (int i = 0; i < 100; ++i) {
    facts_.violated(violation_kind::token, "an expected one");
  }
  facts_.violated(violation_kind::structure, "one that is not");
  EXPECT_TRUE(result_.failed()) << "it was lost among the others";
  EXPECT_EQ(result_.expected[static_cast<std::size_t>(violation_kind::token)], 100U);
  EXPECT_LT(result_.violations.size(), 100U);
}

TEST_F(Judges, NoticeThatTheGuardHasSeenNothing) {
  (void)facts_.acquired(*one_, lease(*one_, "a", 1), 0s);
  facts_.finish();
  EXPECT_EQ(found(violation_kind::structure), 1U);
}

TEST(Resource, LosesNothingThatItAcceptedWithAFence) {
  resource r(1);
  const auto old = r.read(1);
  const auto fresh = r.read(2);
  const auto second = r.write(2, fresh);
  EXPECT_TRUE(second.accepted);
  EXPECT_FALSE(second.lost_another);
  const auto late = r.write(1, old);
  EXPECT_FALSE(late.accepted);
  EXPECT_TRUE(late.lost_another_unfenced) << "without a fence it undoes the other's";
}

TEST(Resource, ShowsTwoHoldersOfOneToken) {
  resource r(1);
  const auto one = r.read(3);
  const auto other = r.read(3);
  EXPECT_FALSE(r.write(3, one).lost_another);
  EXPECT_TRUE(r.write(3, other).lost_another);
}

TEST(Resource, KnowsAfterARestartWhatItHadSeen) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {  // in each it restarts at other moments
    resource r(seed);
    for (std::uint64_t token = 1; token <= 20; ++token) {
      const auto mine = r.read(token);
      EXPECT_FALSE(mine.misjudged);
      const auto written = r.write(token, mine);
      EXPECT_TRUE(written.accepted);
      EXPECT_FALSE(written.misjudged);
      const auto late = r.write(token - 1, mine);
      EXPECT_FALSE(late.accepted) << "seed " << seed << ", token " << token;
      EXPECT_FALSE(late.misjudged);
    }
  }
}

/// A server in which the keys are what the test says.
class Guard : public Judges {
 protected:
  void set(const std::string& key, const std::string& value) {
    std::vector<utterance> said;
    std::string command = "*3\r\n";
    for (const std::string& word : {std::string("SET"), key, value}) {
      command += "$" + std::to_string(word.size()) + "\r\n" + word + "\r\n";
    }
    server_.receive(1, command, wall_time(std::chrono::seconds(1'800'000'000)), said);
  }
  void changed(const std::string& key, const std::string& value) {
    set(key, value);
    const std::vector<std::string_view> words = {"SET", key, value};
    (void)guard_.carried_out(words, "+OK\r\n", {key}, server_.keys(), run_);
  }
  /// Somebody asks for a lock, and waits if it is not to be had.
  redis_guard::news asked(const std::string& owner, bool yes) {
    std::vector<std::string_view> words(17, "x");
    words[0] = "EVALSHA";
    words[2] = "5";
    words[5] = "s:lock:a";
    words[9] = owner;
    words[14] = "1";
    return guard_.carried_out(words, yes ? "*4\r\n:1\r\n" : "*5\r\n:0\r\n", {}, server_.keys(), run_);
  }
  void left(const std::string& owner) {
    std::vector<std::string_view> words(13, "x");
    words[0] = "EVALSHA";
    words[2] = "4";
    words[4] = "s:lock:a";
    words[8] = owner;
    (void)guard_.carried_out(words, "*2\r\n:1\r\n", {}, server_.keys(), run_);
  }
  [[nodiscard]] static std::string record(const std::string& c, const std::string& hold) {
    return "1 0 00000000000000" + c + " 0000000000000001 0000000000000001  \n" + hold;
  }

  const std::string run_ = std::string(40, 'a');
  lua scripts_;
  redis_server server_{scripts_, run_, wall_time(std::chrono::seconds(1'800'000'000))};
  plan plan_{};
  redis_guard guard_{plan_, facts_, "n1"};
};

TEST_F(Guard, SeesALockGivenOutInQuarantine) {
  set("s:boot", "A " + run_ + ".0.0/0 n1 0");
  EXPECT_TRUE(asked("1", true).granted);
  EXPECT_EQ(found(violation_kind::structure), 0U);
  set("s:boot", "Q " + run_ + ".0.0/0 n1 0 missing 0");
  (void)asked("2", true);
  EXPECT_EQ(found(violation_kind::structure), 1U);
  set("s:boot", "A " + std::string(40, 'b') + ".0.0/0 n1 0");
  (void)asked("3", true);
  EXPECT_EQ(found(violation_kind::structure), 2U);
}

TEST_F(Guard, SeesACounterThatFalls) {
  changed("s:count:1", "12");
  changed("s:count:1", "13");
  EXPECT_EQ(found(violation_kind::structure), 0U);
  changed("s:count:1", "12");
  EXPECT_EQ(found(violation_kind::structure), 1U);
  guard_.begins_anew();
  changed("s:count:1", "1");
  EXPECT_EQ(found(violation_kind::structure), 1U) << "it has forgotten, and begins anew";
}

TEST_F(Guard, SeesTheFloorOfALockThatFalls) {
  changed("s:lock:a", record("12", ""));
  changed("s:lock:a", record("11", ""));
  EXPECT_EQ(found(violation_kind::structure), 1U);
}

TEST_F(Guard, SeesAVersionThatComesBack) {
  changed("s:lock:a", record("11", "aa 5 100 x 5\nwho"));
  changed("s:lock:a", record("11", "aa 5 100 x 5\nwho"));
  changed("s:lock:a", record("12", "aa 6 100 x 5\nwho"));
  EXPECT_EQ(found(violation_kind::structure), 0U);
  changed("s:lock:a", record("12", "aa 5 100 x 5\nwho"));
  EXPECT_EQ(found(violation_kind::structure), 1U);
}

TEST_F(Guard, SeesWhoIsServedOutOfTurn) {
  set("s:boot", "A " + run_ + ".0.0/0 n1 0");
  const std::string first(40, '1');
  const std::string second(40, '2');
  const std::string third(40, '3');
  for (const std::string& owner : {first, second, third, first}) {
    (void)asked(owner, false);
  }
  (void)asked(first, true);
  left(second);
  (void)asked(third, true);
  (void)asked(second, true);
  EXPECT_EQ(found(violation_kind::order), 0U);
  (void)asked(first, false);
  (void)asked(second, false);
  (void)asked(second, true);
  EXPECT_EQ(found(violation_kind::order), 1U) << "the second was served first";
  (void)asked(third, true);
  EXPECT_EQ(found(violation_kind::order), 2U) << "somebody came and took it";
}

}  // namespace
}  // namespace cremone::sim
