// SPDX-License-Identifier: Apache-2.0
//
// Sentinels that refuse, err or know nothing, and servers that are not what a sentinel says: each is told by name and in time,
// without a password, and the same client goes on when the cause is gone.
#include "live/redis_fixture.hpp"
#include "support/scripted_server.hpp"

#include <fstream>
#include <mutex>

namespace cremone::test {

namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::HasSubstr;
using words = std::vector<std::string>;

/// A sentinel that says what the test wants.
class liar {
 public:
  explicit liar(std::uint16_t port) : port_(port) {}

  void say(std::uint16_t port) {
    const std::lock_guard lock(mutex_);
    port_ = port;
  }
  [[nodiscard]] std::string url(const std::string& more = "") const {
    return "redis+sentinel://" + server_.node() + "/solo?layout=classic" + more;
  }
  [[nodiscard]] std::string node() const { return server_.node(); }

 private:
  std::string answer() {
    const std::lock_guard lock(mutex_);
    const std::string port = std::to_string(port_);
    return "*2\r\n$9\r\n127.0.0.1\r\n$" + std::to_string(port.size()) + "\r\n" + port + "\r\n";
  }

  std::mutex mutex_;
  std::uint16_t port_;
  scripted_server server_{[this](const words&) { return answer(); }};
};

/// A real one, for one server that it calls 'solo'.
class lone_sentinel {
 public:
  explicit lone_sentinel(std::uint16_t port, const std::string& more = "", bool tls = false)
      : server_({.tls = tls,
                 .config = "sentinel monitor solo 127.0.0.1 " + std::to_string(port) + " 1\n" + more,
                 .extra = {"--sentinel"}}) {}

  [[nodiscard]] const redis_server& server() const { return server_; }
  [[nodiscard]] std::string node() const { return server_.node(); }
  [[nodiscard]] std::string url(const std::string& credentials = "", const std::string& more = "") const {
    return "redis+sentinel://" + credentials + node() + "/solo?layout=classic" + more;
  }

 private:
  redis_server server_;
};

class RedisSentinel : public RedisServer {
 protected:
  static void expect_recovered(client& locks) {
    EXPECT_TRUE(wait_for([&] { return locks.acquire("lock", {.wait = no_wait}).has_value(); }))
        << "the client does not find back";
  }
};

TEST_F(RedisSentinel, KnowsNoMasterOfAWrongName) {
  const lone_sentinel sentinel(server_.port());
  const std::string url = "redis+sentinel://" + sentinel.node() + "/sloo?layout=classic";
  const error why = refusal(url, sentinel.node());
  EXPECT_EQ(why.code(), errc::misconfigured);
  EXPECT_THAT(why.message(), AllOf(HasSubstr("'sloo'"), HasSubstr("sentinel monitor")));
}

TEST_F(RedisSentinel, IsNotTheServerItself) {
  const error why = refusal("redis+sentinel://" + server_.node() + "/solo?layout=classic", server_.node());
  EXPECT_EQ(why.code(), errc::misconfigured);
  EXPECT_THAT(why.message(), HasSubstr("is no sentinel"));
}

TEST_F(RedisSentinel, MayWantAPasswordOfItsOwn) {
  const lone_sentinel sentinel(server_.port(), "requirepass " + secret + "\n");
  const error missing = refusal(sentinel.url(), sentinel.node());
  EXPECT_EQ(missing.code(), errc::access_denied);
  EXPECT_THAT(missing.message(), HasSubstr("?sentinel_password_file="));

  const std::string file = server_.directory().file("password");
  std::ofstream(file) << secret << "-wrong\n";
  const error wrong = refusal(sentinel.url("", "&sentinel_password_file=" + file), sentinel.node());
  EXPECT_EQ(wrong.code(), errc::access_denied);

  std::ofstream(file) << secret << "\n";
  client fine = opened(sentinel.url("", "&sentinel_password_file=" + file));
  EXPECT_TRUE(taken(fine, "lock", {.wait = generous}).held());
}

TEST_F(RedisSentinel, MayKnowUsers) {
  const lone_sentinel sentinel(
      server_.port(), "user default off\nuser ann on >" + secret + " +sentinel|get-master-addr-by-name\n");
  const std::string file = server_.directory().file("password");
  std::ofstream(file) << secret << "\n";
  client fine = opened(sentinel.url("", "&sentinel_user=ann&sentinel_password_file=" + file));
  EXPECT_TRUE(taken(fine, "lock", {.wait = generous}).held());
}

TEST_F(RedisSentinel, DoesNotGetThePasswordOfTheServer) {
  const redis_server locked({.extra = {"--requirepass", secret}});
  const lone_sentinel sentinel(locked.port());
  client fine = opened(sentinel.url(":" + secret + "@"));
  EXPECT_TRUE(taken(fine, "lock", {.wait = generous}).held());
  const error missing = refusal(sentinel.url(), locked.node());
  EXPECT_EQ(missing.code(), errc::access_denied);
  const error wrong = refusal(sentinel.url(":" + secret + "-wrong@"), locked.node());
  EXPECT_EQ(wrong.code(), errc::access_denied);
}

TEST_F(RedisSentinel, MakesTheLockNeedOneCommandMore) {
  const lone_sentinel sentinel(server_.port());
  words user = {
      "ACL",   "SETUSER",  "ann",       "reset",      "on",    ">" + secret, "~*",      "&cremone:classic:*",
      "+eval", "+evalsha", "+getrange", "+set",       "+del",  "+pexpire",   "+pttl",   "+time",
      "+hget", "+hset",    "+publish",  "+subscribe", "+ping", "+auth",      "+select", "+scan"};
  ASSERT_EQ(server_.ask(user).shown(), "OK");
  const error why = refusal(sentinel.url("ann:" + secret + "@"), server_.node());
  EXPECT_EQ(why.code(), errc::access_denied);
  EXPECT_THAT(why.message(), HasSubstr("role"));
  ASSERT_EQ(server_.ask({"ACL", "SETUSER", "ann", "+role"}).shown(), "OK");
  client fine = opened(sentinel.url("ann:" + secret + "@"));
  EXPECT_TRUE(taken(fine, "lock", {.wait = generous}).held());
}

TEST_F(RedisSentinel, NamesAPlaceWhereNobodyIs) {
  const reserved_port nobodys;
  liar sentinel(nobodys.number());
  client locks = opened(sentinel.url());
  const error why = refusal_of(locks, sentinel.node(), {.wait = 1s});
  EXPECT_EQ(why.code(), errc::unreachable);
  EXPECT_THAT(why.message(), HasSubstr("cannot connect to 127.0.0.1:"));
  sentinel.say(server_.port());
  expect_recovered(locks);
}

TEST_F(RedisSentinel, NamesAReplica) {
  const redis_server replica({.extra = {"--replicaof", "127.0.0.1", std::to_string(server_.port())}});
  liar sentinel(replica.port());
  client locks = opened(sentinel.url());
  const error why = refusal_of(locks, replica.node(), {.wait = 1s});
  EXPECT_EQ(why.code(), errc::unreachable);
  EXPECT_THAT(why.message(), AllOf(HasSubstr("not the master"), HasSubstr(sentinel.node())));
  sentinel.say(server_.port());
  expect_recovered(locks);
}

TEST_F(RedisSentinel, IsAskedAgainWhenTheMasterBecomesAReplica) {
  const redis_server next;
  const reserved_port nobodys;
  liar sentinel(server_.port());
  client locks = opened(sentinel.url());
  lease held = taken(locks, "lock", {.ttl = 2s, .wait = generous});
  sentinel.say(next.port());
  // By hand, not by a sentinel, which would cut the connection as well. The first to notice is the renewal.
  ASSERT_EQ(server_.ask({"REPLICAOF", "127.0.0.1", nobodys.text()}).shown(), "OK");
  EXPECT_TRUE(wait_for([&] {
    return next.ask({"CLIENT", "LIST"}).text.find("cmd=eval") != std::string::npos;
  })) << "nobody came there to renew";
  EXPECT_TRUE(wait_for([&] { return !held.held(); })) << "the new one does not know the lock";
  EXPECT_TRUE(taken(locks, "lock", {.wait = generous}).held());
}

TEST_F(RedisSentinel, IsAskedAboutAMasterWithoutEnoughReplicas) {
  liar sentinel(server_.port());
  client locks = opened(sentinel.url());
  (void)taken(locks, "lock", {.wait = generous}).release();
  ASSERT_EQ(server_.ask({"CONFIG", "SET", "min-replicas-to-write", "1"}).shown(), "OK");
  const error why = refusal_of(locks, server_.node(), {.wait = 1s});
  EXPECT_EQ(why.code(), errc::unreachable);
  EXPECT_THAT(why.message(), HasSubstr("min-replicas-to-write"));
  const redis_server next;
  sentinel.say(next.port());
  expect_recovered(locks);
}

TEST_F(RedisSentinel, IsFollowedWhenSomebodySwitchesOver) {
  const redis_server replica({.extra = {"--replicaof", "127.0.0.1", std::to_string(server_.port())}});
  const lone_sentinel sentinel(server_.port());
  client locks = opened(sentinel.url());
  lease held = taken(locks, "lock", {.ttl = 12s, .wait = generous});
  ASSERT_TRUE(wait_for([&] {
    redis_link link(server_.port());
    (void)link.ask({"SET", "written-last", "1"});
    return link.ask({"WAIT", "1", "1000"}).number == 1;
  }));
  const auto ask = [&](const words& question) { return sentinel.server().ask(question); };
  // A sentinel looks for replicas every ten seconds, and takes none that it has not heard of lately.
  EXPECT_EQ(ask({"SENTINEL", "DEBUG", "info-period", "100"}).shown(), "OK");
  ASSERT_TRUE(wait_for([&] { return ask({"SENTINEL", "FAILOVER", "solo"}).shown() == "OK"; }));
  ASSERT_TRUE(wait_for(
      [&] {
        const auto where = ask({"SENTINEL", "GET-MASTER-ADDR-BY-NAME", "solo"}).texts();
        return where.size() == 2 && where[1] == std::to_string(replica.port());
      },
      3 * generous))
      << sentinel.server().log();
  EXPECT_TRUE(wait_for([&] {
    return replica.ask({"CLIENT", "LIST"}).text.find("cmd=eval") != std::string::npos;
  })) << "nobody came there to renew";
  EXPECT_TRUE(held.held());
  const auto freed = held.release();
  EXPECT_TRUE(freed) << freed.error().message();
  EXPECT_EQ(replica.ask({"PTTL", "lock"}).number, -2) << "it was not released there";
}

/// Of a server with TLS: "127.0.0.1:port".
std::string tls_node(const redis_server& server) {
  const std::string url = server.tls_url();
  const auto begin = url.find("//") + 2;
  return url.substr(begin, url.find('/', begin) - begin);
}

TEST(RedisSentinelTls, IsSpokenToSentinelAndServer) {
  const redis_server server({.tls = true});
  const std::string at = tls_node(server);
  const auto port = static_cast<std::uint16_t>(std::stoi(at.substr(at.find(':') + 1)));
  const lone_sentinel sentinel(port, "", true);
  const std::string both = server.directory().file("both.pem");
  std::ofstream(both) << std::ifstream(server.keys().pem(certificates::ca)).rdbuf()
                      << std::ifstream(sentinel.server().keys().pem(certificates::ca)).rdbuf();
  const std::string url = "rediss+sentinel://" + tls_node(sentinel.server()) + "/solo?layout=classic&ca=";
  client fine = opened(url + both);
  EXPECT_TRUE(taken(fine, "lock", {.wait = generous}).held());

  // Each of the two is checked.
  const error of_sentinel = refusal(url + server.keys().pem(certificates::ca), tls_node(sentinel.server()));
  EXPECT_EQ(of_sentinel.code(), errc::access_denied);
  const error of_server = refusal(url + sentinel.server().keys().pem(certificates::ca), at);
  EXPECT_EQ(of_server.code(), errc::access_denied);
}

}  // namespace

}  // namespace cremone::test
