// SPDX-License-Identifier: Apache-2.0
//
// How a hold is given back: by its last handle, once, until the store has answered. What an answer means is core's
// decision, tested there.
#include "scenario/engine_rig.hpp"

namespace cremone::test {
namespace {

using namespace std::chrono_literals;

const cremone::answer no_idea = unknown{error(errc::outcome_unknown)};

class Release : public engine_rig {
 protected:
  using outcomes = std::vector<result<void>>;

  /// Gives a lease back as the async face does.
  std::shared_ptr<outcomes> give_back(lease held) {
    auto heard = std::make_shared<outcomes>();
    engine_->end_handle(detail::hold::take(held),
                        [heard](result<void> r) { heard->push_back(std::move(r)); });
    env_->run_all();
    return heard;
  }

  void answer_releases(const cremone::answer& a) {
    script s = script::yes();
    s.release = [a](const release_request&) { return a; };
    store_->follow(s);
  }
};

TEST_F(Release, IsSentOnceWithTheOwnerIdOfTheGrant) {
  const auto heard = give_back(take("ledger"));
  ASSERT_EQ(heard->size(), 1U);
  EXPECT_TRUE(heard->front().has_value());
  env_->advance(1min);
  ASSERT_EQ(count(kind::release), 1U);
  EXPECT_EQ(last(kind::release).owner, last(kind::acquire).owner);
  EXPECT_EQ(last(kind::release).name, lock_name("ledger"));
}

TEST_F(Release, IsRepeatedUntilTheStoreAnswers) {
  auto held = take("ledger", {.ttl = 10s});
  answer_releases(no_idea);
  const auto heard = give_back(std::move(held));
  env_->advance(3s);
  EXPECT_GE(count(kind::release), 4U);
  EXPECT_TRUE(heard->empty());

  answer_releases(done{});
  env_->advance(2s);
  ASSERT_EQ(heard->size(), 1U);
  EXPECT_TRUE(heard->front().has_value());
  const std::size_t sent = count(kind::release);
  env_->advance(1min);
  EXPECT_EQ(count(kind::release), sent);
}

TEST_F(Release, OnceInDoubtTakesNotHeldForAYes) {
  auto held = take("ledger");
  answer_releases(no_idea);
  const auto heard = give_back(std::move(held));
  answer_releases(refused{error(errc::not_held)});
  env_->advance(1s);
  ASSERT_EQ(heard->size(), 1U);
  EXPECT_TRUE(heard->front().has_value());
}

TEST_F(Release, OfAHoldThatTheStoreGaveAwayIsLost) {
  auto held = take("ledger");
  answer_releases(refused{error(errc::not_held)});
  const auto heard = give_back(std::move(held));
  ASSERT_EQ(heard->size(), 1U);
  EXPECT_EQ(heard->front().error(), errc::lost);
}

TEST_F(Release, IsGivenUpWhenTheHoldIsOverAnyway) {
  auto held = take("ledger", {.ttl = 10s});
  answer_releases(no_idea);
  const auto heard = give_back(std::move(held));
  env_->advance(12s);
  ASSERT_EQ(heard->size(), 1U);
  EXPECT_EQ(heard->front().error(), errc::outcome_unknown);
  const std::size_t sent = count(kind::release);
  env_->advance(1min);
  EXPECT_EQ(count(kind::release), sent);
}

TEST_F(Release, ComesWithTheLastHandle) {
  auto first = take("ledger");
  auto second = first.reenter().value();
  EXPECT_EQ(second.token(), first.token());
  EXPECT_EQ(second.owner(), first.owner());
  EXPECT_EQ(count(kind::acquire), 1U) << "re-entry costs no round trip";

  const auto heard = give_back(std::move(first));
  EXPECT_TRUE(heard->at(0).has_value());
  EXPECT_EQ(count(kind::release), 0U);
  EXPECT_TRUE(second.held());
  second = {};
  env_->run_all();
  EXPECT_EQ(count(kind::release), 1U);
}

TEST_F(Release, OfALostLeaseClearsTheStoreAndSaysLost) {
  auto held = take("ledger", {.ttl = 10s});
  auto other = held.reenter().value();
  env_->pause(1min);
  EXPECT_EQ(give_back(std::move(other))->at(0).error(), errc::lost);
  EXPECT_EQ(count(kind::release), 0U);
  EXPECT_EQ(give_back(std::move(held))->at(0).error(), errc::lost);
  EXPECT_EQ(count(kind::release), 1U);
}

TEST_F(Release, OfALeaseThatRanOutUnnoticedSaysLost) {
  auto held = take("ledger", {.ttl = 10s});
  const loss_log loss(held);
  std::shared_ptr<outcomes> heard;
  env_->post([&] { heard = give_back(std::move(held)); });  // before any timer can tell
  env_->pause(1min);
  EXPECT_EQ(heard->at(0).error(), errc::lost);
  EXPECT_EQ(loss.times(), 1U);
}

TEST_F(Release, ThatFallsAsleepWhileTheClientClosesIsStillAnswered) {
  auto held = take("ledger");
  answer_releases(no_idea);
  env_->on_make_timer([this] { engine_->close(); });
  const auto heard = give_back(std::move(held));
  ASSERT_EQ(heard->size(), 1U);
  EXPECT_EQ(heard->front().error(), errc::outcome_unknown);
}

}  // namespace
}  // namespace cremone::test
