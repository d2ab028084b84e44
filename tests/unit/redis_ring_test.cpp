// SPDX-License-Identifier: Apache-2.0
//
// Checks what a redlock:// URL may say, what all its servers must agree on, and that mistakes are named.
#include "backends/redis/settings.hpp"
#include "support/temp_directory.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>

namespace cremone::redis {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

ring_settings ring(const std::string& text) {
  auto u = parse_url(text);
  EXPECT_TRUE(u) << text;
  auto r = parse_ring(*u);
  if (!r) {
    ADD_FAILURE() << text << ": " << r.error().message();
    return {};
  }
  return std::move(*r);
}

error mistake(const std::string& text) {
  const auto u = parse_url(text);
  if (!u) {
    return u.error();
  }
  const auto r = parse_ring(*u);
  EXPECT_FALSE(r) << text;
  return r ? error(errc::busy, "nothing is wrong") : r.error();
}

TEST(RedlockUrl, ListsItsServers) {
  const auto r = ring("redlock://a,b:7000,[::1]:7001/3?prefix=p&max_ttl=2s");
  ASSERT_EQ(r.nodes.size(), 3U);
  EXPECT_EQ(r.nodes[0].node, "a:6379");
  EXPECT_EQ(r.nodes[1].node, "b:7000");
  EXPECT_EQ(r.nodes[2].node, "[::1]:7001");
  for (const node_settings& n : r.nodes) {
    EXPECT_EQ(n.voters, 3U);
    EXPECT_EQ(n.db, 3);
    EXPECT_EQ(n.prefix, "p");
    EXPECT_EQ(n.max_ttl, std::chrono::seconds(2));
    EXPECT_FALSE(n.where.tls);
    EXPECT_FALSE(n.strict);
    EXPECT_EQ(n.ring, r.nodes[0].ring);
  }
  EXPECT_EQ(r.store, "redlock://a,b:7000,[::1]:7001/3?prefix=p&max_ttl=2s");
}

TEST(RedlockUrl, OfOneServerIsAnOrdinaryOne) {
  const auto r = ring("redlock://a");
  EXPECT_EQ(r.nodes.at(0).voters, 1U);
  EXPECT_EQ(r.nodes.at(0).ring, "") << "redis://a must agree with it";
}

TEST(RedlockUrl, LogsInEverywhereAndShowsNoPassword) {
  const auto r = ring("redlock://ann:sesame@a,b,c?amnesia=strict&ring=main");
  for (const node_settings& n : r.nodes) {
    EXPECT_EQ(n.user, "ann");
    EXPECT_EQ(n.password, "sesame");
    EXPECT_TRUE(n.strict);
  }
  EXPECT_EQ(r.store, "redlock://a,b,c?ring=main&amnesia=strict");
}

TEST(RedlockUrl, SpeaksTlsWithAllWhenAskedTo) {
  const auto r = ring("redlocks://a,b,c?ca=/x.pem");
  for (const node_settings& n : r.nodes) {
    ASSERT_TRUE(n.where.tls);
    EXPECT_EQ(n.where.tls->ca_file, "/x.pem");
  }
}

TEST(RedlockUrl, NamesTheSameServersInWhateverOrder) {
  EXPECT_EQ(ring("redlock://a,b,c").nodes[0].ring, ring("redlock://c:6379,a,b").nodes[0].ring);
  EXPECT_NE(ring("redlock://a,b,c").nodes[0].ring, ring("redlock://a,b,d").nodes[0].ring);
  EXPECT_NE(ring("redlock://a,b,c").nodes[0].ring, ring("redlock://a,b,c/1").nodes[0].ring);
  EXPECT_EQ(ring("redlock://a,b,c?ring=x").nodes[0].ring, ring("redlock://d,e,f?ring=x").nodes[0].ring);
}

TEST(RedlockUrl, MayNameAFileInWhichEachServerHasItsOwn) {
  const test::temp_directory here;
  const std::string file = here.file("servers");
  std::ofstream(file)
      << "# three of them\n\nredis://ann:sesame@a:1\nrediss://b:2/4?ca=/b.pem\r\nredis+unix:///run/c.sock\n";
  const auto r = ring("redlock://" + file + "?prefix=p");
  ASSERT_EQ(r.nodes.size(), 3U);
  EXPECT_EQ(r.nodes[0].user, "ann");
  EXPECT_EQ(r.nodes[0].prefix, "p");
  EXPECT_TRUE(r.nodes[1].where.tls);
  EXPECT_EQ(r.nodes[1].db, 4);
  EXPECT_EQ(r.nodes[2].where.path, "/run/c.sock");
  EXPECT_THAT(r.store, Not(HasSubstr("sesame")));
}

TEST(RedlockUrl, SaysWhichLineOfTheFileIsWrong) {
  const test::temp_directory here;
  const std::string file = here.file("servers");
  std::ofstream(file) << "redis://a\nhttp://b\n";
  EXPECT_THAT(mistake("redlock://" + file).detail(), HasSubstr("line 2"));
  std::ofstream(file) << "redis://a?prefix=x\n";
  EXPECT_THAT(mistake("redlock://" + file).detail(), HasSubstr("belongs to the redlock:// URL"));
  std::ofstream(file) << "# none\n";
  EXPECT_THAT(mistake("redlock://" + file).detail(), HasSubstr("names none"));
  EXPECT_EQ(mistake("redlock:///nowhere/at/all").code(), errc::misconfigured);
}

TEST(RedlockUrl, NamesTheServerWhosePortIsWrong) {
  EXPECT_THAT(mistake("redlock://a:1,b:70000,c:3").detail(), HasSubstr("the port of b "));
  EXPECT_EQ(mistake("redlock://a:1,b:70000,c:3").code(), errc::invalid_argument);
  const test::temp_directory here;
  const std::string file = here.file("servers");
  std::ofstream(file) << "redis://a:1\nredis://b:x\n";
  const error no = mistake("redlock://" + file);
  EXPECT_THAT(no.detail(), AllOf(HasSubstr("line 2: "), HasSubstr("the port of b ")));
  EXPECT_EQ(no.code(), errc::misconfigured);
}

TEST(RedlockUrl, SaysWhereUserAndPasswordGo) {
  for (const auto* const text : {"redlock://:sesame@a:1,:sesame@b:2", "redlock://:ses@me@a,b,c"}) {
    const error no = mistake(text);
    EXPECT_EQ(no.code(), errc::invalid_argument);
    EXPECT_THAT(no.detail(), AllOf(HasSubstr("before the list"), HasSubstr("in a file"), HasSubstr("%40"),
                                   Not(HasSubstr("ses"))));
  }
  EXPECT_EQ(ring("redlock://:ses%40me@a,b,c").nodes.at(2).password, "ses@me");
}

TEST(RedlockUrl, TakesNoDirectoryForAFile) {
  const test::temp_directory here;
  const error no = mistake("redlock://" + here.path());
  EXPECT_EQ(no.code(), errc::misconfigured);
  EXPECT_THAT(no.detail(), HasSubstr("is a directory"));
  EXPECT_THAT(mistake("redlock:///nowhere/at/all").detail(), HasSubstr("No such file"));
}

TEST(RedlockUrl, RefusesWhatMakesNoSense) {
  EXPECT_THAT(mistake("redlock://").detail(), HasSubstr("needs servers"));
  EXPECT_THAT(mistake("redlock://a,,b").detail(), HasSubstr("comma"));
  EXPECT_THAT(mistake("redlock://a,b,a").detail(), HasSubstr("twice"));
  EXPECT_THAT(mistake("redlock://a,b?amnesia=maybe").detail(), HasSubstr("amnesia=time"));
  EXPECT_THAT(mistake("redlock://a,b?amnesia=strict&layout=classic").detail(), HasSubstr("layout 'record'"));
  EXPECT_THAT(mistake("redlock://a,b?ring=a%20b").detail(), HasSubstr("ring"));
  EXPECT_THAT(mistake("redlock://a,b?ca=/x").detail(), HasSubstr("no option 'ca'"));
  std::string many = "redlock://n0";
  for (int i = 1; i < 40; ++i) {
    many += ",n" + std::to_string(i);
  }
  EXPECT_THAT(mistake(many).detail(), HasSubstr("at most 31"));
}

}  // namespace
}  // namespace cremone::redis
