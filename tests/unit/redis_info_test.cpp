// SPDX-License-Identifier: Apache-2.0
//
// Checks what is read out of INFO and CONFIG GET, and that a server that sends anything else does no harm.
#include "backends/redis/info.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace cremone::redis {
namespace {

using std::chrono::seconds;

// What Redis 7.0.15 said, shortened.
constexpr std::string_view redis_7 =
    "# Server\r\n"
    "redis_version:7.0.15\r\n"
    "redis_mode:standalone\r\n"
    "run_id:bfff4720baed812e9c49ee1c064a2dcafd6f08a8\r\n"
    "uptime_in_seconds:4711\r\n"
    "executable:/usr/bin/redis-server\r\n"
    "\r\n"
    "# Memory\r\n"
    "used_memory:916488\r\n"
    "used_memory_peak_perc:102.51%\r\n"
    "maxmemory:3145728\r\n"
    "maxmemory_policy:volatile-ttl\r\n"
    "\r\n"
    "# Persistence\r\n"
    "rdb_last_bgsave_status:err\r\n"
    "aof_enabled:1\r\n"
    "aof_last_write_status:ok\r\n"
    "\r\n"
    "# Stats\r\n"
    "evicted_keys:12\r\n"
    "\r\n"
    "# Replication\r\n"
    "role:master\r\n"
    "connected_slaves:1\r\n"
    "slave0:ip=127.0.0.1,port=7002,state=online,offset=14,lag=1\r\n"
    "master_replid:407a117b204a3732e7e29f836b481c9c976a77a1\r\n"
    "master_replid2:0000000000000000000000000000000000000000\r\n"
    "\r\n"
    "# Commandstats\r\n"
    "cmdstat_debug:calls=0,usec=0,usec_per_call=0.00,rejected_calls=1,failed_calls=0\r\n"
    "cmdstat_config|get:calls=2,usec=12,usec_per_call=12.00,rejected_calls=0,failed_calls=0\r\n"
    "cmdstat_config|set:calls=3,usec=12,usec_per_call=12.00,rejected_calls=0,failed_calls=0\r\n"
    "cmdstat_flushall:calls=4,usec=14,usec_per_call=14.00,rejected_calls=0,failed_calls=0\r\n"
    "\r\n"
    "# Cluster\r\n"
    "cluster_enabled:0\r\n"
    "\r\n"
    "# Keyspace\r\n";

server_facts facts(std::string_view text) { return read_facts(parse_info(text)); }

TEST(RedisInfo, IsReadAsARealServerWritesIt) {
  const server_facts f = facts(redis_7);
  EXPECT_EQ(f.version, (server_version{7, 0, 15}));
  EXPECT_EQ(f.run_id, "bfff4720baed812e9c49ee1c064a2dcafd6f08a8");
  EXPECT_EQ(f.redis_mode, "standalone");
  EXPECT_FALSE(f.cluster);
  EXPECT_EQ(f.uptime, seconds(4711));
  EXPECT_EQ(f.role, server_role::master);
  EXPECT_EQ(f.connected_replicas, 1U);
  EXPECT_EQ(f.min_replicas_on, false);
  EXPECT_TRUE(f.always_master());
  EXPECT_EQ(f.maxmemory, 3'145'728U);
  EXPECT_EQ(f.used_memory, 916'488U);
  EXPECT_EQ(f.maxmemory_policy, "volatile-ttl");
  EXPECT_EQ(f.evicted_keys, 12U);
  EXPECT_EQ(f.aof_enabled, true);
  EXPECT_EQ(f.aof_last_write_ok, true);
  EXPECT_EQ(f.rdb_last_save_ok, false);
  EXPECT_EQ(f.forgetting_calls, 4U);
}

TEST(RedisInfo, TellsWhetherMinReplicasIsOn) {
  EXPECT_EQ(facts("# Replication\r\nconnected_slaves:2\r\nmin_slaves_good_slaves:1\r\n").min_replicas_on,
            true);
  EXPECT_EQ(facts("# Server\r\n").min_replicas_on, std::nullopt) << "INFO without that section says nothing";
}

TEST(RedisInfo, CountsWhateverCanMakeAServerForgetWhileItIsUp) {
  for (const std::string command : {"flushall", "flushdb", "swapdb", "debug", "replicaof", "slaveof"}) {
    const server_facts f = facts("# Commandstats\r\ncmdstat_" + command + ":calls=2,usec=7\r\n");
    EXPECT_EQ(f.forgetting_calls, 2U) << command;
    EXPECT_EQ(f.swaps, command == "swapdb" ? 2U : 0U);
  }
}

TEST(RedisInfo, CountsAllSubcommandsAndNoNamesakes) {
  const info_text info = parse_info(
      "# Commandstats\r\ncmdstat_config|get:calls=2,usec=1\r\ncmdstat_config:calls=1,usec=1\r\n"
      "cmdstat_configure:calls=100,usec=1\r\n");
  EXPECT_EQ(info.calls("config"), 3U);
  EXPECT_EQ(info.calls("flushall"), 0U);
}

TEST(RedisInfo, TellsNoCallsFromNoStatistics) {
  EXPECT_EQ(facts("# Commandstats\r\n").forgetting_calls, 0U) << "a server that was asked nothing else yet";
  EXPECT_EQ(facts("# Server\r\nredis_version:7.0.15\r\n").forgetting_calls, std::nullopt);
}

TEST(RedisInfo, CountsACallThatCannotBeRead) {
  EXPECT_EQ(facts("# Commandstats\r\ncmdstat_flushall:calls=many\r\n").forgetting_calls, 1U);
  EXPECT_EQ(facts("# Commandstats\r\ncmdstat_flushall:\r\n").forgetting_calls, 1U);
  EXPECT_EQ(facts("# Commandstats\r\ncmdstat_flushall:calls=99999999999999999999\r\n").forgetting_calls, 1U);
}

TEST(RedisInfo, AddsUpHugeCountsWithoutOverflow) {
  const std::string huge = ":calls=18446744073709551615\r\n";
  const auto calls =
      facts("# Commandstats\r\ncmdstat_flushall" + huge + "cmdstat_flushdb" + huge).forgetting_calls;
  ASSERT_TRUE(calls);
  EXPECT_GT(*calls, 0U);
}

TEST(RedisInfo, OfAReplicaOrAPromotedOneIsNotAlwaysMaster) {
  const std::string zeros(40, '0');
  EXPECT_TRUE(facts("role:master\r\nmaster_replid2:" + zeros + "\r\n").always_master());
  EXPECT_FALSE(facts("role:slave\r\nmaster_replid2:" + zeros + "\r\n").always_master());
  EXPECT_FALSE(facts("role:master\r\nmaster_replid2:1" + zeros.substr(1) + "\r\n").always_master());
  EXPECT_FALSE(facts("role:master\r\n").always_master()) << "not told is no yes";
}

TEST(RedisInfo, ShowsAClusterEitherWay) {
  EXPECT_TRUE(facts("redis_mode:cluster\r\n").cluster);
  EXPECT_TRUE(facts("cluster_enabled:1\r\n").cluster);
  EXPECT_FALSE(facts("redis_mode:sentinel\r\n").cluster);
}

TEST(RedisInfo, KeepsARunIdOutThatIsNone) {
  const std::string id(40, 'a');
  EXPECT_EQ(facts("run_id:" + id + "\r\n").run_id, id);
  for (const std::string& wrong : {std::string(39, 'a'), std::string(41, 'a'), std::string(40, 'g'),
                                   "'; redis.call('FLUSHALL') --" + id}) {
    EXPECT_EQ(facts("run_id:" + wrong + "\r\n").run_id, "") << wrong;
  }
}

TEST(RedisInfo, LeavesOutWhatIsNoNumberNorWord) {
  const server_facts f = facts(
      "redis_version:unstable\r\nuptime_in_seconds:-1\r\nmaxmemory:1e9\r\nused_memory:"
      "99999999999999999999\r\n"
      "maxmemory_policy:\x1b[2J\r\nredis_mode:CLUSTER MODE\r\nconnected_slaves:\r\nrole:king\r\n");
  EXPECT_EQ(f.version, std::nullopt);
  EXPECT_EQ(f.uptime, std::nullopt);
  EXPECT_EQ(f.maxmemory, std::nullopt);
  EXPECT_EQ(f.used_memory, std::nullopt);
  EXPECT_EQ(f.maxmemory_policy, "");
  EXPECT_EQ(f.redis_mode, "");
  EXPECT_EQ(f.connected_replicas, std::nullopt);
  EXPECT_EQ(f.role, server_role::untold);
}

TEST(RedisInfo, TakesNoUptimeThatNoServerHas) {
  EXPECT_EQ(facts("uptime_in_seconds:18446744073709551615\r\n").uptime, std::nullopt);
}

TEST(RedisInfo, IsReadToABound) {
  std::string text = "# Commandstats\r\n";
  for (std::size_t i = 0; i < info_text::most_lines; ++i) {
    text += "k" + std::to_string(i) + ":1\r\n";
  }
  const info_text info = parse_info(text + "cmdstat_flushall:calls=1\r\n");
  EXPECT_LE(info.values.size(), info_text::most_lines);
  EXPECT_FALSE(info.whole);
  EXPECT_EQ(info.calls("flushall"), std::nullopt) << "what was not read is not none";
}

TEST(RedisInfo, LeavesOutLinesThatAreTooLong) {
  const info_text info =
      parse_info("long:" + std::string(info_text::longest_line, 'x') + "\r\nrole:master\r\n");
  EXPECT_EQ(info.text("long"), "");
  EXPECT_EQ(info.text("role"), "master");
  EXPECT_FALSE(info.whole);
}

TEST(RedisInfo, TakesTheFirstOfTwo) {
  EXPECT_EQ(parse_info("role:master\nrole:slave").text("role"), "master");
}

TEST(RedisInfo, OfNothingTellsNothing) {
  for (const std::string_view text : {"", "\r\n", ":", "#", "\n\n\n", "no colon", ":::", "# \r\n:x"}) {
    const server_facts f = facts(text);
    EXPECT_EQ(f.version, std::nullopt);
    EXPECT_EQ(f.run_id, "");
    EXPECT_FALSE(f.always_master());
  }
}

TEST(RedisVersion, IsReadAndCompared) {
  EXPECT_EQ(parse_version("7.0.15"), (server_version{7, 0, 15}));
  EXPECT_EQ(parse_version("7.2"), (server_version{7, 2, 0}));
  EXPECT_EQ(parse_version("8.0.0-rc1"), (server_version{8, 0, 0}));
  EXPECT_EQ(parse_version("8.2-rc1"), (server_version{8, 2, 0}));
  EXPECT_EQ(parse_version("8"), (server_version{8, 0, 0}));
  EXPECT_EQ(parse_version(""), std::nullopt);
  EXPECT_EQ(parse_version("x.7"), std::nullopt);
  EXPECT_LT(parse_version("6.2.14"), parse_version("7.0.0"));
  EXPECT_LT(parse_version("7.0.9"), parse_version("7.0.15"));
  EXPECT_EQ(to_string(server_version{7, 0, 15}), "7.0.15");
}

TEST(RedisConfig, IsReadAsARealServerWritesIt) {
  config_facts c;
  read_config(c, "appendfsync", "everysec");
  read_config(c, "no-appendfsync-on-rewrite", "no");
  read_config(c, "save", "3600 1 300 100 60 10000");
  read_config(c, "min-replicas-to-write", "2");
  read_config(c, "min-replicas-max-lag", "10");
  read_config(c, "port", "6379");
  EXPECT_EQ(c.appendfsync, "everysec");
  EXPECT_EQ(c.no_appendfsync_on_rewrite, false);
  EXPECT_EQ(c.save, "3600 1 300 100 60 10000");
  EXPECT_EQ(c.min_replicas_to_write, 2U);
  EXPECT_EQ(c.min_replicas_max_lag, seconds(10));
}

TEST(RedisConfig, LeavesOutWhatMakesNoSense) {
  config_facts c;
  read_config(c, "save", "\x1b[2J");
  read_config(c, "min-replicas-to-write", "all");
  read_config(c, "min-replicas-max-lag", "-3");
  EXPECT_EQ(c.save, std::nullopt);
  EXPECT_EQ(c.min_replicas_to_write, std::nullopt);
  EXPECT_EQ(c.min_replicas_max_lag, std::nullopt);
}

}  // namespace
}  // namespace cremone::redis
