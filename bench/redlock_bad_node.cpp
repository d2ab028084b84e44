// SPDX-License-Identifier: Apache-2.0
//
// What acquire costs on five servers when some of them are hung or dead, against the five in health: each round starts five
// new servers, measures, breaks some, and measures on with the same client from that moment, so that what the change itself
// costs is in it. Each round breaks others. Asserts nothing but that every acquire succeeds.
#include "bench/redlock_servers.hpp"

#include <cremone/cremone.hpp>

#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <vector>

namespace cremone::bench {
namespace {

using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;

constexpr std::size_t rounds = redlock_servers::count;  // each of them is bad once
constexpr clock::duration phase_time = 2s;              // some thousand acquires: a p99 needs many
constexpr clock::duration warm_up = 200ms;              // connections, scripts

enum class fault { hung, dead };

std::vector<double> acquire_us(client& locks, clock::duration time) {
  const lock_name name("bench");
  std::vector<double> took;
  for (const auto end = clock::now() + time; clock::now() < end;) {
    const auto began = clock::now();
    const lease held = locks.acquire(name).value();
    took.push_back(std::chrono::duration<double, std::micro>(clock::now() - began).count());
  }
  return took;
}

struct phase {
  std::vector<double> p50{};
  std::vector<double> p99{};
  double worst = 0;

  void add(const std::vector<double>& took) {
    p50.push_back(percentile(took, 0.5));
    p99.push_back(percentile(took, 0.99));
    worst = std::max(worst, *std::max_element(took.begin(), took.end()));
  }
};

void redlock_bad_node(benchmark::State& state, const char* layout, fault what) {
  const auto bad_nodes = static_cast<std::size_t>(state.range(0));
  phase healthy;
  phase bad;
  std::vector<double> ratios;
  try {
    for (auto _ : state) {
      const auto began = clock::now();
      for (std::size_t round = 0; round < rounds; ++round) {
        redlock_servers servers;
        const pinned here;
        client locks = servers.opened(layout);
        (void)acquire_us(locks, warm_up);
        healthy.add(acquire_us(locks, phase_time));
        for (std::size_t i = 0; i < bad_nodes; ++i) {
          redis_server& server = servers[(round + i) % redlock_servers::count];
          what == fault::hung ? server.hang() : server.die();
        }
        bad.add(acquire_us(locks, phase_time));
        ratios.push_back(bad.p99.back() / healthy.p99.back());
      }
      state.SetIterationTime(std::chrono::duration<double>(clock::now() - began).count());
    }
    state.counters["healthy_p50_us"] = median(healthy.p50);
    state.counters["healthy_p99_us"] = median(healthy.p99);
    state.counters["healthy_worst_us"] = healthy.worst;
    state.counters["bad_p50_us"] = median(bad.p50);
    state.counters["bad_p99_us"] = median(bad.p99);
    state.counters["bad_worst_us"] = bad.worst;
    state.counters["p99_ratio"] = median(ratios);
    if (bad_nodes == 1) {
      state.SetLabel("aim: p99_ratio <= 1.5");
    }
  } catch (const std::exception& failed) {
    state.SkipWithError(failed.what());
  }
}

#define CREMONE_BENCH_FAULT(layout, what)                                    \
  BENCHMARK_CAPTURE(redlock_bad_node, layout##_##what, #layout, fault::what) \
      ->Arg(1)                                                               \
      ->Arg(2)                                                               \
      ->Iterations(1)                                                        \
      ->UseManualTime()                                                      \
      ->Unit(benchmark::kSecond)

CREMONE_BENCH_FAULT(classic, hung);
CREMONE_BENCH_FAULT(classic, dead);
CREMONE_BENCH_FAULT(record, hung);
CREMONE_BENCH_FAULT(record, dead);

}  // namespace
}  // namespace cremone::bench
