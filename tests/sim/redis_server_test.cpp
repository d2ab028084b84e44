// SPDX-License-Identifier: Apache-2.0
//
// What the simulated Redis owes to the simulator beyond being like the real one: time that is handed in, lives, witnesses, bytes
// in any pieces, and nothing that one call leaves for the next.
#include "sim/redis/server.hpp"

#include "backends/redis/info.hpp"
#include "support/resp.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

namespace cremone::sim {
namespace {

using namespace std::chrono_literals;
using test::parse_resp;
using test::resp_command;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

using texts = std::vector<std::string>;

constexpr wall_time beginning{1'700'000'000s};

class SimulatedServer : public ::testing::Test {
 protected:
  /// What is said to one connection, as one text of RESP.
  std::string raw(const texts& words, std::uint64_t connection = 1) {
    heard_.clear();
    server_.receive(connection, resp_command(words), now_, heard_);
    std::string all;
    for (const utterance& one : heard_) {
      all += one.to == connection ? one.bytes : "";
    }
    return all;
  }

  /// As people read it.
  std::string ask(const texts& words, std::uint64_t connection = 1) {
    std::size_t used = 0;
    const auto r = parse_resp(raw(words, connection), used);
    return r ? r->shown() : "no answer";
  }

  std::string eval(const std::string& script) { return ask({"EVAL", script, "0"}); }

  /// What others have heard by the last command.
  [[nodiscard]] std::string heard_by(std::uint64_t connection) const {
    std::string all;
    for (const utterance& one : heard_) {
      all += one.to == connection ? one.bytes : "";
    }
    return all;
  }

  static constexpr const char* first_id = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
  static constexpr const char* second_id = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb";

  wall_time now_ = beginning;
  lua lua_;
  redis_server server_{lua_, first_id, beginning};
  std::vector<utterance> heard_;
};

TEST_F(SimulatedServer, KeepsAKeyUntilItsTimeIsOver) {
  ask({"SET", "a", "1", "PX", "100"});
  now_ += 100ms;
  EXPECT_EQ(ask({"GET", "a"}), "1");
  EXPECT_EQ(ask({"PTTL", "a"}), "0");
  now_ += 1ms;
  EXPECT_EQ(ask({"GET", "a"}), "(nil)");
  EXPECT_EQ(server_.keys().dump(), "");
}

TEST_F(SimulatedServer, LetsAKeyLiveLongerWhenTheClockIsSetBack) {
  ask({"SET", "a", "1", "PX", "100"});
  now_ += 90ms;
  now_ -= 10s;
  EXPECT_EQ(ask({"PTTL", "a"}), "10010");
}

TEST_F(SimulatedServer, LosesWhatWasLookedAtWhileTheClockWasAhead) {
  ask({"SET", "seen", "1", "PX", "100"});
  ask({"SET", "unseen", "1", "PX", "100"});
  now_ += 1h;
  EXPECT_EQ(ask({"GET", "seen"}), "(nil)");
  now_ -= 1h;
  EXPECT_EQ(ask({"GET", "seen"}), "(nil)");
  EXPECT_EQ(ask({"GET", "unseen"}), "1");
}

TEST_F(SimulatedServer, CountsNoKeyWhoseTimeIsOver) {
  ask({"SET", "a", "1", "PX", "100"});
  ask({"SET", "b", "1"});
  now_ += 1s;
  EXPECT_EQ(ask({"DBSIZE"}), "1");
  EXPECT_EQ(ask({"SCAN", "0"}), "[0, [b]]");
}

TEST_F(SimulatedServer, ForgetsScriptsAndListenersAndStatisticsWhenItRestarts) {
  ask({"SET", "kept", "1"});
  ask({"SET", "over", "1", "PX", "100"});
  const std::string sha = ask({"SCRIPT", "LOAD", "return 1"});
  ask({"SUBSCRIBE", "news"}, 2);
  const keyspace kept = server_.keys();
  ask({"SET", "later", "1"});
  now_ += 1s;
  server_.restart(second_id, now_, kept);
  EXPECT_EQ(server_.keys().dump(), "4:kept string 1:1\n");
  EXPECT_EQ(ask({"EVALSHA", sha, "0"}), "(error) NOSCRIPT No matching script. Please use EVAL.");
  EXPECT_EQ(ask({"PUBLISH", "news", "x"}), "0");
  EXPECT_EQ(ask({"GET", "kept"}, 2), "1");  // it listens no more
  EXPECT_THAT(ask({"INFO", "server"}), HasSubstr(std::string("run_id:") + second_id));
  EXPECT_THAT(ask({"INFO", "commandstats"}), Not(HasSubstr("cmdstat_set:")));
}

TEST_F(SimulatedServer, TellsThoseWhoListenBeforeItAnswers) {
  EXPECT_EQ(raw({"SUBSCRIBE", "a", "b"}, 2),
            "*3\r\n$9\r\nsubscribe\r\n$1\r\na\r\n:1\r\n*3\r\n$9\r\nsubscribe\r\n$1\r\nb\r\n:2\r\n");
  EXPECT_EQ(ask({"EVAL", "return redis.call('PUBLISH', 'b', 'hello')", "0"}), "1");
  EXPECT_EQ(heard_by(2), "*3\r\n$7\r\nmessage\r\n$1\r\nb\r\n$5\r\nhello\r\n");
  EXPECT_EQ(heard_.back().to, 1U);
  EXPECT_EQ(ask({"PUBSUB", "NUMSUB", "a", "none"}), "[a, 1, none, 0]");
  EXPECT_EQ(ask({"PING"}, 2), "[pong, ]");
  EXPECT_THAT(ask({"GET", "x"}, 2), HasSubstr("Can't execute 'get'"));
  server_.disconnect(2);
  EXPECT_EQ(ask({"PUBLISH", "b", "hello"}), "0");
}

TEST_F(SimulatedServer, TellsOfItselfWhatTheBackendReads) {
  now_ += 90s;
  ask({"FLUSHALL"});
  const auto facts = redis::read_facts(redis::parse_info(ask({"INFO", "all"})));
  ASSERT_TRUE(facts.version);
  EXPECT_EQ(to_string(*facts.version), "7.0.15");
  EXPECT_EQ(facts.run_id, first_id);
  EXPECT_EQ(facts.uptime, 90s);
  EXPECT_TRUE(facts.always_master());
  EXPECT_FALSE(facts.cluster);
  EXPECT_EQ(facts.connected_replicas, 0U);
  EXPECT_EQ(facts.maxmemory, 0U);
  EXPECT_TRUE(facts.used_memory);
  EXPECT_EQ(facts.maxmemory_policy, "noeviction");
  EXPECT_EQ(facts.evicted_keys, 0U);
  EXPECT_EQ(facts.aof_enabled, true);
  EXPECT_EQ(facts.aof_last_write_ok, true);
  EXPECT_EQ(facts.rdb_last_save_ok, true);
  EXPECT_EQ(facts.forgetting_calls, 1U);
  EXPECT_EQ(redis::parse_info(ask({"INFO", "server"})).number("server_time_usec"), 1'700'000'090'000'000U);
}

TEST_F(SimulatedServer, HasBeenUpForAsLongAsItsWallClockSays) {
  now_ -= 1h;
  EXPECT_THAT(ask({"INFO", "server"}), HasSubstr("uptime_in_seconds:-3600\r\n"));
}

TEST_F(SimulatedServer, StopsTheClockWhileAScriptRuns) {
  EXPECT_EQ(eval("local a = redis.call('TIME') local b = redis.call('TIME')\n"
                 "return {a[1], a[2], tostring(a[1] == b[1] and a[2] == b[2])}"),
            "[1700000000, 0, true]");
}

TEST_F(SimulatedServer, LeavesWhatAFailedScriptHasWritten) {
  EXPECT_THAT(eval("redis.call('SET', 'a', '1') error('no')"), HasSubstr("user_script:1: no script: "));
  EXPECT_EQ(ask({"GET", "a"}), "1");
}

TEST_F(SimulatedServer, LetsNoScriptLeaveAnythingForTheNext) {
  ask({"EVAL", "KEYS[2] = 'x' ARGV[1] = nil", "1", "k", "a"});
  EXPECT_EQ(ask({"EVAL", "return {KEYS[2] or 'none', ARGV[1] or 'none'}", "1", "k"}), "[none, none]");
  for (const char* const attempt :
       {"x = 1", "string.x = 1", "redis.call = 1", "KEYS = 1", "rawset(_G, 'x', 1)", "rawset(math, 'x', 1)",
        "setmetatable(_G, nil)", "setmetatable(string, {})", "getmetatable(_G).x = 1",
        "getmetatable('').x = 1", "_G.x = 1", "loadstring('x = 1')()", "setfenv(0, {})  x = 1",
        "coroutine.wrap(function() x = 1 end)()"}) {
    EXPECT_THAT(eval(attempt), HasSubstr("(error)")) << attempt;
  }
  EXPECT_THAT(eval("return x"), HasSubstr("nonexistent global variable 'x'"));
  EXPECT_EQ(eval("return string.x"), "(nil)");
  EXPECT_EQ(eval("return ('a'):upper()"), "A");
  EXPECT_EQ(eval("return math.random(1000000)"), eval("return math.random(1000000) -- another"));
}

TEST_F(SimulatedServer, SharesCompiledScriptsWithoutSharingWhatIsKnown) {
  redis_server other(lua_, second_id, now_);
  const std::string sha = ask({"SCRIPT", "LOAD", "return redis.call('GET', 'a')"});
  std::vector<utterance> said;
  other.receive(1, resp_command({"EVALSHA", sha, "0"}), now_, said);
  EXPECT_THAT(said.at(0).bytes, HasSubstr("NOSCRIPT"));
  other.receive(1, resp_command({"SET", "a", "other"}), now_, said);
  other.receive(1, resp_command({"EVAL", "return redis.call('GET', 'a')", "0"}), now_, said);
  EXPECT_EQ(said.back().bytes, "$5\r\nother\r\n");
  EXPECT_EQ(ask({"EVALSHA", sha, "0"}), "(nil)");
}

TEST_F(SimulatedServer, GoesOnWhenMoreScriptsCameThanItKeeps) {
  const std::string sha = ask({"SCRIPT", "LOAD", "return 'held'"});
  for (int i = 0; i < 2500; ++i) {
    redis_server passing(lua_, second_id, now_);
    std::vector<utterance> said;
    const std::string n = std::to_string(i);
    passing.receive(1, resp_command({"EVAL", "return " + n, "0"}), now_, said);
    ASSERT_EQ(said.at(0).bytes, ":" + n + "\r\n");
  }
  EXPECT_EQ(ask({"EVALSHA", sha, "0"}), "held");
}

TEST_F(SimulatedServer, TakesBytesInAnyPieces) {
  const std::string all = resp_command({"SET", "a", "x\r\ny"}) + "PING\r\n" + resp_command({"GET", "a"});
  std::vector<utterance> said;
  for (const char byte : all) {
    server_.receive(7, {&byte, 1}, now_, said);
  }
  ASSERT_EQ(said.size(), 3U);
  EXPECT_EQ(said[0].bytes + said[1].bytes + said[2].bytes, "+OK\r\n+PONG\r\n$4\r\nx\r\ny\r\n");
  said.clear();
  server_.receive(8, all, now_, said);
  EXPECT_EQ(said.size(), 3U);
}

TEST_F(SimulatedServer, SaysOnceThatItDoesNotUnderstand) {
  std::vector<utterance> said;
  server_.receive(1, "*1\r\n+PING\r\n", now_, said);
  server_.receive(1, resp_command({"PING"}), now_, said);
  ASSERT_EQ(said.size(), 1U);
  EXPECT_EQ(said[0].bytes, "-ERR Protocol error: expected '$', got '+'\r\n");
}

TEST_F(SimulatedServer, TellsAWitnessOfEachCommandAndWhatItChanged) {
  texts seen;
  server_.on_command([&](std::span<const std::string_view> words, std::string_view reply,
                         const std::vector<std::string>& changed) {
    std::string line(words[0]);
    line += " " + std::string(reply.substr(0, reply.find('\r')));
    for (const std::string& key : changed) {
      line += " " + key;
    }
    seen.push_back(line);
  });
  ask({"GET", "a"});
  ask({"EVAL", "redis.call('SET', 'a', 1) redis.call('ZADD', 'z', 1, 'm') redis.call('SET', 'a', 2, 'PX', 5)",
       "0"});
  ask({"ZREM", "z", "none"});
  now_ += 1s;
  ask({"GET", "a"});
  ask({"FLUSHALL"});
  EXPECT_THAT(seen, ElementsAre("GET $-1", "EVAL $-1 a z", "ZREM :0", "GET $-1 a", "FLUSHALL +OK z"));
}

TEST_F(SimulatedServer, ScansEveryKeyOnceWhileOthersComeAndGo) {
  for (int i = 0; i < 50; ++i) {
    ask({"SET", "stays:" + std::to_string(i), "1"});
    ask({"SET", "goes:" + std::to_string(i), "1"});
  }
  std::vector<std::string> found;
  std::string cursor = "0";
  for (int i = 0; i == 0 || cursor != "0"; ++i) {
    std::size_t used = 0;
    const auto r =
        parse_resp(raw({"SCAN", cursor, "MATCH", "stays:*", "COUNT", "7", "TYPE", "string"}), used);
    cursor = r->items[0].text;
    const auto names = r->items[1].texts();
    found.insert(found.end(), names.begin(), names.end());
    ask({"DEL", "goes:" + std::to_string(i)});
    ask({"SET", "comes:" + std::to_string(i), "1"});
  }
  std::sort(found.begin(), found.end());
  EXPECT_EQ(found.size(), 50U);
  EXPECT_EQ(std::unique(found.begin(), found.end()), found.end());
}

TEST_F(SimulatedServer, ShowsItsKeysToThoseWhoCheck) {
  ask({"SET", "s", "text", "PXAT", "1700000000500"});
  ask({"HSET", "h", "f", "v"});
  ask({"ZADD", "z", "2.5", "b", "1", "c", "1", "a"});
  const keyspace before = server_.keys();
  ask({"FLUSHALL"});
  EXPECT_EQ(*before.text("s"), "text");
  EXPECT_EQ(before.text("h"), nullptr);
  EXPECT_EQ(*before.field("h", "f"), "v");
  EXPECT_EQ(before.field("h", "none"), nullptr);
  EXPECT_EQ(before.field("none", "f"), nullptr);
  EXPECT_EQ(before.dump(),
            "1:h hash 1:f=1:v\n1:s string 4:text until 1700000000500\n1:z zset 1 1:a 1 1:c 2.5 1:b\n");
  EXPECT_EQ(server_.keys().dump(), "");
}

}  // namespace
}  // namespace cremone::sim
