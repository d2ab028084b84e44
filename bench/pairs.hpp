// SPDX-License-Identifier: Apache-2.0
//
// Pairs of acquire and release for as long as a round takes, by threads or by completion handlers, and the comparison of two
// sides that take turns. Knows which client makes them, but no store.
#pragma once

#include <cremone/cremone.hpp>

#include <benchmark/benchmark.h>

#include <boost/asio/io_context.hpp>

#include <chrono>
#include <cstdint>

#include <functional>
#include <vector>

namespace cremone::bench {

struct measured {
  std::uint64_t pairs = 0;
  double per_second = 0;
  std::vector<double> acquire_us{};  // of the first thread
};

/// As many threads make pairs for as long as a round takes. `make` is called on each thread, for its number, and gives
/// what makes one pair and says how long its acquire took, in microseconds.
[[nodiscard]] measured pairs_of(int threads, const std::function<std::function<double()>(int)>& make);

/// As many threads, each with a name of its own, over one client.
[[nodiscard]] measured cremone_pairs(client& locks, int threads);

/// Chains of acquire and release, so many at a time, on one io_context and one thread.
class flight {
 public:
  flight(client& locks, int chains);

  [[nodiscard]] measured fly();

 private:
  void acquire(const lock_name& name);
  void release(const lock_name& name, lease& held);

  client& locks_;
  boost::asio::io_context loop_;
  std::vector<lock_name> names_;
  std::uint64_t pairs_ = 0;
  std::chrono::steady_clock::time_point end_{};
};

/// Five rounds of both sides, one right after the other, and the medians.
void compare(benchmark::State& state, const std::function<measured()>& ours,
             const std::function<measured()>& raw);

}  // namespace cremone::bench
