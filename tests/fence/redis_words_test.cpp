// SPDX-License-Identifier: Apache-2.0
//
// The words of fenced commands and the meaning of errors: no server takes part.
#include <cremone/fence_redis.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cremone::fence {

namespace {

using std::chrono::milliseconds;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const redis_commands commands;
const fence_token seven(7);

template <class T>
void expect_refused(const result<T>& got, std::string_view because) {
  ASSERT_FALSE(got) << because;
  EXPECT_EQ(got.error().code(), errc::invalid_argument) << got.error().message();
  EXPECT_THAT(got.error().detail(), HasSubstr(std::string(because)));
}

TEST(FenceRedisWords, HaveTheMarkFirstThenTheKeysThenTheTokenThenTheRest) {
  const auto set = commands.set("prices", seven, "price:42", "17.50", milliseconds(300));
  ASSERT_TRUE(set);
  EXPECT_THAT(set->evalsha(),
              ElementsAre("EVALSHA", set->sha, "2", "cremone:fence:prices", "price:42", "7", "17.50", "300"));
  EXPECT_THAT(set->eval(),
              ElementsAre("EVAL", set->script, "2", "cremone:fence:prices", "price:42", "7", "17.50", "300"));
  const redis_field fields[] = {{"a", "1"}, {"b", "2"}};
  EXPECT_THAT(commands.hset("prices", seven, "h", fields)->words,
              ElementsAre("2", "cremone:fence:prices", "h", "7", "a", "1", "b", "2"));
  const std::string keys[] = {"x", "y"};
  EXPECT_THAT(commands.del("prices", seven, keys)->words,
              ElementsAre("3", "cremone:fence:prices", "x", "y", "7"));
  const std::string arguments[] = {"u"};
  EXPECT_THAT(commands.run("prices", seven, "return 1", keys, arguments)->words,
              ElementsAre("3", "cremone:fence:prices", "x", "y", "7", "u"));
  EXPECT_THAT(redis_commands("shop").check("prices", seven)->words,
              ElementsAre("1", "shop:fence:prices", "7"));
}

TEST(FenceRedisWords, WriteTheGreatestTokenInFull) {
  EXPECT_EQ(commands.check("prices", fence_token(fence_token::limit - 1))->words.back(), "9007199254740991");
}

TEST(FenceRedisWords, AreRefusedWhereTheInputIsWrong) {
  const std::string keys[] = {"x"};
  expect_refused(commands.check("prices", fence_token(0)), "0 is no fence token");
  expect_refused(commands.check("prices", fence_token(fence_token::limit)), "9007199254740992 is too great");
  expect_refused(commands.check("", seven), "empty");
  expect_refused(redis_commands("").check("prices", seven), "prefix");
  expect_refused(redis_commands("a\nb").check("prices", seven), "a\\x0ab");
  expect_refused(commands.set("prices", seven, "k", "v", milliseconds(0)), "0 ms");
  expect_refused(commands.set("prices", seven, "k", "v", milliseconds(-5)), "-5 ms");
  expect_refused(commands.set("prices", seven, "cremone:fence:prices", "v"), "cremone:fence:prices");
  expect_refused(commands.hset("prices", seven, "h", {}), "no field");
  expect_refused(commands.hset("prices", seven, "h", std::vector<redis_field>(3501)), "3501 fields");
  expect_refused(commands.del("prices", seven, {}), "no key");
  expect_refused(commands.del("prices", seven, std::vector<std::string>(7001)), "7001 keys");
  expect_refused(commands.run("prices", seven, "", keys, {}), "empty");
  expect_refused(commands.run("prices", seven, "#!lua name=x\nreturn 1", keys, {}), "#!");
}

TEST(FenceRedisWords, OfDifferentScriptsHaveDifferentNames) {
  const auto one = commands.run("prices", seven, "return 1", {}, {});
  const auto other = commands.run("prices", seven, "return 2", {}, {});
  EXPECT_NE(one->sha, other->sha);
  EXPECT_EQ(one->sha, commands.run("stock", fence_token(8), "return 1", {}, {})->sha);
}

struct reading {
  const char* said;
  errc code;
};

class FenceRedisError : public ::testing::TestWithParam<reading> {};

TEST_P(FenceRedisError, HasACodeAndIsQuoted) {
  const error why = read_redis_error(GetParam().said, "prices", "Redis 10.0.0.7:6379");
  EXPECT_EQ(why.code(), GetParam().code) << why.message();
  EXPECT_THAT(why.detail(), AllOf(HasSubstr("prices"), HasSubstr("10.0.0.7:6379")));
}

// Those in the form of Redis 6 and of Redis 7.2 stand here only: the server of the other tests is one of the versions between.
INSTANTIATE_TEST_SUITE_P(
    , FenceRedisError,
    ::testing::Values(reading{"STALE 41 57", errc::stale_token},
                      reading{"STALE of the user's own making", errc::protocol_error},
                      reading{"BADTOKEN x", errc::invalid_argument},
                      reading{"BADMARK x", errc::misconfigured}, reading{"BADKEY x", errc::invalid_argument},
                      reading{"TOOMANY x", errc::invalid_argument},
                      reading{"WRONGTYPE Operation against a key", errc::invalid_argument},
                      reading{"UNDONE WRONGTYPE Operation against a key", errc::invalid_argument},
                      reading{"UNDONE STALE 1 2", errc::protocol_error},
                      reading{"PARTLY user_script:3: attempt to index", errc::protocol_error},
                      reading{"NOAUTH Authentication required.", errc::access_denied},
                      reading{"NOPERM this user has no permissions", errc::access_denied},
                      reading{"ERR ACL failure in script: User ann has no permissions", errc::access_denied},
                      reading{"OOM command not allowed", errc::storage_error},
                      reading{"@user_script: 12: -OOM command not allowed", errc::storage_error},
                      reading{"ERR Error running script (call to f_1): @user_script:1: @user_script: 1: "
                              "-READONLY You can't write",
                              errc::storage_error},
                      reading{"UNDONE @user_script: 12: -NOREPLICAS Not enough good replicas",
                              errc::storage_error},
                      reading{"MISCONF Redis is configured", errc::storage_error},
                      reading{"LOADING Redis is loading the dataset in memory", errc::busy},
                      reading{"BUSY Redis is busy running a script", errc::busy},
                      reading{"PARTLY BUSYGROUP Consumer Group name already exists", errc::protocol_error},
                      reading{"MOVED 3999 10.0.0.8:6379", errc::misconfigured},
                      reading{"ASK 3999 10.0.0.8:6379", errc::misconfigured},
                      reading{"CROSSSLOT Keys in request don't hash to the same slot", errc::misconfigured},
                      reading{"CLUSTERDOWN Hash slot not served", errc::misconfigured},
                      reading{"TRYAGAIN Multiple keys request during rehashing of slot", errc::busy},
                      reading{"ERR unknown command 'EVALSHA'", errc::misconfigured},
                      reading{"", errc::protocol_error}, reading{"@user_script:", errc::protocol_error}));

TEST(FenceRedisStale, SaysBothNumbers) {
  const error why = read_redis_error("STALE 41 57", "prices");
  EXPECT_THAT(why.message(),
              AllOf(HasSubstr("41"), HasSubstr("57"), HasSubstr("prices"), HasSubstr("Redis")));
}

TEST(FenceRedisScriptError, SaysWhetherSomethingMayHaveBeenWritten) {
  EXPECT_THAT(read_redis_error("UNDONE x", "prices").detail(), HasSubstr("nothing was written"));
  EXPECT_THAT(read_redis_error("PARTLY x", "prices").detail(),
              AllOf(HasSubstr("what they wrote is there"), HasSubstr("remembered")));
}

TEST(FenceRedisErrorText, OfSomethingLongOrUnprintableIsShownShortAndPrintable) {
  const error why = read_redis_error("ERR \x1b[31m" + std::string(100'000, 'x'), "prices");
  EXPECT_LT(why.detail().size(), 500U);
  EXPECT_THAT(why.detail(), HasSubstr("\\x1b"));
}

}  // namespace

}  // namespace cremone::fence
