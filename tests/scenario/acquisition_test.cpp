// SPDX-License-Identifier: Apache-2.0
//
// How an acquire travels: what is sent under which owner id, what the caller hears and when, and what is cleaned up
// behind it. When to try, sleep or give up is core's decision, tested there.
#include "core/validity.hpp"
#include "scenario/engine_rig.hpp"

#include <gmock/gmock.h>

#include <set>

namespace cremone::test {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

const acquire_answer no_idea = unknown{error(errc::outcome_unknown)};

grant granted(std::uint64_t token) { return {.token = fence_token(token), .ticket = token}; }

class Acquisition : public engine_rig {
 protected:
  /// An acquire that the store has not answered.
  std::shared_ptr<asked> unanswered(const acquire_options& options = {}) {
    stop_answering(kind::acquire);
    auto a = ask("ledger", options);
    EXPECT_FALSE(a->answered());
    return a;
  }

  /// The caller heard `code` and nothing else; what was asked for is withdrawn, behind the request.
  void expect_withdrawn(const asked& a, errc code) {
    ASSERT_EQ(a.answers.size(), 1U);
    EXPECT_EQ(a.code(), code);
    const auto calls = store_->calls();
    ASSERT_EQ(calls.size(), 2U);
    EXPECT_EQ(calls[0].what, kind::acquire);
    EXPECT_EQ(calls[1].what, kind::release);
    EXPECT_EQ(calls[1].owner, calls[0].owner);
    EXPECT_EQ(calls[1].name, calls[0].name);
  }

  /// A grant that comes when the caller has gone is nobody's.
  void expect_late_grant_ignored(const asked& a) {
    answer<acquire_answer>(store_->calls(kind::acquire).front(), granted(7));
    env_->advance(1min);
    EXPECT_EQ(a.answers.size(), 1U);
    EXPECT_EQ(count(kind::renew), 0U);
    EXPECT_EQ(count(kind::acquire), 1U);
  }
};

TEST_F(Acquisition, HasAFreshOwnerIdEachTime) {
  std::set<owner_id> owners;
  for (int i = 0; i < 100; ++i) {
    const auto held = take("ledger");
    owners.insert(last(kind::acquire).owner);
  }
  EXPECT_EQ(owners.size(), 100U);
}

TEST_F(Acquisition, SaysWhoAsksAndForWhat) {
  const auto held = take("ledger", {.ttl = 7s, .label = "report of the 14th"});
  const auto sent = last(kind::acquire).request;
  EXPECT_EQ(sent.name, lock_name("ledger"));
  EXPECT_EQ(sent.ttl, 7s);
  EXPECT_EQ(sent.mode, mode::exclusive);
  EXPECT_EQ(sent.who.label, "report of the 14th");
  EXPECT_EQ(sent.who.pid, ::getpid());
  EXPECT_EQ(sent.who.since, env_->wall_now());
  EXPECT_TRUE(sent.join);
}

TEST_F(Acquisition, WithoutWaitingDoesNotJoinTheQueue) {
  stop_answering(kind::acquire);
  const auto a = ask("ledger", {.wait = no_wait});
  EXPECT_FALSE(last(kind::acquire).request.join);
  answer<acquire_answer>(last(kind::acquire), rejection{});
  EXPECT_EQ(a->code(), errc::busy);
  EXPECT_EQ(count(kind::release), 0U) << "nothing to withdraw";
}

TEST_F(Acquisition, CancelledGetsItsAnswerAtOnceAndWithdraws) {
  const auto a = unanswered();
  a->op->cancel(error(errc::cancelled, "by the test"));
  expect_withdrawn(*a, errc::cancelled);
  expect_late_grant_ignored(*a);
}

TEST_F(Acquisition, TimedOutGetsItsAnswerInTimeAndWithdraws) {
  const auto a = unanswered({.wait = 2s});
  env_->advance(1'999ms);
  EXPECT_FALSE(a->answered());
  env_->advance(1ms);
  expect_withdrawn(*a, errc::timed_out);
  expect_late_grant_ignored(*a);
}

TEST_F(Acquisition, CancelledTwiceIsAnsweredOnce) {
  const auto a = unanswered();
  a->op->cancel(error(errc::cancelled));
  a->op->cancel(error(errc::cancelled));
  expect_withdrawn(*a, errc::cancelled);
}

TEST_F(Acquisition, CancelledAfterTheGrantChangesNothing) {
  const auto a = ask("ledger");
  a->op->cancel(error(errc::cancelled));
  ASSERT_EQ(a->answers.size(), 1U);
  EXPECT_TRUE(a->answers.front()->held());
  EXPECT_EQ(count(kind::release), 0U);
}

TEST_F(Acquisition, WithAnUnknownOutcomeAsksAgainUnderTheSameOwnerId) {
  const auto a = unanswered({.ttl = 10s});
  const auto first = last(kind::acquire);
  env_->advance(1s);
  answer(first, no_idea);
  env_->advance(2s);
  ASSERT_EQ(count(kind::acquire), 2U);
  const auto second = last(kind::acquire);
  EXPECT_EQ(second.owner, first.owner);

  answer<acquire_answer>(second, grant{.token = fence_token(3), .ticket = 0, .repeated = true});
  ASSERT_TRUE(a->answered());
  EXPECT_EQ(a->answers.front()->token(), fence_token(3));
  EXPECT_EQ(a->answers.front()->deadline(), core::valid_until(first.at, 10s, store_->describe().drift_ppm))
      << "the store has shown this hold since the first request";
}

TEST_F(Acquisition, GrantedTooLateIsWithdrawnAndAskedForUnderANewOwnerId) {
  const auto a = unanswered({.ttl = 1s});
  const auto first = last(kind::acquire);
  env_->advance(1s);
  answer<acquire_answer>(first, granted(3));
  EXPECT_FALSE(a->answered());
  EXPECT_EQ(last(kind::release).owner, first.owner);
  ASSERT_EQ(count(kind::acquire), 2U);
  const auto second = last(kind::acquire);
  EXPECT_NE(second.owner, first.owner);
  EXPECT_LT(last(kind::release).index, second.index);

  answer<acquire_answer>(second, granted(4));
  ASSERT_TRUE(a->answered());
  EXPECT_EQ(a->answers.front()->token(), fence_token(4));
}

TEST_F(Acquisition, WithoutWaitingEndsThoughEachGrantComesTooLate) {
  stop_answering(kind::acquire);
  const auto a = ask("ledger", {.ttl = 100ms, .wait = no_wait});
  for (std::uint64_t i = 1; i < 20 && !a->answered(); ++i) {  // a store that is slower than the ttl
    env_->advance(200ms);
    answer<acquire_answer>(last(kind::acquire), granted(i));
  }
  EXPECT_TRUE(a->answered()) << "one try became " << count(kind::acquire);
}

TEST_F(Acquisition, IsWokenByAHintWithoutTimePassing) {
  stop_answering(kind::acquire);
  const auto a = ask("ledger");
  rejection no;
  no.place = 0;
  answer<acquire_answer>(last(kind::acquire), no);
  ASSERT_EQ(count(kind::acquire), 1U);

  const auto wake = last(kind::acquire).request.wake.lock();
  ASSERT_TRUE(wake);
  store_->follow(script::yes());
  wake->hint();
  env_->run_all();
  EXPECT_EQ(env_->now(), first_instant);
  ASSERT_TRUE(a->answered());
  EXPECT_TRUE(a->answers.front()->held());
}

TEST_F(Acquisition, RemembersAHintThatOvertookTheAnswer) {
  const auto a = unanswered();
  last(kind::acquire).request.wake.lock()->hint();
  EXPECT_EQ(count(kind::acquire), 1U) << "one request at a time";
  rejection no;
  no.place = 0;
  answer<acquire_answer>(last(kind::acquire), no);
  EXPECT_EQ(count(kind::acquire), 2U);
  EXPECT_EQ(env_->now(), first_instant);
}

TEST_F(Acquisition, IsReachedByNoHintOnceItIsOver) {
  const auto a = unanswered();
  const auto wake = last(kind::acquire).request.wake;
  a->op->cancel(error(errc::cancelled));
  a->op.reset();
  if (const auto still_there = wake.lock()) {
    still_there->hint();
  }
  env_->advance(1min);
  EXPECT_EQ(count(kind::acquire), 1U);
  EXPECT_EQ(a->answers.size(), 1U);
}

TEST_F(Acquisition, ThatFailsNamesTheLockTheStoreAndTheHolder) {
  stop_answering(kind::acquire);
  const auto a = ask("ledger", {.wait = no_wait});
  rejection no;
  no.holders.push_back({});
  no.holders.back().owner = {.host = "db7", .pid = 4711, .user = "ann", .label = "import", .since = {}};
  answer<acquire_answer>(last(kind::acquire), no);
  ASSERT_EQ(a->code(), errc::busy);
  const std::string text = a->answers.front().error().message();
  for (const char* part : {"ledger", "scripted://", "db7", "4711", "ann", "import"}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
}

TEST_F(Acquisition, OfAnInvalidNameAsksNoStore) {
  const auto a = ask("");
  EXPECT_EQ(a->code(), errc::invalid_argument);
  EXPECT_EQ(ask("ledger", {.ttl = 1h})->code(), errc::invalid_argument);
  EXPECT_EQ(ask("ledger", {.mode = mode::shared})->code(), errc::unsupported);
  EXPECT_TRUE(store_->calls().empty());
}

}  // namespace
}  // namespace cremone::test
