// SPDX-License-Identifier: Apache-2.0
//
// renew: it moves a version on and never back, it is for the present holder only, and in a batch no item touches
// another.
#include "contract/suite.hpp"

#include <string>
#include <vector>

namespace cremone::contract {

namespace {

using test::fresh_owner;
using test::renewing;
using test::shown;

class Renewal : public seam_test {
 protected:
  /// A renewal that must not succeed, and must change nothing.
  void expect_lost(const lock_name& name, const owner_id& owner, fence_token token) {
    const lock_record before = inspect(name);
    EXPECT_EQ(shown(here_.renew(renewing(name, owner, token, 7))), "refused: lost");
    const lock_record after = inspect(name);
    ASSERT_EQ(after.holders.size(), before.holders.size());
    expect_untouched(after, before);
    for (std::size_t i = 0; i < after.holders.size(); ++i) {
      EXPECT_EQ(after.holders[i].ttl, before.holders[i].ttl);
    }
    EXPECT_EQ(after.waiters.size(), before.waiters.size());
  }

  /// Taken for less time than a renewal gives.
  static constexpr std::chrono::milliseconds brief = test::long_ttl / 2;

  grant take_briefly(const lock_name& name, const owner_id& owner) {
    acquire_request request = test::wanting(name, owner);
    request.ttl = brief;
    return test::granted(here_.try_acquire(request));
  }

  /// Whether a hold that was taken briefly was renewed since: its version moved on, or its end.
  [[nodiscard]] bool renewed(const hold_record& before, const hold_record& after) const {
    if (like().records) {
      return after.version != before.version;
    }
    EXPECT_EQ(after.version, before.version);
    return after.expires_in > brief;
  }

  const owner_id ann_ = fresh_owner();
  const owner_id bob_ = fresh_owner();
};

INSTANTIATE_TEST_SUITE_P(Contract, Renewal, ::testing::ValuesIn(tested_stores()), store_name);

TEST_P(Renewal, MovesTheVersionOnOrTheExpiry) {
  const grant yes = take_briefly(lock_, ann_);
  const hold_record before = holder_of(lock_);
  EXPECT_EQ(shown(here_.renew(renewing(lock_, ann_, yes.token, 1))), "done");
  const hold_record after = holder_of(lock_);
  EXPECT_EQ(after.version.owner, ann_);
  EXPECT_EQ(renewed(before, after), true);
}

TEST_P(Renewal, KeepsTheHigherOfTheNextNumberAndTheGivenOne) {
  const grant yes = take(lock_, ann_);
  std::uint64_t last = holder_of(lock_).version.seq;
  for (const std::uint64_t given : {1U, 5U, 2U, 0U, 6U, 100U, 100U}) {
    EXPECT_EQ(shown(here_.renew(renewing(lock_, ann_, yes.token, given))), "done");
    const std::uint64_t seq = holder_of(lock_).version.seq;
    EXPECT_EQ(seq, like().records ? std::max(last + 1, yes.token.value() + given) : 0)
        << "given " << given << " after " << last;
    last = seq;
  }
}

TEST_P(Renewal, SaysHowLongTheHoldMayBeSilentFromNowOn) {
  const grant yes = take(lock_, ann_);
  renewal item = renewing(lock_, ann_, yes.token, 1);
  for (const auto ttl : {std::chrono::milliseconds(45'678), std::chrono::milliseconds(12'345)}) {
    item.ttl = ttl;
    EXPECT_EQ(shown(here_.renew(item)), "done");
    if (like().records) {
      EXPECT_EQ(holder_of(lock_).ttl, ttl);
    } else {
      expect_expires_within(holder_of(lock_), ttl);
    }
    ++item.seq;
  }
}

TEST_P(Renewal, ByAStrangerIsRefusedAsLost) {
  const grant yes = take(lock_, ann_);
  expect_lost(lock_, bob_, yes.token);
}

TEST_P(Renewal, ByAWaiterIsRefusedAsLost) {
  const grant yes = take(lock_, ann_);
  enqueue(queueing(lock_, bob_));
  expect_lost(lock_, latest(bob_), yes.token);
}

TEST_P(Renewal, OfAnUnknownLockIsRefusedAsLostOrBringsItBack) {
  if (!repairs(like())) {
    expect_lost(lock_, ann_, fence_token(1));
    return expect_nothing_left();
  }
  EXPECT_EQ(shown(here_.renew(renewing(lock_, ann_, fence_token(1), 1))), "done");
  const hold_record back = holder_of(lock_);
  EXPECT_EQ(back.version.owner, ann_);
  EXPECT_EQ(back.token, fence_token(1));
  expect_lost(lock_, bob_, fence_token(2));
  EXPECT_EQ(shown(there_.try_acquire(test::wanting(lock_, bob_))), "refused: busy");
}

TEST_P(Renewal, AfterTheReleaseDoesNotBringTheHoldBack) {
  const grant yes = take(lock_, ann_);
  EXPECT_EQ(shown(here_.release(lock_, ann_)), "done");
  expect_lost(lock_, ann_, yes.token);
  expect_nothing_left();
  take(lock_, bob_);
  expect_lost(lock_, ann_, yes.token);
}

TEST_P(Renewal, AfterTheEvictionDoesNotBringTheHoldBack) {
  const grant yes = take(lock_, ann_);
  evict(there_, lock_);
  expect_lost(lock_, ann_, yes.token);
  take(lock_, bob_);
  expect_lost(lock_, ann_, yes.token);
}

TEST_P(Renewal, OfNothingIsAnsweredWithNothing) { EXPECT_TRUE(here_.renew(std::vector<renewal>{}).empty()); }

TEST_P(Renewal, AnswersEachOfManyInOrderAndLetsNoneTouchAnother) {
  struct item {
    lock_name name{""};
    owner_id asks;
    const char* expected = "refused: lost";
    std::vector<hold_record> before;
  };
  std::vector<item> items;
  std::vector<fence_token> tokens;
  for (int i = 0; i < 250; ++i) {
    item it{.name = "lock-" + std::to_string(i), .asks = fresh_owner(), .before = {}};
    fence_token token(1);
    switch (i * 7 % 4) {
      case 0:  // ours
        token = take_briefly(it.name, it.asks).token;
        it.expected = "done";
        break;
      case 1: token = take_briefly(it.name, fresh_owner()).token; break;  // another's
      case 2:                                                             // ours, until a moment ago
        token = take_briefly(it.name, it.asks).token;
        EXPECT_EQ(shown(here_.release(it.name, it.asks)), "done");
        break;
      default:  // nobody's, never seen
        it.expected = repairs(like()) ? "done" : it.expected;
        break;
    }
    it.before = inspect(it.name).holders;
    items.push_back(std::move(it));
    tokens.push_back(token);
  }
  std::vector<renewal> batch;
  for (std::size_t i = 0; i < items.size(); ++i) {
    batch.push_back(renewing(items[i].name, items[i].asks, tokens[i], 1));
  }

  const std::vector<answer> answers = here_.renew(batch);

  ASSERT_EQ(answers.size(), items.size());
  for (std::size_t i = 0; i < items.size(); ++i) {
    SCOPED_TRACE(items[i].name.str());
    EXPECT_EQ(shown(answers[i]), items[i].expected);
    const auto after = inspect(items[i].name).holders;
    if (items[i].before.empty() && shown(answers[i]) == "done") {
      ASSERT_EQ(after.size(), 1U);
      EXPECT_EQ(after.front().version.owner, items[i].asks);
      continue;
    }
    ASSERT_EQ(after.size(), items[i].before.size());
    if (!after.empty()) {
      EXPECT_EQ(after.front().version.owner, items[i].before.front().version.owner);
      EXPECT_EQ(renewed(items[i].before.front(), after.front()),
                after.front().version.owner == items[i].asks);
    }
  }
}

}  // namespace

}  // namespace cremone::contract
