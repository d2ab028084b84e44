// SPDX-License-Identifier: Apache-2.0
//
// A user's own script behind the fence: what it sees, what it returns, and what becomes of the mark when it fails.
#include "fence/redis_connection.hpp"

#include <cremone/fence_redis.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cremone::fence {

namespace {

using test::context_ptr;
using test::redis_server;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr const char* mark = "cremone:fence:prices";
const std::vector<std::string> keys = {"k", "l"};
const std::vector<std::string> arguments = {"u", "v"};

/// As test::resp shows it.
std::string shown(const redis_reply& r) {
  struct show {
    std::string operator()(std::nullptr_t) const { return "(nil)"; }
    std::string operator()(std::int64_t n) const { return std::to_string(n); }
    std::string operator()(const std::string& text) const { return text; }
    std::string operator()(const std::vector<redis_reply>& all) const {
      std::string text;
      for (const redis_reply& one : all) {
        text += (text.empty() ? "" : ", ") + shown(one);
      }
      return "[" + text + "]";
    }
  };
  return std::visit(show{}, r.value);
}

class FenceRedisRun : public ::testing::Test {
 protected:
  std::string asked(const std::vector<std::string>& words) const { return server.ask(words).shown(); }

  std::string run(std::string_view script, std::uint64_t token = 41) {
    const auto got = gate.run("prices", fence_token(token), script, keys, arguments);
    return got ? shown(*got) : got.error().message();
  }

  /// It must fail with this, having written nothing, and leave no mark.
  void expect_undone(std::string_view script, errc code, const std::string& saying) {
    const auto got = gate.run("prices", fence_token(41), script, keys, arguments);
    ASSERT_FALSE(got.has_value()) << script;
    EXPECT_EQ(got.error().code(), code) << got.error().message();
    EXPECT_THAT(got.error().message(), HasSubstr(saying)) << script;
    EXPECT_THAT(server.keys_in(), IsEmpty()) << script;
  }

  redis_server server;
  context_ptr connection = test::hiredis_to(server.port());
  redis_gate gate{connection.get()};
};

TEST_F(FenceRedisRun, ShowsTheScriptItsOwnKeysAndArguments) {
  EXPECT_EQ(run("return {#KEYS, KEYS[1], KEYS[2], #ARGV, ARGV[1], ARGV[2]}"), "[2, k, l, 2, u, v]");
  EXPECT_EQ(asked({"GET", mark}), "41") << "a script that writes nothing has passed too";
}

TEST_F(FenceRedisRun, GivesBackWhatTheScriptReturned) {
  EXPECT_EQ(run("return 7"), "7");
  EXPECT_EQ(run("return 'text'"), "text");
  EXPECT_EQ(run("return redis.status_reply('FINE')"), "FINE");
  EXPECT_EQ(run("return redis.status_reply('QUEUED')"), "QUEUED") << "it is in no MULTI";
  EXPECT_EQ(run("return redis.call('SET', KEYS[1], 'x')"), "OK");
  EXPECT_EQ(run("return {1, {'a', {}}, false}"), "[1, [a, []], (nil)]");
  EXPECT_EQ(run("return nil"), "(nil)");
  EXPECT_EQ(run("local x = 1"), "(nil)") << "it need not return anything";
  EXPECT_EQ(run("return {1, redis.error_reply('ERR inner')}"), "[1, ERR inner]");
  EXPECT_EQ(run("return ''"), "");
}

TEST_F(FenceRedisRun, TakesTextsAsTheyCome) {
  EXPECT_EQ(run("return 1 -- a comment and no newline"), "1");
  EXPECT_EQ(run("return 1 --[[ a comment ]]"), "1");
  EXPECT_EQ(run("return 1;"), "1");
  EXPECT_EQ(run("\r\nreturn 1\r\n"), "1");
  EXPECT_EQ(run("-- cremone\n\nlocal function f() return 1 end\nreturn f()"), "1");
  EXPECT_EQ(run("local redis = redis return redis.sha1hex('')"), "da39a3ee5e6b4b0d3255bfef95601890afd80709");
  EXPECT_EQ(run("return select('#', ...)"), "0");
  EXPECT_EQ(run("return 'f\xC3\xBCnf'"), "f\xC3\xBCnf");
}

TEST_F(FenceRedisRun, SaysWhatIsWrongWithATextThatIsNoLuaAndWhereItIs) {
  expect_undone("x = = 1", errc::invalid_argument, "user_script:1:");
  expect_undone("local x = 1\n\nx = = 1\n", errc::invalid_argument, "user_script:3:");
  expect_undone("return 1 end", errc::invalid_argument, "no Lua");
  expect_undone("return 1\nend", errc::invalid_argument, "no Lua");
  expect_undone("end", errc::invalid_argument, "no Lua");
  expect_undone("if x then", errc::invalid_argument, "no Lua");
  expect_undone("return 1 --[[ open", errc::invalid_argument, "no Lua");
  expect_undone("return 'open", errc::invalid_argument, "no Lua");
  expect_undone("return 1)", errc::invalid_argument, "no Lua");
  expect_undone("\x1bLua", errc::invalid_argument, "no Lua");
  expect_undone("#!lua\nreturn 1", errc::invalid_argument, "#!");
  expect_undone(std::string_view("return 1\0", 9), errc::invalid_argument, "byte 0");
}

TEST_F(FenceRedisRun, LeavesTheMarkWhenTheScriptFailsBeforeItHasDoneAnything) {
  expect_undone("\n\nlocal x = nil + 1", errc::protocol_error, "user_script:3:");
  expect_undone("error('my own words')", errc::protocol_error, "my own words");
  expect_undone("error()", errc::protocol_error, "nothing was written");
  expect_undone("error(false)", errc::protocol_error, "nothing was written");
  expect_undone("error({})", errc::protocol_error, "nothing was written");
  expect_undone("error({err = 'MINE in a table'})", errc::protocol_error, "MINE in a table");
  expect_undone("return redis.error_reply('MINE returned')", errc::protocol_error, "MINE returned");
  expect_undone("return {err = 'two\\r\\nlines'}", errc::protocol_error, "two  lines");
  expect_undone("return redis.call('NOSUCH')", errc::protocol_error, "nothing was written");
  expect_undone("return redis.call()", errc::protocol_error, "nothing was written");
  expect_undone("return redis.pcall('NOSUCH')", errc::protocol_error, "nothing was written");
  expect_undone("redis.pcall('NOSUCH') error('then')", errc::protocol_error, "nothing was written");
  expect_undone("return redis.error_reply('STALE 1 2')", errc::protocol_error, "STALE 1 2");
  expect_undone("return no_such_global", errc::protocol_error, "no_such_global");
  expect_undone("local function f() return f() + 1 end return f()", errc::protocol_error, "stack overflow");
}

/// The wrapper looks at what the script returned or threw, and what it looks at may be the script's own work.
TEST_F(FenceRedisRun, LeavesTheMarkWhenTheScriptsErrorCannotBeLookedAt) {
  const std::string trap =
      "local no = function() error('trap') end "
      "local trap = setmetatable({}, {__index = no, __tostring = no}) ";
  const std::string odd = "local odd = setmetatable({}, {__tostring = function() return {} end}) ";
  expect_undone(trap + "error(trap)", errc::protocol_error, "cannot be shown");
  expect_undone(trap + "return {err = trap}", errc::protocol_error, "cannot be shown");
  expect_undone(trap + "rawset(trap, 'err', 'MINE') return trap", errc::protocol_error, "MINE");
  expect_undone(odd + "error(odd)", errc::protocol_error, "cannot be shown");
  EXPECT_EQ(run(trap + "return trap"), "[]") << "it is an empty table, and no error";
}

TEST_F(FenceRedisRun, KeepsTheMarkRaisedWhenOnlyTheScriptsErrorHasWritten) {
  EXPECT_THAT(
      run("error(setmetatable({}, {__tostring = function() redis.call('SET', 'k', 'x') return 'MINE' end}))"),
      AllOf(HasSubstr("what they wrote is there"), HasSubstr("MINE")));
  EXPECT_EQ(asked({"GET", mark}), "41");
}

TEST_F(FenceRedisRun, PutsBackTheMarkThatThereWas) {
  ASSERT_TRUE(gate.check("prices", fence_token(7)));
  EXPECT_THAT(run("error('no')"), HasSubstr("nothing was written"));
  EXPECT_EQ(asked({"GET", mark}), "7");
}

TEST_F(FenceRedisRun, KeepsTheMarkRaisedWhenTheScriptFailsLater) {
  const struct {
    const char* script;
    const char* saying;
  } cases[] = {{"redis.call('SET', KEYS[1], 'x') error('late')", "late"},
               {"redis.pcall('SET', KEYS[1], 'x') return redis.error_reply('MINE')", "MINE"},
               {"redis.call('SET', KEYS[1], 'x') return redis.call('HSET', KEYS[1], 'a', 'b')", "WRONGTYPE"},
               {"redis.call('SET', KEYS[1], 'x') redis.pcall('NOSUCH') error('late')", "late"},
               {"server.call('SET', KEYS[1], 'x') error('late')", "late"},
               {"redis.call('GET', KEYS[1]) error('it has only read, but who knows')", "only read"}};
  std::uint64_t token = 40;
  for (const auto& [script, saying] : cases) {
    EXPECT_THAT(run(script, ++token), AllOf(HasSubstr("what they wrote is there"), HasSubstr(saying)));
    EXPECT_EQ(asked({"GET", mark}), std::to_string(token)) << script;
  }
  EXPECT_EQ(asked({"GET", "k"}), "x");
}

TEST_F(FenceRedisRun, ShowsErrorsToTheScriptAsRedisDoes) {
  ASSERT_EQ(asked({"SET", "k", "x"}), "OK");
  const std::string script = R"(
    local caught, why = pcall(redis.call, 'HSET', KEYS[1], 'a', 'b')
    return {tostring(caught), type(why), redis.pcall('HSET', KEYS[1], 'a', 'b').err})";
  EXPECT_EQ(run(script), asked({"EVAL", script, "1", "k"}));
}

/// By these a script could write and the wrapper would not know.
TEST_F(FenceRedisRun, KnowsNoOtherWayToTheServer) {
  expect_undone("_G.redis.call('SET', KEYS[1], 'x') error('late')", errc::protocol_error, "'_G'");
  expect_undone("loadstring('redis.call(\"SET\", \"k\", \"x\")')() error('late')", errc::protocol_error,
                "'loadstring'");
  expect_undone("load(function() end)", errc::protocol_error, "'load'");
}

TEST_F(FenceRedisRun, RefusesTheMarkAmongTheKeys) {
  const std::string own[] = {"k", mark};
  EXPECT_EQ(gate.run("prices", fence_token(41), "return 1", own, {}).error().code(), errc::invalid_argument);
  auto words = redis_commands().run("prices", fence_token(41), "return 1", keys, {});
  words->words[3] = mark;
  EXPECT_THAT(server.ask(words->eval()).text, HasSubstr("BADKEY"));
  EXPECT_THAT(server.keys_in(), IsEmpty());
}

TEST_F(FenceRedisRun, TakesManyKeysAndArguments) {
  const std::vector<std::string> many(20'000, "x");
  const auto got = gate.run("prices", fence_token(41), "return {#KEYS, #ARGV}", many, many);
  ASSERT_TRUE(got.has_value()) << got.error().message();
  EXPECT_EQ(shown(*got), "[20000, 20000]");
}

TEST_F(FenceRedisRun, SendsATextOnlyOnce) {
  ASSERT_EQ(run("return 1"), "1");
  ASSERT_EQ(asked({"CONFIG", "RESETSTAT"}), "OK");
  ASSERT_EQ(run("return 1", 57), "1");
  const std::string stats = server.ask({"INFO", "commandstats"}).text;
  EXPECT_THAT(stats, HasSubstr("cmdstat_evalsha:calls=1,"));
  EXPECT_EQ(stats.find("cmdstat_eval:"), std::string::npos);
}

TEST_F(FenceRedisRun, IsReportedWhenTheAclDeniesWhatTheScriptDoes) {
  const context_ptr ann = test::hiredis_as(server, {"-rpush"});
  const auto got = redis_gate(ann.get()).run("prices", fence_token(41),
                                             "return redis.call('RPUSH', KEYS[1], 'x')", keys, {});
  ASSERT_FALSE(got.has_value());
  EXPECT_EQ(got.error().code(), errc::access_denied) << got.error().message();
  EXPECT_THAT(server.keys_in(), IsEmpty());
}

}  // namespace

}  // namespace cremone::fence
