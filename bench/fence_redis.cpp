// SPDX-License-Identifier: Apache-2.0
//
// What the fence costs in Redis: a guarded SET against a script that does only the SET, as the server sees it, and against a plain SET, as one caller
// sees it who waits for each. Asserts only that all were done.
#include "bench/redis_flood.hpp"

#include <benchmark/benchmark.h>

#include <cremone/fence_redis.hpp>

#include <chrono>
#include <exception>
#include <stdexcept>
#include <string>
#include <vector>

namespace cremone::bench {
namespace {

using clock = std::chrono::steady_clock;

constexpr int rounds = 5;
constexpr int singles = 10'000;
const std::string value(32, 'v');

/// Each round measures both sides, one right after the other, in another order each time.
struct comparison {
  std::vector<double> ours{};    // per second
  std::vector<double> bare{};    // per second
  std::vector<double> ratios{};  // of costs

  void report(benchmark::State& state) const {
    state.counters["ours/s"] = median(ours);
    state.counters["bare/s"] = median(bare);
    state.counters["cost_ratio"] = median(ratios);
  }
};

struct measured {
  double rate = 0;
  double cpu = 0;  // of the server, in all
};

measured flooded(const redis_server& server, flood& line, const std::function<flood::words(int)>& make) {
  const double before = server.cpu_seconds();
  const double rate = line.run(make, [](const redisReply& r) { return r.type == REDIS_REPLY_STATUS; });
  return {rate, server.cpu_seconds() - before};
}

/// With one token for all, as one holder writes; or a new one for each, as if the lock changed hands every time.
void fence_redis_pipelined(benchmark::State& state, bool new_token) {
  try {
    const redis_server server;
    const pinned here;
    flood line(server.port());
    const std::string bare = "return redis.call('SET', KEYS[1], ARGV[1])";
    const fence::redis_commands commands;
    std::uint64_t token = 1;
    line.say({"EVAL", bare, "1", "bare", value});
    const std::string sha = [&] {
      (void)line.hear();
      line.say({"SCRIPT", "LOAD", bare});
      const raw_reply said = line.hear();
      return std::string(said->str, said->len);
    }();
    line.say(commands.set("prices", fence_token(token), "ours", value)->eval());
    (void)line.hear();
    const auto ours = [&] {
      return flooded(server, line, [&](int) {
        token += new_token ? 1 : 0;
        return commands.set("prices", fence_token(token), "ours", value)->evalsha();
      });
    };
    const auto theirs = [&] {
      return flooded(server, line, [&](int) { return flood::words{"EVALSHA", sha, "1", "bare", value}; });
    };
    comparison all;
    for (auto _ : state) {
      const auto began = clock::now();
      for (int round = 0; round < rounds; ++round) {
        const measured first = round % 2 == 0 ? ours() : theirs();
        const measured second = round % 2 == 0 ? theirs() : ours();
        const measured& mine = round % 2 == 0 ? first : second;
        const measured& other = round % 2 == 0 ? second : first;
        all.ours.push_back(mine.rate);
        all.bare.push_back(other.rate);
        all.ratios.push_back(mine.cpu / other.cpu);
      }
      state.SetIterationTime(std::chrono::duration<double>(clock::now() - began).count());
    }
    all.report(state);
  } catch (const std::exception& failed) {
    state.SkipWithError(failed.what());
  }
}

/// Seconds for all of them, one after the other.
template <class F>
double one_by_one(F write) {
  const auto began = clock::now();
  for (int i = 0; i < singles; ++i) {
    if (!write()) {
      throw std::runtime_error("a write was not done");
    }
  }
  return std::chrono::duration<double>(clock::now() - began).count();
}

void fence_redis_single(benchmark::State& state) {
  try {
    const redis_server server;
    const pinned here;
    const std::unique_ptr<redisContext, decltype(&redisFree)> line(redisConnect("127.0.0.1", server.port()),
                                                                   &redisFree);
    fence::redis_gate gate(line.get());
    const auto ours = [&] {
      return one_by_one([&] { return gate.set("prices", fence_token(41), "ours", value).has_value(); });
    };
    const auto theirs = [&] {
      return one_by_one([&] {
        const raw_reply said(static_cast<redisReply*>(
            redisCommand(line.get(), "SET %s %b", "bare", value.data(), value.size())));
        return said != nullptr && said->type == REDIS_REPLY_STATUS;
      });
    };
    comparison all;
    for (auto _ : state) {
      const auto began = clock::now();
      for (int round = 0; round < rounds; ++round) {
        const double first = round % 2 == 0 ? ours() : theirs();
        const double second = round % 2 == 0 ? theirs() : ours();
        const double mine = round % 2 == 0 ? first : second;
        const double other = round % 2 == 0 ? second : first;
        all.ours.push_back(singles / mine);
        all.bare.push_back(singles / other);
        all.ratios.push_back(mine / other);
      }
      state.SetIterationTime(std::chrono::duration<double>(clock::now() - began).count());
    }
    all.report(state);
  } catch (const std::exception& failed) {
    state.SkipWithError(failed.what());
  }
}

BENCHMARK_CAPTURE(fence_redis_pipelined, one_token, false)
    ->Iterations(1)
    ->UseManualTime()
    ->Unit(benchmark::kSecond);
BENCHMARK_CAPTURE(fence_redis_pipelined, new_tokens, true)
    ->Iterations(1)
    ->UseManualTime()
    ->Unit(benchmark::kSecond);
BENCHMARK(fence_redis_single)->Iterations(1)->UseManualTime()->Unit(benchmark::kSecond);

}  // namespace
}  // namespace cremone::bench
