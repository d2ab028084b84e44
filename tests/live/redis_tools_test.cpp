// SPDX-License-Identifier: Apache-2.0
//
// What the other tests of Redis rest on: that the servers they start are there, and gone when they should be, and that
// the proxy does to a message what its schedule says, and to no other.
#include "support/redis_server.hpp"
#include "support/redlock_servers.hpp"
#include "support/scripted_server.hpp"
#include "support/sentinels.hpp"
#include "support/tcp_proxy.hpp"
#include "support/wait_for.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <signal.h>

#include <cerrno>
#include <string>
#include <vector>

namespace cremone::test {

namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;

TEST(RedisTools, AServerAnswersAndIsGoneWithItsOwner) {
  pid_t pid = 0;
  {
    redis_server server;
    pid = server.pid();
    EXPECT_EQ(server.ask({"SET", "a", "1"}, 3).shown(), "OK");
    EXPECT_THAT(server.keys_in(3), ElementsAre("a"));
    EXPECT_TRUE(server.keys_in(0).empty());
    const std::uint16_t port = server.port();
    server.start_again();
    EXPECT_EQ(server.port(), port);
    EXPECT_TRUE(server.keys_in(3).empty()) << "nothing is kept on disk";
    EXPECT_NE(server.pid(), pid);
    pid = server.pid();
  }
  EXPECT_EQ(::kill(pid, 0), -1);
  EXPECT_EQ(errno, ESRCH);
}

TEST(RedisTools, AServerWithTlsHasItsCertificates) {
  const redis_server server({.tls = true});
  EXPECT_EQ(server.ask({"PING"}).shown(), "PONG");
  EXPECT_NE(server.tls_url().find("rediss://127.0.0.1:"), std::string::npos);
}

/// What a server's wall clock says, in seconds.
std::int64_t time_of(const redis_server& server) { return std::stoll(server.ask({"TIME"}).items.at(0).text); }

TEST(RedisTools, AServersWallClockCanBeSet) {
  const redis_server server({.clock = true});
  EXPECT_EQ(server.ask({"SET", "a", "1", "PX", "30000"}).shown(), "OK");
  const std::int64_t before = time_of(server);
  server.set_clock(-120s);
  EXPECT_LT(time_of(server), before - 60);
  EXPECT_GT(server.ask({"PTTL", "a"}).number, 90'000) << "it lives for longer than it was given";
  server.set_clock(60s);
  EXPECT_GE(time_of(server), before + 60);
  EXPECT_EQ(server.ask({"PTTL", "a"}).number, -2) << "it was over before its time";
}

TEST(RedisTools, AServerWithAnAofKeepsWhatItWasTold) {
  redis_server server({.aof = true});
  EXPECT_EQ(server.ask({"SET", "a", "1"}).shown(), "OK");
  server.restart_with_aof_cut_to(server.aof_size());
  EXPECT_THAT(server.keys_in(), ElementsAre("a"));
  server.restart_empty();
  EXPECT_TRUE(server.keys_in().empty());
}

TEST(RedisTools, AServerForgetsWhatIsCutOffItsAof) {
  redis_server server({.aof = true});
  EXPECT_EQ(server.ask({"SET", "a", "1"}).shown(), "OK");
  const std::uintmax_t before = server.aof_size();
  EXPECT_EQ(server.ask({"SET", "b", "1"}).shown(), "OK");
  EXPECT_GT(server.aof_size(), before);
  server.restart_with_aof_cut_to(before);
  EXPECT_THAT(server.keys_in(), ElementsAre("a"));
  EXPECT_EQ(server.ask({"SET", "c", "1"}).shown(), "OK");
  server.restart_with_aof_cut_to(server.aof_size() - 1);
  EXPECT_THAT(server.keys_in(), ElementsAre("a")) << "a command that is not whole is no command";
}

TEST(RedisTools, SentinelsPromoteAReplicaThatMissedTheLastWrites) {
  sentinels watched;
  redis_server& first = watched.master();
  EXPECT_EQ(first.ask({"SET", "a", "1"}).shown(), "OK");
  watched.cut_replication();
  EXPECT_EQ(first.ask({"SET", "b", "1"}).shown(), "OK");
  EXPECT_THAT(first.keys_in(), ElementsAre("a", "b"));
  watched.kill_master();
  const redis_server& second = watched.new_master();
  EXPECT_NE(second.port(), first.port());
  EXPECT_THAT(second.keys_in(), ElementsAre("a"));
  EXPECT_EQ(second.ask({"SET", "c", "1"}).shown(), "OK") << "it takes writes";
}

TEST(RedisTools, SentinelsPromoteTheOnlyReplica) {
  sentinels watched(1);
  watched.kill_master();
  EXPECT_EQ(watched.new_master().ask({"SET", "a", "1"}).shown(), "OK");
}

TEST(RedisTools, AMessageIsWholeOrNothing) {
  const std::string bytes = "*3\r\n$3\r\nSET\r\n:12\r\n*1\r\n$-1\r\n+next\r\n";
  std::size_t used = 0;
  for (std::size_t size = 0; size < bytes.size() - 7; ++size) {
    EXPECT_FALSE(parse_resp(std::string_view(bytes).substr(0, size), used)) << size;
  }
  const auto whole = parse_resp(bytes, used);
  ASSERT_TRUE(whole);
  EXPECT_EQ(used, bytes.size() - 7);
  EXPECT_EQ(whole->items.at(0).text, "SET");
  EXPECT_EQ(whole->items.at(1).number, 12);
  EXPECT_TRUE(whole->items.at(2).items.at(0).null);
}

/// The second reply of a connection through the proxy meets this.
resp second_reply(const redis_server& server, const passage& fate) {
  tcp_proxy proxy(server.port(), [&](direction way, std::uint64_t number, const resp&) {
    return way == direction::to_client && number == 1 ? fate : passage{};
  });
  redis_link link(proxy.port());
  EXPECT_EQ(link.ask({"PING"}).shown(), "PONG");
  return link.ask({"ECHO", "second"});
}

TEST(RedisTools, TheProxyDoesWhatItsScheduleSays) {
  const redis_server server;
  using fate = passage::fate;
  EXPECT_EQ(second_reply(server, {}).shown(), "second");
  EXPECT_EQ(second_reply(server, {.delay = 20ms}).shown(), "second");
  EXPECT_EQ(second_reply(server, {.instead = ":7\r\n"}).number, 7);
  EXPECT_EQ(second_reply(server, {.what = fate::swallow}).shown(), "(error) no answer");
  EXPECT_EQ(second_reply(server, {.what = fate::cut}).shown(), "(error) no answer");
}

TEST(RedisTools, TheProxyHoldsAMessageUntilItIsCut) {
  const redis_server server;
  tcp_proxy proxy(server.port(), [&](direction way, std::uint64_t, const resp&) {
    return way == direction::to_client ? passage{.what = passage::fate::hold} : passage{};
  });
  redis_link link(proxy.port());
  link.say({"SET", "a", "1"});
  EXPECT_TRUE(wait_for([&] { return !server.keys_in().empty(); })) << "the request passes";
  proxy.cut_all();
  EXPECT_EQ(link.hear().shown(), "(error) no answer");
  proxy.follow(nullptr);
  EXPECT_EQ(redis_link(proxy.port()).ask({"PING"}).shown(), "PONG");
}

TEST(RedisTools, TheProxyDelaysARequestUntilItIsLetGoThoughTheClientIsGone) {
  const redlock_servers servers(2);
  redlock_road road(servers);
  road.delay(direction::to_server, {1});
  {
    redis_link link(road.port(1));
    link.say({"SET", "a", "1"});
    EXPECT_TRUE(wait_for([&] { return road.delayed() == 1; }));
    EXPECT_EQ(redis_link(road.port(0)).ask({"PING"}).shown(), "PONG");
  }
  EXPECT_TRUE(servers[1].keys_in().empty());
  road.let_go();
  EXPECT_TRUE(wait_for([&] { return !servers[1].keys_in().empty(); })) << "it does not arrive";
  EXPECT_EQ(redis_link(road.port(1)).ask({"PING"}).shown(), "PONG");
  EXPECT_EQ(road.delayed(), 0U);
}

TEST(RedisTools, ARoadIsCutAtSomeServersAndMended) {
  const redlock_servers servers(2);
  redlock_road road(servers);
  redis_link before(road.port(1));
  EXPECT_EQ(before.ask({"PING"}).shown(), "PONG");
  road.cut({1});
  EXPECT_EQ(before.ask({"PING"}).shown(), "(error) no answer");
  EXPECT_EQ(redis_link(road.port(1)).ask({"PING"}).shown(), "(error) no answer");
  EXPECT_EQ(redis_link(road.port(0)).ask({"PING"}).shown(), "PONG");
  road.mend();
  EXPECT_EQ(redis_link(road.port(1)).ask({"PING"}).shown(), "PONG");
}

TEST(RedisTools, AScriptedServerAnswersFromItsScript) {
  scripted_server server([](const std::vector<std::string>& command) {
    return command.at(0) == "PING" ? std::string("+PONG\r\n") : std::string("-ERR no\r\n");
  });
  redis_link link(server.port());
  EXPECT_EQ(link.ask({"ping"}).shown(), "PONG");
  EXPECT_TRUE(link.ask({"GET", "a"}).is_error());
  EXPECT_THAT(server.heard(), ElementsAre("PING", "GET a"));
}

}  // namespace

}  // namespace cremone::test
