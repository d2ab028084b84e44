// SPDX-License-Identifier: Apache-2.0
//
// What somebody reads who named a store that there is not. How URLs are taken apart is tested in unit.
#include <cremone/cremone.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cremone::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(Open, SuggestsTheStoreThatWasMeant) {
  const auto no = open("memroy://orders");
  ASSERT_FALSE(no);
  EXPECT_EQ(no.error(), errc::invalid_argument);
  EXPECT_EQ(no.error().detail(), "no store is called memroy://; did you mean memory://?");
}

TEST(Open, NamesTheStoresThatThereAreWhenNoneIsNear) {
  const auto no = open("gopher://orders");
  ASSERT_FALSE(no);
  EXPECT_EQ(no.error(), errc::invalid_argument);
  EXPECT_THAT(no.error().detail(), HasSubstr("no store is called gopher://; this build has "));
  EXPECT_THAT(no.error().detail(), HasSubstr("memory://"));
  EXPECT_THAT(no.error().detail(), Not(HasSubstr("did you mean")));
}

}  // namespace
}  // namespace cremone::test
