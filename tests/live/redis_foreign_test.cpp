// SPDX-License-Identifier: Apache-2.0
//
// Keys that are others': what stands at a lock's name and was not put there by cremone is never overwritten and never
// deleted, except a lock of another program by order of a person.
#include "live/redis_fixture.hpp"

#include <future>

namespace cremone::test {

namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class RedisForeign : public RedisServer {
 protected:
  client locks_ = opened(server_.url());
};

TEST_F(RedisForeign, DataAtALocksNameIsLeftAsItIs) {
  const std::vector<std::vector<std::string>> things = {{"RPUSH", "lock", "a"},
                                                        {"HSET", "lock", "a", "1"},
                                                        {"SADD", "lock", "a"},
                                                        {"ZADD", "lock", "1", "a"},
                                                        {"XADD", "lock", "*", "a", "1"}};
  for (const auto& thing : things) {
    SCOPED_TRACE(thing.front());
    EXPECT_FALSE(server_.ask(thing).is_error());
    const resp before = server_.ask({"DUMP", "lock"});
    const error why = refusal_of(locks_, server_.node(), {.wait = 1s});
    EXPECT_EQ(why.code(), errc::misconfigured);
    EXPECT_THAT(why.message(), HasSubstr("WRONGTYPE"));
    const auto seen = locks_.inspect("lock");
    EXPECT_FALSE(seen) << "that is no lock";
    const auto forced = locks_.force_release("lock");
    EXPECT_FALSE(forced) << "that is no lock";
    const auto listed = locks_.list();
    ASSERT_TRUE(listed) << listed.error().message();
    EXPECT_TRUE(listed->empty());
    EXPECT_EQ(server_.ask({"DUMP", "lock"}).text, before.text) << "it was changed";
    EXPECT_EQ(server_.ask({"PTTL", "lock"}).number, -1);
    EXPECT_EQ(server_.ask({"DEL", "lock"}).number, 1);
  }
}

TEST_F(RedisForeign, DataWhereTheCountersShouldBeIsLeftAsItIsAndNothingIsLocked) {
  EXPECT_EQ(server_.ask({"SET", fence_key, "precious"}).shown(), "OK");
  const error why = refusal_of(locks_, server_.node(), {.wait = 1s});
  EXPECT_EQ(why.code(), errc::misconfigured);
  EXPECT_EQ(server_.ask({"GET", fence_key}).shown(), "precious");
  expect_only_fixed_keys();
}

TEST_F(RedisForeign, TheKeyOfTheCountersIsNoLock) {
  (void)taken(locks_, "warm").release();
  const auto no = locks_.acquire(fence_key, {.wait = no_wait});
  ASSERT_FALSE(no);
  const auto forced = locks_.force_release(fence_key);
  EXPECT_FALSE(forced);
  EXPECT_EQ(server_.ask({"TYPE", fence_key}).shown(), "hash");
}

TEST_F(RedisForeign, AnotherProgramsLockIsRespectedAndShown) {
  EXPECT_EQ(server_.ask({"SET", "lock", "8b1f0a\x1b[2Jtoken", "PX", "60000"}).shown(), "OK");
  const error why = refusal_of(locks_, server_.node(), {.wait = no_wait});
  EXPECT_EQ(why.code(), errc::busy);
  EXPECT_THAT(why.message(), HasSubstr("8b1f0a"));
  const auto seen = locks_.inspect("lock");
  ASSERT_TRUE(seen) << seen.error().message();
  ASSERT_EQ(seen->holders.size(), 1U);
  const hold_record& holder = seen->holders.front();
  EXPECT_THAT(holder.foreign, HasSubstr("8b1f0a"));
  EXPECT_EQ(holder.foreign.find('\x1b'), std::string::npos) << "a terminal would obey it";
  ASSERT_TRUE(holder.expires_in);
  EXPECT_LE(*holder.expires_in, 60s);
  EXPECT_GT(*holder.expires_in, 0s);
  const auto listed = locks_.list();
  ASSERT_TRUE(listed);
  EXPECT_TRUE(listed->empty()) << "any string could be a lock: only ours are listed";
  EXPECT_EQ(server_.ask({"STRLEN", "lock"}).number, 15);
}

TEST_F(RedisForeign, ALockWithoutAnEndIsShownWithoutOne) {
  EXPECT_EQ(server_.ask({"SET", "lock", ""}).shown(), "OK");
  EXPECT_EQ(refusal_of(locks_, server_.node(), {.wait = 200ms}).code(), errc::timed_out);
  const auto seen = locks_.inspect("lock");
  ASSERT_TRUE(seen) << seen.error().message();
  ASSERT_EQ(seen->holders.size(), 1U);
  EXPECT_FALSE(seen->holders.front().expires_in);
  EXPECT_NE(seen->holders.front().foreign, "");
  EXPECT_EQ(server_.ask({"EXISTS", "lock"}).number, 1);
}

TEST_F(RedisForeign, AnotherProgramsLockIsTakenWhenItIsFreedOrRunsOut) {
  for (const bool freed : {true, false}) {
    EXPECT_EQ(server_.ask({"SET", "lock", "theirs", "PX", freed ? "60000" : "1500"}).shown(), "OK");
    auto waiting = std::async(std::launch::async, [&] { return locks_.acquire("lock", {.wait = generous}); });
    EXPECT_EQ(waiting.wait_for(100ms), std::future_status::timeout);
    if (freed) {
      EXPECT_EQ(server_.ask({"DEL", "lock"}).number, 1);
    }
    auto got = waiting.get();
    ASSERT_TRUE(got) << got.error().message();
    EXPECT_TRUE(got->release());
  }
}

TEST_F(RedisForeign, AnotherProgramsLockIsDeletedByOrderOnly) {
  EXPECT_EQ(server_.ask({"SET", "lock", "theirs"}).shown(), "OK");
  const auto forced = locks_.force_release("lock");
  ASSERT_TRUE(forced) << forced.error().message();
  EXPECT_EQ(*forced, 1U);
  EXPECT_EQ(server_.ask({"EXISTS", "lock"}).number, 0);
}

TEST_F(RedisForeign, ALeaseThatWasOverwrittenIsLostAndFreesNothing) {
  lease held = taken(locks_, "lock", {.ttl = 600ms});
  EXPECT_EQ(server_.ask({"SET", "lock", "theirs"}).shown(), "OK");
  EXPECT_TRUE(wait_for([&] { return !held.held(); }));
  const auto released = held.release();
  EXPECT_FALSE(released);
  locks_.close();
  EXPECT_EQ(server_.ask({"GET", "lock"}).shown(), "theirs");
  EXPECT_EQ(server_.ask({"PTTL", "lock"}).number, -1) << "a renewal has touched it";
}

TEST_F(RedisForeign, OurOwnValueIsWhatTheDocumentationSays) {
  const lease held = taken(locks_, "lock", {.ttl = 20s, .label = "a:b"});
  EXPECT_THAT(server_.ask({"GET", "lock"}).text,
              ::testing::MatchesRegex("cremone1:[0-9a-f]*:[^:]*:" + std::to_string(::getpid()) + ":a:b"));
  EXPECT_GT(server_.ask({"PTTL", "lock"}).number, 0);
  EXPECT_LE(server_.ask({"PTTL", "lock"}).number, 20'000);
  EXPECT_THAT(server_.keys_in(), ElementsAre(fence_key, "lock"));
}

}  // namespace

}  // namespace cremone::test
