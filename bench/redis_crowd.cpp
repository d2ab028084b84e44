// SPDX-License-Identifier: Apache-2.0
//
// What many leases and many contenders cost on redis:// in its layouts: CPU of keeping 10,000 leases alive, and how
// a lock that eight want all the time goes from hand to hand. Asserts only that what was held was held.
#include "bench/cpu.hpp"
#include "bench/redis_server.hpp"

#include <cremone/cremone.hpp>

#include <benchmark/benchmark.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace cremone::bench {
namespace {

using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;

double microseconds(clock::duration d) { return std::chrono::duration<double, std::micro>(d).count(); }

/// The client's share of a core; the server is another process, on another core.
void keep_leases(benchmark::State& state, client& locks, std::size_t count) {
  std::vector<lease> leases;
  leases.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    if (i % 100 == 0) {  // spread over a third of the ttl, as leases are in life
      std::this_thread::sleep_for(30ms);
    }
    leases.push_back(locks.acquire("held-" + std::to_string(i), {.ttl = 10s}).value());
  }
  for (auto _ : state) {
    const double before = cpu_seconds();
    const auto start = clock::now();
    std::this_thread::sleep_for(20s);  // two ttls: six renewals of each
    const double wall = std::chrono::duration<double>(clock::now() - start).count();
    state.SetIterationTime(wall);
    state.counters["percent_of_a_core"] = (cpu_seconds() - before) / wall * 100;
  }
  const auto held = std::count_if(leases.begin(), leases.end(), [](const lease& l) { return l.held(); });
  state.counters["held"] = static_cast<double>(held);
  if (static_cast<std::size_t>(held) != count) {
    state.SkipWithError("leases were lost");
  }
}

void redis_held_leases(benchmark::State& state, const char* layout) {
  try {
    const redis_server server;
    const pinned here;
    client locks = server.opened(layout);
    keep_leases(state, locks, static_cast<std::size_t>(state.range(0)));
  } catch (const std::exception& failed) {
    state.SkipWithError(failed.what());
  }
}

/// A lock that many want all the time, each with a client of its own, as if they were programs. A true hand-off is one
/// from a holder to another who was waiting when it released.
class contest {
 public:
  contest(const redis_server& server, const char* layout, int contenders) : url_(server.url(layout)) {
    served_.resize(static_cast<std::size_t>(contenders));
  }

  void run(clock::duration time) {
    std::vector<client> clients;
    std::generate_n(std::back_inserter(clients), served_.size(), [&] { return open(url_).value(); });
    const auto end = clock::now() + time;
    std::vector<std::thread> all;
    for (std::size_t i = 0; i < clients.size(); ++i) {
      all.emplace_back([&, i] { contend(clients[i], i, end); });
    }
    for (std::thread& one : all) {
      one.join();
    }
  }

  [[nodiscard]] const std::vector<std::uint64_t>& served() const noexcept { return served_; }
  [[nodiscard]] const std::vector<double>& hand_offs_us() const noexcept { return hand_offs_us_; }

 private:
  void contend(client& locks, std::size_t me, clock::time_point end) {
    const lock_name name("contended");
    for (auto asked = clock::now(); asked < end; asked = clock::now()) {
      lease held = locks.acquire(name).value();
      const auto got = clock::now();
      // Only the holder is here, so that nothing of this needs a lock, if the lock is one.
      ++served_[me];
      if (released_by_ != me && asked < released_at_) {
        hand_offs_us_.push_back(microseconds(got - released_at_));
      }
      released_by_ = me;
      released_at_ = clock::now();
    }
  }

  std::string url_;
  std::vector<std::uint64_t> served_;
  std::vector<double> hand_offs_us_;
  std::size_t released_by_ = 0;
  clock::time_point released_at_{};
};

std::vector<double> pings(raw_lock& line, int count) {
  std::vector<double> took;
  for (int i = 0; i < count; ++i) {
    const auto began = clock::now();
    line.ping();
    took.push_back(microseconds(clock::now() - began));
  }
  return took;
}

void redis_contended(benchmark::State& state, const char* layout) {
  try {
    const redis_server server;
    const pinned here;
    raw_lock line(server.port());
    const auto round_trips = pings(line, 20'000);
    (void)server.opened(layout);
    contest eight(server, layout, static_cast<int>(state.range(0)));
    const std::uint64_t before = line.requests_served();
    double seconds = 0;
    for (auto _ : state) {
      const auto began = clock::now();
      eight.run(5s);
      seconds = std::chrono::duration<double>(clock::now() - began).count();
      state.SetIterationTime(seconds);
    }
    double all = 0;
    for (const std::uint64_t one : eight.served()) {
      all += static_cast<double>(one);
    }
    const auto [least, most] = std::minmax_element(eight.served().begin(), eight.served().end());
    state.counters["acquisitions/s"] = all / seconds;
    state.counters["requests_each"] = static_cast<double>(line.requests_served() - before) / all;
    state.counters["hand_offs"] = static_cast<double>(eight.hand_offs_us().size());
    state.counters["hand_off_p50_us"] = percentile(eight.hand_offs_us(), 0.5);
    state.counters["hand_off_p99_us"] = percentile(eight.hand_offs_us(), 0.99);
    state.counters["least_served"] = static_cast<double>(*least);
    state.counters["most_served"] = static_cast<double>(*most);
    state.counters["ping_p50_us"] = percentile(round_trips, 0.5);
    state.counters["ping_p99_us"] = percentile(round_trips, 0.99);
  } catch (const std::exception& failed) {
    state.SkipWithError(failed.what());
  }
}

#define CREMONE_BENCH_LAYOUT(layout)                    \
  BENCHMARK_CAPTURE(redis_held_leases, layout, #layout) \
      ->Arg(10'000)                                     \
      ->Iterations(1)                                   \
      ->UseManualTime()                                 \
      ->Unit(benchmark::kSecond);                       \
  BENCHMARK_CAPTURE(redis_contended, layout, #layout)   \
      ->Arg(8)                                          \
      ->Iterations(1)                                   \
      ->UseManualTime()                                 \
      ->Unit(benchmark::kSecond)

CREMONE_BENCH_LAYOUT(classic);
CREMONE_BENCH_LAYOUT(record);

}  // namespace
}  // namespace cremone::bench
