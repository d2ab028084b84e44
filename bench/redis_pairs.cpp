// SPDX-License-Identifier: Apache-2.0
//
// What a pair of acquire and release costs on redis:// in its layouts, beside the plainest loop that one can write with
// hiredis, on the same server in the same run: each round runs one right after the other. Asserts nothing; figures only.
#include "bench/redis_server.hpp"

#include <cremone/async.hpp>
#include <cremone/cremone.hpp>

#include <benchmark/benchmark.h>

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/io_context.hpp>

#include <atomic>
#include <barrier>
#include <chrono>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace cremone::bench {
namespace {

using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;

constexpr int rounds = 5;
constexpr clock::duration round_time = 1s;  // of each side

struct measured {
  double per_second = 0;
  std::vector<double> acquire_us{};  // of the first thread
};

/// As many threads make pairs for as long as a round takes. `make` is called on each thread, for its number, and gives
/// what makes one pair and says how long its acquire took.
measured pairs_of(int threads, const std::function<std::function<double()>(int)>& make) {
  std::atomic<std::uint64_t> pairs = 0;
  std::atomic<bool> over = false;
  measured m;
  clock::time_point began{};
  std::barrier ready(threads + 1);
  std::vector<std::thread> all;
  for (int i = 0; i < threads; ++i) {
    all.emplace_back([&, i] {
      const auto pair = make(i);
      std::vector<double> took;
      ready.arrive_and_wait();
      std::uint64_t mine = 0;
      for (; !over; ++mine) {
        took.push_back(pair());
      }
      pairs += mine;
      if (i == 0) {
        m.acquire_us = std::move(took);
      }
    });
  }
  ready.arrive_and_wait();
  began = clock::now();
  std::this_thread::sleep_for(round_time);
  over = true;
  for (std::thread& one : all) {
    one.join();
  }
  m.per_second = static_cast<double>(pairs) / std::chrono::duration<double>(clock::now() - began).count();
  return m;
}

double microseconds_since(clock::time_point began) {
  return std::chrono::duration<double, std::micro>(clock::now() - began).count();
}

measured raw_pairs(const redis_server& server, int threads) {
  return pairs_of(threads, [&](int i) {
    return [lock = std::make_shared<raw_lock>(server.port()), name = "raw-" + std::to_string(i)] {
      lock->pair(name);
      return 0.0;
    };
  });
}

measured cremone_pairs(client& locks, int threads) {
  return pairs_of(threads, [&](int i) {
    return [&locks, name = lock_name("bench-" + std::to_string(i))] {
      const auto began = clock::now();
      const lease held = locks.acquire(name).value();
      return microseconds_since(began);
    };
  });
}

/// Chains of acquire and release, so many at a time, on one io_context and one thread.
class flight {
 public:
  flight(client& locks, int chains) : locks_(locks) {
    for (int i = 0; i < chains; ++i) {
      names_.emplace_back("flight-" + std::to_string(i));
    }
  }

  measured fly() {
    pairs_ = 0;
    const auto began = clock::now();
    end_ = began + round_time;
    for (const lock_name& name : names_) {
      acquire(name);
    }
    loop_.restart();
    loop_.run();
    return {.per_second =
                static_cast<double>(pairs_) / std::chrono::duration<double>(clock::now() - began).count()};
  }

 private:
  void acquire(const lock_name& name) {
    async_acquire(locks_, name, {},
                  boost::asio::bind_executor(loop_.get_executor(), [this, &name](result<lease> got) {
                    release(name, got.value());
                  }));
  }

  void release(const lock_name& name, lease& held) {
    async_release(std::move(held),
                  boost::asio::bind_executor(loop_.get_executor(), [this, &name](result<void> r) {
                    r.value();
                    ++pairs_;
                    if (clock::now() < end_) {
                      acquire(name);
                    }
                  }));
  }

  client& locks_;
  boost::asio::io_context loop_;
  std::vector<lock_name> names_;
  std::uint64_t pairs_ = 0;
  clock::time_point end_{};
};

/// Rounds of both sides, one after the other, and the medians.
void compare(benchmark::State& state, const std::function<measured()>& ours,
             const std::function<measured()>& raw) {
  std::vector<double> our_rates;
  std::vector<double> raw_rates;
  std::vector<double> ratios;
  std::vector<double> acquire_us;
  for (auto _ : state) {
    const auto began = clock::now();
    for (int i = 0; i < rounds; ++i) {
      raw_rates.push_back(raw().per_second);
      measured m = ours();
      our_rates.push_back(m.per_second);
      ratios.push_back(our_rates.back() / raw_rates.back());
      acquire_us.insert(acquire_us.end(), m.acquire_us.begin(), m.acquire_us.end());
    }
    state.SetIterationTime(std::chrono::duration<double>(clock::now() - began).count());
  }
  state.counters["pairs/s"] = median(our_rates);
  state.counters["raw/s"] = median(raw_rates);
  state.counters["ratio"] = median(ratios);
  if (!acquire_us.empty()) {
    state.counters["acquire_p50_us"] = percentile(acquire_us, 0.5);
    state.counters["acquire_p99_us"] = percentile(acquire_us, 0.99);
  }
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
