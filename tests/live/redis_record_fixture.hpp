// SPDX-License-Identifier: Apache-2.0
//
// What tests of the layout `record` against real servers share: URLs with a prefix and a short max_ttl of their own, and the
// seam behind the client.
#pragma once

#include "backends/redis/backend.hpp"
#include "backends/redis/digest.hpp"
#include "base/url.hpp"
#include "engine/asio_env.hpp"
#include "live/redis_fixture.hpp"
#include "support/blocking_backend.hpp"
#include "support/seam_words.hpp"
#include "support/temp_directory.hpp"

#include <stdlib.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

namespace cremone::test {

/// A server that is open for locks. What is noted of it is this test's own.
class RedisRecord : public RedisServer {
 protected:
  explicit RedisRecord(redis_options options = {}) : RedisServer(std::move(options)) {
    ::setenv("CREMONE_STATE_DIR", state_.path().c_str(), 1);
    open_up();
  }
  ~RedisRecord() override { ::unsetenv("CREMONE_STATE_DIR"); }

  [[nodiscard]] std::string url(const std::string& more = "") const {
    return server_.url(0, "&layout=record&prefix=t&max_ttl=" + max_ttl_ + more);
  }

  /// By order of a person: the test.
  void open_up() const { EXPECT_TRUE(opened(url()).end_quarantine()); }

  /// The seam, as a client would use it.
  [[nodiscard]] blocking_backend seam() const {
    const auto outside = std::make_shared<detail::asio_env>();
    return {outside, redis::open_backend(parse_url(url()).value(), outside, outside->network(),
                                         std::make_shared<const event_hub>())
                         .value()};
  }

  /// Until whoever waits for "lock" there can be told. It says so by itself, some time after it has joined the queue.
  void expect_to_listen(const owner_id& waiter) const {
    EXPECT_TRUE(wait_for([&] {
      return server_.ask({"HGET", "t:wait:lock", waiter.hex()}).text.find(" t:wake:") != std::string::npos;
    })) << "it does not listen";
  }

  temp_directory state_;
  std::string max_ttl_ = "2s";
};

/// Of this name, with a ttl that the prefix of these tests allows.
[[nodiscard]] inline acquire_request short_wish(const std::string& name, const owner_id& owner) {
  acquire_request r = wanting(name, owner);
  r.ttl = std::chrono::seconds(2);
  return r;
}

}  // namespace cremone::test
