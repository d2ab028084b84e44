// SPDX-License-Identifier: Apache-2.0
//
// Checks what is a proper URL of a Redis server, what the improper ones are told, and that no message has a password.
#include "backends/redis/settings.hpp"

#include "backends/redis/errors.hpp"
#include "support/temp_directory.hpp"
#include "unit/redis_urls.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <string>

namespace cremone::redis {
namespace {

using namespace std::chrono_literals;
using namespace testing;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(RedisUrl, NamesHostPortAndDatabase) {
  const node_settings s = good("redis://db.example:6380/3?layout=classic");
  EXPECT_EQ(s.where.host, "db.example");
  EXPECT_EQ(s.where.port, 6380);
  EXPECT_EQ(s.db, 3);
  EXPECT_FALSE(s.where.tls);
  EXPECT_EQ(s.node, "db.example:6380");
  EXPECT_EQ(s.prefix, "cremone");
}

TEST(RedisUrl, NeedsNoPortNorDatabase) {
  const node_settings s = good("redis://localhost/?layout=classic");
  EXPECT_EQ(s.where.port, 6379);
  EXPECT_EQ(s.db, 0);
  EXPECT_EQ(good("redis://localhost?layout=classic&db=5").db, 5);
}

TEST(RedisUrl, MayNameAnAddressOfVersion6) {
  const node_settings s = good("redis://[::1]:7000?layout=classic");
  EXPECT_EQ(s.where.host, "::1");
  EXPECT_EQ(s.where.port, 7000);
  EXPECT_EQ(s.node, "[::1]:7000");
}

TEST(RedisUrl, OfASocketIsAPath) {
  const node_settings s = good("redis+unix:///run/redis/r.sock?layout=classic&db=2");
  EXPECT_EQ(s.where.path, "/run/redis/r.sock");
  EXPECT_EQ(s.db, 2);
  EXPECT_THAT(trouble("redis+unix://host/r.sock?layout=classic"), HasSubstr("absolute path"));
}

TEST(RedisUrl, WithTlsNamesItsFiles) {
  const node_settings s = good("rediss://h?layout=classic&ca=/a&cert=/b&key=/c&server_name=n");
  ASSERT_TRUE(s.where.tls);
  EXPECT_EQ(s.where.tls->ca_file, "/a");
  EXPECT_EQ(s.where.tls->cert_file, "/b");
  EXPECT_EQ(s.where.tls->key_file, "/c");
  EXPECT_EQ(s.where.tls->server_name, "n");
  EXPECT_THAT(trouble("rediss://h?layout=classic&cert=/b"), HasSubstr("?key="));
  EXPECT_THAT(trouble("redis://h?layout=classic&ca=/a"), HasSubstr("ca"));
}

TEST(RedisUrl, WithoutALayoutMeansRecord) {
  EXPECT_EQ(good("redis://localhost").layout, layout::record);
  EXPECT_EQ(good("redis://localhost?layout=record").layout, layout::record);
  EXPECT_EQ(good("redis://localhost?layout=classic").layout, layout::classic);
  EXPECT_THAT(trouble("redis://localhost?layout=redlock"),
              AllOf(HasSubstr("redlock"), HasSubstr("layout=record"), HasSubstr("layout=classic")));
}

TEST(RedisUrl, HasTheLongestTtlOfItsPrefix) {
  EXPECT_EQ(good("redis://h").max_ttl, 60s);
  EXPECT_EQ(good("redis://h?max_ttl=60s").max_ttl, 60s);
  EXPECT_EQ(good("redis://h?prefix=fast&max_ttl=500ms").max_ttl, 500ms);
  EXPECT_EQ(good("redis://h?prefix=slow&max_ttl=5m").max_ttl, 5min);
  EXPECT_THAT(trouble("redis://h?max_ttl=2s"), HasSubstr("prefix=fast&max_ttl=2s"));
  EXPECT_THAT(trouble("redis://h?layout=classic&prefix=x&max_ttl=2s"), HasSubstr("'record'"));
  for (const std::string bad : {"2", "s", "2h", "-2s", "99ms", "1441m", "2 s", "9999999999s"}) {
    EXPECT_THAT(trouble("redis://h?prefix=x&max_ttl=" + bad), HasSubstr("max_ttl")) << bad;
  }
}

TEST(RedisUrl, WithWrongPartsNamesThem) {
  EXPECT_THAT(trouble("redis://?layout=classic"), HasSubstr("host"));
  EXPECT_THAT(trouble("redis://h:0?layout=classic"), HasSubstr("port"));
  EXPECT_THAT(trouble("redis://h:65536?layout=classic"), HasSubstr("port"));
  EXPECT_THAT(trouble("redis://h:x?layout=classic"), HasSubstr("port"));
  EXPECT_THAT(trouble("redis://h/x?layout=classic"), HasSubstr("database"));
  EXPECT_THAT(trouble("redis://h/-1?layout=classic"), HasSubstr("database"));
  EXPECT_THAT(trouble("redis://h/1?layout=classic&db=2"), HasSubstr("two databases"));
  EXPECT_THAT(trouble("redis://a,b?layout=classic"), HasSubstr("redlock"));
  EXPECT_THAT(trouble("redis://[::1?layout=classic"), HasSubstr("']'"));
  EXPECT_THAT(trouble("redis://h?layout=classic&prefix="), HasSubstr("prefix"));
  EXPECT_THAT(trouble("redis://h?prefix=a:fence:b"), HasSubstr("fence")) << "where the marks of prefix a are";
  EXPECT_THAT(trouble("redis://h?layuot=classic"), HasSubstr("did you mean 'layout'?"));
}

TEST(RedisPassword, MayStandInTheUrl) {
  EXPECT_EQ(good("redis://:s3cret@h?layout=classic").password, "s3cret");
  const node_settings s = good("redis://ann:s3%40cret@h?layout=classic");
  EXPECT_EQ(s.user, "ann");
  EXPECT_EQ(s.password, "s3@cret");
  EXPECT_THAT(s.store, Not(HasSubstr("cret")));
  EXPECT_THAT(trouble("redis://ann@h?layout=classic"), HasSubstr("no password"));
}

TEST(RedisPassword, MayStandInAFile) {
  const test::temp_directory dir;
  const std::string file = dir.path() + "/password";
  std::ofstream(file) << "s3cret\r\nnot this\n";
  EXPECT_EQ(good("redis://h?layout=classic&password_file=" + file).password, "s3cret");
  EXPECT_THAT(trouble("redis://h?layout=classic&password_file=" + dir.path() + "/none"), HasSubstr("/none"));
  std::ofstream(file) << "\n";
  EXPECT_THAT(trouble("redis://h?layout=classic&password_file=" + file), HasSubstr("0 bytes"));
  EXPECT_THAT(trouble("redis://:s3cret@h?layout=classic&password_file=" + file), HasSubstr("more than one"));
}

TEST(RedisSettings, CallTwoStoresByTwoNames) {
  const auto store = [](const std::string& text) { return good(text).store; };
  EXPECT_EQ(store("redis://h"), "redis://h");
  EXPECT_EQ(store("redis://h?layout=record&prefix=cremone&max_ttl=60s"), "redis://h") << "as usual";
  EXPECT_EQ(store("redis://h/2?max_ttl=2s&prefix=t"), "redis://h/2?prefix=t&max_ttl=2s");
  EXPECT_EQ(store("redis://h?prefix=t&max_ttl=1500ms"), "redis://h?prefix=t&max_ttl=1500ms");
  EXPECT_EQ(store("redis://h?prefix=t&max_ttl=300s"), "redis://h?prefix=t&max_ttl=5m");
  EXPECT_EQ(store("redis+unix:///run/redis.sock?db=2&layout=classic"),
            "redis+unix:///run/redis.sock?layout=classic&db=2");
  const std::string odd = store("redis://h?prefix=a%26b%3Dc%3A%2Bd");
  EXPECT_EQ(good(odd).prefix, "a&b=c:+d");
  EXPECT_EQ(store(odd), odd) << "the name is a URL that leads there";
}

TEST(RedisSettings, ShowNoSecretAndNoFileInTheNameOfAStore) {
  ::setenv("CREMONE_TEST_PASSWORD", "s3cret", 1);
  EXPECT_EQ(good("rediss://ann@h?prefix=t&password_env=CREMONE_TEST_PASSWORD&ca=/etc/ca.pem").store,
            "rediss://h?prefix=t");
  ::unsetenv("CREMONE_TEST_PASSWORD");
}

TEST(RedisPassword, MayStandInTheEnvironment) {
  ::setenv("CREMONE_TEST_PASSWORD", "s3cret", 1);
  EXPECT_EQ(good("redis://h?layout=classic&password_env=CREMONE_TEST_PASSWORD").password, "s3cret");
  ::unsetenv("CREMONE_TEST_PASSWORD");
  EXPECT_THAT(trouble("redis://h?layout=classic&password_env=CREMONE_TEST_PASSWORD"),
              HasSubstr("CREMONE_TEST_PASSWORD"));
}

TEST(RedisErrors, AreUnderstoodByTheirBeginning) {
  const auto code = [](const char* text) { return understand(text, "node:1").code; };
  EXPECT_EQ(code("NOAUTH Authentication required."), errc::access_denied);
  EXPECT_EQ(code("WRONGPASS invalid username-password pair"), errc::access_denied);
  EXPECT_EQ(code("NOPERM this user has no permissions to run the 'set' command"), errc::access_denied);
  EXPECT_EQ(code("OOM command not allowed when used memory > 'maxmemory'."), errc::storage_error);
  EXPECT_EQ(code("MISCONF Redis is configured to save RDB snapshots"), errc::storage_error);
  EXPECT_EQ(code("READONLY You can't write against a read only replica."), errc::misconfigured);
  EXPECT_EQ(code("WRONGTYPE Operation against a key"), errc::misconfigured);
  EXPECT_EQ(code("LOADING Redis is loading the dataset in memory"), errc::unreachable);
  EXPECT_EQ(code("BUSY Redis is busy running a script."), errc::unreachable);
  EXPECT_EQ(code("MOVED 3999 127.0.0.1:6381"), errc::misconfigured);
  EXPECT_EQ(code("ERR something new"), errc::protocol_error);
  EXPECT_TRUE(is_noscript("NOSCRIPT No matching script. Please use EVAL."));
}

TEST(RedisErrors, NameTheRuleThatGrantsWhatLacks) {
  node_settings to;
  to.user = "ann";
  to.prefix = "t";
  const auto detail = [&](const char* text) { return understand(text, "node:1", to).detail; };
  const std::string grant =
      "node:1: its ACL denies this user what the lock needs; grant it: ACL SETUSER ann ";
  EXPECT_EQ(detail("NOPERM this user has no permissions to run the 'evalsha' command"), grant + "+evalsha");
  EXPECT_EQ(detail("NOPERM this user has no permissions to run the 'set' command or its subcommand"),
            grant + "+set");
  EXPECT_EQ(detail("NOPERM User ann has no permissions to run the 'pubsub|numsub' command"),
            grant + "+pubsub|numsub");
  EXPECT_EQ(detail("ERR ACL failure in script: User ann has no permissions to run the 'hset' command"),
            grant + "+hset");
  const char* const keys = "NOPERM this user has no permissions to access one of the keys used as arguments";
  const char* const channels =
      "NOPERM this user has no permissions to access one of the channels used as arguments";
  EXPECT_EQ(detail(keys), grant + "~t:*");
  EXPECT_EQ(detail("NOPERM No permissions to access a key"), grant + "~t:*");
  EXPECT_EQ(detail(channels), grant + "&t:wake:*");
  to.layout = layout::classic;
  to.user.clear();
  EXPECT_THAT(detail(keys), HasSubstr("ACL SETUSER default ~*"));
  EXPECT_THAT(detail(channels), HasSubstr("ACL SETUSER default &t:classic:*"));
  EXPECT_THAT(detail("NOPERM in words of its own"), HasSubstr("in words of its own"));
}

TEST(RedisErrors, CallOnlyAnAclARight) {
  EXPECT_EQ(understand("NOPERM in words of its own", "n").lacks, "");
  EXPECT_EQ(understand("ERR The user executing the script can't run this command or subcommand", "n").lacks,
            "");
  for (const char* other : {"READONLY You can't write against a read only replica.", "NOAUTH x",
                            "CLUSTERDOWN x", "ERR unknown command 'EVAL'", "ERR something new"}) {
    EXPECT_FALSE(understand(other, "n").lacks) << other;
  }
}

TEST(RedisErrors, SayWhetherAnythingMayHaveBeenDone) {
  EXPECT_TRUE(understand("OOM command not allowed", "n").nothing_done);
  EXPECT_FALSE(understand("ERR something new", "n").nothing_done);
  const complaint stopped =
      understand("ERR The user executing the script can't run this command or subcommand", "n");
  EXPECT_FALSE(stopped.nothing_done) << "the script may have written before";
  EXPECT_TRUE(stopped.rights_unnamed);
  EXPECT_THAT(understand("OOM x", "node:1").detail, HasSubstr("node:1"));
  EXPECT_THAT(understand("ERR unknown command 'EVAL', with args beginning with: '-- What", "n").detail,
              AllOf(HasSubstr("'EVAL')"), Not(HasSubstr("What"))));
  EXPECT_THAT(understand("ERR \x1b[2J", "n").detail, Not(HasSubstr("\x1b")));
}

}  // namespace
}  // namespace cremone::redis
