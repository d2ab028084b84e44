// SPDX-License-Identifier: Apache-2.0
//
// What a pair of acquire and release costs on redis:// in its layouts, beside the plainest loop that one can write with
// hiredis, on the same server in the same run: each round runs one right after the other. Asserts nothing; figures only.
#include "bench/pairs.hpp"
#include "bench/redis_server.hpp"

#include <benchmark/benchmark.h>

#include <exception>
#include <memory>
#include <string>

namespace cremone::bench {
namespace {

measured raw_pairs(const redis_server& server, int threads) {
  return pairs_of(threads, [&](int i) {
    return [lock = std::make_shared<raw_lock>(server.port()), name = "raw-" + std::to_string(i)] {
      lock->pair(name);
      return 0.0;
    };
  });
}

/// So many threads, each with a name of its own, over one client; raw: each with a connection of its own.
void redis_pairs(benchmark::State& state, const char* layout) {
  const int threads = static_cast<int>(state.range(0));
  try {
    const redis_server server;
    const pinned here;
    client locks = server.opened(layout);
    compare(
        state, [&] { return cremone_pairs(locks, threads); }, [&] { return raw_pairs(server, threads); });
  } catch (const std::exception& failed) {
    state.SkipWithError(failed.what());
  }
}

/// So many in flight on one thread of ours; raw: 16 threads with a connection each, which is as fast as that gets.
void redis_async(benchmark::State& state, const char* layout) {
  constexpr int raw_threads = 16;
  try {
    const redis_server server;
    const pinned here;
    client locks = server.opened(layout);
    flight all(locks, static_cast<int>(state.range(0)));
    compare(
        state, [&] { return all.fly(); }, [&] { return raw_pairs(server, raw_threads); });
  } catch (const std::exception& failed) {
    state.SkipWithError(failed.what());
  }
}

#define CREMONE_BENCH_LAYOUT(layout)              \
  BENCHMARK_CAPTURE(redis_pairs, layout, #layout) \
      ->Arg(1)                                    \
      ->Arg(16)                                   \
      ->Iterations(1)                             \
      ->UseManualTime()                           \
      ->Unit(benchmark::kSecond);                 \
  BENCHMARK_CAPTURE(redis_async, layout, #layout) \
      ->Arg(64)                                   \
      ->Iterations(1)                             \
      ->UseManualTime()                           \
      ->Unit(benchmark::kSecond)

CREMONE_BENCH_LAYOUT(classic);
CREMONE_BENCH_LAYOUT(record);

}  // namespace
}  // namespace cremone::bench
