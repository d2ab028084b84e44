// SPDX-License-Identifier: Apache-2.0
//
// Several nodes as one store: the majority's answer is the answer, it comes as soon as it is certain, and a failed
// acquire leaves nothing on any node. The nodes say what the test tells them to.
#include "engine/quorum/quorum.hpp"

#include "engine/quorum/acquiring.hpp"
#include "support/manual_env.hpp"
#include "support/scripted_backend.hpp"
#include "support/seam_words.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace cremone {
namespace {

using test::fresh_owner;
using test::shown;
using test::store_call;
using ::testing::ElementsAre;
using namespace std::chrono_literals;

class QuorumOf : public ::testing::Test {
 protected:
  /// Of servers that give numbers, all the same if nothing is against it.
  static traits with_tokens() {
    traits t = test::network_traits();
    t.quarantines = true;
    return t;
  }

  void make(std::size_t count, const traits& each = test::network_traits()) {
    std::vector<std::shared_ptr<backend>> nodes;
    for (std::size_t i = 0; i < count; ++i) {
      nodes_.push_back(std::make_shared<test::scripted_backend>(env_, each));
      nodes.push_back(nodes_.back());
    }
    all_ = std::make_shared<detail::quorum>(env_, std::move(nodes));
  }
  ~QuorumOf() override {
    for (const auto& n : nodes_) {
      n->drop_waiting();
    }
  }

  void ask() {
    all_->try_acquire(request_, [this](acquire_answer a) {
      EXPECT_FALSE(got_) << "answered twice";
      got_ = std::move(a);
    });
  }

  /// The node's answer to its only acquire.
  void say(std::size_t node, acquire_answer a) {
    nodes_[node]->answer(nodes_[node]->calls(store_call::kind::acquire).at(0).index, std::move(a));
    env_->run_all();
  }

  [[nodiscard]] std::string outcome() const { return got_ ? shown(*got_) : "open"; }
  [[nodiscard]] std::size_t releases(std::size_t node) const {
    return nodes_[node]->calls(store_call::kind::release).size();
  }

  static rejection busy() { return rejection{}; }
  static rejection away() { return rejection{.why = error(errc::unreachable, "away")}; }
  static unknown silent() { return unknown{error(errc::outcome_unknown, "silent")}; }

  const std::shared_ptr<test::manual_env> env_ = std::make_shared<test::manual_env>();
  std::vector<std::shared_ptr<test::scripted_backend>> nodes_;
  std::shared_ptr<detail::quorum> all_;
  const acquire_request request_ = test::wanting("lock", fresh_owner());
  std::optional<acquire_answer> got_;
};

TEST_F(QuorumOf, OnePassesOnWhatItsNodeSays) {
  make(1);
  ask();
  say(0, grant{.token = fence_token(7), .ticket = 0, .repeated = false});
  ASSERT_EQ(outcome(), "granted");
  EXPECT_EQ(std::get<grant>(*got_).token, fence_token(7));
}

TEST_F(QuorumOf, OneReleasesNothingByItself) {
  make(1);
  ask();
  say(0, busy());
  EXPECT_EQ(outcome(), "refused: busy");
  EXPECT_EQ(releases(0), 0U);
}

TEST_F(QuorumOf, ThreeGrantsWithTwoAndDoesNotWaitForTheThird) {
  make(3);
  ask();
  say(0, grant{});
  EXPECT_EQ(outcome(), "open");
  say(2, grant{});
  EXPECT_EQ(outcome(), "granted");
  say(1, busy());  // goes nowhere
  EXPECT_EQ(releases(0) + releases(1) + releases(2), 0U);
}

TEST_F(QuorumOf, ThreeGivesNoTokenForEachNodeCountsForItself) {
  make(3);
  ask();
  say(0, grant{.token = fence_token(9), .ticket = 0, .repeated = false});
  say(1, grant{.token = fence_token(5), .ticket = 0, .repeated = false});
  EXPECT_EQ(std::get<grant>(*got_).token, fence_token());
}

TEST_F(QuorumOf, ThreeReleasesOnAllWhenItFails) {
  make(3);
  ask();
  say(0, grant{});
  say(1, busy());
  EXPECT_EQ(outcome(), "open");
  say(2, away());
  EXPECT_EQ(outcome(), "refused: busy");
  EXPECT_EQ(releases(0), 1U);
  EXPECT_EQ(releases(1), 1U) << "also where another has it, as published";
  EXPECT_EQ(releases(2), 1U) << "also where it was not reached: the request may have been";
  EXPECT_EQ(nodes_[0]->calls(store_call::kind::release)[0].owner, request_.owner);
}

TEST_F(QuorumOf, ThreeTakesNothingBackWhereANoIsFinal) {
  make(3, with_tokens());
  ask();
  say(0, grant{.token = fence_token(5)});
  say(1, busy());
  say(2, busy());
  EXPECT_EQ(outcome(), "refused: busy");
  EXPECT_EQ(releases(0), 1U);
  EXPECT_EQ(releases(1) + releases(2), 0U) << "another has its vote, and has it still";
}

// On another thread the first two may have decided it while the request to the third is being sent.
TEST_F(QuorumOf, ThreeLeavesNoVoteWhereTheRequestLeftWhenItHadFailed) {
  traits t = with_tokens();
  t.answers_inline = true;
  make(3, t);
  test::script decide;
  decide.acquire = [this](const acquire_request&) -> std::optional<acquire_answer> {
    for (const std::size_t node : {0U, 1U}) {
      nodes_[node]->answer(nodes_[node]->calls(store_call::kind::acquire).at(0).index,
                           acquire_answer(busy()));
    }
    env_->advance(100ms);  // and the third is late
    return std::nullopt;
  };
  nodes_[2]->follow(decide);
  ask();
  EXPECT_EQ(outcome(), "refused: busy");
  EXPECT_EQ(releases(2), 2U) << "the first may have overtaken the request";
}

TEST_F(QuorumOf, ThreeTakesItBackWhenTheSilentOneCouldHaveMadeTheMajority) {
  make(3);
  ask();
  say(0, grant{});
  say(1, silent());
  say(2, busy());
  EXPECT_EQ(outcome(), "refused: busy");
  EXPECT_TRUE(std::get<rejection>(*got_).spent);
  EXPECT_EQ(releases(1), 1U);
}

TEST_F(QuorumOf, FiveToleratesTwo) {
  make(5);
  ask();
  say(0, away());
  say(1, silent());
  say(2, grant{});
  say(3, grant{});
  EXPECT_EQ(outcome(), "open");
  say(4, grant{});
  EXPECT_EQ(outcome(), "granted");
}

TEST_F(QuorumOf, ThreeRenewsEachLeaseByItsOwnMajority) {
  make(3);
  const lock_name a = "a";
  const lock_name b = "b";
  const std::vector<renewal> items = {test::renewing(a, fresh_owner(), fence_token(1)),
                                      test::renewing(b, fresh_owner(), fence_token(1))};
  std::vector<std::string> said;
  all_->renew(items, [&](const std::vector<answer>& answers) {
    for (const answer& each : answers) {
      said.push_back(shown(each));
    }
  });
  const auto reply = [&](std::size_t node, std::vector<answer> answers) {
    nodes_[node]->answer(nodes_[node]->calls(store_call::kind::renew).at(0).index, std::move(answers));
    env_->run_all();
  };
  reply(0, {done{}, refused{error(errc::lost)}});
  reply(1, {done{}, done{}});
  EXPECT_TRUE(said.empty()) << "b is open";
  reply(2, {done{}, refused{error(errc::lost)}});
  EXPECT_THAT(said, ElementsAre("done", "refused: lost"));
}

TEST_F(QuorumOf, ThreeDoesNotCallALeaseLostBecauseOfNodesThatWereNotAsked) {
  make(3);
  const lock_name a = "a";
  const std::vector<renewal> items = {test::renewing(a, fresh_owner(), fence_token(1))};
  std::string said;
  all_->renew(items, [&](const std::vector<answer>& answers) { said = shown(answers.at(0)); });
  const std::vector<answer> by_node = {refused{error(errc::lost)}, refused{error(errc::unreachable)}, done{}};
  for (std::size_t node = 0; node < 3; ++node) {
    nodes_[node]->answer(nodes_[node]->calls(store_call::kind::renew).at(0).index,
                         std::vector{by_node[node]});
  }
  env_->run_all();
  EXPECT_EQ(said, "refused: unreachable") << "the next renewal may succeed";
}

// One that is dead says so first: then too few seem to be left, and yet the others know that it is gone.
TEST_F(QuorumOf, FiveCallsALeaseLostThoughOneWasNotAsked) {
  make(5);
  const lock_name a = "a";
  const std::vector<renewal> items = {test::renewing(a, fresh_owner(), fence_token(1))};
  std::string said;
  all_->renew(items, [&](const std::vector<answer>& answers) { said = shown(answers.at(0)); });
  const auto say = [&](std::size_t node, answer what) {
    nodes_[node]->answer(nodes_[node]->calls(store_call::kind::renew).at(0).index,
                         std::vector{std::move(what)});
    env_->run_all();
  };
  say(4, refused{error(errc::unreachable)});
  say(0, refused{error(errc::lost)});
  say(1, refused{error(errc::lost)});
  EXPECT_EQ(said, "") << "the others may still know that it is gone";
  say(2, refused{error(errc::lost)});
  EXPECT_EQ(said, "refused: lost");
}

// A dead holder's vote is removed on one server; another that hangs must not keep anybody from the lock.
TEST_F(QuorumOf, FiveHasEvictedWhenThatIsCertainThoughOneIsSilent) {
  make(5);
  std::string said;
  const hold_version version{fresh_owner(), 7, 1};
  all_->evict("lock", version, [&](const answer& a) { said = shown(a); });
  const auto say = [&](std::size_t node, answer what) {
    nodes_[node]->answer(nodes_[node]->calls(store_call::kind::evict).at(0).index, std::move(what));
    env_->run_all();
  };
  say(0, refused{error(errc::not_held)});
  say(1, refused{error(errc::not_held)});
  say(2, refused{error(errc::not_held)});
  EXPECT_EQ(said, "");
  say(3, done{});
  EXPECT_EQ(said, "done");
}

TEST_F(QuorumOf, FiveWaitsForThoseWhoAreSilentOnlyForAMomentWhenItIsToEnd) {
  make(5);
  const release_request request{"lock", fresh_owner()};
  all_->release(request, [](const answer&) {});
  for (std::size_t node = 0; node < 4; ++node) {
    nodes_[node]->answer(0, answer(done{}));
  }
  env_->run_all();
  bool settled = false;
  all_->settle([&] { settled = true; });
  EXPECT_FALSE(settled) << "what was not sent yet may still be";
  env_->advance(200ms);
  EXPECT_TRUE(settled);
}

TEST_F(QuorumOf, FiveWaitsForAllThatAnswerWhenItIsToEnd) {
  make(5);
  ask();
  for (std::size_t node = 0; node < 5; ++node) {
    say(node, grant{});
  }
  const release_request request{"lock", request_.owner};
  all_->release(request, [](const answer&) {});
  bool settled = false;
  all_->settle([&] { settled = true; });
  for (std::size_t node = 0; node < 5; ++node) {
    env_->advance(100ms);
    EXPECT_FALSE(settled) << "server " << node << " may have to be sent more";
    nodes_[node]->answer(nodes_[node]->calls(store_call::kind::release).at(0).index, answer(done{}));
    env_->run_all();
  }
  EXPECT_TRUE(settled);
}

TEST(QuorumReasons, AreSaidOnceWithAllTheServersThatGiveThem) {
  const auto said = [](const std::vector<std::string>& details) {
    std::vector<error> reasons;
    for (const std::string& d : details) {
      reasons.emplace_back(errc::unreachable, d);
    }
    return detail::merged(errc::unreachable, reasons).detail();
  };
  EXPECT_EQ(said({"a:1: refused", "b:2 is silent", "c:3: refused", "d:4: refused"}),
            "a:1, c:3 and d:4: refused; b:2 is silent");
  EXPECT_EQ(said({"a:1 is silent", "a:1 is silent", ""}), "a:1 is silent");
  EXPECT_EQ(said({"away", "gone", "away"}), "away; gone");
  EXPECT_EQ(said({}), "");
}

TEST_F(QuorumOf, ThreeReleasesWithTwo) {
  make(3);
  const release_request request{"lock", fresh_owner()};
  std::string said;
  all_->release(request, [&](const answer& a) { said = shown(a); });
  nodes_[0]->answer(0, answer(done{}));
  nodes_[1]->answer(0, answer(unknown{error(errc::outcome_unknown)}));
  env_->run_all();
  EXPECT_EQ(said, "");
  nodes_[2]->answer(0, answer(done{}));
  env_->run_all();
  EXPECT_EQ(said, "done");
}

}  // namespace
}  // namespace cremone
