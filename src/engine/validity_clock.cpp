// SPDX-License-Identifier: Apache-2.0
//
// CLOCK_MONOTONIC_RAW is not slewed but stops in suspend; CLOCK_BOOTTIME − CLOCK_MONOTONIC is the time spent
// suspended so far. Their sum is the clock of every lease. The difference is of two readings, between which the
// thread can be preempted: it is therefore bracketed, and the sum never goes back.
#include <cremone/types.hpp>

#include <time.h>

#include <atomic>
#include <cstdint>

namespace cremone {

namespace {

constexpr std::int64_t tight = 50'000;  // ns: wider brackets mean that we were preempted between two readings
constexpr int most_tries = 16;
constexpr int most_tries_at_first = 1000;  // there is no earlier reading to fall back on

std::int64_t read(clockid_t id) noexcept {
  timespec t{};
  ::clock_gettime(id, &t);  // cannot fail for these clocks on any Linux that we build on
  return static_cast<std::int64_t>(t.tv_sec) * 1'000'000'000 + t.tv_nsec;
}

/// A lower bound of the time suspended so far, at most `tight` too low unless every try was preempted.
std::int64_t suspended_at_least(int tries) noexcept {
  std::int64_t best = 0;
  std::int64_t best_width = INT64_MAX;
  for (int i = 0; i < tries && best_width > tight; ++i) {
    const std::int64_t before = read(CLOCK_MONOTONIC);
    const std::int64_t boot = read(CLOCK_BOOTTIME);
    const std::int64_t after = read(CLOCK_MONOTONIC);
    if (after - before < best_width) {
      best_width = after - before;
      best = boot - after;
    }
  }
  return best;
}

}  // namespace

validity_clock::time_point validity_clock::now() noexcept {
  // The time suspended only grows, and each lower bound of it stays one: the greatest seen is the best.
  static std::atomic<std::int64_t> suspended{INT64_MIN};
  std::int64_t known = suspended.load(std::memory_order_relaxed);
  const std::int64_t fresh = suspended_at_least(known == INT64_MIN ? most_tries_at_first : most_tries);
  while (fresh > known && !suspended.compare_exchange_weak(known, fresh, std::memory_order_relaxed)) {
  }
  return time_point(duration(read(CLOCK_MONOTONIC_RAW) + (fresh > known ? fresh : known)));
}

}  // namespace cremone
