// SPDX-License-Identifier: Apache-2.0
//
// Servers that say no: each answer names the server and the cause, comes in time, shows no password, and leaves nothing
// locked; and the same client goes on when the cause is gone.
#include "live/redis_fixture.hpp"

#include <filesystem>
#include <fstream>
#include <future>
#include <mutex>

namespace cremone::test {

namespace {

using namespace std::chrono_literals;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using words = std::vector<std::string>;

class RedisRefusals : public RedisServer {
 protected:
  /// A user with all that is documented but `missing`.
  void make_user_without(const std::string& missing) {
    words order = {"ACL", "SETUSER", "ann", "reset", "on", ">" + secret, "~*", "&cremone:classic:*"};
    for (const char* command : {"eval", "evalsha", "getrange", "set", "del", "pexpire", "pttl", "time",
                                "hget", "hset", "publish", "subscribe", "ping", "auth", "select", "scan"}) {
      if (command != missing) {
        order.push_back(std::string("+") + command);
      }
    }
    EXPECT_EQ(server_.ask(order).shown(), "OK");
  }

  /// The lock can be had now, by a client that was refused before.
  static void expect_recovered(client& locks) {
    EXPECT_TRUE(wait_for([&] {
      const auto got = locks.acquire("lock", {.wait = no_wait});
      return got.has_value();
    })) << "the client does not find back";
  }
};

TEST_F(RedisRefusals, OfAWrongPassword) {
  EXPECT_EQ(server_.ask({"ACL", "SETUSER", "ann", "on", ">" + secret, "+@all", "~*", "&*"}).shown(), "OK");
  const error why = refusal(server_.url_as("ann:" + secret + "-wrong"), server_.node());
  EXPECT_EQ(why.code(), errc::access_denied);
  EXPECT_THAT(why.message(), HasSubstr("password"));
  expect_only_fixed_keys();
}

TEST_F(RedisRefusals, OfAMissingPassword) {
  redis_server locked({.extra = {"--requirepass", secret}});
  const error why = refusal(locked.url(), locked.node());
  EXPECT_EQ(why.code(), errc::access_denied);
  EXPECT_THAT(why.message(), HasSubstr("password"));

  client fine = opened(locked.url_as(":" + secret));
  EXPECT_TRUE(taken(fine, "lock", {.wait = 5s}).held());
}

TEST_F(RedisRefusals, OfAPasswordFromAFileOrTheEnvironmentDoNotShowItEither) {
  redis_server locked({.extra = {"--requirepass", secret}});
  const std::string file = locked.directory().file("password");
  for (const bool right : {true, false}) {
    std::ofstream(file) << secret << (right ? "" : "-wrong") << "\n";
    ::setenv("CREMONE_TEST_PASSWORD", (secret + (right ? "" : "-wrong")).c_str(), 1);
    for (const std::string& more :
         {"&password_file=" + file, std::string("&password_env=CREMONE_TEST_PASSWORD")}) {
      client locks = opened(locked.url(0, more));
      if (right) {
        EXPECT_TRUE(taken(locks, "lock", {.wait = 5s}).held());
      } else {
        EXPECT_EQ(refusal_of(locks, locked.node(), {.wait = no_wait}).code(), errc::access_denied);
      }
    }
  }
  ::unsetenv("CREMONE_TEST_PASSWORD");
}

TEST_F(RedisRefusals, OfAnAclNameTheCommandThatIsMissing) {
  for (const std::string missing :
       {"evalsha", "set", "getrange", "del", "pexpire", "pttl", "time", "hget", "hset", "publish", "ping"}) {
    SCOPED_TRACE(missing);
    make_user_without(missing);
    const error why = refusal(server_.url_as("ann:" + secret), server_.node());
    EXPECT_EQ(why.code(), errc::access_denied);
    EXPECT_THAT(why.message(), HasSubstr(missing));
    if (missing != "getrange" && missing != "del") {  // without these nobody can give a lock back
      EXPECT_TRUE(wait_for([&] { return server_.ask({"EXISTS", "lock"}).number == 0; }, 2s));
    }
    EXPECT_EQ(server_.ask({"FLUSHALL"}).shown(), "OK");
  }
}

TEST_F(RedisRefusals, OfAnAclNameTheCommandThatIsMissingToLook) {
  for (const std::string missing : {"getrange", "pttl", "hget"}) {
    SCOPED_TRACE(missing);
    make_user_without(missing);
    client locks = opened(server_.url_as("ann:" + secret));
    const auto seen = locks.inspect("lock");
    ASSERT_FALSE(seen);
    expect_names(seen.error(), server_.node());
    EXPECT_THAT(seen.error().message(), HasSubstr(missing));
  }
  make_user_without("scan");
  client locks = opened(server_.url_as("ann:" + secret));
  const auto all = locks.list();
  ASSERT_FALSE(all);
  expect_names(all.error(), server_.node());
  EXPECT_THAT(all.error().message(), HasSubstr("scan"));
}

TEST_F(RedisRefusals, OfAnAclWithoutEvalNameItOnceTheScriptIsNotKnown) {
  make_user_without("eval");
  EXPECT_EQ(server_.ask({"SCRIPT", "FLUSH"}).shown(), "OK");
  const error why = refusal(server_.url_as("ann:" + secret), server_.node());
  EXPECT_EQ(why.code(), errc::access_denied);
  EXPECT_THAT(why.message(), HasSubstr("eval"));
}

TEST_F(RedisRefusals, OfAReleaseNameTheCommandAndTheLockEndsWithItsTtl) {
  make_user_without("nothing");
  client locks = opened(server_.url_as("ann:" + secret));
  lease held = taken(locks, "lock", {.ttl = 4s, .wait = 2s});
  make_user_without("del");
  const auto no = held.release();
  ASSERT_FALSE(no);
  expect_names(no.error(), server_.node());
  EXPECT_THAT(no.error().message(), HasSubstr("del"));
  EXPECT_TRUE(wait_for([&] { return server_.ask({"EXISTS", "lock"}).number == 0; }));
}

TEST_F(RedisRefusals, OfARenewalLoseTheLeaseInTimeAndNameTheCommand) {
  make_user_without("nothing");
  client locks = opened(server_.url_as("ann:" + secret));
  lease held = taken(locks, "lock", {.ttl = 1s, .wait = 2s});
  std::mutex mutex;
  std::string told;
  held.on_lost([&](const error& why) {
    const std::lock_guard lock(mutex);
    told = why.message();
  });
  make_user_without("pexpire");
  EXPECT_TRUE(wait_for([&] {
    const std::lock_guard lock(mutex);
    return !told.empty();
  }));
  EXPECT_FALSE(held.held());
  const std::lock_guard lock(mutex);
  EXPECT_THAT(told, HasSubstr("pexpire"));
  EXPECT_THAT(told, HasSubstr(server_.node()));
}

TEST_F(RedisRefusals, OfTheSubscriptionAreToldToOneWhoWouldHaveToWait) {
  make_user_without("subscribe");
  client ann = opened(server_.url_as("ann:" + secret));
  client bob = opened(server_.url());
  (void)taken(ann, "lock", {.wait = 5s}).release();
  const lease held = taken(bob, "lock", {.wait = 5s});
  const error why = refusal_of(ann, server_.node(), {.wait = generous});
  EXPECT_EQ(why.code(), errc::access_denied);
  EXPECT_THAT(why.message(), HasSubstr("subscribe"));
}

TEST_F(RedisRefusals, OfTheNoticeDoNotKeepAWaiterFromTheLock) {
  make_user_without("nothing");
  client ann = opened(server_.url_as("ann:" + secret));
  client bob = opened(server_.url());
  lease held = taken(ann, "lock", {.wait = 5s});
  auto waiting = std::async(std::launch::async, [&] { return bob.acquire("lock", {.wait = generous}); });
  EXPECT_EQ(waiting.wait_for(100ms), std::future_status::timeout);
  make_user_without("publish");
  EXPECT_TRUE(held.release());
  const auto got = waiting.get();
  EXPECT_TRUE(got) << got.error().message();
}

TEST_F(RedisRefusals, ForWantOfMemory) {
  client locks = opened(server_.url());
  EXPECT_EQ(server_.ask({"CONFIG", "SET", "maxmemory", "1"}).shown(), "OK");
  const error why = refusal_of(locks, server_.node(), {.wait = 1s});
  EXPECT_EQ(why.code(), errc::storage_error);
  EXPECT_THAT(why.message(), HasSubstr("memory"));
  expect_only_fixed_keys();
  EXPECT_EQ(server_.ask({"CONFIG", "SET", "maxmemory", "0"}).shown(), "OK");
  expect_recovered(locks);
}

TEST_F(RedisRefusals, OfAReplica) {
  client locks = opened(server_.url());
  const reserved_port nobodys;
  EXPECT_EQ(server_.ask({"REPLICAOF", "127.0.0.1", nobodys.text()}).shown(), "OK");
  const error why = refusal_of(locks, server_.node(), {.wait = 1s});
  EXPECT_EQ(why.code(), errc::misconfigured);
  EXPECT_THAT(why.message(), HasSubstr("replica"));
  EXPECT_EQ(server_.ask({"REPLICAOF", "NO", "ONE"}).shown(), "OK");
  expect_recovered(locks);
}

TEST_F(RedisRefusals, OfAServerThatCannotSave) {
  // Its directory is taken away, so that the snapshot has nowhere to go.
  const std::string place = server_.directory().file("data");
  std::filesystem::create_directory(place);
  EXPECT_EQ(server_.ask({"CONFIG", "SET", "save", "3600 1"}).shown(), "OK");
  server_.start_again({"--dir", place, "--save", "3600 1"});
  std::filesystem::remove_all(place);
  ASSERT_FALSE(server_.ask({"BGSAVE"}).is_error());
  ASSERT_TRUE(wait_for([&] {
    return server_.ask({"INFO", "persistence"}).text.find("rdb_last_bgsave_status:err") != std::string::npos;
  }));
  client locks = opened(server_.url());
  const error why = refusal_of(locks, server_.node(), {.wait = 1s});
  EXPECT_EQ(why.code(), errc::storage_error);
  EXPECT_THAT(why.message(), HasSubstr("MISCONF"));
  expect_only_fixed_keys();
  EXPECT_EQ(server_.ask({"CONFIG", "SET", "stop-writes-on-bgsave-error", "no"}).shown(), "OK");
  expect_recovered(locks);
}

TEST_F(RedisRefusals, OfAServerThatRunsAnothersScript) {
  EXPECT_EQ(server_.ask({"CONFIG", "SET", "busy-reply-threshold", "50"}).shown(), "OK");
  client locks = opened(server_.url());
  (void)taken(locks, "warm").release();
  redis_link other(server_.port());
  other.say({"EVAL", "while true do end", "0"});
  ASSERT_TRUE(wait_for([&] { return server_.ask({"PING"}).text.starts_with("BUSY"); }));
  const error why = refusal_of(locks, server_.node(), {.wait = 1s});
  EXPECT_EQ(why.code(), errc::unreachable);
  EXPECT_THAT(why.message(), HasSubstr("script"));
  EXPECT_EQ(server_.ask({"SCRIPT", "KILL"}).shown(), "OK");
  EXPECT_TRUE(other.hear().is_error());
  expect_recovered(locks);
}

TEST_F(RedisRefusals, OfAServerThatLoadsItsData) {
  std::string many = "for i = 1, 20000 do redis.call('SET', 'k' .. i, string.rep('x', 100)) end";
  EXPECT_FALSE(server_.ask({"EVAL", many, "0"}).is_error());
  EXPECT_EQ(server_.ask({"SAVE"}).shown(), "OK");
  // Each key takes a while, and the server looks at its clients in between.
  server_.start_again({"--dbfilename", "dump.rdb", "--key-load-delay", "500",
                       "--loading-process-events-interval-bytes", "1024"});
  client locks = opened(server_.url());
  const error why = refusal_of(locks, server_.node(), {.wait = 1s});
  EXPECT_EQ(why.code(), errc::unreachable);
  EXPECT_THAT(why.message(), HasSubstr("loading"));
  EXPECT_EQ(server_.ask({"CONFIG", "SET", "key-load-delay", "0"}).shown(), "OK");
  expect_recovered(locks);
}

TEST_F(RedisRefusals, OfADatabaseThatIsNotThere) {
  const error why = refusal(server_.url(4711), server_.node());
  EXPECT_EQ(why.code(), errc::invalid_argument);
  EXPECT_THAT(why.message(), HasSubstr("database"));
}

TEST(RedisUrls, OfAnUnknownLayoutAreRefusedWithThoseThereAre) {
  for (const std::string url : {"redis://localhost?layout=redisson", "rediss://localhost:6380/1?layout=x",
                                "redis+unix:///tmp/x.sock?layout=x"}) {
    const auto no = cremone::open(url);
    ASSERT_FALSE(no) << url;
    EXPECT_EQ(no.error().code(), errc::invalid_argument);
    EXPECT_THAT(no.error().message(),
                ::testing::AllOf(HasSubstr("layout=record"), HasSubstr("layout=classic")));
  }
}

TEST(RedisUrls, ThatAreWrongAreRefusedWithoutThePassword) {
  for (const std::string url :
       {"redis://ann:sesame@localhost:0?layout=classic", "redis://ann:sesame@localhost:x?layout=classic",
        "redis://ann:sesame@?layout=classic", "redis://ann:sesame@localhost/x?layout=classic",
        "redis://ann:sesame@localhost?layout=clasic", "redis://ann:sesame@localhost?layout=classic&prefx=a",
        "redis://ann:sesame@localhost?layout=classic&password_file=/dev/null",
        "redis://:sesame@localhost,elsewhere?layout=classic",
        "rediss://:sesame@localhost?layout=classic&cert=/dev/null"}) {
    const auto no = cremone::open(url);
    ASSERT_FALSE(no) << url;
    EXPECT_THAT(no.error().code(), AnyOf(errc::invalid_argument, errc::misconfigured)) << no.error();
    EXPECT_THAT(no.error().message(), ::testing::Not(HasSubstr(secret)));
  }
}

}  // namespace

}  // namespace cremone::test
