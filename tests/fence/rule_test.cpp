// SPDX-License-Identifier: Apache-2.0
//
// The rule of the fence and the words around it: no resource takes part.
#include <cremone/fence.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

namespace cremone::fence {

namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(FenceMark, LetsAHigherTokenPassAndRefusesEveryLowerOneFromThenOn) {
  mark seen;
  EXPECT_TRUE(seen.admit(fence_token(41)));
  EXPECT_TRUE(seen.admit(fence_token(57)));
  EXPECT_FALSE(seen.admit(fence_token(41)));
  EXPECT_FALSE(seen.admit(fence_token(56)));
  EXPECT_EQ(seen.highest(), fence_token(57));
}

TEST(FenceMark, LetsOneHolderWriteManyTimes) {
  mark seen(fence_token(41));
  EXPECT_TRUE(seen.admit(fence_token(41)));
  EXPECT_TRUE(seen.admit(fence_token(41)));
}

TEST(FenceMark, IsNotMovedByAQuestionNorByARefusal) {
  mark seen(fence_token(41));
  EXPECT_TRUE(seen.allows(fence_token(57)));
  EXPECT_FALSE(seen.admit(fence_token(1)));
  EXPECT_EQ(seen.highest(), fence_token(41));
}

TEST(FenceMark, CanBeUsedWhereConstantsAreMade) {
  constexpr bool equal = mark(fence_token(7)).allows(fence_token(7));
  constexpr bool lower = mark(fence_token(7)).allows(fence_token(6));
  EXPECT_TRUE(equal);
  EXPECT_FALSE(lower);
}

TEST(FenceToken, IsReadFromDigitsAndNothingElse) {
  EXPECT_EQ(*parse_token("1"), fence_token(1));
  EXPECT_EQ(*parse_token("9223372036854775807"), fence_token(9223372036854775807U));
  for (const char* const wrong : {"", " 1", "1 ", "+1", "-1", "0x10", "1e3", "1.0", "seven", "1\n",
                                  "\xC2\xB2", "0", "00", "9223372036854775808", "18446744073709551615",
                                  "18446744073709551616", "99999999999999999999999999"}) {
    const auto parsed = parse_token(wrong);
    ASSERT_FALSE(parsed) << "'" << wrong << "' became " << *parsed;
    EXPECT_EQ(parsed.error().code(), errc::invalid_argument);
  }
}

TEST(FenceToken, OfSomethingLongOrUnprintableIsShownShortAndPrintable) {
  const auto parsed = parse_token("\x1b[31m" + std::string(100'000, 'x'));
  ASSERT_FALSE(parsed);
  EXPECT_LT(parsed.error().detail().size(), 300U);
  EXPECT_THAT(parsed.error().detail(), HasSubstr("\\x1b"));
}

TEST(FenceToken, OfZeroOrAboveTheLimitIsRefused) {
  EXPECT_EQ(check_token(fence_token(0)).error().code(), errc::invalid_argument);
  EXPECT_TRUE(check_token(fence_token(token_limit - 1)));
  EXPECT_EQ(check_token(fence_token(token_limit)).error().code(), errc::invalid_argument);
  EXPECT_EQ(check_token(fence_token(fence_token::limit), fence_token::limit).error().code(),
            errc::invalid_argument);
}

TEST(FenceToken, ComesFromTheEnvironmentOfCremoneRun) {
  ::setenv("CREMONE_TOKEN", "41", 1);
  EXPECT_EQ(*token_from_environment(), fence_token(41));
  ::setenv("CREMONE_TOKEN", "x", 1);
  EXPECT_THAT(token_from_environment().error().message(),
              AllOf(HasSubstr("CREMONE_TOKEN"), HasSubstr("'x'")));
  ::setenv("CREMONE_TOKEN", "", 1);
  EXPECT_EQ(token_from_environment().error().code(), errc::not_held) << "the store gives none";
  ::unsetenv("CREMONE_TOKEN");
  EXPECT_EQ(token_from_environment().error().code(), errc::not_held);
}

TEST(FenceResource, NameIsRefusedWhereALocksWouldBe) {
  EXPECT_TRUE(check_resource("ledger"));
  EXPECT_TRUE(check_resource(std::string(512, 'x')));
  EXPECT_FALSE(check_resource(""));
  EXPECT_FALSE(check_resource(std::string(513, 'x')));
  EXPECT_FALSE(check_resource("a\nb"));
  EXPECT_FALSE(check_resource(static_cast<const char*>(nullptr)));
}

TEST(FenceRefusal, NamesTheResourceAndBothNumbers) {
  const error why = stale("resource 'ledger'", fence_token(41), fence_token(57));
  EXPECT_EQ(why.code(), errc::stale_token);
  EXPECT_THAT(why.message(), AllOf(HasSubstr("ledger"), HasSubstr("41"), HasSubstr("57")));
}

}  // namespace

}  // namespace cremone::fence
