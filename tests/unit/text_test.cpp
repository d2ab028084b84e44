// SPDX-License-Identifier: Apache-2.0
//
// Checks what counts as a control character in text from outside, and how it is shown.
#include "base/text.hpp"

#include <gtest/gtest.h>

#include <string>

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

}  // namespace
}  // namespace cremone
