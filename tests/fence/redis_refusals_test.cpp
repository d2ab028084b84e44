// SPDX-License-Identifier: Apache-2.0
//
// Servers that cannot or may not write, users that may not do all of it, data of another type, restarts: the mark moves with the write or stays.
#include "fence/redis_connection.hpp"
#include "support/wait_for.hpp"

#include <cremone/fence_redis.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace cremone::fence {

namespace {

using test::context_ptr;
using test::hiredis_as;
using test::hiredis_to;
using test::redis_link;
using test::redis_server;
using test::wait_for;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr const char* mark = "cremone:fence:prices";
const redis_field field[] = {{"a", "1"}};

template <class T>
void expect_failed(const result<T>& got, errc code, const std::string& saying) {
  ASSERT_FALSE(got.has_value());
  EXPECT_EQ(got.error().code(), code) << got.error().message();
  EXPECT_THAT(got.error().message(), HasSubstr(saying));
}

class FenceRedisRefusal : public ::testing::Test {
 protected:
  std::string asked(const std::vector<std::string>& words) const { return server.ask(words).shown(); }

  redis_server server;
  context_ptr connection = hiredis_to(server.port());
  redis_gate gate{connection.get()};
};

TEST_F(FenceRedisRefusal, OfAKeyOfAnotherTypeLeavesTheMarkAsItWas) {
  ASSERT_EQ(asked({"SET", "k", "v"}), "OK");
  expect_failed(gate.hset("prices", fence_token(41), "k", field), errc::invalid_argument, "WRONGTYPE");
  EXPECT_THAT(server.keys_in(), ElementsAre("k")) << "there was no mark";
  ASSERT_TRUE(gate.check("prices", fence_token(41)));
  expect_failed(gate.hset("prices", fence_token(57), "k", field), errc::invalid_argument, "WRONGTYPE");
  EXPECT_EQ(asked({"GET", mark}), "41");
  expect_failed(gate.hset("prices", fence_token(41), "k", field), errc::invalid_argument, "WRONGTYPE");
  EXPECT_EQ(asked({"GET", mark}), "41");
  EXPECT_EQ(asked({"GET", "k"}), "v");
}

TEST_F(FenceRedisRefusal, OfAServerWithoutMemoryLeavesTheMarkAsItWas) {
  ASSERT_TRUE(gate.set("prices", fence_token(41), "k", "old"));
  ASSERT_EQ(asked({"CONFIG", "SET", "maxmemory", "1"}), "OK");
  for (const std::uint64_t token : {41U, 57U}) {
    expect_failed(gate.set("prices", fence_token(token), "k", "new"), errc::storage_error, "maxmemory");
    expect_failed(gate.hset("prices", fence_token(token), "h", field), errc::storage_error, "OOM");
    const std::string key[] = {"k"};
    expect_failed(gate.run("prices", fence_token(token), "return redis.call('SET', KEYS[1], 'new')", key, {}),
                  errc::storage_error, "OOM");
  }
  expect_failed(gate.check("prices", fence_token(57)), errc::storage_error, "OOM");
  expect_failed(gate.check("stock", fence_token(57)), errc::storage_error, "OOM");
  EXPECT_EQ(asked({"GET", mark}), "41");
  EXPECT_EQ(asked({"GET", "k"}), "old");
  EXPECT_THAT(server.keys_in(), ElementsAre(mark, "k"));
}

TEST_F(FenceRedisRefusal, OfAServerWithoutMemoryDoesNotKeepItFromBeingEmptied) {
  ASSERT_TRUE(gate.set("prices", fence_token(41), "k", "old"));
  ASSERT_EQ(asked({"CONFIG", "SET", "maxmemory", "1"}), "OK");
  const std::string key[] = {"k"};
  ASSERT_EQ(*gate.del("prices", fence_token(57), key), 1);
  EXPECT_EQ(asked({"GET", mark}), "57");
  expect_failed(gate.del("prices", fence_token(41), key), errc::stale_token, "57");
}

TEST_F(FenceRedisRefusal, OfAUserWhoMayNotSetLeavesNothing) {
  const context_ptr ann = hiredis_as(server, {"-set"});
  redis_gate hers(ann.get());
  expect_failed(hers.set("prices", fence_token(41), "k", "v"), errc::access_denied, "ACL");
  expect_failed(hers.hset("prices", fence_token(41), "h", field), errc::access_denied, "ACL");
  EXPECT_THAT(server.keys_in(), IsEmpty());
}

TEST_F(FenceRedisRefusal, OfAUserWhoMayNotReadTheMarkLeavesNothing) {
  const context_ptr ann = hiredis_as(server, {"-get"});
  redis_gate hers(ann.get());
  expect_failed(hers.set("prices", fence_token(41), "k", "v"), errc::access_denied, "ACL");
  EXPECT_THAT(server.keys_in(), IsEmpty());
}

TEST_F(FenceRedisRefusal, OfAUserWhoMayNotWriteTheDataPutsTheMarkBack) {
  const context_ptr ann = hiredis_as(server, {"-hset"});
  redis_gate hers(ann.get());
  expect_failed(hers.hset("prices", fence_token(41), "h", field), errc::access_denied, "ACL");
  EXPECT_THAT(server.keys_in(), IsEmpty());
  ASSERT_TRUE(gate.check("prices", fence_token(41)));
  expect_failed(hers.hset("prices", fence_token(57), "h", field), errc::access_denied, "ACL");
  EXPECT_EQ(asked({"GET", mark}), "41");
}

TEST_F(FenceRedisRefusal, OfAUserWhoMayNotDeleteEitherLeavesAMarkBelowEveryToken) {
  const context_ptr ann = hiredis_as(server, {"-hset", "-del", "-persist"});
  redis_gate hers(ann.get());
  const std::string key[] = {"k"};
  expect_failed(hers.hset("prices", fence_token(41), "h", field), errc::access_denied, "ACL");
  EXPECT_EQ(asked({"GET", mark}), "0");
  EXPECT_EQ(*gate.highest("prices"), fence_token(0));
  EXPECT_TRUE(gate.check("prices", fence_token(1)));
  expect_failed(hers.del("prices", fence_token(57), key), errc::access_denied, "ACL");
  EXPECT_EQ(asked({"GET", mark}), "1");
}

TEST_F(FenceRedisRefusal, OfKeysThatAUserMayNotTouchLeavesNothing) {
  for (const std::string allowed : {"~price:*", "~cremone:fence:*"}) {
    const context_ptr ann = hiredis_as(server, {"resetkeys", allowed});
    expect_failed(redis_gate(ann.get()).set("prices", fence_token(41), "price:42", "v"), errc::access_denied,
                  "NOPERM");
  }
  EXPECT_THAT(server.keys_in(), IsEmpty());
}

TEST_F(FenceRedisRefusal, OfAScriptsTextIsReportedWhereItsNameIsAllowed) {
  const context_ptr ann = hiredis_as(server, {"-eval"});
  expect_failed(redis_gate(ann.get()).check("prices", fence_token(41)), errc::access_denied, "NOPERM");
}

TEST_F(FenceRedisRefusal, OfOneWhoHasNotAuthenticatedSaysSo) {
  ASSERT_EQ(asked({"CONFIG", "SET", "requirepass", "secret"}), "OK");
  const context_ptr stranger = hiredis_to(server.port());
  expect_failed(redis_gate(stranger.get()).check("prices", fence_token(41)), errc::access_denied, "NOAUTH");
  expect_failed(redis_gate(stranger.get()).highest("prices"), errc::access_denied, "NOAUTH");
}

TEST_F(FenceRedisRefusal, OfAServerWithTooFewReplicasLeavesTheMarkAsItWas) {
  ASSERT_TRUE(gate.check("prices", fence_token(41)));
  ASSERT_EQ(asked({"CONFIG", "SET", "min-replicas-to-write", "1"}), "OK");
  expect_failed(gate.set("prices", fence_token(57), "k", "v"), errc::storage_error, "NOREPLICAS");
  expect_failed(gate.set("prices", fence_token(41), "k", "v"), errc::storage_error, "NOREPLICAS");
  expect_failed(gate.check("prices", fence_token(41)), errc::storage_error, "NOREPLICAS");
  EXPECT_EQ(asked({"GET", mark}), "41");
  EXPECT_THAT(server.keys_in(), ElementsAre(mark));
}

TEST_F(FenceRedisRefusal, OfAServerThatCannotSaveLeavesTheMarkAsItWas) {
  ASSERT_TRUE(gate.check("prices", fence_token(41)));
  // A directory with something in it, where the snapshot should be.
  std::filesystem::create_directory(server.directory().file("dump.rdb"));
  std::ofstream(server.directory().file("dump.rdb/x")) << "x";
  ASSERT_EQ(asked({"CONFIG", "SET", "save", "3600 1"}), "OK");
  (void)server.ask({"BGSAVE"});
  ASSERT_TRUE(wait_for([&] {
    return server.ask({"INFO", "persistence"}).text.find("rdb_last_bgsave_status:err") != std::string::npos;
  }));
  expect_failed(gate.set("prices", fence_token(57), "k", "v"), errc::storage_error, "MISCONF");
  EXPECT_EQ(asked({"GET", mark}), "41");
  EXPECT_THAT(server.keys_in(), ElementsAre(mark));
}

TEST_F(FenceRedisRefusal, OfAReplicaNamesItAndTheReplicaHasBothMarkAndData) {
  ASSERT_EQ(asked({"CONFIG", "SET", "repl-diskless-sync-delay", "0"}), "OK");
  const redis_server replica({.extra = {"--replicaof", "127.0.0.1", std::to_string(server.port())}});
  const context_ptr line = hiredis_to(replica.port());
  redis_gate there(line.get());
  ASSERT_TRUE(gate.set("prices", fence_token(41), "k", "v"));
  ASSERT_TRUE(wait_for([&] { return replica.ask({"GET", mark}).shown() == "41"; }));
  EXPECT_EQ(replica.ask({"GET", "k"}).shown(), "v");
  expect_failed(there.set("prices", fence_token(57), "k", "w"), errc::storage_error, "replica");
  expect_failed(there.set("prices", fence_token(41), "k", "w"), errc::storage_error, "READONLY");
  expect_failed(there.check("prices", fence_token(41)), errc::storage_error, "READONLY");
  expect_failed(there.set("prices", fence_token(40), "k", "w"), errc::stale_token, "41");
  EXPECT_EQ(*there.highest("prices"), fence_token(41));
}

TEST_F(FenceRedisRefusal, OfAServerThatRunsAScriptIsBusy) {
  ASSERT_EQ(asked({"CONFIG", "SET", "busy-reply-threshold", "1"}), "OK");
  redis_link other(server.port());
  other.say({"EVAL", "while true do end", "0"});
  ASSERT_TRUE(wait_for([&] { return asked({"PING"}).find("BUSY") != std::string::npos; }));
  expect_failed(gate.set("prices", fence_token(57), "k", "v"), errc::busy, "SCRIPT KILL");
  ASSERT_EQ(asked({"SCRIPT", "KILL"}), "OK");
  (void)other.hear();
  EXPECT_TRUE(gate.set("prices", fence_token(57), "k", "v"));
}

TEST(FenceRedisCluster, WantsACommonHashTagAndSaysSo) {
  const redis_server node({.cluster = true});
  const context_ptr line = hiredis_to(node.port());
  redis_gate gate(line.get());
  expect_failed(gate.set("{prices}", fence_token(41), "{prices}:k", "v"), errc::misconfigured, "CLUSTERDOWN");
  ASSERT_EQ(node.ask({"CLUSTER", "ADDSLOTSRANGE", "0", "16383"}).shown(), "OK");
  ASSERT_TRUE(wait_for([&] {
    return node.ask({"CLUSTER", "INFO"}).text.find("cluster_state:ok") != std::string::npos;
  }));
  expect_failed(gate.set("prices", fence_token(41), "k", "v"), errc::misconfigured, "{hash tag}");
  EXPECT_TRUE(gate.set("{prices}", fence_token(41), "{prices}:k", "v"));
  EXPECT_EQ(node.ask({"GET", "cremone:fence:{prices}"}).shown(), "41");
}

TEST(FenceRedisRestart, HasBothMarkAndDataWhenItComesFromItsFile) {
  redis_server server({.aof = true});
  ASSERT_TRUE(redis_gate(hiredis_to(server.port()).get()).set("prices", fence_token(57), "k", "v"));
  (void)server.aof_size();
  server.start_again();
  ASSERT_TRUE(wait_for([&] { return server.ask({"PING"}).shown() == "PONG"; }));
  const context_ptr line = hiredis_to(server.port());
  redis_gate gate(line.get());
  EXPECT_EQ(*gate.highest("prices"), fence_token(57));
  EXPECT_EQ(server.ask({"GET", "k"}).shown(), "v");
  expect_failed(gate.set("prices", fence_token(41), "k", "late"), errc::stale_token, "57");
}

TEST(FenceRedisRestart, HasMarkAndDataOfOneWriteWhereverItsFileEnds) {
  redis_server server({.aof = true});
  const auto write = [&](std::uint64_t token) {
    ASSERT_TRUE(redis_gate(hiredis_to(server.port()).get())
                    .set("prices", fence_token(token), "k", std::to_string(token)));
  };
  write(41);
  const auto before = server.aof_size();
  write(57);
  const auto after = server.aof_size();
  ASSERT_GT(after, before);
  int old = 0;
  for (auto end = after; end >= before; end -= 11) {
    server.restart_with_aof_cut_to(end);
    const std::string seen = server.ask({"GET", mark}).shown();
    ASSERT_EQ(seen, server.ask({"GET", "k"}).shown()) << end - before << " of " << after - before << " bytes";
    ASSERT_EQ(seen, end == after ? "57" : "41");
    old += seen == "41" ? 1 : 0;
  }
  EXPECT_GT(old, 5);
}

}  // namespace

}  // namespace cremone::fence
