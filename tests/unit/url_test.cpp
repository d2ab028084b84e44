// SPDX-License-Identifier: Apache-2.0
//
// Checks how a store's URL is taken apart, and that what is wrong with it is said. That no password is repeated is
// checked beside this. Knows no scheme and no store.
#include "base/url.hpp"

#include "unit/moments.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace cremone {
namespace {

using namespace cremone::testing;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

url parsed(std::string_view text) {
  auto r = parse_url(text);
  EXPECT_TRUE(r) << text << ": " << r.error().message();
  return r ? std::move(*r) : url{};
}

/// What is wrong with it; empty if nothing is.
std::string complaint(std::string_view text) {
  const auto r = parse_url(text);
  if (r) return {};
  EXPECT_EQ(r.error().code(), errc::invalid_argument);
  return r.error().detail();
}

TEST(Url, MayConsistOfASchemeOnly) {
  const url u = parsed("memory://");
  EXPECT_EQ(u.scheme, "memory");
  EXPECT_EQ(u.authority, "");
  EXPECT_EQ(u.path, "");
  EXPECT_EQ(u.user, "");
  EXPECT_EQ(u.password, "");
  EXPECT_THAT(u.options, IsEmpty());
}

TEST(Url, IsTakenApartAsAWhole) {
  const url u = parsed("redis://bob:secret@db.example:6379/0/x?prefix=locks&max_ttl=30s");
  EXPECT_EQ(u.scheme, "redis");
  EXPECT_EQ(u.user, "bob");
  EXPECT_EQ(u.password, "secret");
  EXPECT_EQ(u.authority, "db.example:6379");
  EXPECT_EQ(u.path, "/0/x");
  EXPECT_THAT(u.options, ElementsAre(Pair("max_ttl", "30s"), Pair("prefix", "locks")));
}

TEST(Url, MayNameSeveralHosts) {
  EXPECT_EQ(parsed("redlock://a:1,b:2,c:3").authority, "a:1,b:2,c:3");
  EXPECT_EQ(parsed("redlock://bob:pw@a,b:2,[::1]:3/x").authority, "a,b:2,[::1]:3");
}

TEST(Url, KeepsTheSlashOfAFile) {
  const url u = parsed("sqlite:///var/lib/locks.db");
  EXPECT_EQ(u.authority, "");
  EXPECT_EQ(u.path, "/var/lib/locks.db");
}

TEST(Url, HasItsSchemeInLowerCase) {
  EXPECT_EQ(parsed("ReDiS+tls://h").scheme, "redis+tls");
  EXPECT_EQ(parsed("x1.y-z://h").scheme, "x1.y-z");
}

TEST(Url, PathWithAtSignIsNotRepeated) {
  for (const std::string text : {"/:secret@host", "//ann:secret@host/0", "/srv/ann:secret@host"}) {
    EXPECT_EQ(complaint(text).find("secret"), std::string::npos) << complaint(text);
  }
  EXPECT_THAT(complaint("/srv/locks.db"), HasSubstr("sqlite:///srv/locks.db"));
}

TEST(Url, IsPercentDecodedInUserPasswordPathAndOptions) {
  const url u = parsed("redis://b%6fb:p%40ss%3A%2f%3F%25@h/a%20b?k%3d=v%26w");
  EXPECT_EQ(u.user, "bob");
  EXPECT_EQ(u.password, "p@ss:/?%");
  EXPECT_EQ(u.path, "/a b");
  EXPECT_THAT(u.options, ElementsAre(Pair("k=", "v&w")));
}

TEST(Url, IsNotDecodedInTheAuthority) { EXPECT_EQ(parsed("redis://a%20b").authority, "a%20b"); }

TEST(Url, TakesTheLastAtSignForTheEndOfThePassword) {
  const url u = parsed("redis://bob:p@ss:w@rd@h");
  EXPECT_EQ(u.user, "bob");
  EXPECT_EQ(u.password, "p@ss:w@rd");
  EXPECT_EQ(u.authority, "h");
}

TEST(Url, MayHaveAUserWithoutAPasswordAndTheOtherWayRound) {
  EXPECT_EQ(parsed("redis://bob@h").user, "bob");
  EXPECT_EQ(parsed("redis://bob@h").password, "");
  EXPECT_EQ(parsed("redis://:pw@h").user, "");
  EXPECT_EQ(parsed("redis://:pw@h").password, "pw");
}

TEST(Url, MayHaveEmptyOptionsAndOptionsWithoutAValue) {
  EXPECT_THAT(parsed("x://h?").options, IsEmpty());
  EXPECT_THAT(parsed("x://h?&&a=1&").options, ElementsAre(Pair("a", "1")));
  EXPECT_THAT(parsed("x://h?a=&b").options, ElementsAre(Pair("a", ""), Pair("b", "")));
  EXPECT_THAT(parsed("x://h?a=b=c").options, ElementsAre(Pair("a", "b=c")));
}

TEST(Url, TakesAnythingAfterTheQuestionMarkForOptions) {
  const url u = parsed("x://h?path=/a/b?c");
  EXPECT_EQ(u.path, "");
  EXPECT_THAT(u.options, ElementsAre(Pair("path", "/a/b?c")));
}

TEST(Url, IsRefusedWithoutAScheme) {
  for (const auto* const text : {"", "memory", "memory:", "memory:/x", "://", "://host", "1x://h",
                                 "re dis://h", "r\xc3\xa9://h", "_://h", "a/b://h", "-x://h"}) {
    EXPECT_THAT(complaint(text), HasSubstr("scheme://")) << text;
  }
}

TEST(Url, IsSuggestedForAPath) {
  EXPECT_THAT(complaint("/srv/my locks.db"), HasSubstr("sqlite:///srv/my%20locks.db"));
}

TEST(Url, IsRefusedWithAControlCharacter) {
  using namespace std::string_literals;
  for (const auto& text : {"x://h\n"s, "x://\x1b[2J"s, "x://h/\x7f"s, "x://h?a=\t"s, "x://h\0"s}) {
    EXPECT_THAT(complaint(text), HasSubstr("control character"));
  }
}

TEST(Url, IsRefusedWithABrokenPercentSign) {
  for (const auto* const text :
       {"x://h/%", "x://h/a%4", "x://h/%zz", "x://h/%4z", "x://h/%z4", "x://h/%%41"}) {
    EXPECT_THAT(complaint(text), HasSubstr("path")) << text;
  }
  for (const auto* const text : {"x://%zz@h", "x://bob:%4@h", "x://bob:%@h"}) {
    EXPECT_THAT(complaint(text), HasSubstr("user or password")) << text;
  }
  for (const auto* const text : {"x://h?key=%zz", "x://h?key=%4"}) {
    EXPECT_THAT(complaint(text), HasSubstr("'key'")) << text;
  }
  EXPECT_THAT(complaint("x://h?%zz=1"), HasSubstr("two hex digits"));
  EXPECT_THAT(complaint("x://%zz"), HasSubstr("host"));
}

TEST(Url, IsRefusedWithAFragmentAndSaysHowToWriteTheSign) {
  for (const auto* const text : {"x://h#part", "x://#", "x://h/a#b", "x://h?a=#b"}) {
    EXPECT_THAT(complaint(text), HasSubstr("%23")) << text;
  }
  EXPECT_EQ(parsed("x://h/a%23b").path, "/a#b");
}

TEST(Url, IsRefusedWithAnAtSignBehindTheHosts) {
  EXPECT_THAT(complaint("x://h/a@b"), HasSubstr("%40"));
  EXPECT_THAT(complaint("x://h?a=b@c"), HasSubstr("%40"));
  EXPECT_EQ(parsed("x://h/a%40b").path, "/a@b");
  EXPECT_THAT(parsed("x://h?a=b%40c").options, ElementsAre(Pair("a", "b@c")));
  EXPECT_EQ(parsed("sqlite:///home/bob@work/locks.db").path, "/home/bob@work/locks.db")
      << "no host, no password";
}

TEST(Url, IsRefusedWithAnOptionWithoutAName) { EXPECT_THAT(complaint("x://h?=1"), HasSubstr("key=value")); }

TEST(Url, IsRefusedWithAnOptionTwice) {
  EXPECT_THAT(complaint("x://h?prefix=a&b=1&prefix=c"), HasSubstr("'prefix'"));
  EXPECT_THAT(complaint("x://h?prefix=a&b=1&prefix=c"), HasSubstr("twice"));
  EXPECT_THAT(complaint("x://h?ab=1&%61b=2"), HasSubstr("'ab'")) << "also when it is spelled differently";
}

TEST(UrlOptions, AreAllowedByName) {
  const url u = parsed("redis://h?prefix=a&max_ttl=1");
  EXPECT_TRUE(u.allow_only({"prefix", "max_ttl", "layout"}));
  EXPECT_TRUE(parsed("memory://").allow_only({}));
  EXPECT_TRUE(parsed("memory://").allow_only({"prefix"}));
}

TEST(UrlOptions, AreRefusedByNameTogetherWithWhatThereIs) {
  const auto r = parsed("redis://h?prefix=a&colour=b").allow_only({"prefix", "layout"});
  ASSERT_FALSE(r);
  EXPECT_EQ(r.error().code(), errc::invalid_argument);
  EXPECT_THAT(r.error().detail(), HasSubstr("redis://"));
  EXPECT_THAT(r.error().detail(), HasSubstr("'colour'"));
  EXPECT_THAT(r.error().detail(), HasSubstr("prefix, layout"));
}

TEST(UrlOptions, AreRefusedWithTheOneThatWasMeant) {
  const auto r = parsed("redis://h?perfix=b").allow_only({"prefix", "layout"});
  ASSERT_FALSE(r);
  EXPECT_EQ(r.error().code(), errc::invalid_argument);
  EXPECT_EQ(r.error().detail(), "redis:// has no option 'perfix'; did you mean 'prefix'?");
}

TEST(UrlOptions, AreRefusedWhereThereAreNone) {
  const auto r = parsed("memory://h?a=1").allow_only({});
  ASSERT_FALSE(r);
  EXPECT_THAT(r.error().detail(), HasSubstr("'a'"));
  EXPECT_THAT(r.error().detail(), HasSubstr("takes none"));
}

TEST(Url, NeverPutsAnEncodedControlCharacterIntoAMessage) {
  EXPECT_THAT(parsed("x://h?%1b[2J=1").allow_only({}).error().detail(), HasSubstr("'\\x1b[2J'"));
  EXPECT_THAT(complaint("x://h?%1b=1&%1b=2"), HasSubstr("'\\x1b'"));
  EXPECT_EQ(parsed("x://h/%1b[2J").shown(), "x://h/\\x1b[2J");
}

}  // namespace
}  // namespace cremone
