// SPDX-License-Identifier: Apache-2.0
//
// What the server itself needs for a grant of the layout `record`, against the plain SET NX PX of the published lock: one
// connection, 64 requests under way, each for a name that was not used before. Asserts only that all were granted.
#include "bench/redis_flood.hpp"

#include "backends/redis/digest.hpp"
#include "backends/redis/scripts.hpp"

#include <benchmark/benchmark.h>

#include <chrono>
#include <exception>
#include <string>
#include <vector>

namespace cremone::bench {
namespace {

using clock = std::chrono::steady_clock;
using words = flood::words;

constexpr int rounds = 5;

std::string run_id_of(flood& line) {
  line.say({"INFO", "server"});
  const raw_reply info = line.hear();
  const std::string text(info->str, info->len);
  const std::string key = "run_id:";
  return text.substr(text.find(key) + key.size(), 40);
}

void redis_grant_script(benchmark::State& state) {
  try {
    const redis_server server;
    const pinned here;
    (void)server.opened("record");
    flood line(server.port());
    const redis::record_book book(run_id_of(line) + "." + std::string(40, '0') + ".0", 0);
    const redis::script& grant = book.at(redis::record_script::grant);
    line.say({"SCRIPT", "LOAD", std::string(grant.text)});
    (void)line.hear();
    const std::string owner(40, 'a');
    const std::string value = "cremone1:" + owner + ":host.example:12345:label";
    const std::string who = "host.example\nuser\n12345\n1700000000000000\nlabel";
    std::vector<double> plain_rates;
    std::vector<double> grant_rates;
    std::vector<double> ratios;
    int round = 0;
    for (auto _ : state) {
      const auto began = clock::now();
      for (; round < rounds; ++round) {
        const std::string tag = std::to_string(round) + "-";
        plain_rates.push_back(line.run(
            [&](int i) {
              return words{"SET", "plain-" + tag + std::to_string(i), value, "NX", "PX", "30000"};
            },
            [](const redisReply& r) { return r.type == REDIS_REPLY_STATUS; }));
        grant_rates.push_back(line.run(
            [&](int i) {
              const std::string name = tag + std::to_string(i);
              return words{"EVALSHA",
                           grant.sha,
                           "5",
                           "cremone:boot",
                           "cremone:count:" + std::to_string(redis::bucket_of(name)),
                           "cremone:lock:" + name,
                           "cremone:queue:" + name,
                           "cremone:wait:" + name,
                           "n1,max_ttl=60000",
                           owner,
                           "30000",
                           "x",
                           "1700000000000000",
                           who,
                           "1",
                           "-cremone:wake:0123456789abcdef",
                           "-"};
            },
            [](const redisReply& r) {
              return r.type == REDIS_REPLY_ARRAY && r.elements == 4 && r.element[0]->integer == 1;
            }));
        ratios.push_back(grant_rates.back() / plain_rates.back());
      }
      state.SetIterationTime(std::chrono::duration<double>(clock::now() - began).count());
    }
    state.counters["grants/s"] = median(grant_rates);
    state.counters["set_nx_px/s"] = median(plain_rates);
    state.counters["ratio"] = median(ratios);
  } catch (const std::exception& failed) {
    state.SkipWithError(failed.what());
  }
}

BENCHMARK(redis_grant_script)->Iterations(1)->UseManualTime()->Unit(benchmark::kSecond);

}  // namespace
}  // namespace cremone::bench
