// SPDX-License-Identifier: Apache-2.0
//
// The contract for redis:// in its two layouts, against a real server that the tests start: over TCP, over TLS, over
// a unix socket, and as a user who may do what is documented and nothing else. One server per program; each test begins
// with a database that was emptied.
#include "contract/suite.hpp"

#include "backends/redis/backend.hpp"
#include "backends/redis/settings.hpp"
#include "base/url.hpp"
#include "engine/asio_env.hpp"
#include "engine/quorum/quorum.hpp"
#include "support/redis_server.hpp"

#include <cremone/cremone.hpp>

#include <string>
#include <vector>

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

enum class road : std::uint8_t { tcp, tls, unix_socket, modest_user };

using words = std::vector<std::string>;

/// A user who may do what the documentation says that this layout needs.
std::string modest_user(redis::layout layout) {
  const bool record = layout == redis::layout::record;
  const std::string name = record ? "modest_record" : "modest_classic";
  words order = {"ACL", "SETUSER", name, "reset", "on", ">sesame"};
  const words rights =
      record ? words{"~cremone:*", "&cremone:wake:*", "+eval",   "+evalsha",       "+info",   "+time",
                     "+get",       "+mget",           "+set",    "+mset",          "+exists", "+pexpire",
                     "+zadd",      "+zrem",           "+zrange", "+zrangebyscore", "+zrank",  "+zcard",
                     "+zcount",    "+hget",           "+hmget",  "+hset",          "+hdel",   "+publish",
                     "+subscribe", "+pubsub|numsub",  "+ping",   "+auth",          "+select", "+scan"}
             : words{"~*",       "&cremone:classic:*", "+eval", "+evalsha", "+getrange", "+set",
                     "+del",     "+pexpire",           "+pttl", "+time",    "+hget",     "+hset",
                     "+publish", "+subscribe",         "+ping", "+auth",    "+select",   "+scan"};
  order.insert(order.end(), rights.begin(), rights.end());
  EXPECT_EQ(server().ask(order).shown(), "OK");
  return name;
}

std::string url_by(road by, redis::layout layout) {
  const std::string more = layout == redis::layout::record ? "&layout=record" : "&layout=classic";
  switch (by) {
    case road::tcp: return server().url(0, more);
    case road::tls: {
      const auto& keys = tls_server().keys();
      return tls_server().tls_url(0, "&cert=" + keys.pem(test::certificates::client) +
                                         "&key=" + keys.key(test::certificates::client) + more);
    }
    case road::unix_socket: return server().unix_url(0, more);
    case road::modest_user: return server().url_as(modest_user(layout) + ":sesame", 0, more);
  }
  return {};
}

template <redis::layout Layout, road By>
class redis_store final : public store_under_test {
 public:
  redis_store() : url_(url_by(By, Layout)) {
    const redis_server& used = By == road::tls ? tls_server() : server();
    EXPECT_EQ(used.ask({"FLUSHALL"}).shown(), "OK");
    if (Layout ==
        redis::layout::record) {  // what was emptied gives out no lock for a minute, unless somebody says so
      EXPECT_TRUE(cremone::open(url_)->end_quarantine());
    }
  }

  [[nodiscard]] std::string url() const override { return url_; }

  [[nodiscard]] std::shared_ptr<backend> connect(const std::shared_ptr<env>& outside) override {
    const auto real = std::dynamic_pointer_cast<detail::asio_env>(outside);
    auto node = redis::open_backend(parse_url(url_).value(), outside, real->network(),
                                    std::make_shared<const event_hub>())
                    .value();
    return std::make_shared<detail::quorum>(outside, std::vector{std::move(node)});  // as open() does
  }

 private:
  const std::string url_;
};

template <redis::layout Layout, road By>
std::unique_ptr<store_under_test> make() {
  return start<redis_store<Layout, By>>();
}

}  // namespace

std::vector<store_kind> tested_stores() {
  using redis::layout;
  std::vector<store_kind> all = {{"record_tcp", make<layout::record, road::tcp>},
                                 {"classic_tcp", make<layout::classic, road::tcp>}};
#ifndef CREMONE_TEST_ONE_ROAD  // the sanitizers have seen the roads in the tests of the transport
  all.insert(all.end(), {{"record_acl_user", make<layout::record, road::modest_user>},
                         {"record_tls", make<layout::record, road::tls>},
                         {"record_unix_socket", make<layout::record, road::unix_socket>},
                         {"classic_acl_user", make<layout::classic, road::modest_user>},
                         {"classic_tls", make<layout::classic, road::tls>},
                         {"classic_unix_socket", make<layout::classic, road::unix_socket>}});
#endif
  return all;
}

}  // namespace cremone::contract
