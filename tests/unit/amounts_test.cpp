// SPDX-License-Identifier: Apache-2.0
//
// Checks how amounts are written for people.
#include "base/amounts.hpp"

#include <gtest/gtest.h>

namespace cremone {
namespace {

using namespace std::chrono_literals;

TEST(Amounts, OfBytesHaveAUnit) {
  EXPECT_EQ(shown_bytes(0), "0 KiB");
  EXPECT_EQ(shown_bytes(1), "1 KiB");
  EXPECT_EQ(shown_bytes(40'960), "40 KiB");
  EXPECT_EQ(shown_bytes(3U << 20U), "3.0 MiB");
  EXPECT_EQ(shown_bytes(100U << 20U), "100 MiB");
  EXPECT_EQ(shown_bytes(12ULL << 30U), "12 GiB");
}

TEST(Amounts, OfTimeHaveAUnit) {
  EXPECT_EQ(shown_length(0us), "0 µs");
  EXPECT_EQ(shown_length(120us), "120 µs");
  EXPECT_EQ(shown_length(1500us), "1.5 ms");
  EXPECT_EQ(shown_length(250ms), "250 ms");
  EXPECT_EQ(shown_length(60s), "60 s");
}

}  // namespace
}  // namespace cremone
