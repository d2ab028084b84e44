// SPDX-License-Identifier: Apache-2.0
//
// `fence init`, `check` and `show` on a database, whichever this program is linked with.
#include "cli/fence_database.hpp"
#include "cli/fence_fixture.hpp"

#include <algorithm>

namespace cremone::test {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class FenceDatabase : public FenceTool {
 protected:
  [[nodiscard]] finished check(const std::string& resource, const std::string& token,
                               const std::vector<std::string>& more = {}) const {
    std::vector<std::string> words = {"check", "--url", base->url(), resource};
    words.insert(words.end(), more.begin(), more.end());
    return fence(words, {.token = token});
  }
  [[nodiscard]] finished show(const std::string& resource, const std::vector<std::string>& more = {}) const {
    std::vector<std::string> words = {"show", "--url", base->url(), resource};
    words.insert(words.end(), more.begin(), more.end());
    return fence(words);
  }

  std::unique_ptr<fence_database> base = make_fence_database();
};

bool is_one_line(const std::string& text) {
  return text.ends_with('\n') && std::count(text.begin(), text.end(), '\n') == 1;
}

TEST_F(FenceDatabase, KeepsTheHighestTokenOfEachResource) {
  const auto made = fence({"init", base->url()});
  EXPECT_EQ(made.code, 0) << made.err;
  EXPECT_THAT(made.out, AllOf(HasSubstr("'cremone_fence' is ready in "), HasSubstr(base->kind())));
  const auto again = fence({"init", "--json"}, {.variables = {"CREMONE_FENCE_URL=" + base->url()}});
  EXPECT_EQ(again.code, 0) << again.err;
  EXPECT_EQ(again.err, "") << "a table that is there is nothing to speak of";
  EXPECT_EQ(json::parse(again.out)["done"], true);
  EXPECT_EQ(json::parse(again.out)["table"], "cremone_fence");

  EXPECT_EQ(show("ledger").code, 1);
  EXPECT_EQ(show("ledger").out, "");
  const auto first = check("ledger", "41");
  EXPECT_EQ(first.code, 0) << first.err;
  EXPECT_EQ(first.out + first.err, "");
  EXPECT_EQ(check("ledger", "41").code, 0) << "one holder comes many times";
  EXPECT_EQ(check("ledger", "57").code, 0);
  const auto late = check("ledger", "56", {"--json"});
  EXPECT_EQ(late.code, 81);
  EXPECT_THAT(late.err, AllOf(StartsWith("cremone: stale_token: "), HasSubstr("'ledger'"), HasSubstr("56"),
                              HasSubstr("57"), HasSubstr(base->kind())));
  EXPECT_TRUE(is_one_line(late.err)) << late.err;
  const auto told = json::parse(late.out);
  EXPECT_EQ(told["passed"], false);
  EXPECT_EQ(told["token"], 56);
  EXPECT_EQ(told["highest"], 57);
  EXPECT_THAT(told["store"].get<std::string>(), HasSubstr(base->kind()));
  EXPECT_EQ(show("ledger").out, "57\n");
  EXPECT_EQ(show("ledger").code, 0);
  EXPECT_EQ(json::parse(show("ledger", {"--json"}).out)["highest"], 57);
  EXPECT_EQ(check("another", "1").code, 0) << "resources know nothing of each other";
  EXPECT_EQ(check("ledger", "9223372036854775807").code, 0);
  EXPECT_EQ(show("ledger").out, "9223372036854775807\n");
  EXPECT_EQ(fence({"show", "ledger"}, {.variables = {"CREMONE_FENCE_URL=" + base->url()}}).out,
            "9223372036854775807\n");
}

TEST_F(FenceDatabase, WhatPrintPrintsIsAllThatIsNeeded) {
  const auto printed = fence({"init", "--print", base->url(), "--table", "Select"});
  EXPECT_EQ(printed.code, 0) << printed.err;
  EXPECT_EQ(check("ledger", "41", {"--table", "Select"}).code, 78) << "it has done something";
  base->execute(printed.out);
  EXPECT_EQ(check("ledger", "41", {"--table", "Select"}).code, 0);
  EXPECT_EQ(show("ledger", {"--table", "Select"}).out, "41\n");
  const auto as_json = json::parse(fence({"init", "--print", "--json", base->url()}).out);
  EXPECT_EQ(as_json["done"], false);
  base->execute(as_json["statement"].get<std::string>());
  EXPECT_EQ(check("ledger", "7").code, 0);
  EXPECT_EQ(fence({"init", base->url()}).code, 0) << "and init agrees with it";
}

TEST_F(FenceDatabase, WithoutItsTableShowsHowToMakeIt) {
  base->execute("CREATE TABLE other (id INTEGER)");  // where that makes the database
  for (const auto& end : {check("ledger", "41"), show("ledger")}) {
    EXPECT_EQ(end.code, 78);
    EXPECT_THAT(end.err, AllOf(StartsWith("cremone: misconfigured: "), HasSubstr("cremone_fence"),
                               HasSubstr("CREATE TABLE"), HasSubstr("cremone fence init")));
    EXPECT_TRUE(is_one_line(end.err)) << end.err;
  }
}

TEST_F(FenceDatabase, ATableOfAnotherShapeIsLeftAloneAndComplainedAbout) {
  base->execute("CREATE TABLE cremone_fence (resource INTEGER, note INTEGER)");
  base->execute("INSERT INTO cremone_fence VALUES (1, 2)");
  for (const auto& end : {check("ledger", "41"), fence({"init", base->url()})}) {
    EXPECT_EQ(end.code, 78) << end.err;
    EXPECT_THAT(end.err, AllOf(HasSubstr("cremone_fence"), HasSubstr("CREATE TABLE")));
    EXPECT_TRUE(is_one_line(end.err)) << end.err;
  }
  base->execute("INSERT INTO cremone_fence (resource, note) VALUES (3, 4)");
}

TEST_F(FenceDatabase, ThatIsGoneIsSaidInOneLine) {
  EXPECT_EQ(fence({"init", base->url()}).code, 0);
  base->stop();
  for (const auto& end : {check("ledger", "41"), show("ledger")}) {
    EXPECT_EQ(end.code, base->code_when_gone()) << end.err;
    EXPECT_TRUE(is_one_line(end.err)) << end.err;
    EXPECT_THAT(end.err, HasSubstr(base->kind()));
  }
  const auto printed = fence({"init", "--print", base->url()});
  EXPECT_EQ(printed.code, 0) << "to print asks nobody";
  EXPECT_THAT(printed.out, HasSubstr("CREATE TABLE"));
}

TEST_F(FenceDatabase, BadTokensAndNamesAreRefusedBeforeAnybodyIsAsked) {
  base->stop();
  for (const std::string no :
       {"x", "0", "-1", "1.5", "9223372036854775808", "1000000000000000000000000000000"}) {
    EXPECT_EQ(check("ledger", no).code, 64) << no;
  }
  EXPECT_EQ(check("ledger", "").code, 80);
  EXPECT_EQ(check("", "41").code, 64);
  EXPECT_EQ(check(std::string(513, 'x'), "41").code, 64);
  EXPECT_EQ(check("a\nb", "41").code, 64);
  for (const std::string& table :
       {std::string(), std::string("a b"), std::string("1a"), std::string("a.b"), std::string("a\"b"),
        std::string("a;DROP TABLE x"), std::string("a\nb"), std::string(64, 'x')}) {
    for (const auto& end : {check("ledger", "41", {"--table", table}), show("ledger", {"--table", table}),
                            fence({"init", base->url(), "--table", table}),
                            fence({"init", "--print", base->url(), "--table", table})}) {
      EXPECT_EQ(end.code, 64) << table << ": " << end.err;
      EXPECT_THAT(end.err, HasSubstr("is no identifier"));
    }
  }
  EXPECT_EQ(check("ledger", "41", {"--file"}).code, 64);
}

}  // namespace
}  // namespace cremone::test
