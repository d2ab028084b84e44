// SPDX-License-Identifier: Apache-2.0
//
// Names: any 1 to 512 bytes without control characters are a name, and two names that differ in one byte are two
// locks, whatever a store's patterns, paths, collations and hash tags make of them.
#include "contract/suite.hpp"

#include <algorithm>
#include <string>
#include <vector>

namespace cremone::contract {

namespace {

using test::fresh_owner;
using test::shown;
using test::wanting;

class Names : public seam_test {
 protected:
  /// Holds all of these at once, each by an owner of its own, and finds each by its name.
  void expect_distinct(const std::vector<std::string>& names) {
    std::vector<owner_id> owners;
    for (const std::string& name : names) {
      owners.push_back(fresh_owner());
      SCOPED_TRACE("name: " + name);
      EXPECT_EQ(shown(here_.try_acquire(wanting(name, owners.back()))), "granted");
    }
    for (std::size_t i = 0; i < names.size(); ++i) {
      SCOPED_TRACE("name: " + names[i]);
      EXPECT_EQ(inspect(names[i]).name, lock_name(names[i]));
      EXPECT_EQ(holder_of(names[i]).version.owner, owners[i]);
      EXPECT_EQ(shown(there_.try_acquire(wanting(names[i], fresh_owner()))), "refused: busy");
    }
    expect_listed(names);
    for (std::size_t i = 0; i < names.size(); ++i) {
      EXPECT_EQ(shown(here_.release(names[i], owners[i])), "done") << names[i];
    }
    expect_nothing_left();
  }

  void expect_listed(std::vector<std::string> names) {
    std::sort(names.begin(), names.end());
    std::vector<std::string> listed;
    const auto all = here_.list();
    ASSERT_TRUE(all) << all.error().message();
    for (const lock_record& r : *all) {
      listed.push_back(r.name.str());
    }
    EXPECT_EQ(listed, names);
  }
};

INSTANTIATE_TEST_SUITE_P(Contract, Names, ::testing::ValuesIn(tested_stores()), store_name);

TEST_P(Names, MayHaveOneByteOr512) {
  std::string wide;
  while (wide.size() < lock_name::max_size) {
    wide += "é";
  }
  std::string other(lock_name::max_size, 'x');
  other.back() = 'y';
  expect_distinct({"a", "b", "0", "~", std::string(lock_name::max_size, 'x'), other,
                   std::string(lock_name::max_size - 1, 'x'), wide});
}

TEST_P(Names, MayContainWhatStoresUseForThemselves) {
  expect_distinct({" ",    "'",    "\"",
                   "`",    "\\",   "/",
                   "//",   "/a",   "a/",
                   "a/b",  ".",    "..",
                   "../a", "%",    "%%",
                   "%s",   "%2F",  "%61",
                   ":",    "a:b",  "::",
                   "{",    "}",    "{}",
                   "{a}",  "{a}b", "{b}a",
                   "*",    "?",    "[a]",
                   "_",    "#",    "a#1",
                   ";",    "--",   "$1",
                   "$(a)", "@",    "!",
                   "|",    "&",    "=",
                   "<a>",  "null", "NULL",
                   "0x00", "it's", "a b",
                   "\\0",  "\\n",  "'; DROP TABLE locks; --"});
}

TEST_P(Names, ThatAreTheStartOfOthersAreLocksOfTheirOwn) {
  expect_distinct(
      {"a", "a ", " a", "aa", "a/", "a/0", "a:", "a:0", "a-", "a-0000000001", "a.", "a%", "{a", "a}"});
}

TEST_P(Names, ThatSomeCollationTakesForEqualAreDifferent) {
  expect_distinct({"a", "A", "ä", "Ä", "a\u0308", "ss", "ß", "ẞ", "é", "e\u0301", "1", "01", "1.0", "a\u200b",
                   "\u0430" /* a Cyrillic a */, "日本", "🔒", "🔓"});
}

TEST_P(Names, NeedNotBeUtf8) {
  expect_distinct({"\x80", "\xff", "\xfe\xff", "a\xc3", "a\xc3\xa4", "\xc0\xaf"});
}

}  // namespace

}  // namespace cremone::contract
