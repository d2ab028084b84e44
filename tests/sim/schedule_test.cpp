// SPDX-License-Identifier: Apache-2.0
//
// What a schedule is: the same for the same seed, whoever looks; another for another seed.
#include "sim/schedule.hpp"
#include "backends/redis/digest.hpp"
#include "sim/plan.hpp"
#include "sim/redis/lua.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <set>
#include <string>

namespace cremone::sim {
namespace {

std::string trace_of(lua& scripts, std::uint64_t seed, const schedule_options& options) {
  std::string all;
  (void)run_schedule(scripts, seed, options, [&](std::string_view line) {
    all += line;
    all += '\n';
  });
  return all;
}

class EachStore : public testing::TestWithParam<store_kind> {
 protected:
  [[nodiscard]] static schedule_options options() {
    schedule_options o;
    o.store = GetParam();
    return o;
  }
  lua scripts_;
};

TEST_P(EachStore, IsTheSameToTheByteEachTime) {
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    const std::string first = trace_of(scripts_, seed, options());
    lua fresh;
    EXPECT_TRUE(first == trace_of(fresh, seed, options())) << "seed " << seed;
    EXPECT_NE(first.find(" holds '"), std::string::npos) << "seed " << seed << ": nobody got a lock";
  }
}

TEST_P(EachStore, IsTheSameWhenNobodyLooks) {
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    const schedule_result watched = run_schedule(scripts_, seed, options(), [](std::string_view) {});
    const schedule_result alone = run_schedule(scripts_, seed, options());
    EXPECT_EQ(watched.steps, alone.steps) << "seed " << seed;
    EXPECT_EQ(watched.acquisitions, alone.acquisitions) << "seed " << seed;
    EXPECT_EQ(watched.faults, alone.faults) << "seed " << seed;
    EXPECT_EQ(watched.length, alone.length) << "seed " << seed;
  }
}

TEST_P(EachStore, GivesEveryoneAllTheirLocksWhereNothingGoesWrong) {
  schedule_options calm = options();
  calm.faults = fault_set::none();
  calm.clients = 3;
  calm.acquisitions = 5;
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const schedule_result r = run_schedule(scripts_, seed, calm);
    EXPECT_GE(r.acquisitions, 15U) << "seed " << seed;
    EXPECT_TRUE(r.violations.empty()) << "seed " << seed << ": " << r.violations.front().what;
    EXPECT_EQ(r.losses, 0U) << "seed " << seed;
    EXPECT_EQ(r.refused_writes, 0U) << "seed " << seed;
    EXPECT_EQ(r.lost_without_fence, 0U) << "seed " << seed;
  }
}

INSTANTIATE_TEST_SUITE_P(Stores, EachStore,
                         testing::Values(store_kind::record, store_kind::classic, store_kind::memory),
                         [](const auto& store) { return std::string(name_of(store.param)); });

TEST(Schedule, IsAnotherForEachSeed) {
  lua scripts;
  std::set<std::string> mixes;
  std::set<std::chrono::nanoseconds> lengths;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const schedule_result r = run_schedule(scripts, seed, {});
    mixes.insert(r.mix);
    lengths.insert(r.length);
  }
  EXPECT_EQ(mixes.size(), 20U);
  EXPECT_EQ(lengths.size(), 20U);
}

TEST(Schedule, LetsEveryFaultStrikeThatItIsAskedFor) {
  lua scripts;
  schedule_options all;
  all.faults = fault_set::bounded();
  all.every_fault = true;
  fault_counts sum{};
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    const schedule_result r = run_schedule(scripts, seed, all);
    for (std::size_t i = 0; i < fault_count; ++i) {
      sum[i] += r.faults[i];
    }
  }
  for (std::size_t i = 0; i < fault_count; ++i) {
    const auto f = static_cast<fault>(i);
    EXPECT_EQ(sum[i] > 0, fault_set::bounded().has(f)) << name_of(f);
  }
}

TEST(Plan, HasTwoLocksOfOneCounterWhereItSaysSo) {
  plan p;
  EXPECT_NE(redis::bucket_of(lock_of(p, 0)), redis::bucket_of(lock_of(p, 1)));
  p.one_bucket = true;
  EXPECT_NE(lock_of(p, 0), lock_of(p, 1));
  EXPECT_EQ(redis::bucket_of(lock_of(p, 0)), redis::bucket_of(lock_of(p, 1)));
}

TEST(Faults, AreReadAsTheyAreWritten) {
  const fault_set all = fault_set::bounded();
  EXPECT_EQ(parse_faults(to_string(all)).value(), all);
  EXPECT_EQ(parse_faults("all").value(), all);
  EXPECT_EQ(parse_faults("none").value(), fault_set::none());
  EXPECT_TRUE(parse_faults("all,freeze").value().has(fault::freeze));
  EXPECT_FALSE(parse_faults("jump").value().has(fault::crash));
  EXPECT_NE(parse_faults("jumb").error().detail().find("did you mean jump"), std::string::npos);
  EXPECT_EQ(parse_faults("").error().code(), errc::invalid_argument);
  EXPECT_EQ(parse_faults("jump,,crash").error().code(), errc::invalid_argument);
}

}  // namespace
}  // namespace cremone::sim
