// SPDX-License-Identifier: Apache-2.0
#include "bench/pairs.hpp"

#include "bench/scratch.hpp"

#include <cremone/async.hpp>

#include <boost/asio/bind_executor.hpp>

#include <atomic>
#include <barrier>
#include <string>
#include <thread>
#include <utility>

namespace cremone::bench {

namespace {

using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;

constexpr int rounds = 5;
constexpr clock::duration round_time = 1s;  // of each side

double microseconds_since(clock::time_point began) {
  return std::chrono::duration<double, std::micro>(clock::now() - began).count();
}

}  // namespace

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
  m.pairs = pairs;
  m.per_second = static_cast<double>(pairs) / std::chrono::duration<double>(clock::now() - began).count();
  return m;
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

flight::flight(client& locks, int chains) : locks_(locks) {
  for (int i = 0; i < chains; ++i) {
    names_.emplace_back("flight-" + std::to_string(i));
  }
}

measured flight::fly() {
  pairs_ = 0;
  const auto began = clock::now();
  end_ = began + round_time;
  for (const lock_name& name : names_) {
    acquire(name);
  }
  loop_.restart();
  loop_.run();
  return {.pairs = pairs_,
          .per_second =
              static_cast<double>(pairs_) / std::chrono::duration<double>(clock::now() - began).count()};
}

void flight::acquire(const lock_name& name) {
  async_acquire(locks_, name, {},
                boost::asio::bind_executor(loop_.get_executor(),
                                           [this, &name](result<lease> got) { release(name, got.value()); }));
}

void flight::release(const lock_name& name, lease& held) {
  async_release(std::move(held),
                boost::asio::bind_executor(loop_.get_executor(), [this, &name](result<void> r) {
                  r.value();
                  ++pairs_;
                  if (clock::now() < end_) {
                    acquire(name);
                  }
                }));
}

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

}  // namespace cremone::bench
