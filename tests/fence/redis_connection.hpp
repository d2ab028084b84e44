// SPDX-License-Identifier: Apache-2.0
//
// A user's own hiredis connection, and what tests of fenced writes look at behind it. Knows no gate.
#pragma once

#include "support/redis_server.hpp"

#include <gtest/gtest.h>
#include <hiredis/hiredis.h>

#include <memory>
#include <stdexcept>
#include <string>

namespace cremone::test {

struct close_context {
  void operator()(redisContext* c) const noexcept { redisFree(c); }
};
using context_ptr = std::unique_ptr<redisContext, close_context>;

/// With a bound, so that a test never hangs.
inline context_ptr hiredis_to(std::uint16_t port) {
  context_ptr c(redisConnectWithTimeout("127.0.0.1", port, timeval{.tv_sec = 10, .tv_usec = 0}));
  if (c == nullptr || c->err != 0) {
    throw std::runtime_error("hiredis cannot connect");
  }
  redisSetTimeout(c.get(), timeval{.tv_sec = 10, .tv_usec = 0});
  return c;
}

/// As a user of the ACL, made for this with these rules.
inline context_ptr hiredis_as(const redis_server& server, const std::vector<std::string>& rules) {
  std::vector<std::string> words = {"ACL", "SETUSER", "ann", "reset", "on", ">secret", "~*", "&*", "+@all"};
  words.insert(words.end(), rules.begin(), rules.end());
  EXPECT_EQ(server.ask(words).shown(), "OK");
  context_ptr c = hiredis_to(server.port());
  void* const reply = redisCommand(c.get(), "AUTH ann secret");
  freeReplyObject(reply);
  return c;
}

}  // namespace cremone::test
