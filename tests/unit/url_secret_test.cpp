// SPDX-License-Identifier: Apache-2.0
//
// Checks that a password in a URL is never repeated, neither by an error nor by what is shown of a good URL, also when
// its writer forgot to percent-encode it. What is accepted otherwise is checked beside this.
#include "base/url.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace cremone {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

/// Everything that may be printed about this URL: the error, or what is shown of it and what is said of its options.
std::string said_about(std::string_view text) {
  const auto r = parse_url(text);
  if (!r) return r.error().message();
  const auto allowed = r->allow_only({});
  return r->shown() + (allowed ? "" : allowed.error().message());
}

TEST(UrlSecret, IsNotShownOfAGoodUrl) {
  EXPECT_EQ(said_about("redis://bob:hunter2@db:6379/0"), "redis://db:6379/0");
  EXPECT_THAT(said_about("redis://bob:hunter2@db?password=swordfish"), Not(HasSubstr("swordfish")));
  EXPECT_THAT(said_about("redis://bob:hunter2@db?x=1"), Not(HasSubstr("hunter2")));
}

TEST(UrlSecret, IsNotShownAlsoWhenItHasAtSigns) {
  EXPECT_EQ(said_about("redis://bob:hunter2@hunter2@db"), "redis://db");
}

TEST(UrlSecret, IsInNoErrorMessage) {
  for (const auto* const text : {
           "bob:hunter2@db",
           "redis:/bob:hunter2@db",
           "1redis://bob:hunter2@db",
           "redis://bob:hunter2%@db",
           "redis://bob:hunter2%zz@db",
           "redis://b%zzob:hunter2@db",
           "redis://bob:hunter2@db\n",
           "redis://bob:hunter2@db/%zz",
           "redis://bob:hunter2@db?%zz",
           "redis://bob:hunter2@db?a=1&a=2",
           "redis://db?password=hunter2%zz",
           "redis://db?password=hunter2&password=hunter2",
           "redis://db?=hunter2",
       }) {
    EXPECT_THAT(said_about(text), Not(HasSubstr("hunter2"))) << text;
  }
}

// The writer means a password; the syntax sees the end of the authority.
TEST(UrlSecret, IsNotRepeatedWhenItHasAnUnencodedSlash) {
  for (const auto* const text :
       {"redis://bob:hunter/2@db:6379", "redis://:hunter/2@db", "redis://bob:/hunter@db"}) {
    EXPECT_THAT(said_about(text), Not(HasSubstr("hunter"))) << text;
  }
}

TEST(UrlSecret, IsNotRepeatedWhenItHasAnUnencodedQuestionMark) {
  for (const auto* const text : {"redis://bob:2?hunter@db:6379", "redis://bob:hunter?2@db",
                                 "redis://bob:2?hunter%@db", "redis://bob:2?hunter&hunter&x@db"}) {
    EXPECT_THAT(said_about(text), Not(HasSubstr("hunter"))) << text;
  }
}

}  // namespace
}  // namespace cremone
