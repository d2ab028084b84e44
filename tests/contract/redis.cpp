// SPDX-License-Identifier: Apache-2.0
//
// The contract for redis:// in its classic layout, against a real server that the tests start: over TCP, over TLS, over
// a unix socket, and as a user who may do what is documented and nothing else. One server per program; each test begins
// with a database that was emptied.
#include "contract/suite.hpp"

#include "backends/redis/backend.hpp"
#include "base/url.hpp"
#include "engine/asio_env.hpp"
#include "engine/quorum/quorum.hpp"
#include "support/redis_server.hpp"

namespace cremone::contract {

namespace {

using test::redis_server;

redis_server& server() {
  static redis_server one;
  return one;
}

redis_server& tls_server() {
  static redis_server one({.tls = true});
  return one;
}

/// What the documentation says that a user needs.
redis_server& server_with_a_modest_user() {
  static redis_server& with_user = [&]() -> redis_server& {
    const auto made = server().ask(
        {"ACL",   "SETUSER",  "modest",    "reset",      "on",    ">sesame",  "~*",      "&cremone:classic:*",
         "+eval", "+evalsha", "+getrange", "+set",       "+del",  "+pexpire", "+pttl",   "+time",
         "+hget", "+hset",    "+publish",  "+subscribe", "+ping", "+auth",    "+select", "+scan"});
    EXPECT_EQ(made.shown(), "OK");
    return server();
  }();
  return with_user;
}

std::string over_tcp() { return server().url(); }
std::string over_tls() {
  const auto& keys = tls_server().keys();
  return tls_server().tls_url(
      0, "&cert=" + keys.pem(test::certificates::client) + "&key=" + keys.key(test::certificates::client));
}
std::string over_a_unix_socket() { return server().unix_url(); }
std::string as_a_modest_user() { return server_with_a_modest_user().url_as("modest:sesame"); }

template <std::string (*Url)()>
class redis_store final : public store_under_test {
 public:
  redis_store() {
    const redis_server& used = Url == over_tls ? tls_server() : server();
    EXPECT_EQ(used.ask({"FLUSHALL"}).shown(), "OK");
  }

  [[nodiscard]] std::string url() const override { return Url(); }

  [[nodiscard]] std::shared_ptr<backend> connect(const std::shared_ptr<env>& outside) override {
    const auto real = std::dynamic_pointer_cast<detail::asio_env>(outside);
    auto node = redis::open_backend(parse_url(Url()).value(), outside, real->network(),
                                    std::make_shared<const event_hub>())
                    .value();
    return std::make_shared<detail::quorum>(std::vector{std::move(node)});  // as open() does
  }
};

}  // namespace

std::vector<store_kind> tested_stores() {
  return {{"tcp", start<redis_store<over_tcp>>},
          {"acl_user", start<redis_store<as_a_modest_user>>},
          {"tls", start<redis_store<over_tls>>},
          {"unix_socket", start<redis_store<over_a_unix_socket>>}};
}

}  // namespace cremone::contract
