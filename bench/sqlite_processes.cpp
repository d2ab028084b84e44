// SPDX-License-Identifier: Apache-2.0
//
// Locks of sqlite:// between processes: how soon the next one has the lock when it is released, and when its holder is
// killed; and how eight share one. Asserts nothing; figures only.
#include "bench/scratch.hpp"
#include "bench/worker.hpp"

#include <cremone/cremone.hpp>

#include <benchmark/benchmark.h>

#include <algorithm>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace cremone::bench {
namespace {

using namespace std::chrono_literals;

/// A database, and a client of this process that sees who waits in it.
struct shared_database {
  const scratch directory{};
  const std::string path = directory.file("locks.db");
  client seen_by = open("sqlite://" + path).value();

  /// Until one holds and one waits, and a little more, so that the waiter sleeps.
  void wait_for_a_waiter() const {
    while (seen_by.inspect("bench").value().waiters.empty()) {
      std::this_thread::sleep_for(200us);
    }
    std::this_thread::sleep_for(2ms);
  }
};

void show(benchmark::State& state, const std::vector<double>& took, const std::vector<double>& bare) {
  constexpr double us = 1e6;
  state.counters["p50_us"] = percentile(took, 0.5) * us;
  state.counters["p99_us"] = percentile(took, 0.99) * us;
  state.counters["bare_p50_us"] = percentile(bare, 0.5) * us;
  state.counters["bare_p99_us"] = percentile(bare, 0.99) * us;
}

/// From the call of release in one process to the return of acquire in another. Bare: from a write to a pipe to the
/// return of the read in the other process.
void sqlite_hand_off(benchmark::State& state) {
  const shared_database on;
  auto holder = std::make_unique<worker>(on.path);
  auto waiter = std::make_unique<worker>(on.path);
  std::vector<double> took;
  std::vector<double> bare;
  holder->acquire();
  (void)holder->answer();
  for (auto _ : state) {
    waiter->acquire();
    on.wait_for_a_waiter();
    holder->release();
    const double released = holder->answer();
    took.push_back(waiter->answer() - released);
    state.SetIterationTime(took.back());
    std::this_thread::sleep_for(2ms);  // the other sleeps, as the waiter did
    const double written = seconds_now();
    holder->time();
    bare.push_back(holder->answer() - written);
    std::swap(holder, waiter);
  }
  show(state, took, bare);
}

/// From SIGKILL for a holder with a ttl of 60 s to the return of acquire in another process. Bare: until the kernel
/// says that the process is gone.
void sqlite_holder_killed(benchmark::State& state) {
  const shared_database on;
  worker waiter(on.path);
  std::vector<double> took;
  std::vector<double> bare;
  for (auto _ : state) {
    worker holder(on.path);
    holder.acquire();
    (void)holder.answer();
    waiter.acquire();
    on.wait_for_a_waiter();
    std::this_thread::sleep_for(
        std::chrono::milliseconds(took.size() % 25));  // at every phase of its looking
    const double killed = seconds_now();
    holder.kill();
    bare.push_back(seconds_now() - killed);
    took.push_back(waiter.answer() - killed);
    state.SetIterationTime(took.back());
    waiter.release();
    (void)waiter.answer();
  }
  show(state, took, bare);
}

/// Several processes that want one lock all the time. Bare: flock() on a file, which keeps no order.
void sqlite_contended(benchmark::State& state) {
  const shared_database on;
  std::vector<std::unique_ptr<worker>> crowd;
  for (std::int64_t i = 0; i < state.range(0); ++i) {
    crowd.push_back(std::make_unique<worker>(on.path));
  }
  const auto run = [&](void (worker::*what)(), const std::string& prefix) {
    std::vector<double> counts;
    for (const auto& w : crowd) {
      ((*w).*what)();
    }
    for (const auto& w : crowd) {
      counts.push_back(w->answer());
    }
    double sum = 0;
    for (const double count : counts) {
      sum += count;
    }
    const auto [least, most] = std::minmax_element(counts.begin(), counts.end());
    state.counters[prefix + "acquired/s"] = sum / std::chrono::duration<double>(contention).count();
    state.counters[prefix + "most"] = *most;
    state.counters[prefix + "least"] = *least;
  };
  for (auto _ : state) {
    run(&worker::contend, "");
    run(&worker::contend_for_file, "bare_");
    state.SetIterationTime(std::chrono::duration<double>(contention).count());
  }
}

BENCHMARK(sqlite_hand_off)->Iterations(1000)->UseManualTime()->Unit(benchmark::kMicrosecond);
BENCHMARK(sqlite_holder_killed)->Iterations(300)->UseManualTime()->Unit(benchmark::kMicrosecond);
BENCHMARK(sqlite_contended)->Arg(8)->Iterations(1)->UseManualTime()->Unit(benchmark::kSecond);

}  // namespace
}  // namespace cremone::bench
