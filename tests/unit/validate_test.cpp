// SPDX-License-Identifier: Apache-2.0
//
// Checks which names and options are accepted, and that each refusal names the culprit. Knows no store.
#include "core/validate.hpp"

#include "unit/moments.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace cremone::core {
namespace {

using namespace cremone::testing;
using ::testing::HasSubstr;

constexpr milliseconds max_ttl = 60s;

/// The refusal's detail; empty when accepted.
std::string complaint(const result<void>& r) {
  if (r) return {};
  EXPECT_EQ(r.error().code(), errc::invalid_argument);
  EXPECT_FALSE(r.error().detail().empty());
  return r.error().detail();
}

std::string complaint_about_name(const lock_name& name) { return complaint(validate_name(name)); }

std::string complaint_about(const acquire_options& options) {
  return complaint(validate_options(options, max_ttl));
}

bool has_control(const std::string& text) {
  return std::any_of(text.begin(), text.end(),
                     [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
}

TEST(ValidateName, AcceptsFromOneToFiveHundredAndTwelveBytes) {
  EXPECT_EQ(complaint_about_name("a"), "");
  EXPECT_EQ(complaint_about_name(std::string(512, 'a')), "");
}

TEST(ValidateName, AcceptsWhatIsPrintable) {
  EXPECT_EQ(complaint_about_name("nightly report/of the 14th #3 {x}:y%z"), "");
  EXPECT_EQ(complaint_about_name("Türschloß"), "") << "bytes above 0x7f are letters somewhere";
  EXPECT_EQ(complaint_about_name(std::string("\xff\x80")), "");
}

TEST(ValidateName, RefusesAnEmptyName) {
  EXPECT_THAT(complaint_about_name(""), HasSubstr("empty"));
  EXPECT_THAT(complaint_about_name(static_cast<const char*>(nullptr)), HasSubstr("empty"));
}

TEST(ValidateName, RefusesFiveHundredAndThirteenBytesAndSaysHowManyAreAllowed) {
  const std::string message = complaint_about_name("report-" + std::string(506, 'x'));
  EXPECT_THAT(message, HasSubstr("513"));
  EXPECT_THAT(message, HasSubstr("512"));
  EXPECT_THAT(message, HasSubstr("report-")) << "it must be possible to tell which name it was";
  EXPECT_LT(message.size(), 200U) << "but not by repeating all of it";
}

TEST(ValidateName, RefusesEveryControlCharacterAndSaysWhere) {
  for (int c = 0; c < 0x20; ++c) {
    const std::string message = complaint_about_name(std::string("ab") + static_cast<char>(c) + "d");
    EXPECT_THAT(message, HasSubstr("byte " + std::to_string(c) + ")"));
    EXPECT_THAT(message, HasSubstr("position 2"));
  }
  EXPECT_THAT(complaint_about_name("\x7f"), HasSubstr("byte 127"));
  EXPECT_THAT(complaint_about_name("slot\x1f"
                                   "3"),
              HasSubstr("byte 31"))
      << "it parts a slot from its name";
  EXPECT_THAT(complaint_about_name("line\n"), HasSubstr("position 4"));
  EXPECT_THAT(complaint_about_name("ab\xc2\x9b"), HasSubstr("position 2")) << "U+009B, which terminals obey";
  EXPECT_THAT(complaint_about_name("name"), ::testing::IsEmpty());
}

TEST(ValidateName, NeverRepeatsAControlCharacterInAMessage) {
  EXPECT_FALSE(has_control(complaint_about_name("a\x1b[2J")));
  EXPECT_FALSE(has_control(complaint_about_name("a\x1b[2J" + std::string(600, 'x'))));
}

TEST(ValidateOptions, AcceptsTheDefaults) { EXPECT_EQ(complaint_about({}), ""); }

TEST(ValidateOptions, AcceptsATtlAtBothLimits) {
  EXPECT_EQ(complaint_about({.ttl = 100ms}), "");
  EXPECT_EQ(complaint_about({.ttl = 60'000ms}), "");
}

// redis-py#4279: a ttl of zero deleted the lock and was reported as a success.
TEST(ValidateOptions, NeverAcceptsATtlOfZero) {
  EXPECT_THAT(complaint_about({.ttl = 0ms}), HasSubstr("ttl 0 ms"));
  EXPECT_THAT(complaint(validate_options({.ttl = 0ms}, 0ms)), HasSubstr("ttl 0 ms"));
}

TEST(ValidateOptions, RefusesANegativeTtl) {
  EXPECT_THAT(complaint_about({.ttl = -1ms}), HasSubstr("ttl -1 ms"));
  EXPECT_THAT(complaint_about({.ttl = milliseconds::min()}), HasSubstr("ttl -"));
}

TEST(ValidateOptions, RefusesATtlThatIsTooShortAndNamesTheLeast) {
  const std::string message = complaint_about({.ttl = 99ms});
  EXPECT_THAT(message, HasSubstr("ttl 99 ms"));
  EXPECT_THAT(message, HasSubstr("100 ms"));
}

TEST(ValidateOptions, RefusesATtlAboveTheStoresAndNamesTheMost) {
  const std::string message = complaint_about({.ttl = 60'001ms});
  EXPECT_THAT(message, HasSubstr("ttl 60001 ms"));
  EXPECT_THAT(message, HasSubstr("60000 ms"));
  EXPECT_THAT(complaint_about({.ttl = milliseconds::max()}), HasSubstr("60000 ms"));
}

TEST(ValidateOptions, TakesTheLargestTtlFromTheStore) {
  EXPECT_EQ(complaint(validate_options({.ttl = 90s}, 120s)), "");
  EXPECT_THAT(complaint(validate_options({.ttl = 30s}, 20s)), HasSubstr("20000 ms"));
}

TEST(ValidateOptions, AcceptsNoWaitAnyTimeAndForever) {
  for (const milliseconds wait : {no_wait, milliseconds(1), milliseconds(1h), forever}) {
    EXPECT_EQ(complaint_about({.wait = wait}), "") << wait.count();
  }
}

TEST(ValidateOptions, RefusesANegativeWait) {
  EXPECT_THAT(complaint_about({.wait = -1ms}), HasSubstr("wait -1 ms"));
  EXPECT_THAT(complaint_about({.wait = milliseconds::min()}), HasSubstr("wait -"));
  EXPECT_THAT(complaint_about({.wait = -1ms}), HasSubstr("forever"))
      << "what one who overflowed it had in mind";
}

TEST(ValidateOptions, AcceptsAnyMaxHoldThatIsATimeAndForever) {
  for (const milliseconds most : {milliseconds(1), milliseconds(2s), milliseconds(24h), forever}) {
    EXPECT_EQ(complaint_about({.max_hold = most}), "") << most.count();
  }
}

TEST(ValidateOptions, RefusesAMaxHoldThatLeavesNoTime) {
  for (const milliseconds most : {0ms, -1ms, milliseconds::min()}) {
    const std::string message = complaint_about({.max_hold = most});
    EXPECT_THAT(message, HasSubstr("max_hold " + std::to_string(most.count()) + " ms"));
    EXPECT_THAT(message, HasSubstr("forever")) << "what zero may have been meant to be";
  }
}

TEST(ValidateOptions, AcceptsALabelOfUpToTwoHundredAndFiftySixBytes) {
  const std::string longest(256, 'l');
  EXPECT_EQ(complaint_about({.label = longest}), "");
  EXPECT_EQ(complaint_about({.label = "report of the 14th"}), "");
}

TEST(ValidateOptions, RefusesALabelThatIsTooLong) {
  const std::string label(257, 'l');
  const std::string message = complaint_about({.label = label});
  EXPECT_THAT(message, HasSubstr("label"));
  EXPECT_THAT(message, HasSubstr("257"));
  EXPECT_THAT(message, HasSubstr("256"));
}

TEST(ValidateOptions, RefusesControlCharactersInALabel) {
  using namespace std::string_literals;
  for (const auto& control : {"\n"s, "\x1b"s, "\x1f"s, "\x7f"s, "\0"s, "\xc2\x9b"s}) {
    const std::string label = "abc" + control;
    const std::string message = complaint_about({.label = label});
    EXPECT_THAT(message, HasSubstr("label"));
    EXPECT_THAT(message, HasSubstr("position 3"));
    EXPECT_FALSE(has_control(message));
  }
}

TEST(ValidateOptions, AbsentTtlIsThirtySecondsOrAShorterMaxTtl) {
  EXPECT_EQ(ttl_of({}, 60s), 30s);
  EXPECT_EQ(ttl_of({}, 20s), 20s);
  EXPECT_EQ(ttl_of({.ttl = 5s}, 60s), 5s);
  EXPECT_EQ(complaint(validate_options({}, 2s)), "");
}

TEST(ValidateOptions, ChosenTtlAboveMaxTtlIsRefused) {
  EXPECT_EQ(ttl_of({.ttl = 30s}, 20s), 30s);
  EXPECT_THAT(complaint(validate_options({.ttl = 30s}, 20s)), HasSubstr("max_ttl of 20000 ms"));
}

TEST(ValidateOptions, RenewalsPerTtlHaveBounds) {
  for (const int fine : {3, 15, 30}) {
    EXPECT_EQ(complaint_about({.renewals_per_ttl = fine}), "");
  }
  for (const int wrong : {-1, 0, 2, 31}) {
    EXPECT_THAT(complaint_about({.renewals_per_ttl = wrong}), HasSubstr("3 to 30"));
  }
}

TEST(ValidateOptions, RefusesBidirectionalControlsInALabel) {
  const std::string message = complaint_about({.label = "abc\u202exyz"});
  EXPECT_THAT(message, HasSubstr("the label has a bidirectional control character (U+202E) at position 3"));
}

TEST(ValidateName, RefusesBidirectionalControlsInANewName) {
  EXPECT_THAT(complaint(validate_new_name("ab\u2066c")), HasSubstr("(U+2066) at position 2"));
  EXPECT_EQ(complaint(validate_new_name("Türschloß")), "");
  EXPECT_THAT(complaint(validate_new_name("")), HasSubstr("empty"));
  EXPECT_EQ(complaint_about_name("ab\u2066c"), "") << "a stored name can still be inspected and released";
}

}  // namespace
}  // namespace cremone::core
