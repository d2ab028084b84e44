// SPDX-License-Identifier: Apache-2.0
//
// What it costs to hold: the CPU that a client spends on keeping 10,000 leases of ttl 10 s alive. Asserts only
// that they were alive.
#include "bench/cpu.hpp"

#include <cremone/cremone.hpp>

#include <benchmark/benchmark.h>

#include <chrono>
#include <string>
#include <thread>
#include <vector>

namespace {

using namespace std::chrono_literals;
using cremone::bench::cpu_seconds;

void cpu_of_held_leases(benchmark::State& state) {
  const auto count = static_cast<std::size_t>(state.range(0));
  auto locks = cremone::open("memory://held-leases").value();
  std::vector<cremone::lease> leases;
  leases.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    // Spread over a third of the ttl, as leases are in life; taken all at once they would share one batch.
    if (i % 100 == 0) {
      std::this_thread::sleep_for(30ms);
    }
    leases.push_back(locks.acquire("held-" + std::to_string(i), {.ttl = 10s}).value());
  }
  for (auto _ : state) {
    const double before = cpu_seconds();
    const auto start = std::chrono::steady_clock::now();
    std::this_thread::sleep_for(20s);  // two ttls: six renewals of each
    const double wall = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    state.SetIterationTime(wall);
    state.counters["percent_of_a_core"] = (cpu_seconds() - before) / wall * 100;
  }
  std::size_t held = 0;
  for (const auto& lease : leases) {
    held += lease.held() ? 1U : 0U;
  }
  state.counters["held"] = static_cast<double>(held);
  if (held != count) {
    state.SkipWithError("leases were lost");
  }
}

BENCHMARK(cpu_of_held_leases)->Arg(10'000)->Iterations(1)->UseManualTime()->Unit(benchmark::kSecond);

}  // namespace
