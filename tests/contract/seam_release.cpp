// SPDX-License-Identifier: Apache-2.0
//
// release: it forgets one owner, as a holder, as a waiter, or with its request still under way, and nobody else.
// Whoever deletes a lock without asking whose it is frees the next holder's: the oldest bug of the trade.
#include "contract/suite.hpp"

#include "support/pending.hpp"

#include <algorithm>
#include <string>
#include <vector>

namespace cremone::contract {

namespace {

using test::fresh_owner;
using test::pending;
using test::rejected;
using test::shown;
using test::wanting;
using strings = std::vector<std::string>;

class Release : public seam_test {
 protected:
  /// A release that must find nothing to do, and leave this lock's holder alone.
  void expect_not_held(const owner_id& late) {
    const auto holder = versions_of(lock_);
    for (auto* backend : {&here_, &there_}) {
      EXPECT_EQ(shown(backend->release(lock_, late)), "refused: not_held");
      EXPECT_EQ(versions_of(lock_), holder);
      EXPECT_EQ(shown(there_.try_acquire(wanting(lock_, fresh_owner()))), "refused: busy");
    }
  }

  /// Asks for the lock and releases at once, without waiting for the first answer.
  void expect_back_to_back(const strings& first, const strings& second) {
    const auto request = std::make_shared<const acquire_request>(queueing(lock_, fresh_owner()));
    const auto end = std::make_shared<const release_request>(release_request{lock_, request->owner});
    pending<acquire_answer> acquired("try_acquire");
    pending<answer> released("release");
    here_.seam().try_acquire(*request, acquired.reply(request));
    here_.seam().release(*end, released.reply(end));
    const std::string begin_was = shown(acquired.get(unknown{}));
    EXPECT_NE(std::find(first.begin(), first.end(), begin_was), first.end()) << begin_was;
    const std::string end_was = shown(released.get(unknown{}));
    EXPECT_NE(std::find(second.begin(), second.end(), end_was), second.end()) << end_was;
  }

  const owner_id ann_ = fresh_owner();
  const owner_id bob_ = fresh_owner();
};

INSTANTIATE_TEST_SUITE_P(Contract, Release, ::testing::ValuesIn(tested_stores()), store_name);

TEST_P(Release, FreesTheLockOnce) {
  take(lock_, ann_);
  EXPECT_EQ(shown(here_.release(lock_, ann_)), "done");
  expect_nothing_left();
  EXPECT_EQ(shown(here_.release(lock_, ann_)), "refused: not_held");
  EXPECT_EQ(shown(there_.try_acquire(wanting(lock_, bob_))), "granted");
}

TEST_P(Release, OfAnUnknownLockIsRefused) {
  EXPECT_EQ(shown(here_.release(lock_, ann_)), "refused: not_held");
  expect_nothing_left();
}

TEST_P(Release, ByAStrangerChangesNothing) {
  take(lock_, ann_);
  expect_not_held(bob_);
}

TEST_P(Release, ThatComesTwiceDoesNotFreeTheNextHolder) {
  take(lock_, ann_);
  EXPECT_EQ(shown(here_.release(lock_, ann_)), "done");
  take(lock_, bob_);
  expect_not_held(ann_);
}

TEST_P(Release, OfAnEvictedOwnerDoesNotFreeTheNextHolder) {
  take(lock_, ann_);
  evict(there_, lock_);
  take(lock_, bob_);
  expect_not_held(ann_);
}

TEST_P(Release, OfAWaiterRemovesItsPlaceAndNothingElse) {
  const owner_id eve = fresh_owner();
  take(lock_, ann_);
  const auto holder = versions_of(lock_);
  enqueue(queueing(lock_, bob_));
  enqueue(queueing(lock_, eve));

  leave(there_, lock_, bob_);

  EXPECT_EQ(versions_of(lock_), holder);
  const auto waiters = inspect(lock_).waiters;
  if (!like().fifo) {
    EXPECT_TRUE(waiters.empty()) << "a store without a queue shows none";
    return;
  }
  ASSERT_EQ(waiters.size(), 1U);
  EXPECT_EQ(waiters.front().owner, eve);
  EXPECT_EQ(rejected(here_.try_acquire(queueing(lock_, eve))).place, 0U) << "it moved up";
  EXPECT_EQ(shown(here_.release(lock_, bob_)), "refused: not_held");
}

TEST_P(Release, NeverOvertakesTheAcquireBeforeIt) {
  // A server may have to be taught first what an acquire is (Redis: its script), and one that is given up meanwhile is
  // then not asked for again.
  take(lock_, ann_);
  EXPECT_EQ(shown(here_.release(lock_, ann_)), "done");
  strings expected = {"granted"};
  if (like().voters > 1 && like().tokens) {
    expected.emplace_back("refused: unreachable");  // released before its servers had agreed on a number
  }
  for (int round = 0; round < 50; ++round) {
    expect_back_to_back(expected, {"done"});
  }
  expect_nothing_left();
}

TEST_P(Release, NeverOvertakesTheJoiningBeforeIt) {
  take(lock_, ann_);
  strings expected = {like().fifo ? "done" : "refused: not_held"};
  if (like().voters > 1) {
    expected.emplace_back(
        "done");  // its attempt may have failed by then: it is taken off the list of those who wait
  }
  for (int round = 0; round < 50; ++round) {
    expect_back_to_back({"refused: busy"}, expected);
  }
  EXPECT_TRUE(inspect(lock_).waiters.empty());
}

}  // namespace

}  // namespace cremone::contract
