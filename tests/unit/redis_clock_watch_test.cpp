// SPDX-License-Identifier: Apache-2.0
//
// Checks when a server's clock counts as set: never for a delay or for a rate within bounds, always for more than that.
#include "backends/redis/clock_watch.hpp"

#include <gtest/gtest.h>

namespace cremone::redis {
namespace {

using namespace std::chrono_literals;
using std::chrono::microseconds;
using std::chrono::nanoseconds;

constexpr microseconds epoch = 1'700'000'000s;

instant at(nanoseconds t) { return instant(t); }

TEST(ClockWatch, IsNotAlarmedByDelaysHoweverTheyFall) {
  clock_watch watch;
  for (int i = 0; i < 100; ++i) {
    const nanoseconds now = i * 1s;
    const microseconds delay_there = i % 3 == 0 ? 900ms : 10us;
    const microseconds delay_back = i % 2 == 0 ? 800ms : 10us;
    const auto theirs = epoch + std::chrono::duration_cast<microseconds>(now) + delay_there;
    EXPECT_FALSE(watch.sample(at(now), at(now + delay_there + delay_back), theirs)) << i;
  }
}

TEST(ClockWatch, IsNotAlarmedByAClockThatIsALittleFastOrSlow) {
  for (const int ppm : {900, -900}) {
    clock_watch watch;
    for (int i = 0; i < 1000; ++i) {
      const microseconds now = i * 10s;
      const microseconds theirs = epoch + now + now * ppm / 1'000'000;
      EXPECT_FALSE(watch.sample(at(now), at(now + 200us), theirs + 100us)) << ppm << " " << i;
    }
  }
}

TEST(ClockWatch, TellsByHowMuchItWasSet) {
  for (const microseconds step : {microseconds(60s), microseconds(-120s), microseconds(50ms)}) {
    clock_watch watch;
    EXPECT_FALSE(watch.sample(at(0s), at(200us), epoch + 100us));
    EXPECT_FALSE(watch.sample(at(1s), at(1s + 200us), epoch + 1s + 100us));
    const auto told = watch.sample(at(2s), at(2s + 200us), epoch + 2s + 100us + step);
    ASSERT_TRUE(told);
    EXPECT_LT(std::chrono::abs(*told - step), 10ms);
    EXPECT_FALSE(watch.sample(at(3s), at(3s + 200us), epoch + 3s + 100us + step)) << "once is enough";
  }
}

TEST(ClockWatch, NoticesAStepThatNoSingleDelayExplains) {
  clock_watch watch;                                       // wide intervals narrow it down together
  EXPECT_FALSE(watch.sample(at(0s), at(1s), epoch));       // offset in [-1 s, 0]
  EXPECT_FALSE(watch.sample(at(2s), at(3s), epoch + 3s));  // offset in [0, 1 s]: together about 0
  EXPECT_TRUE(watch.sample(at(4s), at(4s + 1ms), epoch + 4s + 500ms));
}

}  // namespace
}  // namespace cremone::redis
