// SPDX-License-Identifier: Apache-2.0
//
// Through the public client: a lease whose hold was removed behind its back learns of it, says so in every way it
// has, and cannot be brought back; a lease that is well is not troubled. And re-entry, which must not pretend.
#include "contract/suite.hpp"

#include "support/wait_for.hpp"

#include <atomic>
#include <chrono>

namespace cremone::contract {

namespace {

using namespace std::chrono_literals;
using test::generous;
using test::shown;
using test::wait_for;

class Loss : public client_test {
 protected:
  /// Short, so that the renewal that finds out comes soon.
  const acquire_options short_lived_{.ttl = 600ms, .label = "the victim"};

  /// Removes the hold in the store, as another client does that found it silent. A renewal may come between the
  /// look and the eviction: then once more.
  void evict_holder(const lock_name& name) {
    ASSERT_EQ(inspect(name).holders.size(), 1U);
    bool evicted = false;
    EXPECT_TRUE(wait_for([&] {
      for (const hold_version& v : versions_in(inspect(name))) {
        evicted = shown(seam_.evict(name, v)) == "done" || evicted;
      }
      return inspect(name).holders.empty();
    }));
    EXPECT_TRUE(evicted) << "it went by itself";
  }

  void expect_lost(const lease& victim) {
    EXPECT_TRUE(wait_for([&] { return !victim.held(); })) << "the lease does not know that it is lost";
  }
};

INSTANTIATE_TEST_SUITE_P(Contract, Loss, ::testing::ValuesIn(tested_stores()), store_name);

TEST_P(Loss, IsReportedInEveryWay) {
  lease victim = take(ann_, lock_, short_lived_);
  const fence_token token = victim.token();
  const auto stop = victim.get_stop_token();
  std::atomic<int> told = 0;
  std::atomic<bool> as_lost = false;
  victim.on_lost([&](const error& why) {
    as_lost = why == errc::lost;
    ++told;
  });

  evict_holder(lock_);

  expect_lost(victim);
  EXPECT_TRUE(wait_for([&] { return stop.stop_requested(); }));
  EXPECT_TRUE(wait_for([&] { return told > 0; }));
  EXPECT_TRUE(as_lost);
  EXPECT_EQ(victim.token(), token) << "still readable";
  EXPECT_EQ(victim.remaining(), 0ns);
  const auto again = victim.reenter();
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code(), errc::lost);
  const auto released = victim.release();
  ASSERT_FALSE(released);
  EXPECT_EQ(released.error().code(), errc::lost);
  ann_.close();  // ends the thread of the callbacks: from here on none can come
  EXPECT_EQ(told, 1);
}

TEST_P(Loss, IsFoundOutByTheNextRenewal) {
  for (int run = 0; run < 10; ++run) {  // until the machine does not stall for most of a ttl
    const lease victim = take(ann_, lock_, {.ttl = 1500ms, .wait = generous});
    const instant end = victim.deadline();
    evict_holder(lock_);
    expect_lost(victim);
    if (validity_clock::now() < end) {
      return;
    }
  }
  ADD_FAILURE() << "ten times the lease ran out, though the first renewal had been refused";
}

TEST_P(Loss, IsToldToOneWhoAsksLater) {
  lease victim = take(ann_, lock_, short_lived_);
  evict_holder(lock_);
  expect_lost(victim);
  std::atomic<int> told = 0;
  victim.on_lost([&](const error&) { ++told; });
  EXPECT_TRUE(wait_for([&] { return told > 0; }));
  EXPECT_TRUE(victim.get_stop_token().stop_requested());
  ann_.close();
  EXPECT_EQ(told, 1);
}

TEST_P(Loss, OfOneLeaseLeavesTheOthersAlone) {
  lease victim = take(ann_, lock_, short_lived_);
  lease other = take(ann_, "another");
  std::atomic<int> told = 0;
  other.on_lost([&](const error&) { ++told; });
  evict_holder(lock_);
  expect_lost(victim);
  EXPECT_TRUE(other.held());
  EXPECT_TRUE(other.release());
  ann_.close();
  EXPECT_EQ(told, 0);
}

TEST_P(Loss, DoesNotLetTheVictimFreeTheNextHolder) {
  lease victim = take(ann_, lock_, short_lived_);
  evict_holder(lock_);
  const lease next = take(bob_, lock_, {.wait = generous, .label = "the next"});
  expect_later(next.token(), victim.token());
  expect_lost(victim);
  const auto released = victim.release();
  ASSERT_FALSE(released);
  EXPECT_EQ(released.error().code(), errc::lost);
  ann_.close();  // also what the release does in the background is over now
  const auto holders = inspect(lock_).holders;
  ASSERT_EQ(holders.size(), 1U);
  EXPECT_EQ(holders.front().owner.label, "the next");
  EXPECT_TRUE(next.held());
}

TEST_P(Loss, FoundOutByTheReleaseItselfIsReported) {
  lease victim =
      take(ann_, lock_, {.ttl = 30s});  // no renewal for ten seconds: only the release can find out
  evict_holder(lock_);
  const auto released = victim.release();
  ASSERT_FALSE(released);
  EXPECT_EQ(released.error().code(), errc::lost);
}

TEST_P(Loss, IsNotToldOfALeaseThatWasReleased) {
  lease held = take(ann_, lock_);
  const auto stop = held.get_stop_token();
  std::atomic<int> told = 0;
  held.on_lost([&](const error&) { ++told; });
  EXPECT_TRUE(held.release());
  const auto twice = held.release();
  ASSERT_FALSE(twice);
  EXPECT_EQ(twice.error().code(), errc::not_held);
  ann_.close();
  EXPECT_EQ(told, 0);
  EXPECT_FALSE(stop.stop_requested());
}

TEST_P(Loss, IsNotFeignedByReentry) {
  lease outer = take(ann_, lock_);
  auto inner = outer.reenter();
  ASSERT_TRUE(inner) << inner.error().message();
  EXPECT_EQ(inner->token(), outer.token());
  EXPECT_EQ(inspect(lock_).holders.size(), 1U) << "re-entry is counted in the client";
  EXPECT_TRUE(outer.release());
  EXPECT_TRUE(inner->held()) << "the other handle keeps the hold";
  EXPECT_EQ(inspect(lock_).holders.size(), 1U);
  EXPECT_EQ(outer.reenter().error(), errc::not_held);
  EXPECT_TRUE(inner->release());
  expect_free(lock_);
}

}  // namespace

}  // namespace cremone::contract
