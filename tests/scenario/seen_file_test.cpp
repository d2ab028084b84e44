// SPDX-License-Identifier: Apache-2.0
//
// The file of what was seen, where it usually is and on this machine's own clock. What a whole client does with it is
// tested beside this.
#include "engine/seen_file.hpp"

#include "scenario/watched_file.hpp"
#include "support/temp_directory.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdlib.h>
#include <unistd.h>

#include <string>
#include <vector>

namespace cremone::test {
namespace {

using core::observations;
using namespace std::chrono_literals;

const std::vector<observations::seen_hold> one = {{"nightly", {owner_id({1}), 5}, instant(1h), instant(2h)}};

TEST(ClockIdentity, NamesThisBootAndStaysTheSame) {
  const std::string name = detail::clock_identity();
  EXPECT_THAT(name, ::testing::MatchesRegex("[0-9a-f-]{36}.*"));
  EXPECT_EQ(detail::clock_identity(), name);
}

TEST(SeenFile, LiesInTheStateDirectoryWhichIsMadeWhenThereIsSomethingToKeep) {
  const temp_directory home;
  const std::string place = home.file("state/cremone");
  ASSERT_EQ(::setenv("CREMONE_STATE_DIR", place.c_str(), 1), 0);
  detail::seen_file file;
  EXPECT_TRUE(file.look().empty());
  EXPECT_EQ(::access(place.c_str(), F_OK), -1) << "looking makes nothing";
  EXPECT_TRUE(file.add({file.clock(), "store"}, one, instant(2h)));
  EXPECT_EQ(::access((place + "/seen").c_str(), F_OK), 0);
  ::unsetenv("CREMONE_STATE_DIR");

  detail::seen_file other(place, detail::clock_identity());
  ASSERT_EQ(other.look().size(), 1U);
  EXPECT_EQ(other.look()[0].first, instant(1h));
}

TEST(SeenFile, IsReadAgainWhenAnotherHasWrittenIt) {
  const temp_directory home;
  detail::seen_file mine(home.path(), "clock");
  detail::seen_file others(home.path(), "clock");
  EXPECT_TRUE(mine.look().empty());
  ASSERT_TRUE(others.add({"clock", "store"}, one, instant(2h)));
  EXPECT_TRUE(mine.known().empty());
  EXPECT_EQ(mine.look().size(), 1U);
  EXPECT_EQ(mine.known().size(), 1U);
  ASSERT_EQ(::unlink(home.file("seen").c_str()), 0);
  EXPECT_TRUE(mine.look().empty());
}

TEST(SeenFile, KeepsWhatOthersWroteMeanwhile) {
  const temp_directory home;
  detail::seen_file mine(home.path(), "clock");
  detail::seen_file others(home.path(), "clock");
  EXPECT_TRUE(mine.look().empty());
  ASSERT_TRUE(others.add({"clock", "store"}, one, instant(2h)));
  auto two = one;
  two[0].name = "weekly";
  ASSERT_TRUE(mine.add({"clock", "store"}, two, instant(2h)));
  EXPECT_EQ(others.look().size(), 2U);
}

TEST(SeenFile, IsNotWrittenWhenAnotherHasWrittenTheSameMeanwhile) {
  const temp_directory home;
  detail::seen_file mine(home.path(), "clock");
  detail::seen_file others(home.path(), "clock");
  ASSERT_TRUE(others.add({"clock", "store"}, one, instant(2h)));
  const watched_file file(home.file("seen"));
  EXPECT_TRUE(mine.add({"clock", "store"}, one, instant(2h)));
  EXPECT_TRUE(file.same());
  EXPECT_EQ(mine.known().size(), 1U);
}

TEST(SeenFile, CannotBeWrittenWhereThereIsNoDirectory) {
  const temp_directory home;
  detail::seen_file file(home.file("nowhere"), "clock");
  EXPECT_TRUE(file.look().empty());
  EXPECT_FALSE(file.add({"clock", "store"}, one, instant(2h)));
}

}  // namespace
}  // namespace cremone::test
