// SPDX-License-Identifier: Apache-2.0
//
// How a server that has forgotten votes again: whom it is that the others are asked, when, and what is done with what they say or do not
// say. The nodes say what the test tells them to.
#include "core/observation.hpp"
#include "core/validity.hpp"
#include "engine/lookout.hpp"
#include "engine/quorum/quorum.hpp"
#include "engine/warden.hpp"
#include "scenario/forwarding_backend.hpp"
#include "support/manual_env.hpp"
#include "support/scripted_backend.hpp"
#include "support/seam_words.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace cremone::test {
namespace {

using namespace std::chrono_literals;

constexpr std::chrono::milliseconds longest_ttl{20s};
constexpr std::chrono::milliseconds quarantine_time{21s};

/// One that votes, and may have forgotten.
class voting_node final : public forwarding_backend {
 public:
  explicit voting_node(const std::shared_ptr<env>& e)
      : forwarding_backend(std::make_shared<scripted_backend>(e, voting())) {}

  void floor(callback<void(result<token_floor>)> reply) override {
    ++asked;
    reply(knows ? result<token_floor>(token_floor{fence_token(*knows), forgetful})
                : result<token_floor>(error(errc::unreachable, "away")));
  }
  void admit(const admission& order, callback<void(answer)> reply) override {
    admissions.push_back(order);
    reply(done{});
  }
  void quarantine(callback<void(result<std::vector<quarantine_state>>)> reply) override {
    quarantine_state s;
    s.quarantined = forgetful;
    if (forgetful) {
      s.version = version;
      s.length = quarantine_time;
    }
    reply(std::vector{s});
  }

  std::optional<std::uint64_t> knows = 0;  ///< the highest number; empty: it does not answer
  bool forgetful = false;
  hold_version version{fresh_owner(), 0};
  int asked = 0;  ///< what it knows
  std::vector<admission> admissions;

 private:
  static traits voting() {
    traits t = network_traits();
    t.quarantines = true;
    t.max_ttl = longest_ttl;
    return t;
  }
};

/// The first of them has forgotten.
class Readmission : public ::testing::Test {
 protected:
  void make(std::size_t count, bool strict = false) {
    std::vector<std::shared_ptr<backend>> nodes;
    for (std::size_t i = 0; i < count; ++i) {
      nodes_.push_back(std::make_shared<voting_node>(env_));
      nodes.push_back(nodes_.back());
    }
    nodes_[0]->forgetful = true;
    all_ = std::make_shared<detail::quorum>(
        env_, std::move(nodes), detail::quorum_options{.store = "redlock://test", .strict = strict});
  }

  void look() {
    all_->quarantine([](const result<std::vector<quarantine_state>>&) {});
    env_->run_all();
  }

  /// Somebody has watched it to the end.
  std::string over() {
    std::string said;
    all_->evict(core::quarantine_name(), first().version, [&](const answer& a) { said = shown(a); });
    env_->run_all();
    return said;
  }

  [[nodiscard]] voting_node& first() { return *nodes_[0]; }
  [[nodiscard]] std::uint64_t clock() const {
    return static_cast<std::uint64_t>(env_->wall_now().time_since_epoch().count());
  }

  const std::shared_ptr<manual_env> env_ = std::make_shared<manual_env>();
  std::vector<std::shared_ptr<voting_node>> nodes_;
  std::shared_ptr<detail::quorum> all_;
};

TEST_F(Readmission, TakesTheHighestNumberThatTheOthersKnowForItsFloor) {
  make(3);
  nodes_[1]->knows = 70;
  nodes_[2]->knows = 90;
  look();
  EXPECT_EQ(over(), "done");
  ASSERT_EQ(first().admissions.size(), 1U);
  EXPECT_EQ(first().admissions[0].quarantine, first().version);
  EXPECT_EQ(first().admissions[0].floor, fence_token(90));
  EXPECT_FALSE(first().admissions[0].by_clock);
  EXPECT_EQ(first().asked, 0) << "what it says itself is worth nothing";
}

TEST_F(Readmission, DoesNotNeedAllOfTheOthersButAMajority) {
  make(5);
  nodes_[1]->knows = 50;
  nodes_[2]->knows = 60;
  nodes_[3]->knows = 55;
  nodes_[4]->knows.reset();
  look();
  EXPECT_EQ(over(), "done");
  ASSERT_EQ(first().admissions.size(), 1U);
  EXPECT_EQ(first().admissions[0].floor, fence_token(60));
  EXPECT_FALSE(first().admissions[0].by_clock);
}

/// The one may have missed the token that the first and the third have given.
TEST_F(Readmission, GoesByTheClockWhereOnlyOneOtherRemembers) {
  make(3);
  nodes_[1]->knows = 70;
  nodes_[2]->forgetful = true;
  look();
  EXPECT_EQ(over(), "done");
  ASSERT_EQ(first().admissions.size(), 1U);
  EXPECT_TRUE(first().admissions[0].by_clock);
  EXPECT_EQ(first().admissions[0].floor, fence_token(70)) << "the server adds both clocks";
}

TEST_F(Readmission, GoesByTheClockNoLowerThanWhatAnybodyRemembers) {
  make(3);
  nodes_[1]->knows = clock() + 60'000'000;
  nodes_[2]->forgetful = true;
  look();
  EXPECT_EQ(over(), "done");
  ASSERT_EQ(first().admissions.size(), 1U);
  EXPECT_EQ(first().admissions[0].floor, fence_token(*nodes_[1]->knows));
}

TEST_F(Readmission, WaitsForOneThatDoesNotAnswerAndMayRemember) {
  make(3);
  nodes_[1]->knows = 70;
  nodes_[2]->knows.reset();
  look();
  EXPECT_EQ(over(), "refused: quarantined");
  env_->advance(longest_ttl - 1ms);
  EXPECT_EQ(over(), "refused: quarantined");
  EXPECT_TRUE(first().admissions.empty());
  nodes_[2]->knows = 95;
  EXPECT_EQ(over(), "done");
  ASSERT_EQ(first().admissions.size(), 1U);
  EXPECT_EQ(first().admissions[0].floor, fence_token(95));
  EXPECT_FALSE(first().admissions[0].by_clock);
}

TEST_F(Readmission, DoesNotWaitForEverForOneThatIsGone) {
  make(3);
  nodes_[2]->knows.reset();
  look();
  EXPECT_EQ(over(), "refused: quarantined");
  env_->advance(longest_ttl);
  EXPECT_EQ(over(), "done");
  ASSERT_EQ(first().admissions.size(), 1U);
  EXPECT_TRUE(first().admissions[0].by_clock);

  first().version = {fresh_owner(), 0};  // it forgets once more, and the waiting begins anew
  look();
  EXPECT_EQ(over(), "refused: quarantined");
}

TEST_F(Readmission, DoesNotWaitForThoseWhoCouldNotMakeAMajority) {
  make(5);
  nodes_[1]->knows = 70;
  nodes_[2]->knows.reset();
  nodes_[3]->forgetful = true;
  nodes_[4]->forgetful = true;
  look();
  EXPECT_EQ(over(), "done");
  ASSERT_EQ(first().admissions.size(), 1U);
  EXPECT_TRUE(first().admissions[0].by_clock);
}

TEST_F(Readmission, LeavesItToAPersonWhereThatIsAskedFor) {
  make(3, true);
  nodes_[1]->knows = 70;
  for (const bool forgetful : {true, false}) {
    nodes_[2]->forgetful = forgetful;
    nodes_[2]->knows = forgetful ? std::optional<std::uint64_t>(80) : std::nullopt;
    look();
    EXPECT_EQ(over(), "refused: quarantined");
    env_->advance(10 * longest_ttl);
    EXPECT_EQ(over(), "refused: quarantined");
  }
  EXPECT_TRUE(first().admissions.empty());
  nodes_[2]->knows = 80;
  EXPECT_EQ(over(), "done") << "a majority of others remembers: nobody needs to be asked";
  EXPECT_FALSE(first().admissions.at(0).by_clock);
}

TEST_F(Readmission, ByAPersonIsForAllAndGoesByAllThatIsKnown) {
  make(3, true);
  nodes_[1]->forgetful = true;
  nodes_[2]->knows = clock() + 60'000'000;
  std::string said;
  all_->end_quarantine([&](const answer& a) { said = shown(a); });
  env_->run_all();
  EXPECT_EQ(said, "done");
  for (const auto& node : nodes_) {
    ASSERT_EQ(node->admissions.size(), 1U);
    EXPECT_EQ(node->admissions[0].floor, fence_token(*nodes_[2]->knows));
    EXPECT_TRUE(node->admissions[0].by_clock);
  }
}

/// An acquisition that the first had voted for before it forgot may be decided while it is in quarantine. Who asks the others before that is
/// over does not hear of its token.
TEST_F(Readmission, AsksTheOthersWhenTheQuarantineIsOverAndNotWhenItIsSeen) {
  make(3);
  nodes_[1]->knows = 70;
  nodes_[2]->knows = 70;
  look();
  nodes_[1]->knows = 90;  // the second has voted for it too: it is a token now
  EXPECT_EQ(over(), "done");
  ASSERT_EQ(first().admissions.size(), 1U);
  EXPECT_EQ(first().admissions[0].floor, fence_token(90));
}

TEST_F(Readmission, IsAskedForByTheWardenWhenTheQuarantineIsOver) {
  make(3);
  detail::lookout known(all_->describe(), nullptr);
  const auto warden = std::make_shared<detail::warden>(*env_, *all_, known);
  const auto alive = std::make_shared<int>(0);
  nodes_[1]->knows = 70;
  nodes_[2]->knows = 70;
  warden->look(alive);
  env_->run_all();
  const auto silence = core::silence_of(quarantine_time, all_->describe().drift_ppm);
  env_->advance(silence - 1ms);
  EXPECT_EQ(nodes_[1]->asked, 0);
  EXPECT_EQ(nodes_[2]->asked, 0);
  nodes_[2]->knows = 90;
  env_->advance(detail::warden::pause);
  ASSERT_GE(first().admissions.size(), 1U);
  EXPECT_EQ(first().admissions[0].floor, fence_token(90));
}

}  // namespace
}  // namespace cremone::test
