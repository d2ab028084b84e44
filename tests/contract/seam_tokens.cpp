// SPDX-License-Identifier: Apache-2.0
//
// Fence tokens: each is greater than all that were given for this lock before, whatever way the lock changed
// hands, and small enough to survive JSON and Lua numbers. Tickets likewise, where there is a queue.
#include "contract/suite.hpp"

#include <vector>

namespace cremone::contract {

namespace {

using test::fresh_owner;
using test::granted;
using test::shown;
using test::wanting;

class Tokens : public seam_test {
 protected:
  void expect_greater(const grant& later, const grant& earlier) {
    expect_later(like(), later.token, earlier.token);
    EXPECT_LT(later.token.value(), fence_token::limit);
    if (like().fifo) {
      EXPECT_GT(later.ticket, earlier.ticket);
    }
  }
};

INSTANTIATE_TEST_SUITE_P(Contract, Tokens, ::testing::ValuesIn(tested_stores()), store_name);

TEST_P(Tokens, GrowFromHolderToHolderOnWhicheverBackend) {
  grant last;
  for (int i = 0; i < 100; ++i) {
    const owner_id owner = fresh_owner();
    auto& backend = i % 2 == 0 ? here_ : there_;
    const grant now = granted(backend.try_acquire(wanting(lock_, owner)));
    expect_greater(now, last);
    expect_shown(holder_of(lock_), wanting(lock_, owner), now);
    EXPECT_EQ(shown(backend.release(lock_, owner)), "done");
    last = now;
  }
}

TEST_P(Tokens, GrowAcrossEvictions) {
  grant last;
  for (int i = 0; i < 20; ++i) {
    const grant now = take(lock_, fresh_owner());
    expect_greater(now, last);
    evict(there_, lock_);
    last = now;
  }
}

TEST_P(Tokens, GrowAlongTheQueue) {
  owner_id holder = fresh_owner();
  grant last = take(lock_, holder);
  std::vector<owner_id> waiters(10);
  for (owner_id& w : waiters) {
    w = fresh_owner();
    enqueue(queueing(lock_, w));
  }
  for (const owner_id& w : waiters) {
    EXPECT_EQ(shown(here_.release(lock_, holder)), "done");
    const grant now = granted(here_.try_acquire(queueing(lock_, w)));
    expect_greater(now, last);
    last = now;
    holder = latest(w);
  }
}

TEST_P(Tokens, NeverGoBackWhileTheHolderStays) {
  const owner_id owner = fresh_owner();
  const grant now = take(lock_, owner);
  EXPECT_EQ(shown(here_.renew(test::renewing(lock_, owner, now.token, 1))), "done");
  expect_shown(holder_of(lock_), wanting(lock_, owner), now);
  expect_repeated(granted(here_.try_acquire(wanting(lock_, owner))), now);
}

TEST_P(Tokens, AreShownAsTheHighestOfTheirLock) {
  const owner_id first = fresh_owner();
  take(lock_, first);
  EXPECT_EQ(shown(here_.release(lock_, first)), "done");
  const grant second = take(lock_, fresh_owner());
  expect_highest(inspect(lock_), second);
}

}  // namespace

}  // namespace cremone::contract
