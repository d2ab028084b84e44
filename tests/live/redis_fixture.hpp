// SPDX-License-Identifier: Apache-2.0
//
// What tests of redis:// against real servers share: a server, clients on it, and what every refusal must be like.
#pragma once

#include "support/redis_server.hpp"
#include "support/wait_for.hpp"

#include <cremone/cremone.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

namespace cremone::test {

/// The one key of cremone's own, besides the locks themselves.
inline const std::string fence_key = "cremone:classic:fence";

/// In every password of these tests, so that it can be looked for.
inline const std::string secret = "sesame";

/// A client, or a failure of the test.
[[nodiscard]] inline client opened(const std::string& url) {
  auto made = cremone::open(url);
  if (!made) {
    ADD_FAILURE() << made.error().message();
    return {};
  }
  return std::move(*made);
}

/// A lock that is free, or a failure of the test.
[[nodiscard]] inline lease taken(client& by, const std::string& name, const acquire_options& options = {}) {
  auto got = by.acquire(name, options);
  if (!got) {
    ADD_FAILURE() << got.error().message();
    return {};
  }
  return std::move(*got);
}

/// An error of a server: says which one, and no secret.
inline void expect_names(const error& why, const std::string& node) {
  EXPECT_THAT(why.message(), ::testing::HasSubstr(node));
  EXPECT_THAT(why.message(), ::testing::Not(::testing::HasSubstr(secret)));
}

/// Why `by` does not get a lock; fails the test when it does, when the answer does not name the node, or when it comes
/// late.
inline error refusal_of(client& by, const std::string& node, const acquire_options& options) {
  const auto began = std::chrono::steady_clock::now();
  const auto got = by.acquire("lock", options);
  // The time that a caller gives is kept but for a moment; the rest of the bound is for a machine that stalls.
  EXPECT_LT(std::chrono::steady_clock::now() - began, options.wait + generous);
  EXPECT_FALSE(got) << "it was granted";
  expect_names(got.error(), node);
  return got.error();
}

/// The same for a new client, which is connecting while it is asked. The two ways to ask must say the same.
inline error refusal(const std::string& url, const std::string& node) {
  using namespace std::chrono_literals;
  client locks = opened(url);
  const error tried = refusal_of(locks, node, {.ttl = 5s, .wait = no_wait});
  const error waited = refusal_of(locks, node, {.ttl = 5s, .wait = 2s});
  EXPECT_EQ(tried.code(), waited.code()) << tried << "\n" << waited;
  return waited;
}

class RedisServer : public ::testing::Test {
 protected:
  explicit RedisServer(redis_options options = {}) : server_(std::move(options)) {}

  /// Nothing is left at any lock's key.
  void expect_only_fixed_keys(int db = 0) const {
    for (const std::string& key : server_.keys_in(db)) {
      EXPECT_EQ(key, fence_key);
    }
  }

  redis_server server_;
};

}  // namespace cremone::test
