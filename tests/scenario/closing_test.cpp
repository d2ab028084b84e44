// SPDX-License-Identifier: Apache-2.0
//
// What closing a client does to what is under way, step by step on virtual time. That it is bounded in real time is
// shown by test_shutdown.
#include "engine/engine.hpp"
#include "scenario/engine_rig.hpp"

#include <array>

namespace cremone::test {
namespace {

using namespace std::chrono_literals;

traits inline_traits() {
  traits t = network_traits();
  t.answers_inline = true;  // so that close() need not wait for answers that only the test can deliver
  return t;
}

class Closing : public engine_rig {
 protected:
  Closing() : engine_rig(inline_traits()) {}
};

TEST_F(Closing, EndsWaitingAcquiresWithCancelled) {
  script s = script::yes();
  s.acquire = [](const acquire_request&) { return acquire_answer(rejection{}); };
  store_->follow(s);
  const std::array waiting = {ask("ledger"), ask("ledger"), ask("ledger")};
  engine_->close();
  for (const auto& a : waiting) {
    ASSERT_EQ(a->answers.size(), 1U);
    EXPECT_EQ(a->code(), errc::cancelled);
  }
}

TEST_F(Closing, WithdrawsWaitersFromTheQueue) {
  rejection queued;
  queued.place = 3;
  script s = script::yes();
  s.acquire = [&](const acquire_request&) { return acquire_answer(queued); };
  store_->follow(s);
  const auto a = ask("ledger");
  engine_->close();
  ASSERT_EQ(count(kind::release), 1U);
  EXPECT_EQ(last(kind::release).owner, last(kind::acquire).owner);
}

TEST_F(Closing, ReleasesAllHoldsAndTellsTheirHolders) {
  auto leases = take_many(20);
  const loss_log loss(leases[7]);
  engine_->close();
  EXPECT_EQ(count(kind::release), 20U);
  EXPECT_TRUE(store_->closed());
  env_->run_all();
  EXPECT_EQ(loss.times(), 1U);
  EXPECT_TRUE(loss.stop.stop_requested());
  for (auto& l : leases) {
    EXPECT_FALSE(l.held());
    EXPECT_EQ(l.reenter().error(), errc::lost);
  }
  leases.clear();
  EXPECT_EQ(count(kind::release), 20U) << "once is enough";
}

TEST_F(Closing, RefusesLaterCalls) {
  engine_->close();
  const auto a = ask("ledger");
  EXPECT_EQ(a->code(), errc::cancelled);
  EXPECT_EQ(count(kind::acquire), 0U);
}

TEST_F(Closing, TwiceDoesNothingMore) {
  const auto leases = take_many(3);
  engine_->close();
  engine_->close();
  EXPECT_EQ(count(kind::release), 3U);
}

TEST_F(Closing, EndsRenewals) {
  auto held = take("ledger", {.ttl = 10s});
  engine_->close();
  env_->advance(1min);
  EXPECT_EQ(count(kind::renew), 0U);
}

/// A store at a network answers on the executor, also when it is closed.
class ClosingAtANetwork : public engine_rig {};

TEST_F(ClosingAtANetwork, AnswersAReleaseThatTheStoreDidNotAnswer) {
  auto held = take("ledger");
  stop_answering(kind::release);
  std::vector<result<void>> heard;
  engine_->end_handle(detail::hold::take(held), [&](result<void> r) { heard.push_back(std::move(r)); });
  engine_->close();
  env_->run_all();
  ASSERT_EQ(heard.size(), 1U);
  EXPECT_EQ(heard.front().error(), errc::outcome_unknown);
}

TEST_F(ClosingAtANetwork, AnswersAnAcquireThatTheStoreDidNotAnswer) {
  stop_answering(kind::acquire);
  const auto a = ask("ledger");
  engine_->close();
  ASSERT_EQ(a->answers.size(), 1U);
  EXPECT_EQ(a->code(), errc::cancelled);
  EXPECT_EQ(last(kind::release).owner, last(kind::acquire).owner);
}

}  // namespace
}  // namespace cremone::test
