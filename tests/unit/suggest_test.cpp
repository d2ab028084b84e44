// SPDX-License-Identifier: Apache-2.0
//
// Checks which mistyped words are understood, and that nothing is suggested that nobody could have meant.
#include "base/suggest.hpp"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <string_view>

namespace cremone {
namespace {

constexpr std::array<std::string_view, 6> stores = {"memory",  "sqlite", "redis",
                                                    "redlock", "etcd",   "postgres"};

TEST(Suggestion, ForgivesALetterTooManyTooFewOrWrong) {
  EXPECT_EQ(closest("sqllite", stores), "sqlite");
  EXPECT_EQ(closest("sqlit", stores), "sqlite");
  EXPECT_EQ(closest("sqlute", stores), "sqlite");
  EXPECT_EQ(closest("rediss", stores), "redis");
}

TEST(Suggestion, TakesTwoNeighboursInTheWrongOrderForOneSlip) {
  EXPECT_EQ(closest("etdc", stores), "etcd") << "two wrong letters would be too many for four";
  EXPECT_EQ(closest("erdis", stores), "redis");
}

TEST(Suggestion, ForgivesMoreInALongerWord) {
  EXPECT_EQ(closest("memroy_", stores), "memory");
  EXPECT_EQ(closest("postgersql", stores), "postgres");
  EXPECT_EQ(closest("ostgersql", stores), "");
}

TEST(Suggestion, DoesNotMindCase) {
  EXPECT_EQ(closest("SQLite", stores), "sqlite");
  EXPECT_EQ(closest("MEMROY", stores), "memory");
  EXPECT_EQ(closest("wait", {"WAIT"}), "WAIT") << "and gives back what is known, as it is written";
}

TEST(Suggestion, IsEmptyWhenNothingIsNear) {
  EXPECT_EQ(closest("mongodb", stores), "");
  EXPECT_EQ(closest("x", stores), "");
  EXPECT_EQ(closest("", stores), "");
  EXPECT_EQ(closest("redis", {}), "");
  EXPECT_EQ(closest("redis", {""}), "");
}

TEST(Suggestion, IsNotMadeForWordsSoShortThatAllAreNear) {
  EXPECT_EQ(closest("a", {"b"}), "");
  EXPECT_EQ(closest("-j", {"-n"}), "");
  EXPECT_EQ(closest("-N", {"-n"}), "-n");
  EXPECT_EQ(closest("tll", {"ttl"}), "ttl");
}

TEST(Suggestion, IsTheNearestAndOfEquallyNearOnesTheFirst) {
  EXPECT_EQ(closest("lablel", {"able", "label"}), "label");
  EXPECT_EQ(closest("watt", {"wait", "want"}), "wait");
  EXPECT_EQ(closest("watt", {"want", "wait"}), "want");
}

TEST(Suggestion, IsNotLookedForInWhatIsNoWord) {
  const std::string endless(100'000, 'r');
  EXPECT_EQ(closest(endless, stores), "");
  EXPECT_EQ(closest(endless, {endless}), "");
}

}  // namespace
}  // namespace cremone
