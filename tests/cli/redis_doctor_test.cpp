// SPDX-License-Identifier: Apache-2.0
//
// `doctor` on real Redis servers: each is set up in one wrong way, and that is what it says.
#include "cli/fixture.hpp"
#include "support/redis_server.hpp"
#include "support/sentinels.hpp"

namespace cremone::test {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

const std::string secret = "sesame";

class RedisDoctor : public Tool {
 protected:
  struct look {
    int code = -1;
    json all{};

    [[nodiscard]] json about(const std::string& subject) const {
      for (const json& f : all.at("findings")) {
        if (f["subject"] == subject) {
          return f;
        }
      }
      return {};
    }
  };

  [[nodiscard]] look at(const std::string& url) const {
    const auto end = cremone({"doctor", "--json", url});
    EXPECT_THAT(end.out + end.err, Not(HasSubstr(secret)));
    EXPECT_EQ(end.err, "");
    json all = json::parse(end.out, nullptr, false);
    if (!all.contains("findings")) {
      ADD_FAILURE() << end.out << end.err;
      all["findings"] = json::array();
    }
    return {end.code, std::move(all)};
  }

  [[nodiscard]] look at(const redis_server& server) const { return at(server.url()); }
};

TEST_F(RedisDoctor, FindsNothingWrongWithAServerMadeForLocks) {
  const redis_server server({.extra = {"--appendonly", "yes", "--appendfsync", "always"}});
  const look seen = at(server);
  EXPECT_EQ(seen.code, 0);
  EXPECT_EQ(seen.all["overall"], "good") << seen.all.dump(1);
  EXPECT_EQ(seen.all["findings"].size(), 11U);
  EXPECT_EQ(seen.about("persistence")["value"], "append-only file, fsync always");
  EXPECT_EQ(seen.about("version")["node"], server.node());
  EXPECT_THAT(server.keys_in(), IsEmpty()) << "it leaves nothing behind";
}

TEST_F(RedisDoctor, WarnsOfEvictionOfKeysThatExpire) {
  const redis_server server({.extra = {"--maxmemory", "3mb", "--maxmemory-policy", "volatile-ttl"}});
  const look seen = at(server);
  EXPECT_EQ(seen.code, 0);
  EXPECT_EQ(seen.all["overall"], "warning");
  EXPECT_EQ(seen.about("eviction")["verdict"], "warning");
  EXPECT_EQ(seen.about("eviction")["value"], "volatile-ttl");
  EXPECT_THAT(seen.about("memory")["value"].get<std::string>(), HasSubstr("of 3.0 MiB"));
}

TEST_F(RedisDoctor, CallsEvictionOfLocksBadWhenItHappens) {
  const redis_server server({.extra = {"--maxmemory", "3mb", "--maxmemory-policy", "volatile-ttl"}});
  (void)server.ask({"EVAL",
                    "for i = 1, 2000 do redis.call('SET', 'k' .. i, string.rep('x', 4000), 'PX', 600000) end",
                    "0"});
  for (int i = 0; i < 50; ++i) {
    (void)server.ask({"SET", "more" + std::to_string(i), std::string(10'000, 'x'), "PX", "600000"});
  }
  const look seen = at(server);
  EXPECT_EQ(seen.about("eviction")["verdict"], "bad") << seen.all.dump(1);
  EXPECT_EQ(seen.code, 1);
}

TEST_F(RedisDoctor, CallsEvictionOfAnyKeyBad) {
  const look seen = at(redis_server({.extra = {"--maxmemory", "3mb", "--maxmemory-policy", "allkeys-lru"}}));
  EXPECT_EQ(seen.code, 1);
  EXPECT_EQ(seen.all["overall"], "bad");
  EXPECT_EQ(seen.about("eviction")["verdict"], "bad");
}

TEST_F(RedisDoctor, CallsAReplicaBad) {
  const redis_server master({.extra = {"--repl-diskless-sync-delay", "0"}});
  const redis_server replica({.extra = {"--replicaof", "127.0.0.1", std::to_string(master.port())}});
  ASSERT_TRUE(wait_for([&] {
    return replica.ask({"INFO", "replication"}).shown().find("master_link_status:up") != std::string::npos;
  }));
  const look seen = at(replica);
  EXPECT_EQ(seen.code, 1);
  EXPECT_EQ(seen.about("role")["value"], "replica");
  EXPECT_EQ(seen.about("role")["verdict"], "bad");
  EXPECT_EQ(seen.about("rights")["verdict"], "good") << seen.all.dump(1);
  EXPECT_EQ(at(replica.url(0, "&layout=record")).about("rights")["verdict"], "good");

  const look its_master = at(master);
  EXPECT_EQ(its_master.about("role")["verdict"], "good");
  EXPECT_EQ(its_master.about("replicas")["verdict"], "bad") << "a failover could leave two masters";
  EXPECT_EQ(its_master.code, 1);
  const std::string record = master.url(0, "&layout=record");
  EXPECT_EQ(at(record).about("replicas")["verdict"], "bad");
  EXPECT_EQ(cremone({"who", "--url", record, "x"}).code, 1) << "other commands still work";

  EXPECT_EQ(master.ask({"CONFIG", "SET", "min-replicas-to-write", "1"}).shown(), "OK");
  EXPECT_EQ(at(record).about("replicas")["verdict"], "good");
  EXPECT_EQ(at(master).about("replicas")["verdict"], "warning") << "classic loses locks in any failover";
}

TEST_F(RedisDoctor, UnprotectedMasterIsBadToUserWithoutConfigRights) {
  const redis_server master({.extra = {"--repl-diskless-sync-delay", "0"}});
  const redis_server replica({.extra = {"--replicaof", "127.0.0.1", std::to_string(master.port())}});
  EXPECT_EQ(master.ask({"ACL", "SETUSER", "ann", "on", ">" + secret, "~*", "&*", "+@all", "-config"}).shown(),
            "OK");
  ASSERT_TRUE(wait_for([&] {
    return master.ask({"INFO", "replication"}).shown().find("connected_slaves:1") != std::string::npos;
  }));
  const std::string url = master.url_as("ann:" + secret, 0, "&layout=record");
  EXPECT_EQ(at(url).about("replicas")["verdict"], "bad");
  EXPECT_EQ(master.ask({"CONFIG", "SET", "min-replicas-to-write", "1"}).shown(), "OK");
  EXPECT_EQ(at(url).about("replicas")["verdict"], "untold") << "INFO does not show the number";
}

TEST_F(RedisDoctor, CallsAServerBadThatWaitsForReplicas) {
  const look seen = at(redis_server({.extra = {"--min-replicas-to-write", "1"}}));
  EXPECT_EQ(seen.code, 1);
  EXPECT_EQ(seen.about("replicas")["verdict"], "bad");
}

TEST_F(RedisDoctor, CallsAClusterBad) {
  const look seen = at(redis_server({.cluster = true}));
  EXPECT_EQ(seen.code, 1);
  EXPECT_EQ(seen.about("mode")["value"], "cluster");
  EXPECT_EQ(seen.about("rights")["verdict"], "untold");
  EXPECT_THAT(seen.about("rights")["reason"].get<std::string>(), HasSubstr("CLUSTERDOWN"));
  EXPECT_TRUE(at(redis_server({.cluster = true}).url(0, "&layout=record")).about("prefix").is_null())
      << "nothing is wrong with that";
}

TEST_F(RedisDoctor, OfASentinelDoesNotBlameTheRights) {
  sentinels all(1);
  for (const std::string layout : {"&layout=classic", "&layout=record"}) {
    const look seen = at(all.one(0).url(0, layout));
    EXPECT_EQ(seen.code, 1);
    EXPECT_EQ(seen.about("mode")["value"], "sentinel");
    for (const char* subject : {"rights", "clock"}) {
      EXPECT_EQ(seen.about(subject)["verdict"], "untold") << seen.all.dump(1);
      EXPECT_THAT(seen.about(subject)["reason"].get<std::string>(),
                  AllOf(HasSubstr("unknown command"), Not(HasSubstr("ACL"))));
    }
    EXPECT_TRUE(seen.about("prefix").is_null()) << "nothing is wrong with that";
  }
}

TEST_F(RedisDoctor, TellsWhatItMayToAUserOfFewRights) {
  const redis_server server;
  const std::vector<std::string> documented = {
      "ACL",   "SETUSER",  "ann",       "reset", "on",    ">" + secret, "~*",         "&cremone:classic:*",
      "+eval", "+evalsha", "+getrange", "+set",  "+del",  "+pexpire",   "+pttl",      "+time",
      "+hget", "+hset",    "+publish",  "+ping", "+auth", "+select",    "+subscribe", "+scan"};
  EXPECT_EQ(server.ask(documented).shown(), "OK");
  const look seen = at(server.url_as("ann:" + secret));
  EXPECT_EQ(seen.code, 0);
  EXPECT_EQ(seen.all["overall"], "untold");
  EXPECT_EQ(seen.about("rights")["verdict"], "good");
  EXPECT_EQ(seen.about("clock")["verdict"], "good");
  EXPECT_EQ(seen.about("latency")["verdict"], "good");
  EXPECT_EQ(seen.about("eviction")["verdict"], "untold");
  EXPECT_TRUE(seen.about("eviction")["value"].is_null());
  EXPECT_THAT(seen.about("eviction")["reason"].get<std::string>(), HasSubstr("ACL SETUSER ann +info"));

  EXPECT_EQ(server.ask({"ACL", "SETUSER", "ann", "+info"}).shown(), "OK");
  const look more = at(server.url_as("ann:" + secret));
  EXPECT_EQ(more.about("eviction")["verdict"], "good");
  EXPECT_EQ(more.about("persistence")["value"], "no append-only file") << "CONFIG would tell the rest";

  EXPECT_EQ(server.ask({"ACL", "SETUSER", "ann", "+config|get"}).shown(), "OK");
  EXPECT_NE(at(server.url_as("ann:" + secret)).about("persistence")["value"], "no append-only file");
}

TEST_F(RedisDoctor, NamesTheRightsThatLackAndHowToGrantThem) {
  const redis_server server;
  EXPECT_EQ(server
                .ask({"ACL", "SETUSER", "ann", "on", ">" + secret, "~*", "&*", "+@all", "-set", "-publish",
                      "-scan"})
                .shown(),
            "OK");
  const look seen = at(server.url_as("ann:" + secret));
  EXPECT_EQ(seen.code, 1);
  EXPECT_EQ(seen.about("rights")["verdict"], "bad");
  EXPECT_THAT(
      seen.about("rights")["reason"].get<std::string>(),
      AllOf(HasSubstr("ACL SETUSER ann"), HasSubstr("+set"), HasSubstr("+publish"), HasSubstr("+scan")));
}

TEST_F(RedisDoctor, TellsKeysAndChannelsFromCommandsAmongWhatLacks) {
  const redis_server server;
  const auto reason = [&](std::initializer_list<std::string> rules) {
    std::vector<std::string> words = {"ACL", "SETUSER", "ann", "reset", "on", ">" + secret, "+@all"};
    words.insert(words.end(), rules);
    EXPECT_EQ(server.ask(words).shown(), "OK");
    return at(server.url_as("ann:" + secret, 0, "&layout=record&prefix=t"))
        .about("rights")["reason"]
        .get<std::string>();
  };
  EXPECT_EQ(reason({"~other:*", "&*"}), "grant it: ACL SETUSER ann ~t:*");
  EXPECT_EQ(reason({"~t:*", "&other:*"}), "grant it: ACL SETUSER ann &t:wake:*");
  EXPECT_EQ(reason({"~t:*", "&other:*", "-zcard"}), "grant it: ACL SETUSER ann &t:wake:* +zcard");
  EXPECT_EQ(reason({"~t:*", "&t:wake:*", "-pubsub"}), "grant it: ACL SETUSER ann +pubsub|numsub");
  EXPECT_EQ(reason({"~t:*", "&t:wake:*"}), "may do what the locks need");
}

TEST_F(RedisDoctor, NamesTheRuleToAUserWhoseKeysOrCommandsDoNotFit) {
  const redis_server server;
  const auto error_with = [&](std::initializer_list<std::string> rules) {
    std::vector<std::string> words = {"ACL", "SETUSER", "ann", "reset", "on", ">" + secret, "+@all", "&*"};
    words.insert(words.end(), rules);
    EXPECT_EQ(server.ask(words).shown(), "OK");
    const auto end = cremone({"run", "--url", server.url_as("ann:" + secret, 0, "&layout=record&prefix=t"),
                              "--try", "x", "--", "true"});
    EXPECT_EQ(end.code, 77) << end.err;
    return end.err;
  };
  EXPECT_THAT(error_with({"~x:*"}), HasSubstr("grant it: ACL SETUSER ann ~t:*"));
  EXPECT_THAT(error_with({"~t:*", "-evalsha"}), HasSubstr("grant it: ACL SETUSER ann +evalsha"));
  EXPECT_THAT(error_with({"~t:*", "-info"}), HasSubstr("grant it: ACL SETUSER ann +info"));
  EXPECT_THAT(error_with({"~t:*", "-ping"}), HasSubstr("grant it: ACL SETUSER ann +ping"));
}

TEST_F(RedisDoctor, PrintsLinesWithTheSumOfThem) {
  const redis_server server;
  const auto end = cremone({"doctor", server.url()});
  EXPECT_EQ(end.code, 0);
  EXPECT_THAT(end.out, AllOf(HasSubstr("good\trole\tmaster\t"), HasSubstr("\toverall\t")));
}

TEST_F(RedisDoctor, SaysThatNobodyAnswersOrLetsItIn) {
  redis_server server({.extra = {"--requirepass", secret}});
  const auto denied = cremone({"doctor", server.url_as(":" + secret + "-wrong")});
  EXPECT_EQ(denied.code, 77) << denied.err;
  EXPECT_THAT(denied.err, AllOf(HasSubstr(server.node()), Not(HasSubstr(secret))));
  server.suspend();
  const auto silent = cremone({"doctor", server.url_as(":" + secret)});
  EXPECT_EQ(silent.code, 69) << silent.err;
  server.kill();
  const auto gone = cremone({"doctor", server.url_as(":" + secret)});
  EXPECT_EQ(gone.code, 69) << gone.err;
  EXPECT_THAT(gone.err, AllOf(HasSubstr(server.node()), Not(HasSubstr(secret))));
}

TEST_F(RedisDoctor, OfAServerThatNeverLetAnybodyInNobodySaysThatTheConnectionWasLost) {
  const redis_server server({.extra = {"--requirepass", secret}});
  process waits({CREMONE_TOOL, "run", "--verbose", "--wait", "60s", "--url", server.url(), "x", "--", "true"},
                here());
  EXPECT_TRUE(wait_for([&] {
    return waits.err().find("no connection: " + server.node()) != std::string::npos;
  })) << waits.err();
  EXPECT_THAT(waits.err(), Not(HasSubstr("connection lost")));
}

TEST_F(RedisDoctor, HidesAPasswordThatStandsOnTheCommandLine) {
  redis_server server({.extra = {"--requirepass", secret}});
  server.suspend();
  process waits(cremone_words({"doctor", server.url_as(":" + secret)}), here());
  const std::string file = "/proc/" + std::to_string(waits.pid()) + "/cmdline";
  EXPECT_TRUE(wait_for([&] {
    const std::string shown = contents(file);
    return shown.find("doctor") != std::string::npos && shown.find("***") != std::string::npos;
  }));
  EXPECT_THAT(contents(file), Not(HasSubstr(secret)));
  const auto end = waits.wait();
  EXPECT_THAT(end.out + end.err, Not(HasSubstr(secret)));
  server.resume();
}

TEST_F(RedisDoctor, TellsHowLongAQuarantineStillTakesAndThatNoLockIsGivenOut) {
  const redis_server server;
  const std::string store = server.url(0, "&layout=record");
  EXPECT_EQ(at(store).about("quarantine")["verdict"], "untold") << "who asks for a lock finds out";
  ASSERT_EQ(cremone({"run", "--url", store, "--try", "x", "--", "true"}).code, 83) << "it has just started";
  const auto end = cremone({"doctor", store});
  EXPECT_EQ(end.code, 0) << end.err;
  EXPECT_THAT(end.out, ::testing::ContainsRegex("warning\tquarantine\t[0-9.]+ s left\t"));
  EXPECT_THAT(end.out, HasSubstr("No lock is given out here until the quarantine is over"));
}

TEST_F(RedisDoctor, OfClassicKnowsNoQuarantine) {
  const redis_server server;
  const auto end = cremone({"quarantine", server.url()});
  EXPECT_EQ(end.code, 0) << end.err;
  EXPECT_THAT(end.err, HasSubstr("knows no quarantine"));
  EXPECT_EQ(cremone({"quarantine", "--end", server.url()}).code, 70);
}

}  // namespace
}  // namespace cremone::test
