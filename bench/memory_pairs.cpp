// SPDX-License-Identifier: Apache-2.0
//
// What a pair of acquire and release costs on memory://, and how much of it is the engine: the same pair is made
// on the bare store in the same run. Asserts nothing; figures only.
#include "backends/memory/store.hpp"

#include <cremone/async.hpp>
#include <cremone/cremone.hpp>

#include <benchmark/benchmark.h>

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/io_context.hpp>

#include <algorithm>
#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace {

using namespace std::chrono_literals;
using nanos = std::chrono::duration<double, std::nano>;

/// The store alone: no lease, no watchdog, no clock, no random owner.
class bare_store {
 public:
  void pair() {
    ask(n_++);
    benchmark::DoNotOptimize(store_->release({request_.name, request_.owner}, {}));
  }

  /// The n-th owner asks for the lock, and queues if it is held.
  void ask(unsigned n) {
    request_.owner = cremone::owner_id({static_cast<std::uint8_t>(n), static_cast<std::uint8_t>(n >> 8U),
                                        static_cast<std::uint8_t>(n >> 16U)});
    benchmark::DoNotOptimize(store_->try_acquire(request_, {}));
  }

 private:
  std::unique_ptr<cremone::memory::store> store_ = std::make_unique<cremone::memory::store>();
  cremone::acquire_request request_{
      .name = "bench", .owner = {}, .mode = {}, .ttl = 30s, .who = {}, .join = true, .wake = {}};
  unsigned n_ = 0;
};

void pair(cremone::client& locks, const cremone::lock_name& name) {
  auto lease = locks.acquire(name);
  benchmark::DoNotOptimize(lease->token());
}

template <class F>
double time_of(int times, F&& work) {
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < times; ++i) {
    work();
  }
  return nanos(std::chrono::steady_clock::now() - start).count() / times;
}

/// One thread, nobody else: pairs/s, and the engine's share in ns. Medians, because a preemption costs more than
/// a thousand pairs.
void engine_overhead_per_pair(benchmark::State& state) {
  auto locks = cremone::open("memory://engine-overhead").value();
  bare_store bare;
  std::vector<double> with;
  std::vector<double> without;
  constexpr int batch = 200;
  for (auto _ : state) {
    without.push_back(time_of(batch, [&] { bare.pair(); }));
    with.push_back(time_of(batch, [&] { pair(locks, "bench"); }));
  }
  const auto median = [](std::vector<double>& v) {
    std::nth_element(v.begin(), v.begin() + static_cast<std::ptrdiff_t>(v.size() / 2), v.end());
    return v[v.size() / 2];
  };
  const double pair_ns = median(with);
  const double store_ns = median(without);
  state.counters["pair_ns"] = pair_ns;
  state.counters["store_ns"] = store_ns;
  state.counters["engine_ns"] = pair_ns - store_ns;
  state.counters["pairs/s"] = 1e9 / pair_ns;
}

/// What each of a crowd of waiters costs when it asks again, on the bare store.
void ask_again_in_a_crowd(benchmark::State& state) {
  bare_store bare;
  const auto crowd = static_cast<unsigned>(state.range(0));
  for (unsigned n = 0; n <= crowd; ++n) {
    bare.ask(n);  // the first one holds it
  }
  unsigned n = 0;
  for (auto _ : state) {
    bare.ask(1 + n++ * 7919 % crowd);
  }
}

/// A pair on a std::mutex: what a lock costs that holds within this process only and knows no token.
void std_mutex_pair(benchmark::State& state) {
  static std::mutex one;
  for (auto _ : state) {
    const std::lock_guard guard(one);
    benchmark::ClobberMemory();
  }
  state.counters["pairs/s"] =
      benchmark::Counter(static_cast<double>(state.iterations()), benchmark::Counter::kIsRate);
}

cremone::client& shared_client() {
  static cremone::client locks = cremone::open("memory://bench").value();
  return locks;
}

void threads_distinct_names(benchmark::State& state) {
  const cremone::lock_name mine("bench-" + std::to_string(state.thread_index()));
  for (auto _ : state) {
    pair(shared_client(), mine);
  }
  state.counters["pairs/s"] =
      benchmark::Counter(static_cast<double>(state.iterations()), benchmark::Counter::kIsRate);
}

void threads_one_name(benchmark::State& state) {
  const cremone::lock_name shared("bench-one");
  for (auto _ : state) {
    pair(shared_client(), shared);
  }
  state.counters["pairs/s"] =
      benchmark::Counter(static_cast<double>(state.iterations()), benchmark::Counter::kIsRate);
}

/// Acquire and release through completion tokens on one io_context.
void async_pair(benchmark::State& state) {
  boost::asio::io_context loop;
  for (auto _ : state) {
    cremone::async_acquire(
        shared_client(), "bench-async", {},
        boost::asio::bind_executor(loop.get_executor(), [](cremone::result<cremone::lease> l) {
          benchmark::DoNotOptimize(l->token());
        }));
    loop.restart();
    loop.run();
  }
  state.counters["pairs/s"] =
      benchmark::Counter(static_cast<double>(state.iterations()), benchmark::Counter::kIsRate);
}

BENCHMARK(engine_overhead_per_pair)->Repetitions(5)->DisplayAggregatesOnly()->Unit(benchmark::kMicrosecond);
BENCHMARK(ask_again_in_a_crowd)->Arg(1)->Arg(100)->Arg(10'000)->Arg(100'000);
BENCHMARK(std_mutex_pair)->Repetitions(5)->DisplayAggregatesOnly();
BENCHMARK(threads_distinct_names)
    ->Threads(1)
    ->Threads(16)
    ->UseRealTime()
    ->Repetitions(5)
    ->DisplayAggregatesOnly();
BENCHMARK(threads_one_name)->Threads(2)->Threads(16)->UseRealTime()->Repetitions(5)->DisplayAggregatesOnly();
BENCHMARK(async_pair)->Repetitions(5)->DisplayAggregatesOnly();

}  // namespace
