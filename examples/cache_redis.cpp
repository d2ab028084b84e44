// SPDX-License-Identifier: Apache-2.0
//
// A cache entry in Redis that is never overwritten by an older one. REDIS_HOST and REDIS_PORT say which server.
#include <cremone/cremone.hpp>
#include <cremone/fence_redis.hpp>

#include <hiredis/hiredis.h>

#include <chrono>
#include <cstdlib>
#include <iostream>
#include <memory>

namespace fence = cremone::fence;

int main() {
  const char* const host = std::getenv("REDIS_HOST");
  const char* const port = std::getenv("REDIS_PORT");
  const std::unique_ptr<redisContext, decltype(&redisFree)> redis(
      redisConnectWithTimeout(host == nullptr ? "127.0.0.1" : host, port == nullptr ? 6379 : std::atoi(port),
                              {.tv_sec = 5, .tv_usec = 0}),
      redisFree);
  if (!redis || redis->err != 0) {
    std::cout << "no connection to Redis: " << (redis ? redis->errstr : "out of memory") << '\n';
    return 1;
  }
  redisSetTimeout(redis.get(), {.tv_sec = 5, .tv_usec = 0});  // for each read and write; the gate sets none

  auto locks = cremone::open().value();
  const auto lease = locks.acquire("prices").value();

  fence::redis_gate gate(redis.get());
  gate.set("prices", lease.token(), "price:bolt", "0.17", std::chrono::minutes(5)).value();

  // Somebody who held the lock before us, was stopped, and wakes up only now.
  const auto late = gate.set("prices", cremone::fence_token(lease.token().value() - 1), "price:bolt", "0.12");
  std::cout << (late ? "yesterday's price" : late.error().message()) << '\n';
  return !late && late.error() == cremone::errc::stale_token ? 0 : 1;
}
