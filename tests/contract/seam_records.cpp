// SPDX-License-Identifier: Apache-2.0
//
// inspect and list: who holds and who waits, in order, and nothing else; and what a store says of itself.
#include "contract/suite.hpp"

#include "core/validity.hpp"

#include <algorithm>
#include <string>
#include <vector>

namespace cremone::contract {

namespace {

using test::fresh_owner;
using test::shown;

class Records : public seam_test {
 protected:
  [[nodiscard]] std::vector<lock_record> list() {
    const auto all = there_.list();
    if (!all) {
      ADD_FAILURE() << "list: " << all.error().message();
      return {};
    }
    return *all;
  }

  /// The queue of the lock in `seen` is made of these, in order; without a queue, of nobody.
  void expect_queue(const lock_record& seen, const std::vector<owner_id>& expected) {
    ASSERT_EQ(seen.waiters.size(), like().fifo ? expected.size() : 0U);
    for (std::size_t i = 0; i < seen.waiters.size(); ++i) {
      const waiter_record& waiter = seen.waiters[i];
      EXPECT_EQ(waiter.owner, expected[i]);
      EXPECT_EQ(waiter.mode, mode::exclusive);
      EXPECT_EQ(waiter.who.label, "waiter " + std::to_string(i));
      EXPECT_EQ(waiter.who.host, "host.example");
      EXPECT_TRUE(i == 0 || seen.waiters[i - 1].ticket < waiter.ticket) << "later tickets are higher";
    }
  }

  /// Waiters with labels "waiter 0", "waiter 1", …
  std::vector<owner_id> enqueue_some(const lock_name& name, int count) {
    std::vector<owner_id> owners;
    for (int i = 0; i < count; ++i) {
      owners.push_back(fresh_owner());
      acquire_request request = queueing(name, owners.back());
      request.who.label = "waiter " + std::to_string(i);
      enqueue(request);
    }
    return owners;
  }

  const owner_id ann_ = fresh_owner();
};

INSTANTIATE_TEST_SUITE_P(Contract, Records, ::testing::ValuesIn(tested_stores()), store_name);

TEST_P(Records, OfAnUnknownLockAreEmpty) {
  const lock_record seen = inspect("never seen");
  EXPECT_EQ(seen.name, lock_name("never seen"));
  EXPECT_TRUE(seen.holders.empty());
  EXPECT_TRUE(seen.waiters.empty());
  EXPECT_TRUE(list().empty()) << "to ask is not to make";
}

TEST_P(Records, ShowTheHolderAndTheWaitersInOrder) {
  const grant yes = take(lock_, ann_);
  const std::vector<owner_id> waiters = enqueue_some(lock_, 5);
  const auto listed = list();
  ASSERT_EQ(listed.size(), 1U);
  for (const lock_record& seen : {inspect(lock_), listed.front()}) {
    EXPECT_EQ(seen.name, lock_);
    expect_highest(seen, yes);
    ASSERT_EQ(seen.holders.size(), 1U);
    expect_shown(seen.holders.front(), test::wanting(lock_, ann_), yes);
    expect_queue(seen, waiters);
  }
}

TEST_P(Records, ShowALockThatIsOnlyWaitedFor) {
  take(lock_, ann_);
  const std::vector<owner_id> waiters = enqueue_some(lock_, 2);
  EXPECT_EQ(shown(here_.release(lock_, ann_)), "done");
  const auto listed = list();
  ASSERT_EQ(listed.size(), like().fifo ? 1U : 0U);
  if (like().fifo) {
    EXPECT_TRUE(listed.front().holders.empty());
    expect_queue(listed.front(), waiters);
  }
}

TEST_P(Records, AreListedByName) {
  std::vector<std::string> names;
  for (int i = 0; i < 300; ++i) {  // more than a page of any store
    names.push_back(std::to_string(i * 37 % 300) + (i % 3 == 0 ? "/ä" : "-z"));
    take(names.back(), fresh_owner());
  }
  std::sort(names.begin(), names.end());
  std::vector<std::string> listed;
  for (const lock_record& r : list()) {
    listed.push_back(r.name.str());
    EXPECT_EQ(r.holders.size(), 1U);
  }
  EXPECT_EQ(listed, names);
}

TEST_P(Records, AreGoneWhenAllHaveLeft) {
  take(lock_, ann_);
  const std::vector<owner_id> waiters = enqueue_some(lock_, 3);
  EXPECT_EQ(shown(here_.release(lock_, ann_)), "done");
  for (const owner_id& waiter : waiters) {
    leave(here_, lock_, waiter);
  }
  expect_nothing_left();
  EXPECT_TRUE(inspect(lock_).holders.empty());
  EXPECT_TRUE(inspect(lock_).waiters.empty());
}

TEST_P(Records, OfTheStoreItselfMakeSense) {
  const traits& t = like();
  EXPECT_FALSE(t.store.empty());
  EXPECT_GT(t.drift_ppm, 0);
  EXPECT_GE(t.max_ttl, core::min_ttl);
  EXPECT_GT(t.waiter_refresh, std::chrono::milliseconds::zero());
  EXPECT_GT(t.claim_time, std::chrono::milliseconds::zero());
  const traits again = there_.seam().describe();
  EXPECT_EQ(again.store, t.store);
  EXPECT_EQ(again.max_ttl, t.max_ttl) << "it belongs to the store, not to a client of it";
  EXPECT_EQ(again.fifo, t.fifo);
  EXPECT_EQ(again.records, t.records);
  EXPECT_EQ(again.voters, t.voters);
  EXPECT_EQ(again.tokens, t.tokens);
  EXPECT_TRUE(t.records || !t.observed_takeover) << "without versions nobody can tell silence from renewals";
  EXPECT_TRUE(t.records || !t.fifo) << "without records there is nowhere to keep a queue";
  EXPECT_TRUE(t.voters == 1 || !t.fifo) << "each server would have an order of its own";
  EXPECT_TRUE(t.tokens || (t.voters > 1 && !t.records))
      << "whoever counts alone, or keeps records, has an order";
}

}  // namespace

}  // namespace cremone::contract
