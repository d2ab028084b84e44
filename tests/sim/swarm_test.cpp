// SPDX-License-Identifier: Apache-2.0
//
// What thousands of schedules must show: the layout `record` and the memory store keep what is promised, the published algorithm
// loses it where it is known to, and a fence makes up for it. Fewer of them under a sanitizer, which takes ten times as long.
#include "sim/swarm.hpp"
#include "support/sanitized.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <string>

namespace cremone::sim {
namespace {

constexpr std::uint64_t share = test::sanitized ? 20 : 1;

swarm_totals run(std::uint64_t first, std::uint64_t last, const schedule_options& what) {
  swarm_order order;
  order.first = first;
  order.last = last;
  order.what = what;
  return run_swarm(order, nullptr);
}

schedule_options with(store_kind store, std::string_view faults) {
  schedule_options o;
  o.store = store;
  o.faults = parse_faults(faults).value();
  o.every_fault = true;
  return o;
}

std::uint64_t unexpected(const swarm_totals& t, violation_kind k) {
  return t.unexpected[static_cast<std::size_t>(k)];
}

std::string first_failure(const swarm_totals& t) {
  if (t.failures.empty()) {
    return "";
  }
  const schedule_result& r = t.failures.front();
  return "seed " + std::to_string(r.seed) + " (" + r.mix + "): " + r.violations.front().what;
}

void expect_well(const swarm_totals& t) { EXPECT_EQ(t.failed_schedules, 0U) << first_failure(t); }

/// In pieces, so that they can run side by side.
class Swarm : public testing::TestWithParam<int> {
 protected:
  static constexpr std::uint64_t piece = 250 / share;
  [[nodiscard]] static std::uint64_t first() { return 1 + static_cast<std::uint64_t>(GetParam()) * 250; }
};

TEST_P(Swarm, FindsNothingInTheLayoutRecord) {
  const swarm_totals t = run(first(), first() + piece - 1, {});
  expect_well(t);
  EXPECT_EQ(t.schedules, piece);
  EXPECT_GT(t.acquisitions, piece * 10);
  EXPECT_GT(t.quarantines, piece / 2);
}
INSTANTIATE_TEST_SUITE_P(Piece, Swarm, testing::Range(0, 8));

TEST(SwarmOf, TheMemoryStoreFindsNothing) {
  schedule_options memory;
  memory.store = store_kind::memory;
  expect_well(run(1, 500 / share, memory));
}

TEST(SwarmOf, ClassicShowsTwoHoldersWhenAServersClockIsSet) {
  const schedule_options jumps = with(store_kind::classic, "jump");
  const swarm_totals t = run(1, 60, jumps);
  EXPECT_GT(unexpected(t, violation_kind::exclusion), 0U);
  EXPECT_GT(t.failed_schedules, 0U);
  expect_well(run(1, 60 / (share > 1 ? 3 : 1), with(store_kind::record, "jump")));
}

TEST(SwarmOf, ClassicShowsTwoHoldersWhenAServerForgets) {
  for (const char* how : {"amnesia", "tail", "flush"}) {
    EXPECT_GT(unexpected(run(1, 60, with(store_kind::classic, how)), violation_kind::exclusion), 0U) << how;
    expect_well(run(1, 60 / (share > 1 ? 3 : 1), with(store_kind::record, how)));
  }
}

TEST(SwarmOf, ClassicKeepsExclusionWhereNothingOfTheKindHappens) {
  expect_well(run(1, 100 / share, with(store_kind::classic, "reset,crash,pause,drift")));
}

/// Its holders stop between the question and the write.
TEST(SwarmOf, ARegisterWithoutAFenceLosesWritesAndOneWithAFenceNone) {
  const swarm_totals t = run(1, 100, with(store_kind::record, "pause,crash,delay"));
  EXPECT_GT(t.lost_without_fence, 0U);
  EXPECT_GT(t.refused_writes, 0U);
  expect_well(t);
}

/// Exclusion rests on the rates of clocks; the order of tokens rests on nothing while nothing is forgotten.
TEST(SwarmOf, ClocksWithoutBoundBreaksExclusionAndNeverTheOrderOfTokens) {
  const swarm_totals t =
      run(1, 200 / (share > 1 ? 4 : 1), with(store_kind::record, "racing,freeze,pause,partition,jump"));
  expect_well(t);
  EXPECT_GT(t.expected[static_cast<std::size_t>(violation_kind::exclusion)], 0U);
  EXPECT_EQ(t.expected[static_cast<std::size_t>(violation_kind::token)], 0U);
  EXPECT_EQ(t.expected[static_cast<std::size_t>(violation_kind::fence)], 0U);
  EXPECT_EQ(t.schedules_beyond, t.schedules);
}

TEST(SwarmOf, MemoryLossWithAClockSetBackIsCountedApart) {
  const swarm_totals t = run(1, 60, with(store_kind::record, "jump,amnesia"));
  expect_well(t);
  EXPECT_GT(t.expected[static_cast<std::size_t>(violation_kind::token)], 0U);
  ASSERT_TRUE(t.first_expected);
  EXPECT_NE(t.first_expected->beyond.find("clock"), std::string::npos);
}

schedule_options three_servers(bool strict) {
  schedule_options o;
  o.nodes = 3;
  o.strict = strict;
  return o;
}

TEST(SwarmOf, ThreeServersFindsNothing) {
  const swarm_totals t = run(1, 100 / share, three_servers(false));
  expect_well(t);
  EXPECT_GT(t.acquisitions, t.schedules * 5);
  EXPECT_GT(t.quarantines, t.schedules * 3);
}

/// Where it is left to a person, no clock excuses anything.
TEST(SwarmOf, ThreeServersThatAPersonLetsBeginFindsNothingAndExcusesNothing) {
  const swarm_totals t = run(1, 100 / share, three_servers(true));
  expect_well(t);
  EXPECT_GT(t.acquisitions, t.schedules * 5);
  EXPECT_EQ(t.expected[static_cast<std::size_t>(violation_kind::token)], 0U);
  EXPECT_EQ(t.schedules_beyond, 0U);
}

TEST(SwarmOf, ManyJobsFindsWhatOneFinds) {
  swarm_order order;
  order.last = 40;
  order.what = with(store_kind::classic, "jump");
  const swarm_totals one = run_swarm(order, nullptr);
  order.jobs = 3;
  const swarm_totals three = run_swarm(order, nullptr);
  EXPECT_EQ(one.steps, three.steps);
  EXPECT_EQ(one.acquisitions, three.acquisitions);
  EXPECT_EQ(one.unexpected, three.unexpected);
  ASSERT_EQ(one.failures.size(), three.failures.size());
  ASSERT_FALSE(one.failures.empty());
  EXPECT_EQ(one.failures.front().seed, three.failures.front().seed);
}

TEST(SwarmOf, OneThatStopsAtTheFirstNamesTheFirst) {
  swarm_order order;
  order.last = 1000;
  order.jobs = 2;
  order.stop_at_first = true;
  order.what = with(store_kind::classic, "jump");
  const swarm_totals t = run_swarm(order, nullptr);
  EXPECT_TRUE(t.stopped);
  EXPECT_LT(t.schedules, 1000U);
  ASSERT_FALSE(t.failures.empty());
  order.last = t.failures.front().seed - 1;
  if (order.last >= order.first) {
    EXPECT_EQ(run_swarm(order, nullptr).failed_schedules, 0U);
  }
}

TEST(SwarmOf, ManyEndsWhenItIsTold) {
  swarm_order order;
  order.last = 1'000'000'000;
  order.what = with(store_kind::memory, "none");
  const swarm_totals t = run_swarm(order, [](const swarm_progress& p) {
    EXPECT_EQ(p.of, 1'000'000'000U);
    return false;
  });
  EXPECT_TRUE(t.stopped);
  EXPECT_LT(t.schedules, 1'000'000U);
}

}  // namespace
}  // namespace cremone::sim
