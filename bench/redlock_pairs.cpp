// SPDX-License-Identifier: Apache-2.0
//
// What a pair of acquire and release costs on five servers, redlock:// in its layouts, beside the plainest loop that one can
// write with hiredis: one server after the other, all five of them. Same servers, same run; each round runs one right after the
// other. Asserts nothing; figures only.
#include "bench/cpu.hpp"
#include "bench/pairs.hpp"
#include "bench/redlock_servers.hpp"
#include "engine/engine.hpp"

#include <benchmark/benchmark.h>

#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace cremone::bench {
namespace {

/// A blocking connection to each: the baseline.
class raw_redlock {
 public:
  explicit raw_redlock(const redlock_servers& servers) {
    for (std::size_t i = 0; i < redlock_servers::count; ++i) {
      nodes_.emplace_back(servers[i].port());
    }
  }

  void pair(const std::string& name) {
    const std::string mine = raw_lock::value(++n_);
    for (raw_lock& node : nodes_) {
      node.take(name, mine);
    }
    for (raw_lock& node : nodes_) {
      node.give_back(name, mine);
    }
  }

 private:
  std::vector<raw_lock> nodes_;
  std::uint64_t n_ = 0;
};

measured raw_pairs(const redlock_servers& servers, int threads) {
  return pairs_of(threads, [&](int i) {
    return [lock = std::make_shared<raw_redlock>(servers), name = "raw-" + std::to_string(i)] {
      lock->pair(name);
      return 0.0;
    };
  });
}

/// What pairs cost on either side, in CPU: which of the two cores is the limit?
class bill {
 public:
  explicit bill(const redlock_servers& servers) : servers_(servers) {}

  measured of(const std::function<measured()>& round) {
    const double client_before = cpu_seconds();
    const double servers_before = servers_.cpu_seconds();
    measured m = round();
    client_ += cpu_seconds() - client_before;
    in_servers_ += servers_.cpu_seconds() - servers_before;
    pairs_ += m.pairs;
    return m;
  }

  [[nodiscard]] double client_us() const { return client_ / static_cast<double>(pairs_) * 1e6; }
  [[nodiscard]] double servers_us() const { return in_servers_ / static_cast<double>(pairs_) * 1e6; }

 private:
  const redlock_servers& servers_;
  double client_ = 0;
  double in_servers_ = 0;
  std::uint64_t pairs_ = 0;
};

void compare_bills(benchmark::State& state, const redlock_servers& servers,
                   const std::function<measured()>& ours, const std::function<measured()>& raw) {
  bill our_bill(servers);
  bill raw_bill(servers);
  compare(
      state, [&] { return our_bill.of(ours); }, [&] { return raw_bill.of(raw); });
  state.counters["client_us"] = our_bill.client_us();
  state.counters["servers_us"] = our_bill.servers_us();
  state.counters["raw_client_us"] = raw_bill.client_us();
  state.counters["raw_servers_us"] = raw_bill.servers_us();
}

/// The same against one raw thread, which is the other way to read "the sequential loop": not how much of the servers each
/// takes, but what a program gains that asked them one after the other before.
void compare_to_one(benchmark::State& state, const redlock_servers& servers) {
  constexpr int rounds = 3;
  std::vector<double> rates;
  for (int i = 0; i < rounds; ++i) {
    rates.push_back(raw_pairs(servers, 1).per_second);
  }
  state.counters["raw_one/s"] = median(rates);
  state.counters["ratio_to_one"] = state.counters["pairs/s"] / median(rates);
}

/// The share of acquisitions for which the servers gave the same token at once. The layout `classic` has none.
void count_rounds(benchmark::State& state, const client& locks) {
  const vote_statistics votes = locks.statistics();
  state.counters["one_round"] =
      static_cast<double>(votes.in_one_round) / static_cast<double>(votes.acquisitions);
}

/// What is aimed at stands beside what was measured.
std::string aim(std::string_view layout, int in_flight) {
  if (in_flight == 1) {
    return "aim: ratio >= 2";
  }
  return layout == "classic" ? "aim: ratio >= 3" : "aim: ratio >= 2";
}

/// So many threads, each with a name of its own, over one client; raw: each with five connections of its own.
void redlock_pairs(benchmark::State& state, const char* layout) {
  const int threads = static_cast<int>(state.range(0));
  try {
    const redlock_servers servers;
    const pinned here;
    client locks = servers.opened(layout);
    compare_bills(
        state, servers, [&] { return cremone_pairs(locks, threads); },
        [&] { return raw_pairs(servers, threads); });
    if (threads > 1) {
      compare_to_one(state, servers);
    }
    if (std::string_view(layout) == "record") {
      count_rounds(state, locks);
    }
    state.SetLabel(aim(layout, threads));
  } catch (const std::exception& failed) {
    state.SkipWithError(failed.what());
  }
}

/// So many in flight on one thread of ours; raw: as many threads with five connections each.
void redlock_async(benchmark::State& state, const char* layout) {
  const int chains = static_cast<int>(state.range(0));
  try {
    const redlock_servers servers;
    const pinned here;
    client locks = servers.opened(layout);
    flight all(locks, chains);
    compare_bills(
        state, servers, [&] { return all.fly(); }, [&] { return raw_pairs(servers, chains); });
    compare_to_one(state, servers);
    if (std::string_view(layout) == "record") {
      count_rounds(state, locks);
    }
    state.SetLabel(aim(layout, chains));
  } catch (const std::exception& failed) {
    state.SkipWithError(failed.what());
  }
}

#define CREMONE_BENCH_LAYOUT(layout)                \
  BENCHMARK_CAPTURE(redlock_pairs, layout, #layout) \
      ->Arg(1)                                      \
      ->Arg(16)                                     \
      ->Iterations(1)                               \
      ->UseManualTime()                             \
      ->Unit(benchmark::kSecond);                   \
  BENCHMARK_CAPTURE(redlock_async, layout, #layout) \
      ->Arg(16)                                     \
      ->Iterations(1)                               \
      ->UseManualTime()                             \
      ->Unit(benchmark::kSecond)

CREMONE_BENCH_LAYOUT(classic);
CREMONE_BENCH_LAYOUT(record);

}  // namespace
}  // namespace cremone::bench
