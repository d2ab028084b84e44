// SPDX-License-Identifier: Apache-2.0
//
// Checks the pauses: their bounds, their growth, and that a seed repeats them. Knows nothing of who pauses.
#include "base/backoff.hpp"

#include "unit/moments.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

namespace cremone {
namespace {

using namespace cremone::testing;

std::vector<nanoseconds> draws(std::uint64_t seed, std::size_t count) {
  jitter noise(seed);
  std::vector<nanoseconds> all(count);
  std::generate(all.begin(), all.end(), [&] { return noise.between(0ns, 1s); });
  return all;
}

std::vector<nanoseconds> pauses(std::uint64_t seed, std::size_t count) {
  backoff b(10ms, 1s, seed);
  std::vector<nanoseconds> all(count);
  std::generate(all.begin(), all.end(), [&] { return b.pause(); });
  return all;
}

TEST(Jitter, StaysWithinItsBounds) {
  jitter noise(1);
  for (int i = 0; i < 10'000; ++i) {
    const nanoseconds n = noise.between(5ms, 7ms);
    ASSERT_GE(n, 5ms);
    ASSERT_LE(n, 7ms);
  }
}

TEST(Jitter, ReachesBothBounds) {
  jitter noise(1);
  std::set<nanoseconds> seen;
  for (int i = 0; i < 1000; ++i) {
    seen.insert(noise.between(3ns, 6ns));
  }
  EXPECT_EQ(seen, (std::set<nanoseconds>{3ns, 4ns, 5ns, 6ns}));
}

TEST(Jitter, HasNoChoiceInAnEmptyRange) {
  jitter noise(1);
  EXPECT_EQ(noise.between(4ms, 4ms), 4ms);
  EXPECT_EQ(noise.between(0ns, 0ns), 0ns);
}

TEST(Jitter, CopesWithTheWholeRange) {
  jitter noise(1);
  for (int i = 0; i < 1000; ++i) {
    ASSERT_GE(noise.between(0ns, nanoseconds::max()), 0ns);
  }
}

TEST(Jitter, IsRepeatedByItsSeedAndChangedByAnother) {
  EXPECT_EQ(draws(42, 100), draws(42, 100));
  EXPECT_NE(draws(42, 100), draws(43, 100));
  EXPECT_NE(draws(0, 100), draws(1, 100));
}

TEST(Jitter, IsSpreadEvenly) {
  int low = 0;
  for (const nanoseconds n : draws(7, 10'000)) {
    low += n < 500ms ? 1 : 0;
  }
  EXPECT_GT(low, 4500);
  EXPECT_LT(low, 5500);
}

TEST(Backoff, DrawsEachPauseFromTheUpperHalfOfADoublingLimit) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    nanoseconds limit = 10ms;
    for (const nanoseconds pause : pauses(seed, 20)) {
      ASSERT_GE(pause, limit / 2);
      ASSERT_LE(pause, limit);
      limit = std::min<nanoseconds>(limit * 2, 1s);
    }
  }
}

TEST(Backoff, NeverExceedsTheLongestPause) {
  for (const nanoseconds pause : pauses(3, 1000)) {
    ASSERT_LE(pause, 1s);
  }
}

TEST(Backoff, SpreadsACrowd) {
  std::set<nanoseconds> third;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    third.insert(pauses(seed, 3).back());
  }
  EXPECT_GT(third.size(), 95U);
}

TEST(Backoff, IsRepeatedByItsSeed) {
  EXPECT_EQ(pauses(5, 50), pauses(5, 50));
  EXPECT_NE(pauses(5, 50), pauses(6, 50));
}

TEST(Backoff, StartsOverAfterAReset) {
  backoff b(10ms, 1s, 1);
  for (int i = 0; i < 10; ++i) {
    (void)b.pause();
  }
  ASSERT_GT(b.pause(), 10ms);
  b.reset();
  EXPECT_LE(b.pause(), 10ms);
  EXPECT_LE(b.pause(), 20ms);
}

}  // namespace
}  // namespace cremone
