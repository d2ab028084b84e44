// SPDX-License-Identifier: Apache-2.0
//
// The statements of fenced writes as text, for each database; and that the page which shows them to users of other languages shows these. No database
// takes part.
#include "fence/sql.hpp"

#include <cremone/fence_sql.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <fstream>
#include <functional>
#include <sstream>

namespace cremone::fence {

namespace {

using sql::condition;
using sql::relation;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::array dialects = {sql_dialect::sqlite, sql_dialect::postgres, sql_dialect::mariadb};

const sql_row stock{.table = "stock", .key_column = "id", .key = std::int64_t{7}};

std::vector<std::string> in_each_dialect(const std::function<sql_statement(sql_dialect)>& made) {
  std::vector<std::string> texts;
  for (const sql_dialect d : dialects) {
    texts.push_back(made(d).text);
  }
  return texts;
}

TEST(FenceSqlName, IsQuotedWithWhatItIsMadeOfDoubled) {
  EXPECT_EQ(sql::quoted(sql_dialect::postgres, R"(a"b`c)"), R"("a""b`c")");
  EXPECT_EQ(sql::quoted(sql_dialect::mariadb, R"(a"b`c)"), R"(`a"b``c`)");
  EXPECT_EQ(sql::quoted(sql_dialect::sqlite, R"(a"b`c)"), R"(`a"b``c`)")
      << "what stands in double quotes and is no column is a text to SQLite";
  EXPECT_EQ(sql::quoted(sql_dialect::postgres, "x\"; DROP TABLE y; --"), "\"x\"\"; DROP TABLE y; --\"");
}

TEST(FenceSqlTable, IsMadeUnderTheNameThatIsGiven) {
  EXPECT_EQ(sql_gate::ddl(sql_dialect::postgres, "my \"marks\""),
            "CREATE TABLE IF NOT EXISTS \"my \"\"marks\"\"\" (\n"
            "  resource text COLLATE \"C\" PRIMARY KEY,\n"
            "  token bigint NOT NULL CHECK (token > 0),\n"
            "  writes bigint NOT NULL\n"
            ")");
  EXPECT_THAT(sql_gate::ddl(sql_dialect::mariadb), HasSubstr("`cremone_fence`"));
  EXPECT_THAT(sql_gate::ddl(sql_dialect::mariadb), HasSubstr("ENGINE=InnoDB"));
  EXPECT_THAT(sql_gate::ddl(sql_dialect::sqlite), HasSubstr("STRICT, WITHOUT ROWID"));
}

TEST(FenceSqlGateText, IsOneStatementThatBeginsWithInsertAndGivesAToken) {
  for (const sql_dialect d : dialects) {
    const sql_statement made = sql::gate(d, "marks", "ledger", fence_token(41));
    EXPECT_TRUE(made.text.starts_with("INSERT INTO " + sql::quoted(d, "marks") + " ")) << made.text;
    EXPECT_TRUE(made.text.ends_with("RETURNING token")) << made.text;
    EXPECT_EQ(made.text.find(';'), std::string::npos) << made.text;
    EXPECT_EQ(made.text.find("--"), std::string::npos) << made.text;
    EXPECT_THAT(made.values, ElementsAre(sql_value("ledger"), sql_value(std::int64_t{41})));
  }
}

TEST(FenceSqlGateText, OfMariaDbCountsTheWriteBeforeItRaisesTheToken) {
  const std::string text = sql::gate(sql_dialect::mariadb, "marks", "ledger", fence_token(41)).text;
  EXPECT_LT(text.find("writes = writes +"), text.find("token = GREATEST"));
}

TEST(FenceSqlGateText, IsAskedForItsHighestTokenByName) {
  EXPECT_THAT(in_each_dialect([](sql_dialect d) { return sql::highest(d, "marks", "ledger"); }),
              ElementsAre("SELECT token FROM `marks` WHERE resource = ?1",
                          "SELECT token FROM \"marks\" WHERE resource = $1",
                          "SELECT token FROM `marks` WHERE resource = ?"));
}

TEST(FenceSqlTransaction, BeginsWithTheTurnToWriteWhereThereIsOne) {
  EXPECT_THAT(in_each_dialect(
                  [](sql_dialect d) { return sql::enter(d, "marks", "ledger", fence_token(41)).front(); }),
              ElementsAre("BEGIN IMMEDIATE", "BEGIN", "START TRANSACTION"));
}

TEST(FenceSqlUpdate, ComparesTokensAsNumbersWhateverTheColumn) {
  const std::array set = {sql_column{"n", std::int64_t{5}}, sql_column{"token", std::int64_t{41}}};
  for (const auto& [how, sign] : {std::pair{relation::below, "<"}, {relation::at_most, "<="}}) {
    const std::array where = {condition{"token", how, std::int64_t{41}}};
    const std::string s(sign);
    EXPECT_THAT(
        in_each_dialect([&](sql_dialect d) { return sql::update(d, stock, set, where); }),
        ElementsAre("UPDATE `stock` SET `n` = ?1, `token` = ?2 WHERE `id` = ?3 AND +`token` " + s + " ?4",
                    R"(UPDATE "stock" SET "n" = $1, "token" = $2 WHERE "id" = $3 AND "token" )" + s +
                        " CAST($4 AS bigint)",
                    "UPDATE `stock` SET `n` = ?, `token` = ? WHERE `id` = ? AND `token` " + s + " ?"));
  }
}

TEST(FenceSqlUpdate, PutsItsValuesInTheOrderOfTheirPlaces) {
  const std::array set = {sql_column{"n", std::int64_t{5}}, sql_column{"note", "five"}};
  const std::array where = {condition{"owner", relation::equal, "ann"}};
  EXPECT_THAT(sql::update(sql_dialect::mariadb, stock, set, where).values,
              ElementsAre(sql_value(std::int64_t{5}), sql_value("five"), sql_value(std::int64_t{7}),
                          sql_value("ann")));
}

TEST(FenceSqlUpdate, CountsAVersion) {
  const std::array set = {sql_column{"n", std::int64_t{5}}};
  const std::array where = {condition{"version", relation::equal, std::int64_t{3}}};
  EXPECT_THAT(
      in_each_dialect([&](sql_dialect d) { return sql::update(d, stock, set, where, "version"); }),
      ElementsAre(
          "UPDATE `stock` SET `n` = ?1, `version` = `version` + 1 WHERE `id` = ?2 AND `version` = ?3",
          R"(UPDATE "stock" SET "n" = $1, "version" = "version" + 1 WHERE "id" = $2 AND "version" = $3)",
          "UPDATE `stock` SET `n` = ?, `version` = `version` + 1 WHERE `id` = ? AND `version` = ?"));
  EXPECT_EQ(sql::update(sql_dialect::mariadb, stock, {}, where, "version").text,
            "UPDATE `stock` SET `version` = `version` + 1 WHERE `id` = ? AND `version` = ?");
}

TEST(FenceSqlUpdate, TakesNullForEqualToNullWhereOldValuesAreCompared) {
  const std::array set = {sql_column{"n", std::int64_t{5}}};
  const std::array where = {condition{"n", relation::same, nullptr}, condition{"note", relation::same, "x"}};
  EXPECT_THAT(in_each_dialect([&](sql_dialect d) { return sql::update(d, stock, set, where); }),
              ElementsAre("UPDATE `stock` SET `n` = ?1 WHERE `id` = ?2 AND `n` IS ?3 AND `note` IS ?4",
                          R"(UPDATE "stock" SET "n" = $1 WHERE "id" = $2 AND "n" IS NOT DISTINCT FROM $3)"
                          R"( AND "note" IS NOT DISTINCT FROM $4)",
                          "UPDATE `stock` SET `n` = ? WHERE `id` = ? AND `n` <=> ? AND `note` <=> ?"));
}

TEST(FenceSqlQuestion, SeesThePresentStateInMariaDbToo) {
  EXPECT_THAT(in_each_dialect([](sql_dialect d) { return sql::look(d, stock, "token"); }),
              ElementsAre("SELECT `token` FROM `stock` WHERE `id` = ?1",
                          R"(SELECT "token" FROM "stock" WHERE "id" = $1)",
                          "SELECT `token` FROM `stock` WHERE `id` = ? FOR UPDATE"));
  const std::array both = {condition{"a", relation::same, nullptr}, condition{"b", relation::equal, "x"}};
  EXPECT_THAT(in_each_dialect([&](sql_dialect d) { return sql::compare(d, stock, both); }),
              ElementsAre("SELECT CASE WHEN `a` IS ?1 THEN 1 ELSE 0 END, CASE WHEN `b` = ?2 THEN 1 ELSE 0 END"
                          " FROM `stock` WHERE `id` = ?3",
                          R"(SELECT CASE WHEN "a" IS NOT DISTINCT FROM $1 THEN 1 ELSE 0 END,)"
                          R"( CASE WHEN "b" = $2 THEN 1 ELSE 0 END FROM "stock" WHERE "id" = $3)",
                          "SELECT CASE WHEN `a` <=> ? THEN 1 ELSE 0 END, CASE WHEN `b` = ? THEN 1 ELSE 0 END"
                          " FROM `stock` WHERE `id` = ? FOR UPDATE"));
}

TEST(FenceSqlPage, ShowsTheTableAndTheGateAsTheLibraryMakesThem) {
  std::ostringstream page;
  page << std::ifstream(CREMONE_TEST_SQL_PAGE).rdbuf();
  for (const sql_dialect d : dialects) {
    EXPECT_THAT(page.str(), HasSubstr("\n" + sql_gate::ddl(d) + ";\n"));
    EXPECT_THAT(page.str(), HasSubstr("\n" + sql::gate(d, default_table, "x", fence_token(1)).text + ";\n"));
  }
}

}  // namespace

}  // namespace cremone::fence
