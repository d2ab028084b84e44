// SPDX-License-Identifier: Apache-2.0
//
// Through the public client: an examination of any store. It finds nothing bad where tests keep their locks, leaves the
// locks alone, and a store that has nothing to examine says so.
#include "contract/suite.hpp"

#include <set>
#include <utility>

namespace cremone::contract {

namespace {

class Examination : public client_test {
 protected:
  /// Nothing where the store has nothing to examine.
  [[nodiscard]] std::vector<finding> examine() const {
    auto found = ann_.examine();
    if (!found) {
      EXPECT_EQ(found.error().code(), errc::unsupported) << found.error();
      return {};
    }
    EXPECT_FALSE(found->empty());
    return std::move(*found);
  }
};

INSTANTIATE_TEST_SUITE_P(Contract, Examination, ::testing::ValuesIn(tested_stores()), store_name);

TEST_P(Examination, FindsNothingBadWhereTestsKeepTheirLocks) {
  std::set<std::pair<std::string, std::string>> subjects;
  for (const finding& f : examine()) {
    EXPECT_NE(f.verdict, verdict::bad) << f.subject << ": " << f.value << ": " << f.reason;
    EXPECT_FALSE(f.node.empty());
    EXPECT_FALSE(f.subject.empty());
    EXPECT_FALSE(f.reason.empty()) << f.subject;
    EXPECT_TRUE(f.verdict == verdict::untold || !f.value.empty()) << f.subject;
    EXPECT_TRUE(subjects.insert({f.node, f.subject}).second) << f.subject << " twice";
  }
}

TEST_P(Examination, LeavesTheLocksAlone) {
  lease held = take(bob_, lock_);
  (void)examine();
  EXPECT_TRUE(held.held());
  EXPECT_EQ(inspect(lock_).holders.size(), 1U);
  EXPECT_TRUE(held.release());
  expect_free(lock_);
}

TEST_P(Examination, OfAClosedClientIsCancelled) {
  ann_.close();
  const auto no = ann_.examine();
  ASSERT_FALSE(no);
  EXPECT_EQ(no.error().code(), errc::cancelled);
}

}  // namespace

}  // namespace cremone::contract
