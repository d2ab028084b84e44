// SPDX-License-Identifier: Apache-2.0
//
// Checks when a majority is certain: not before, and not later than need be.
#include "core/quorum.hpp"

#include <gtest/gtest.h>

#include <string>

namespace cremone::core {
namespace {

using verdict = ballot::verdict;
using vote = ballot::vote;

/// The verdict after these votes: y(es), n(o), u(nsure). Checks that it is decided once.
verdict after(std::size_t nodes, const std::string& votes) {
  ballot b(nodes);
  int decided = 0;
  for (const char v : votes) {
    decided += b.count(v == 'y' ? vote::yes : v == 'n' ? vote::no : vote::unsure) ? 1 : 0;
  }
  EXPECT_EQ(decided, b.state() == verdict::open ? 0 : 1) << votes;
  return b.state();
}

TEST(Quorum, OfOneIsThatOne) {
  EXPECT_EQ(majority_of(1), 1U);
  EXPECT_EQ(after(1, ""), verdict::open);
  EXPECT_EQ(after(1, "y"), verdict::carried);
  EXPECT_EQ(after(1, "n"), verdict::failed);
  EXPECT_EQ(after(1, "u"), verdict::in_doubt);
}

TEST(Quorum, IsMoreThanHalf) {
  EXPECT_EQ(majority_of(2), 2U);
  EXPECT_EQ(majority_of(3), 2U);
  EXPECT_EQ(majority_of(4), 3U);
  EXPECT_EQ(majority_of(5), 3U);
}

TEST(Quorum, DecidesAsSoonAsTheRestCannotChangeIt) {
  EXPECT_EQ(after(5, "yy"), verdict::open);
  EXPECT_EQ(after(5, "yyy"), verdict::carried);
  EXPECT_EQ(after(5, "nn"), verdict::open);
  EXPECT_EQ(after(5, "nnn"), verdict::failed);
  EXPECT_EQ(after(3, "yny"), verdict::carried);
  EXPECT_EQ(after(3, "nyn"), verdict::failed);
  EXPECT_EQ(after(4, "yyn"), verdict::open);
  EXPECT_EQ(after(4, "yynn"), verdict::failed) << "half is no majority";
}

TEST(Quorum, IsInDoubtWhenThoseWithoutAnAnswerCouldHaveMadeIt) {
  EXPECT_EQ(after(3, "uu"), verdict::open);
  EXPECT_EQ(after(3, "uun"), verdict::in_doubt);
  EXPECT_EQ(after(3, "uny"), verdict::in_doubt);
  EXPECT_EQ(after(3, "unn"), verdict::failed);
  EXPECT_EQ(after(3, "uyy"), verdict::carried);
}

TEST(Quorum, IsNotChangedByStragglers) {
  EXPECT_EQ(after(3, "yyn"), verdict::carried);
  EXPECT_EQ(after(3, "nny"), verdict::failed);
  EXPECT_EQ(after(5, "yyyun"), verdict::carried);
}

}  // namespace
}  // namespace cremone::core
