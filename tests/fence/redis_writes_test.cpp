// SPDX-License-Identifier: Apache-2.0
//
// Fenced writes at a redis-server in good health: what passes, what is refused, and that mark and data move together.
#include "fence/redis_connection.hpp"
#include "fence/writers.hpp"

#include <cremone/fence_redis.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

namespace cremone::fence {

namespace {

using std::chrono::milliseconds;
using test::context_ptr;
using test::redis_link;
using test::redis_server;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr const char* mark = "cremone:fence:prices";

class FenceRedis : public ::testing::Test {
 protected:
  std::string get(const std::string& key) const { return server.ask({"GET", key}).shown(); }
  std::string asked(const std::vector<std::string>& words) const { return server.ask(words).shown(); }

  redis_server server;
  context_ptr connection = test::hiredis_to(server.port());
  redis_gate gate{connection.get()};
};

TEST_F(FenceRedis, SetsAValueAndRemembersTheToken) {
  ASSERT_TRUE(gate.set("prices", fence_token(41), "price:42", "17.50"));
  EXPECT_EQ(get("price:42"), "17.50");
  EXPECT_EQ(get(mark), "41");
  EXPECT_EQ(*gate.highest("prices"), fence_token(41));
  EXPECT_EQ(asked({"TTL", "price:42"}), "-1");
  EXPECT_EQ(asked({"TTL", mark}), "-1");
}

TEST_F(FenceRedis, RefusesAnOlderTokenAndLeavesEverythingAsItIs) {
  const std::string key[] = {"price:42"};
  const redis_field field[] = {{"a", "1"}};
  ASSERT_TRUE(gate.set("prices", fence_token(57), "price:42", "new"));
  const auto late = gate.set("prices", fence_token(41), "price:42", "old");
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code(), errc::stale_token);
  EXPECT_THAT(late.error().message(),
              AllOf(HasSubstr("41"), HasSubstr("57"), HasSubstr("prices"), HasSubstr(server.node())));
  EXPECT_EQ(gate.hset("prices", fence_token(56), "h", field).error().code(), errc::stale_token);
  EXPECT_EQ(gate.del("prices", fence_token(56), key).error().code(), errc::stale_token);
  EXPECT_EQ(gate.check("prices", fence_token(56)).error().code(), errc::stale_token);
  EXPECT_EQ(gate.run("prices", fence_token(56), "return redis.call('DEL', KEYS[1])", key, {}).error().code(),
            errc::stale_token);
  EXPECT_EQ(get("price:42"), "new");
  EXPECT_EQ(get(mark), "57");
  EXPECT_THAT(server.keys_in(), ElementsAre(mark, "price:42"));
}

TEST_F(FenceRedis, LetsOneHolderWriteManyTimesAndItsSuccessorFromThenOn) {
  for (const std::uint64_t token : {41U, 41U, 41U, 57U, 57U}) {
    EXPECT_TRUE(gate.set("prices", fence_token(token), "price:42", std::to_string(token)));
  }
  EXPECT_EQ(get("price:42"), "57");
}

TEST_F(FenceRedis, WritesTheMarkOnlyWhenItMoves) {
  ASSERT_TRUE(gate.set("prices", fence_token(41), "price:42", "1"));
  ASSERT_EQ(asked({"CONFIG", "RESETSTAT"}), "OK");
  ASSERT_TRUE(gate.set("prices", fence_token(41), "price:42", "2"));
  EXPECT_THAT(server.ask({"INFO", "commandstats"}).text, HasSubstr("cmdstat_set:calls=1,"));
}

TEST_F(FenceRedis, ComparesTokensAsNumbersAndNotAsText) {
  ASSERT_TRUE(gate.check("prices", fence_token(9)));
  ASSERT_TRUE(gate.check("prices", fence_token(10)));
  EXPECT_FALSE(gate.check("prices", fence_token(9)));
}

TEST_F(FenceRedis, KeepsTheGreatestTokensExactly) {
  const std::uint64_t most = fence_token::limit - 1;
  ASSERT_TRUE(gate.set("prices", fence_token(most - 1), "k", "1"));
  EXPECT_EQ(get(mark), "9007199254740990");
  ASSERT_TRUE(gate.set("prices", fence_token(most), "k", "2"));
  EXPECT_EQ(get(mark), "9007199254740991");
  EXPECT_EQ(gate.set("prices", fence_token(most - 1), "k", "3").error().code(), errc::stale_token);
  EXPECT_EQ(gate.set("prices", fence_token(most + 1), "k", "4").error().code(), errc::invalid_argument);
  EXPECT_EQ(get("k"), "2");
}

TEST_F(FenceRedis, GivesAValueATimeToLiveAndTheMarkNone) {
  ASSERT_TRUE(gate.set("prices", fence_token(41), "price:42", "17.50", milliseconds(60'000)));
  EXPECT_GT(server.ask({"PTTL", "price:42"}).number, 0);
  EXPECT_LE(server.ask({"PTTL", "price:42"}).number, 60'000);
  EXPECT_EQ(asked({"PTTL", mark}), "-1");
  const auto endless = gate.set("prices", fence_token(58), "price:42", "x", milliseconds::max());
  ASSERT_FALSE(endless);
  EXPECT_EQ(endless.error().code(), errc::invalid_argument) << endless.error().message();
  EXPECT_EQ(get(mark), "41");
}

TEST_F(FenceRedis, SetsFieldsAndSaysHowManyAreNew) {
  const redis_field first[] = {{"a", "1"}, {"b", "2"}};
  const redis_field then[] = {{"b", "3"}, {"c", std::string("\0\r\n", 3)}};
  EXPECT_EQ(*gate.hset("prices", fence_token(41), "h", first), 2);
  EXPECT_EQ(*gate.hset("prices", fence_token(57), "h", then), 1);
  EXPECT_EQ(asked({"HGET", "h", "b"}), "3");
  EXPECT_EQ(server.ask({"HGET", "h", "c"}).text, std::string("\0\r\n", 3));
  EXPECT_EQ(get(mark), "57");
}

TEST_F(FenceRedis, DeletesSeveralKeysAndSaysHowManyThereWere) {
  server.ask({"MSET", "x", "1", "y", "2", "z", "3"});
  const std::string keys[] = {"x", "y", "absent"};
  EXPECT_EQ(*gate.del("prices", fence_token(41), keys), 2);
  EXPECT_THAT(server.keys_in(), ElementsAre(mark, "z"));
}

TEST_F(FenceRedis, TakesAsManyWordsAsItSays) {
  std::vector<redis_field> fields;
  std::vector<std::string> keys;
  for (std::size_t i = 0; i < redis_most_words; ++i) {
    keys.push_back("k" + std::to_string(i));
    if (i % 2 == 0) {
      fields.emplace_back(std::to_string(i), "v");
    }
  }
  EXPECT_EQ(*gate.hset("prices", fence_token(41), keys.front(), fields), 3500);
  EXPECT_EQ(*gate.del("prices", fence_token(42), keys), 1);
}

TEST_F(FenceRedis, ChecksWithoutAWrite) {
  ASSERT_TRUE(gate.check("prices", fence_token(57)));
  EXPECT_THAT(server.keys_in(), ElementsAre(mark));
  EXPECT_EQ(gate.set("prices", fence_token(41), "k", "v").error().code(), errc::stale_token);
}

TEST_F(FenceRedis, HasSeenNothingOfAResourceThatWasNeverWritten) {
  EXPECT_EQ(*gate.highest("prices"), fence_token(0));
  EXPECT_THAT(server.keys_in(), IsEmpty());
}

TEST_F(FenceRedis, KeepsResourcesAndPrefixesApart) {
  redis_gate shop(connection.get(), "shop");
  ASSERT_TRUE(gate.check("prices", fence_token(57)));
  ASSERT_TRUE(gate.check("stock", fence_token(1)));
  ASSERT_TRUE(shop.check("prices", fence_token(2)));
  EXPECT_THAT(server.keys_in(), ElementsAre(mark, "cremone:fence:stock", "shop:fence:prices"));
}

TEST_F(FenceRedis, TakesAnyNameThatALockMayHave) {
  for (const std::string name : {"two words", "{tag}:x", "Größe/価格", "a\"b'c\\", "%s%n", "*"}) {
    ASSERT_TRUE(gate.set(name, fence_token(57), "k", name)) << name;
    EXPECT_EQ(gate.set(name, fence_token(41), "k", "late").error().code(), errc::stale_token);
    EXPECT_EQ(get("k"), name);
    EXPECT_EQ(get("cremone:fence:" + name), "57");
  }
}

TEST_F(FenceRedis, IsNotTroubledWhenTheServerForgetsTheScripts) {
  for (std::uint64_t token = 1; token < 4; ++token) {
    ASSERT_EQ(asked({"SCRIPT", "FLUSH"}), "OK");
    ASSERT_TRUE(gate.set("prices", fence_token(token), "k", "v"));
    ASSERT_TRUE(gate.run("prices", fence_token(token), "return 1", {}, {}).has_value());
  }
  EXPECT_EQ(get(mark), "3");
}

TEST_F(FenceRedis, WritesNothingWhereTheMarkIsNoNumber) {
  const redis_field field[] = {{"a", "1"}};
  const std::string key[] = {"k"};
  for (const std::string garbage : {"", "x", "-1", "1.5", "0x10", "1e3", " 7", "7\n", "9007199254740992",
                                    "99999999999999999999999999999"}) {
    ASSERT_EQ(asked({"SET", mark, garbage}), "OK");
    for (const errc code :
         {gate.set("prices", fence_token(57), "k", "v").error().code(),
          gate.hset("prices", fence_token(57), "k", field).error().code(),
          gate.del("prices", fence_token(57), key).error().code(),
          gate.check("prices", fence_token(57)).error().code(), gate.highest("prices").error().code()}) {
      EXPECT_EQ(code, errc::misconfigured) << garbage;
    }
    EXPECT_EQ(server.ask({"GET", mark}).text, garbage);
    EXPECT_THAT(server.keys_in(), ElementsAre(mark));
  }
}

TEST_F(FenceRedis, WritesNothingWhereTheMarkIsNoString) {
  ASSERT_EQ(asked({"RPUSH", mark, "41"}), "1");
  const auto refused = gate.set("prices", fence_token(57), "k", "v");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), errc::misconfigured);
  EXPECT_THAT(refused.error().message(), HasSubstr(mark));
  EXPECT_EQ(gate.highest("prices").error().code(), errc::misconfigured);
  EXPECT_EQ(asked({"TYPE", mark}), "list");
  EXPECT_THAT(server.keys_in(), ElementsAre(mark));
}

TEST_F(FenceRedis, UnderstandsAMarkThatAPersonHasWritten) {
  ASSERT_EQ(asked({"SET", mark, "0057", "EX", "1000"}), "OK");
  EXPECT_EQ(gate.check("prices", fence_token(56)).error().code(), errc::stale_token);
  ASSERT_TRUE(gate.set("prices", fence_token(57), "k", "v"));
  EXPECT_EQ(get(mark), "0057");
  EXPECT_TRUE(gate.check("prices", fence_token(57)));
  EXPECT_EQ(get(mark), "57");
  EXPECT_TRUE(gate.check("prices", fence_token(58)));
  EXPECT_EQ(get(mark), "58");
  EXPECT_EQ(asked({"TTL", mark}), "-1");
}

TEST_F(FenceRedis, ChecksAndNewTokensTakeAwayATimeToLiveOfTheMark) {
  ASSERT_EQ(asked({"SET", mark, "57", "EX", "1000"}), "OK");
  ASSERT_TRUE(gate.check("prices", fence_token(57)));
  EXPECT_EQ(asked({"TTL", mark}), "-1");
  ASSERT_EQ(asked({"EXPIRE", mark, "1000"}), "1");
  EXPECT_EQ(gate.check("prices", fence_token(56)).error().code(), errc::stale_token);
  EXPECT_NE(asked({"TTL", mark}), "-1") << "who is refused changes nothing";
  ASSERT_TRUE(gate.set("prices", fence_token(58), "k", "v"));
  EXPECT_EQ(asked({"TTL", mark}), "-1");
}

/// What another client gets, which sends the words and reads the replies by itself.
TEST_F(FenceRedis, AnswersOtherClientsAsThePlainCommandsDo) {
  redis_link line(server.port());
  const redis_commands commands;
  const redis_field fields[] = {{"a", "1"}, {"b", "2"}};
  const std::string keys[] = {"k", "h", "absent"};
  const auto set = commands.set("prices", fence_token(57), "k", "v");
  EXPECT_THAT(line.ask(set->evalsha()).shown(), HasSubstr("NOSCRIPT"));
  EXPECT_EQ(line.ask(set->eval()).type, '+');
  EXPECT_EQ(line.ask(set->evalsha()).text, "OK");
  EXPECT_EQ(line.ask(commands.hset("prices", fence_token(57), "h", fields)->eval()).number, 2);
  EXPECT_EQ(line.ask(commands.del("prices", fence_token(57), keys)->eval()).number, 2);
  EXPECT_EQ(line.ask(commands.check("prices", fence_token(57))->eval()).text, "OK");
  EXPECT_EQ(line.ask(commands.run("prices", fence_token(57), "return {1, 'x'}", {}, {})->eval()).items.size(),
            2U);
  const auto late = line.ask(commands.set("prices", fence_token(41), "k", "v")->eval());
  EXPECT_TRUE(late.is_error());
  EXPECT_EQ(late.text, "STALE 41 57");
}

TEST_F(FenceRedis, RefusesWhatOtherClientsMaySendByMistake) {
  redis_link line(server.port());
  const auto script = redis_commands().set("prices", fence_token(1), "k", "v")->script;
  for (const std::string token :
       {"", "0", "-1", "1.5", "1e3", "0x10", " 7", "7 ", "07", "seven", "9007199254740992",
        "18446744073709551615", "99999999999999999999999999", "inf", "nan"}) {
    EXPECT_THAT(line.ask({"EVAL", script, "2", mark, "k", token, "v"}).text, HasSubstr("BADTOKEN")) << token;
  }
  EXPECT_THAT(line.ask({"EVAL", script, "2", mark, "k"}).text, HasSubstr("BADTOKEN"));
  EXPECT_THAT(line.ask({"EVAL", script, "2", mark, mark, "7", "v"}).text, HasSubstr("BADKEY"));
  EXPECT_TRUE(line.ask({"EVAL", script, "1", mark, "7", "v"}).is_error()) << "no key";
  EXPECT_TRUE(line.ask({"EVAL", script, "2", mark, "k", "7"}).is_error()) << "no value";
  EXPECT_TRUE(line.ask({"EVAL", script, "2", mark, "k", "7", "v", "soon"}).is_error()) << "no time to live";
  const auto del = redis_commands().del("prices", fence_token(1), std::vector<std::string>{"k"})->script;
  EXPECT_THAT(line.ask({"EVAL", del, "3", mark, "k", mark, "7"}).text, HasSubstr("BADKEY"));
  EXPECT_TRUE(line.ask({"EVAL", del, "1", mark, "7"}).is_error()) << "no key";
  std::vector<std::string> many = {"EVAL", del, "9001", mark};
  many.insert(many.end(), 9000, "k");
  many.emplace_back("7");
  EXPECT_THAT(line.ask(many).text, HasSubstr("TOOMANY"));
  const redis_field field[] = {{"a", "1"}};
  const auto hset = redis_commands().hset("prices", fence_token(1), "h", field)->script;
  EXPECT_TRUE(line.ask({"EVAL", hset, "2", mark, "h", "7", "a"}).is_error()) << "a field without a value";
  EXPECT_THAT(line.ask({"EVAL", hset, "2", mark, mark, "7", "a", "1"}).text, HasSubstr("BADKEY"));
  many = {"EVAL", hset, "2", mark, "h", "7"};
  many.insert(many.end(), 9000, "k");
  EXPECT_THAT(line.ask(many).text, HasSubstr("TOOMANY"));
  EXPECT_THAT(server.keys_in(), IsEmpty());
}

/// Random writes, half of which fail, beside the rule as <cremone/fence.hpp> has it.
TEST_F(FenceRedis, MovesTheMarkExactlyWithTheWriteAsTheRuleSays) {
  std::mt19937 random(8);
  cremone::fence::mark rule;
  const redis_field field[] = {{"a", "1"}};
  const std::string gone[] = {"gone"};
  server.ask({"SET", "string", "x"});
  std::uint64_t base = 1;
  for (int step = 0; step < 2000; ++step) {
    base += random() % 2;
    const fence_token token(base + random() % 8);
    const bool allowed = rule.allows(token);
    bool writes = true;
    result<std::int64_t> got = 0;
    switch (random() % 5) {
      case 0:
        if (const auto r = gate.set("prices", token, "k", "v"); !r) got = r.error();
        break;
      case 1: got = gate.del("prices", token, gone); break;
      case 2:
        writes = false;
        got = gate.hset("prices", token, "string", field);
        break;
      case 3:
        writes = false;
        if (const auto r = gate.run("prices", token, "error('no')", {}, {}); !r) got = r.error();
        break;
      default:
        if (const auto r = gate.check("prices", token); !r) got = r.error();
    }
    ASSERT_EQ(got.has_value(), allowed && writes);
    ASSERT_EQ(!allowed, got.has_error() && got.error().code() == errc::stale_token);
    if (writes) {
      (void)rule.admit(token);
    }
    ASSERT_EQ(*gate.highest("prices"), rule.highest()) << "step " << step;
  }
}

constexpr const char* log_and_state = R"(
  redis.call('RPUSH', KEYS[1], ARGV[1])
  return redis.call('SET', KEYS[2], ARGV[1])  -- no newline at the end)";

class writer final : public test::fenced_writer {
 public:
  explicit writer(std::uint16_t port) : connection_(test::hiredis_to(port)), gate_(connection_.get()) {}

  result<void> write(fence_token token) override {
    const std::string keys[] = {"log", "state"};
    const std::string arguments[] = {std::to_string(token.value())};
    if (const auto done = gate_.run("prices", token, log_and_state, keys, arguments); !done) {
      return done.error();
    }
    return {};
  }

 private:
  context_ptr connection_;
  redis_gate gate_;
};

class resource final : public test::fenced_resource {
 public:
  explicit resource(const redis_server& server) : server_(server) {}

  std::unique_ptr<test::fenced_writer> connect() override { return std::make_unique<writer>(server_.port()); }
  std::vector<std::uint64_t> log() override {
    std::vector<std::uint64_t> numbers;
    for (const std::string& text : server_.ask({"LRANGE", "log", "0", "-1"}).texts()) {
      numbers.push_back(std::stoull(text));
    }
    return numbers;
  }
  std::uint64_t state() override { return std::stoull(server_.ask({"GET", "state"}).text); }
  std::uint64_t highest() override { return std::stoull(server_.ask({"GET", mark}).text); }

 private:
  const redis_server& server_;
};

TEST_F(FenceRedis, KeepsSixteenWritersInOrder) {
  resource all(server);
  test::contend(all);
}

}  // namespace

}  // namespace cremone::fence
