// SPDX-License-Identifier: Apache-2.0
//
// Checks whom a memory store tells that its turn may have come. Who then gets the lock is checked beside this.
#include "unit/memory_fixture.hpp"

#include <gtest/gtest.h>

namespace cremone::memory {
namespace {

using namespace memory::testing;

/// Owner 1 holds the lock; 2, 3 and 4 wait for it and listen.
struct MemoryHint : ::testing::Test {
  desk d;
  std::shared_ptr<listener> second = std::make_shared<listener>();
  std::shared_ptr<listener> third = std::make_shared<listener>();
  std::shared_ptr<listener> fourth = std::make_shared<listener>();

  void SetUp() override {
    ASSERT_TRUE(granted(d.ask(1)));
    ASSERT_FALSE(granted(d.wait(2, second)));
    ASSERT_FALSE(granted(d.wait(3, third)));
    ASSERT_FALSE(granted(d.wait(4, fourth)));
  }

  void expect_hints(int to_second, int to_third, int to_fourth) const {
    EXPECT_EQ(second ? second->hints : 0, to_second);
    EXPECT_EQ(third ? third->hints : 0, to_third);
    EXPECT_EQ(fourth ? fourth->hints : 0, to_fourth);
  }
};

TEST_F(MemoryHint, GoesToTheHeadAloneWhenTheLockIsReleased) {
  ASSERT_TRUE(was_done(d.release(1)));
  expect_hints(1, 0, 0);
}

TEST_F(MemoryHint, GoesToTheHeadAloneWhenTheHolderIsEvicted) {
  ASSERT_TRUE(was_done(d.evict(1, 0)));
  expect_hints(1, 0, 0);
}

TEST_F(MemoryHint, ComesForNothingElse) {
  (void)d.renew(1, 1);
  (void)d.evict(1, 0);
  (void)d.release(9);
  (void)d.ask(5);
  (void)d.wait(3, third);
  expect_hints(0, 0, 0);
}

TEST_F(MemoryHint, PassesOverOneThatCannotBeToldAnyMore) {
  second.reset();
  ASSERT_TRUE(was_done(d.release(1)));
  expect_hints(0, 1, 0);
  EXPECT_TRUE(granted(d.wait(3, third))) << "and need not wait for that one's claim time";
}

TEST_F(MemoryHint, LeavesOneThatWasPassedOverItsTicket) {
  second.reset();
  ASSERT_TRUE(was_done(d.release(1)));
  EXPECT_EQ(place_in(d.wait(4, fourth)), 1U) << "behind the one who was told";
  EXPECT_TRUE(granted(d.wait(2))) << "it asks by itself, and is the head as before";
}

TEST_F(MemoryHint, PassesOverSeveralThatCannotBeTold) {
  second.reset();
  third.reset();
  ASSERT_TRUE(was_done(d.release(1)));
  expect_hints(0, 0, 1);
}

TEST_F(MemoryHint, GoesNowhereWhenNobodyCanBeTold) {
  second.reset();
  third.reset();
  fourth.reset();
  ASSERT_TRUE(was_done(d.release(1)));
  EXPECT_TRUE(granted(d.ask(9))) << "nor is the lock kept for them";
}

TEST_F(MemoryHint, GoesToTheNextWhenTheOneItWasKeptForLeaves) {
  ASSERT_TRUE(was_done(d.release(1)));
  ASSERT_TRUE(was_done(d.release(2)));
  expect_hints(1, 1, 0);
}

TEST_F(MemoryHint, IsNotSentWhenOneLeavesWhileTheLockIsHeld) {
  ASSERT_TRUE(was_done(d.release(2)));
  expect_hints(0, 0, 0);
}

TEST_F(MemoryHint, SkipsOneWhoMissedItsClaimTime) {
  ASSERT_TRUE(was_done(d.release(1)));
  d.pass(claim_time);
  ASSERT_TRUE(granted(d.wait(3, third)));
  ASSERT_TRUE(was_done(d.release(3)));
  expect_hints(1, 0, 1);
}

TEST_F(MemoryHint, GoesAgainToOneWhoMissedItsClaimTimeAndCameBack) {
  ASSERT_TRUE(was_done(d.release(1)));
  d.pass(claim_time);
  ASSERT_TRUE(granted(d.wait(3, third)));
  ASSERT_EQ(place_in(d.wait(2, second)), 0U);
  ASSERT_TRUE(was_done(d.release(3)));
  expect_hints(2, 0, 0);
}

TEST_F(MemoryHint, GoesWhereTheLatestRequestWantsIt) {
  const auto elsewhere = std::make_shared<listener>();
  ASSERT_EQ(place_in(d.wait(2, elsewhere)), 0U);
  second.reset();
  ASSERT_TRUE(was_done(d.release(1)));
  EXPECT_EQ(elsewhere->hints, 1);
  expect_hints(0, 0, 0);
}

TEST_F(MemoryHint, IsNotSentToOneWhoHasBeenSilentForTooLong) {
  d.pass(6s);
  ASSERT_FALSE(granted(d.wait(3, third)));
  d.pass(5s);
  ASSERT_TRUE(was_done(d.release(1)));
  expect_hints(0, 1, 0);
}

/// Asks the store again from within the hint, as the seam allows.
class eager final : public hint_sink {
 public:
  eager(desk& d, std::uint32_t who) : desk_(d), who_(who) {}
  void hint() noexcept override { got = granted(desk_.ask(who_)); }
  bool got = false;

 private:
  desk& desk_;
  std::uint32_t who_;
};

TEST(MemoryHintInside, MayAskTheStoreAtOnce) {
  desk d;
  const auto sink = std::make_shared<eager>(d, 2);
  ASSERT_TRUE(granted(d.ask(1)));
  ASSERT_FALSE(granted(d.wait(2, sink)));
  ASSERT_TRUE(was_done(d.release(1)));
  EXPECT_TRUE(sink->got);
}

}  // namespace
}  // namespace cremone::memory
