// SPDX-License-Identifier: Apache-2.0
//
// release: it forgets one owner, as a holder, as a waiter, or with its request still under way, and nobody else.
// Whoever deletes a lock without asking whose it is frees the next holder's: the oldest bug of the trade.
#include "contract/suite.hpp"

#include "support/pending.hpp"

#include <vector>

namespace cremone::contract {

namespace {

using test::fresh_owner;
using test::pending;
using test::rejected;
using test::shown;
using test::wanting;

class Release : public seam_test {
 protected:
  /// A release that must find nothing to do, and leave this lock's holder alone.
  void expect_not_held(const owner_id& late, const hold_version& holder) {
    for (auto* backend : {&here_, &there_}) {
      EXPECT_EQ(shown(backend->release(lock_, late)), "refused: not_held");
      EXPECT_EQ(holder_of(lock_).version, holder);
      EXPECT_EQ(shown(there_.try_acquire(wanting(lock_, fresh_owner()))), "refused: busy");
    }
  }

  /// Asks for the lock and releases at once, without waiting for the first answer.
  void expect_back_to_back(const char* first, const char* second) {
    const auto request = std::make_shared<const acquire_request>(queueing(lock_, fresh_owner()));
    const auto end = std::make_shared<const release_request>(release_request{lock_, request->owner});
    pending<acquire_answer> acquired("try_acquire");
    pending<answer> released("release");
    here_.seam().try_acquire(*request, acquired.reply(request));
    here_.seam().release(*end, released.reply(end));
    EXPECT_EQ(shown(acquired.get(unknown{})), first);
    EXPECT_EQ(shown(released.get(unknown{})), second);
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
  expect_not_held(bob_, holder_of(lock_).version);
}

TEST_P(Release, ThatComesTwiceDoesNotFreeTheNextHolder) {
  take(lock_, ann_);
  EXPECT_EQ(shown(here_.release(lock_, ann_)), "done");
  take(lock_, bob_);
  expect_not_held(ann_, holder_of(lock_).version);
}

TEST_P(Release, OfAnEvictedOwnerDoesNotFreeTheNextHolder) {
  take(lock_, ann_);
  EXPECT_EQ(shown(there_.evict(lock_, holder_of(lock_).version)), "done");
  take(lock_, bob_);
  expect_not_held(ann_, holder_of(lock_).version);
}

TEST_P(Release, OfAWaiterRemovesItsPlaceAndNothingElse) {
  const owner_id eve = fresh_owner();
  take(lock_, ann_);
  const hold_version holder = holder_of(lock_).version;
  enqueue(queueing(lock_, bob_));
  enqueue(queueing(lock_, eve));

  EXPECT_EQ(shown(there_.release(lock_, bob_)), like().fifo ? "done" : "refused: not_held");

  EXPECT_EQ(holder_of(lock_).version, holder);
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
  for (int round = 0; round < 50; ++round) {
    expect_back_to_back("granted", "done");
  }
  expect_nothing_left();
}

TEST_P(Release, NeverOvertakesTheJoiningBeforeIt) {
  take(lock_, ann_);
  for (int round = 0; round < 50; ++round) {
    expect_back_to_back("refused: busy", like().fifo ? "done" : "refused: not_held");
  }
  EXPECT_TRUE(inspect(lock_).waiters.empty());
}

}  // namespace

}  // namespace cremone::contract
