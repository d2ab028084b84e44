// SPDX-License-Identifier: Apache-2.0
//
// Checks what counts as a control character in text from outside, and how it is shown.
#include "base/text.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace cremone {
namespace {

TEST(ControlCharacters, AreFoundWhereTheyBegin) {
  EXPECT_EQ(find_control("\x1b[31m"), 0U);
  EXPECT_EQ(find_control("ab\x7f"), 2U);
  EXPECT_EQ(find_control(std::string_view("a\0b", 3)), 1U);
  EXPECT_EQ(find_control("a\x1f"), 1U);
}

TEST(ControlCharacters, AreFoundInTheUpperHalfAsUtf8WritesThem) {
  EXPECT_EQ(find_control("ab\xc2\x9b"
                         "31m"),
            2U);
  EXPECT_EQ(find_control("\xc2\x80"), 0U);
  EXPECT_EQ(find_control("\xc2\x9f"), 0U);
}

TEST(ControlCharacters, AreNotSeenInOrdinaryText) {
  for (const char* const text :
       {"", " ~", "nightly", "\xc2\xa0", "Türme", "日本", "\xc3\x9b", "\xc2", "\x9b"}) {
    EXPECT_EQ(find_control(text), std::string_view::npos) << text;
  }
}

TEST(Printable, WritesControlCharactersAsNumbersAndTheRestAsItIs) {
  EXPECT_EQ(printable("a\x1b[31m\xc2\x9b"
                      "b\n"),
            "a\\x1b[31m\\xc2\\x9bb\\x0a");
  EXPECT_EQ(printable("Türme"), "Türme");
  EXPECT_EQ(printable(""), "");
}

TEST(BidirectionalControls, AreFoundWithTheirCodeAndPosition) {
  const std::vector<std::pair<std::string, std::string>> all = {
      {"\u061c", "U+061C"}, {"\u200e", "U+200E"}, {"\u200f", "U+200F"}, {"\u202a", "U+202A"},
      {"\u202b", "U+202B"}, {"\u202c", "U+202C"}, {"\u202d", "U+202D"}, {"\u202e", "U+202E"},
      {"\u2066", "U+2066"}, {"\u2067", "U+2067"}, {"\u2068", "U+2068"}, {"\u2069", "U+2069"}};
  for (const auto& [character, code] : all) {
    const auto found = find_bidirectional("ab" + character + "\u2069");
    ASSERT_TRUE(found) << code;
    EXPECT_EQ(found->at, 2U);
    EXPECT_EQ(found->code, code);
  }
  for (const char* const text : {"", "nightly", "日本", "\u200d", "\u2029", "\u202f", "\u206a", "\u05d0"}) {
    EXPECT_FALSE(find_bidirectional(text)) << text;
  }
}

TEST(BidirectionalControls, NeverReachTheTerminal) { EXPECT_EQ(printable("a\u202eb"), "a\\xe2\\x80\\xaeb"); }

}  // namespace
}  // namespace cremone
