// SPDX-License-Identifier: Apache-2.0
//
// Checks what is a proper URL of a Redis that sentinels know, what the improper ones are told, and that no message has a
// password.
#include "backends/redis/settings.hpp"

#include "support/temp_directory.hpp"
#include "unit/redis_urls.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <string>

namespace cremone::redis {
namespace {

using namespace testing;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(SentinelUrl, NamesSentinelsAndTheMaster) {
  const node_settings s = good("redis+sentinel://one,two:7000,[::1]:7001,[::2]/my-master_1.x?layout=classic");
  ASSERT_EQ(s.sentinels->at.size(), 4U);
  EXPECT_EQ(s.sentinels->at[0].shown(), "one:26379");
  EXPECT_EQ(s.sentinels->at[1].shown(), "two:7000");
  EXPECT_EQ(s.sentinels->at[2].shown(), "[::1]:7001");
  EXPECT_EQ(s.sentinels->at[3].shown(), "[::2]:26379");
  EXPECT_EQ(s.sentinels->master, "my-master_1.x");
  EXPECT_EQ(s.node, "my-master_1.x via one:26379,two:7000,[::1]:7001,[::2]:26379");
  EXPECT_EQ(s.db, 0);
}

TEST(SentinelUrl, GivesTheDatabaseAsAnOption) {
  EXPECT_EQ(good("redis+sentinel://one/m?layout=classic&db=3").db, 3);
  EXPECT_THAT(trouble("redis+sentinel://one/m/3?layout=classic"), HasSubstr("?db="));
}

TEST(SentinelUrl, KeepsTheServersPasswordFromTheSentinels) {
  const test::temp_directory dir;
  const std::string file = dir.path() + "/password";
  std::ofstream(file) << "s3cret-of-sentinels\n";
  const node_settings s = good(
      "redis+sentinel://ann:s3cret@one/m?layout=classic&sentinel_user=bob&sentinel_password_file=" + file);
  EXPECT_EQ(s.user, "ann");
  EXPECT_EQ(s.password, "s3cret");
  EXPECT_EQ(s.sentinels->user, "bob");
  EXPECT_EQ(s.sentinels->password, "s3cret-of-sentinels");
  EXPECT_THAT(s.node + s.store, AllOf(Not(HasSubstr("s3cret")), Not(HasSubstr("bob"))));

  const node_settings open = good("redis+sentinel://ann:s3cret@one/m?layout=classic");
  EXPECT_EQ(open.sentinels->user, "");
  EXPECT_EQ(open.sentinels->password, "");
}

TEST(SentinelUrl, TakesTheSentinelsPasswordFromTheEnvironmentToo) {
  ::setenv("CREMONE_TEST_SENTINEL", "s3cret", 1);
  const std::string url = "redis+sentinel://one/m?layout=classic&sentinel_password_env=CREMONE_TEST_SENTINEL";
  EXPECT_EQ(good(url).sentinels->password, "s3cret");
  EXPECT_THAT(trouble(url + "&sentinel_password_file=/x"), HasSubstr("more than one"));
  ::unsetenv("CREMONE_TEST_SENTINEL");
  EXPECT_THAT(trouble(url), HasSubstr("?sentinel_password_env="));
  EXPECT_THAT(trouble("redis+sentinel://one/m?layout=classic&sentinel_user=bob"),
              HasSubstr("sentinel_password_file"));
  EXPECT_THAT(trouble("redis+sentinel://one/m?layout=classic&sentinel_password_file=/none/here"),
              AllOf(HasSubstr("/none/here"), HasSubstr("?sentinel_password_file=")));
}

TEST(SentinelUrl, WithTlsSpeaksItToSentinelsAndServers) {
  const node_settings s = good("rediss+sentinel://one,two/m?layout=classic&ca=/a&server_name=n");
  ASSERT_TRUE(s.where.tls);
  EXPECT_EQ(s.where.tls->ca_file, "/a");
  for (const endpoint& one : s.sentinels->at) {
    ASSERT_TRUE(one.tls);
    EXPECT_EQ(one.tls->ca_file, "/a");
    EXPECT_EQ(one.tls->server_name, "n");
  }
  EXPECT_THAT(trouble("redis+sentinel://one/m?layout=classic&ca=/a"), HasSubstr("'ca'"));
  EXPECT_THAT(trouble("rediss+sentinel://one/m?layout=classic&cert=/a"), HasSubstr("?key="));
}

TEST(SentinelUrl, WithWrongPartsNamesThem) {
  EXPECT_THAT(trouble("redis+sentinel://one,two?layout=classic"),
              AllOf(HasSubstr("name"), HasSubstr("redis+sentinel://one,two,three/mymaster")));
  EXPECT_THAT(trouble("redis+sentinel://one/?layout=classic"), HasSubstr("mymaster"));
  EXPECT_THAT(trouble("redis+sentinel://one/my%20master?layout=classic"), HasSubstr("letters"));
  EXPECT_THAT(trouble("redis+sentinel://one/" + std::string(129, 'm')), HasSubstr("128"));
  EXPECT_EQ(good("redis+sentinel://one/" + std::string(128, 'm')).sentinels->master.size(), 128U);
  EXPECT_THAT(trouble("redis+sentinel:///m?layout=classic"), HasSubstr("host"));
  EXPECT_THAT(trouble("redis+sentinel://one,,two/m?layout=classic"), HasSubstr("host"));
  EXPECT_THAT(trouble("redis+sentinel://one,two:0/m?layout=classic"), HasSubstr("port"));
  EXPECT_THAT(trouble("redis+sentinel://one/m?layout=classic&sentinel_pasword_file=x"),
              HasSubstr("did you mean 'sentinel_password_file'?"));
  EXPECT_THAT(trouble("redis://one/0?layout=classic&sentinel_user=x"), HasSubstr("sentinel_user"));
}

TEST(SentinelUrl, NamesNoMoreSentinelsThanCanBeAsked) {
  std::string hosts = "one";
  for (int i = 0; i < 15; ++i) {
    hosts += ",more";
  }
  EXPECT_EQ(good("redis+sentinel://" + hosts + "/m").sentinels->at.size(), 16U);
  EXPECT_THAT(trouble("redis+sentinel://" + hosts + ",more/m"), HasSubstr("17"));
}

TEST(SentinelUrl, IsOfferedToWhoNamesSeveralServers) {
  EXPECT_THAT(trouble("redis://one,two?layout=classic"), HasSubstr("redis+sentinel://"));
  EXPECT_THAT(trouble("rediss://one,two?layout=classic"), HasSubstr("rediss+sentinel://"));
}

}  // namespace
}  // namespace cremone::redis
