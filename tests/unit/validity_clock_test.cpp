// SPDX-License-Identifier: Apache-2.0
//
// The clock of every lease, from readings that are made up: this program has a clock_gettime of its own, which the library finds
// before that of the system. No test could suspend the machine that it runs on.
#include <cremone/types.hpp>

#include <gtest/gtest.h>

#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <utility>

namespace cremone::test {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

/// A machine whose clocks stand still until a test says how much time has passed. There is one for all tests: what has been seen of
/// the time suspended is remembered for as long as the process lives, and only grows.
struct machine {
  nanoseconds raw = 100s;
  nanoseconds monotonic = 100s;
  nanoseconds suspended = 0s;
  std::function<void(clockid_t)> before_reading;  // what happens to the thread on its way there

  void run(nanoseconds time) {
    raw += time;
    monotonic += time;
  }

  [[nodiscard]] nanoseconds read(clockid_t which) {
    if (before_reading) {
      before_reading(which);
    }
    switch (which) {
      case CLOCK_MONOTONIC_RAW: return raw;
      case CLOCK_BOOTTIME: return monotonic + suspended;
      default: return monotonic;
    }
  }
};

machine& here() {
  static machine only;
  return only;
}

bool made_up = false;  // else the system's own, which GoogleTest goes by

class ValidityClock : public ::testing::Test {
 protected:
  ValidityClock() {
    made_up = true;
    (void)validity_clock::now();
  }
  ~ValidityClock() override {
    here().before_reading = nullptr;
    made_up = false;
  }

  /// By how much the clock goes on during `fn`.
  template <class F>
  [[nodiscard]] static nanoseconds passed(F fn) {
    const instant before = validity_clock::now();
    fn();
    return validity_clock::now() - before;
  }
};

TEST_F(ValidityClock, CountsTheTimeThatTheMachineRan) {
  EXPECT_EQ(passed([] { here().run(7s); }), 7s);
}

TEST_F(ValidityClock, CountsTheTimeThatTheMachineWasSuspended) {
  EXPECT_EQ(passed([] { here().suspended += 1h; }), 1h);
}

TEST_F(ValidityClock, DoesNotRunFasterWhileTheSystemsClocksAreSlewed) {
  EXPECT_EQ(passed([] {
              here().raw += 1000ms;
              here().monotonic += 1001ms;
            }),
            1s);
}

TEST_F(ValidityClock, DoesNotTakeAPauseOfTheThreadForSuspension) {
  for (const clockid_t late : {CLOCK_MONOTONIC, CLOCK_BOOTTIME, CLOCK_MONOTONIC_RAW}) {
    bool paused = false;
    EXPECT_EQ(passed([&] {
                here().before_reading = [&](clockid_t which) {
                  if (which == late && !std::exchange(paused, true)) {
                    here().run(12ms);
                  }
                };
                (void)validity_clock::now();
              }),
              12ms)
        << "before reading " << late;
    here().before_reading = nullptr;
  }
}

TEST_F(ValidityClock, NeverGoesBackThoughTheThreadIsPausedBeforeEveryReading) {
  here().suspended += 1h;
  instant last = validity_clock::now();
  here().before_reading = [](clockid_t) { here().run(12ms); };
  for (int i = 0; i < 10; ++i) {
    const instant now = validity_clock::now();
    EXPECT_GT(now, last);
    last = now;
  }
}

}  // namespace
}  // namespace cremone::test

extern "C" int clock_gettime(clockid_t which, timespec* out) noexcept {
  using namespace cremone::test;
  if (!made_up) {
    return static_cast<int>(::syscall(SYS_clock_gettime, which, out));
  }
  const std::int64_t time = here().read(which).count();
  *out = {.tv_sec = time / 1'000'000'000, .tv_nsec = time % 1'000'000'000};
  return 0;
}
