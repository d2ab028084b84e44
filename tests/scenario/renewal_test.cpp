// SPDX-License-Identifier: Apache-2.0
//
// How the leases of one client are kept alive: together, each for itself, and no longer than they live. When a
// lease is due or over is core's decision, tested there.
#include "core/validity.hpp"
#include "engine/keeper.hpp"
#include "scenario/engine_rig.hpp"

#include <gmock/gmock.h>

namespace cremone::test {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;

constexpr acquire_options ten_seconds{.ttl = 10s};
constexpr auto a_third = 3'400ms;  // renewals are due after ttl/3, or a little before

const cremone::answer no_idea = unknown{error(errc::outcome_unknown)};

class Renewal : public engine_rig {
 protected:
  /// The first renewal of `count` leases, not answered yet.
  std::vector<lease> renewing(int count) {
    auto leases = take_many(count, ten_seconds);
    stop_answering(kind::renew);
    env_->advance(a_third);
    return leases;
  }
};

TEST_F(Renewal, SendsAllDueLeasesInOneCall) {
  const auto leases = take_many(50, ten_seconds);
  env_->advance(a_third);
  ASSERT_EQ(count(kind::renew), 1U);
  EXPECT_EQ(last(kind::renew).items.size(), 50U);
}

TEST_F(Renewal, SendsAtMostAHundredLeasesInOneCall) {
  const auto leases = take_many(250, ten_seconds);
  env_->advance(a_third);
  std::vector<std::size_t> sizes;
  for (const auto& call : store_->calls(kind::renew)) {
    sizes.push_back(call.items.size());
  }
  EXPECT_THAT(sizes, ElementsAre(100, 100, 50));
  EXPECT_EQ(renewals_of("lock-0"), 1U);
  EXPECT_EQ(renewals_of("lock-249"), 1U);
}

TEST_F(Renewal, CarriesTheOwnerTheTokenTheTtlAndAGrowingNumber) {
  const auto held = take("ledger", ten_seconds);
  env_->advance(3 * a_third);
  const auto calls = store_->calls(kind::renew);
  ASSERT_GE(calls.size(), 3U);
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const auto& item = calls[i].items.front();
    EXPECT_EQ(item.owner, last(kind::acquire).owner);
    EXPECT_EQ(item.owner, held.owner());
    EXPECT_EQ(item.token, held.token());
    EXPECT_EQ(item.ttl, 10s);
    EXPECT_EQ(item.seq, i + 1);
  }
}

TEST_F(Renewal, KeepsALeaseForAsLongAsTheStoreAnswers) {
  const auto held = take("ledger", ten_seconds);
  for (int hours = 0; hours < 3; ++hours) {
    env_->advance(1h);
    EXPECT_TRUE(held.held());
  }
}

TEST_F(Renewal, CountsTheValidityFromTheMomentOfSending) {
  const auto leases = renewing(1);
  const auto call = last(kind::renew);
  env_->advance(2s);
  answer(call, std::vector<cremone::answer>{done{}});
  EXPECT_EQ(leases[0].deadline(), core::valid_until(call.at, 10s, store_->describe().drift_ppm));
}

TEST_F(Renewal, OfOneLeaseWithoutAnAnswerDelaysNoOther) {
  const auto leases = renewing(3);
  answer(last(kind::renew), std::vector<cremone::answer>{done{}, no_idea, done{}});
  store_->follow(script::yes());

  env_->advance(1s);
  EXPECT_EQ(renewals_of("lock-0"), 1U);
  EXPECT_EQ(renewals_of("lock-1"), 2U) << "it is tried again soon";
  env_->advance(a_third);
  EXPECT_EQ(renewals_of("lock-0"), 2U);
  EXPECT_EQ(renewals_of("lock-2"), 2U);
  env_->advance(1min);
  for (const lease& l : leases) {
    EXPECT_TRUE(l.held());
  }
}

TEST_F(Renewal, ThatIsRefusedLosesThatLeaseOnly) {
  auto leases = renewing(3);
  const loss_log loss(leases[1]);
  answer(last(kind::renew),
         std::vector<cremone::answer>{done{}, refused{error(errc::lost, "evicted by host b")}, done{}});
  store_->follow(script::yes());

  EXPECT_FALSE(leases[1].held());
  EXPECT_TRUE(loss.stop.stop_requested());
  ASSERT_EQ(loss.times(), 1U);
  EXPECT_EQ(loss.heard->front(), errc::lost);
  EXPECT_THAT(loss.heard->front().message(), ::testing::HasSubstr("evicted by host b"));

  env_->advance(1min);
  EXPECT_TRUE(leases[0].held());
  EXPECT_TRUE(leases[2].held());
  EXPECT_EQ(renewals_of("lock-1"), 1U);
}

TEST_F(Renewal, OfABatchThatIsNeverAnsweredStopsNoOtherBatch) {
  auto leases = renewing(150);
  const auto calls = store_->calls(kind::renew);
  ASSERT_EQ(calls.size(), 2U);
  const loss_log loss(leases[0]);
  answer(calls[1], std::vector<cremone::answer>(50, done{}));
  store_->follow(script::yes());

  env_->advance(1min);
  for (const auto& item : calls[1].items) {
    EXPECT_GE(renewals_of(item.name), 18U) << item.name.str();
  }
  for (std::size_t i = 0; i < leases.size(); ++i) {
    EXPECT_EQ(leases[i].held(), i >= detail::keeper::batch_limit) << leases[i].name().str();
  }
  EXPECT_EQ(loss.times(), 1U);
}

TEST_F(Renewal, ThatFailedIsRetriedInTimeAndSavesTheLease) {
  for (const cremone::answer& failure : {no_idea, cremone::answer(refused{error(errc::unreachable)})}) {
    auto held = take("ledger", ten_seconds);
    const loss_log loss(held);
    const std::size_t before = renewals_of("ledger");
    script failing = script::yes();
    failing.renew = [&](auto items) { return std::vector<cremone::answer>(items.size(), failure); };
    store_->follow(failing);
    env_->advance(9s);  // all but the last second of the validity
    EXPECT_GE(renewals_of("ledger"), before + 3);

    store_->follow(script::yes());
    env_->advance(1min);
    EXPECT_TRUE(held.held());
    EXPECT_EQ(loss.times(), 0U);
  }
}

TEST_F(Renewal, ThatFailsToTheEndSaysWhy) {
  auto held = take("ledger", ten_seconds);
  const loss_log loss(held);
  script failing = script::yes();
  failing.renew = [&](auto items) {
    return std::vector<cremone::answer>(items.size(),
                                        refused{error(errc::access_denied, "host b denies it")});
  };
  store_->follow(failing);
  env_->advance(10s);
  ASSERT_EQ(loss.times(), 1U);
  EXPECT_THAT(loss.heard->front().message(), ::testing::HasSubstr("ran out"));
  EXPECT_THAT(loss.heard->front().message(), ::testing::HasSubstr("host b denies it"));
}

TEST_F(Renewal, AnsweredAfterTheEndDoesNotReviveTheLease) {
  auto leases = renewing(1);
  const loss_log loss(leases[0]);
  env_->advance(10s);
  ASSERT_EQ(loss.times(), 1U);

  answer(last(kind::renew), std::vector<cremone::answer>{done{}});
  EXPECT_FALSE(leases[0].held());
  EXPECT_EQ(leases[0].deadline(), instant::min());
  EXPECT_EQ(leases[0].reenter().error(), errc::lost);
  env_->advance(1min);
  EXPECT_FALSE(leases[0].held());
  EXPECT_EQ(loss.times(), 1U);
  EXPECT_EQ(renewals_of("lock-0"), 1U);
}

TEST_F(Renewal, AnsweredAfterAPausePastTheEndIsALoss) {
  auto leases = renewing(1);
  const loss_log loss(leases[0]);
  store_->answer(last(kind::renew).index,
                 std::vector<cremone::answer>{done{}});  // lies in the socket's buffer
  env_->pause(5min);
  EXPECT_FALSE(leases[0].held());
  EXPECT_TRUE(loss.stop.stop_requested());
  EXPECT_EQ(loss.times(), 1U);
}

TEST_F(Renewal, EndsWithTheUnlockThoughOneIsInFlight) {
  auto leases = renewing(1);
  const loss_log loss(leases[0]);
  const auto in_flight = last(kind::renew);
  leases.clear();
  env_->run_all();
  EXPECT_EQ(count(kind::release), 1U);

  answer(in_flight, std::vector<cremone::answer>{no_idea});
  env_->advance(1min);
  EXPECT_EQ(count(kind::renew), 1U);
  EXPECT_EQ(loss.times(), 0U) << "what was given back is not lost";
  EXPECT_FALSE(loss.stop.stop_requested());
}

TEST_F(Renewal, WithoutAnyAnswerTheClockFindsTheLossBeforeTheTtlIsOver) {
  stop_answering(kind::renew);
  auto held = take("ledger", ten_seconds);
  const loss_log loss(held);
  const instant granted = last(kind::acquire).at;

  env_->advance(9'900ms);
  EXPECT_TRUE(held.held());
  EXPECT_EQ(loss.times(), 0U);
  env_->advance(granted + 10s - 1ms - env_->now());
  EXPECT_TRUE(loss.stop.stop_requested());
  EXPECT_EQ(loss.times(), 1U);
  EXPECT_FALSE(held.held());
  EXPECT_EQ(held.remaining(), 0ns);
}

TEST_F(Renewal, IsNeverSentForALeaseThatIsLost) {
  stop_answering(kind::renew);
  auto held = take("ledger", ten_seconds);
  env_->advance(10s);
  const std::size_t sent = count(kind::renew);
  store_->follow(script::yes());
  env_->advance(5min);
  EXPECT_EQ(count(kind::renew), sent);
  EXPECT_FALSE(held.held());
}

TEST_F(Renewal, IsNotSentAfterAPauseThatOutlastedTheLease) {
  auto held = take("ledger", ten_seconds);
  const loss_log loss(held);
  env_->pause(5min);
  EXPECT_TRUE(loss.stop.stop_requested());
  EXPECT_EQ(loss.times(), 1U);
  EXPECT_EQ(count(kind::renew), 0U);
  env_->advance(5min);
  EXPECT_EQ(count(kind::renew), 0U);
  EXPECT_EQ(loss.times(), 1U);
}

TEST_F(Renewal, AfterAPauseKeepsThoseThatAreStillValid) {
  auto lives_on = take("long", {.ttl = 60s});
  auto over = take("short", {.ttl = 1s});
  const loss_log loss(over);
  env_->pause(30s);
  EXPECT_EQ(loss.times(), 1U);
  EXPECT_EQ(renewals_of("short"), 0U);
  EXPECT_EQ(renewals_of("long"), 1U);
  EXPECT_TRUE(lives_on.held());
}

TEST_F(Renewal, LossIsFoundByTheFirstQuestionAfterAPause) {
  auto held = take("ledger", ten_seconds);
  const loss_log loss(held);
  bool asked_first = false;
  env_->post([&] {  // runs before any timer
    EXPECT_FALSE(held.held());
    EXPECT_EQ(held.reenter().error(), errc::lost);
    asked_first = true;
  });
  env_->pause(5min);
  EXPECT_TRUE(asked_first);
  EXPECT_EQ(loss.times(), 1U);
  EXPECT_TRUE(loss.stop.stop_requested());
}

TEST_F(Renewal, EndsAtMaxHoldThoughTheStoreAnswers) {
  auto held = take("ledger", {.ttl = 10s, .max_hold = 2min});
  const loss_log loss(held);
  const instant granted = last(kind::acquire).at;
  env_->advance(2min - 1ms);
  EXPECT_TRUE(held.held());
  EXPECT_EQ(held.deadline(), granted + 2min);
  EXPECT_GE(count(kind::renew), 30U);

  env_->advance(1ms);
  EXPECT_FALSE(held.held());
  EXPECT_TRUE(loss.stop.stop_requested());
  ASSERT_EQ(loss.times(), 1U);
  EXPECT_EQ(loss.heard->front(), errc::lost);
  EXPECT_EQ(loss.heard->front().detail(), "lock 'ledger' was held for its max_hold of 120 s");
  const std::size_t sent = count(kind::renew);
  env_->advance(1min);
  EXPECT_EQ(count(kind::renew), sent);
  EXPECT_EQ(count(kind::release), 0U) << "its holder may still be acting";
  EXPECT_EQ(held.release().error(), errc::lost);
  env_->run_all();
  EXPECT_EQ(count(kind::release), 1U);
}

TEST_F(Renewal, IsNotSentWhenMaxHoldEndsTheLeaseAnyway) {
  auto held = take("ledger", {.ttl = 10s, .max_hold = 5s});
  const loss_log loss(held);
  env_->advance(5s);
  EXPECT_EQ(count(kind::renew), 0U);
  ASSERT_EQ(loss.times(), 1U);
  EXPECT_EQ(loss.heard->front().detail(), "lock 'ledger' was held for its max_hold of 5 s");
}

TEST_F(Renewal, OfAReenteredLeaseEndsAtTheMaxHoldOfTheFirst) {
  auto held = take("ledger", {.ttl = 10s, .max_hold = 30s});
  env_->advance(20s);
  auto again = held.reenter().value();
  EXPECT_EQ(again.deadline(), held.deadline());
  held = lease();
  env_->advance(10s);
  EXPECT_FALSE(again.held());
  EXPECT_EQ(again.reenter().error(), errc::lost);
}

TEST_F(Renewal, ThatFailedBeforeMaxHoldIsToldAsWhatItIs) {
  stop_answering(kind::renew);
  auto held = take("ledger", {.ttl = 10s, .max_hold = 1min});
  const loss_log loss(held);
  env_->advance(10s);
  ASSERT_EQ(loss.times(), 1U);
  EXPECT_THAT(loss.heard->front().detail(), ::testing::HasSubstr("no renewal succeeded"));
}

TEST_F(Renewal, LossIsToldToOneWhoAsksLater) {
  auto held = take("ledger", ten_seconds);
  env_->pause(5min);
  const loss_log late(held);
  EXPECT_TRUE(late.stop.stop_requested());
  EXPECT_EQ(late.times(), 0U) << "never inside the call";
  env_->run_all();
  EXPECT_EQ(late.times(), 1U);
}

TEST_F(Renewal, LossNamesTheStoreAndItsSilence) {
  auto leases = renewing(1);
  const loss_log loss(leases[0]);
  env_->advance(4s);
  const auto renewal = leases[0].last_renewal();
  ASSERT_FALSE(renewal);
  EXPECT_THAT(renewal.error().detail(),
              ::testing::MatchesRegex("scripted://.* has been silent for 7\\.[0-9] s.*"));
  env_->advance(10s);
  ASSERT_EQ(loss.times(), 1U);
  EXPECT_THAT(loss.heard->front().message(),
              ::testing::ContainsRegex("its ttl of 10 s; scripted://.* has been silent for 9\\.9 s"));
  EXPECT_EQ(leases[0].last_renewal().error().message(), loss.heard->front().message());
}

TEST_F(Renewal, SilenceCountsFromTheLastAnswerAndNamesTheReason) {
  const auto leases = renewing(1);
  answer(last(kind::renew), std::vector<cremone::answer>{done{}});
  EXPECT_TRUE(leases[0].last_renewal());
  env_->advance(a_third);
  answer(last(kind::renew), std::vector<cremone::answer>{unknown{error(errc::unreachable, "reset by peer")}});
  const auto renewal = leases[0].last_renewal();
  ASSERT_FALSE(renewal);
  EXPECT_EQ(renewal.error(), errc::unreachable);
  EXPECT_THAT(renewal.error().detail(),
              ::testing::ContainsRegex("silent for 3\\.[0-9] s \\(reset by peer\\)"));
}

TEST_F(Renewal, LossAfterPauseBlamesTheProcess) {
  auto held = take("ledger", ten_seconds);
  const loss_log loss(held);
  env_->pause(5min);
  ASSERT_EQ(loss.times(), 1U);
  EXPECT_THAT(loss.heard->front().message(),
              ::testing::HasSubstr("this process sent no renewal to scripted://"));
}

TEST_F(Renewal, RefusalByTheStoreIsNotReportedAsSilence) {
  const auto leases = renewing(1);
  answer(last(kind::renew),
         std::vector<cremone::answer>{refused{error(errc::access_denied, "no permission")}});
  EXPECT_THAT(leases[0].last_renewal().error().detail(),
              ::testing::ContainsRegex("has refused to renew the lease \\(no permission\\)"));
}

TEST_F(Renewal, LastRenewalOfMovedFromLeaseIsNotHeld) {
  auto held = take("ledger", ten_seconds);
  EXPECT_TRUE(held.last_renewal());
  lease moved = std::move(held);
  EXPECT_EQ(held.last_renewal().error(), errc::not_held);  // NOLINT(bugprone-use-after-move)
}

TEST_F(Renewal, LastRenewalOfReleasedHandleIsNotHeld) {
  auto held = take("ledger", ten_seconds);
  const lease other = held.reenter().value();
  EXPECT_TRUE(held.release());
  EXPECT_EQ(held.last_renewal().error(), errc::not_held);
  EXPECT_TRUE(other.last_renewal());
}

TEST_F(Renewal, LeaseWithFifteenRenewalsPerTtlSendsThem) {
  const auto held = take("ledger", {.ttl = 30s, .renewals_per_ttl = 15});
  env_->advance(30s);
  EXPECT_GE(renewals_of("ledger"), 14U);
  EXPECT_LE(renewals_of("ledger"), 17U);
}

}  // namespace
}  // namespace cremone::test
