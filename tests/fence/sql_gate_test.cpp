// SPDX-License-Identifier: Apache-2.0
//
// What the gate and the row forms make of a database's answers, those above all that a real one gives too seldom: lost connections, counts of MariaDB,
// another who comes between two statements.
#include "fence/scripted_sql.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <stdexcept>

namespace cremone::fence {

namespace {

using test::sql_script;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

class FenceSqlGate : public ::testing::Test {
 protected:
  [[nodiscard]] sql_gate gate(sql_dialect dialect) {
    return sql_gate(std::make_unique<test::scripted_sql>(dialect, script_));
  }
  [[nodiscard]] static result<void> nothing() { return {}; }

  sql_script script_;
};

TEST_F(FenceSqlGate, LetsPassWhatTheDatabaseGivesBack) {
  auto g = gate(sql_dialect::postgres);
  script_.open = true;
  script_.give({std::int64_t{41}});
  EXPECT_TRUE(g.check("ledger", fence_token(41)));
  script_.give({"41"});  // a driver that gives numbers as text
  EXPECT_TRUE(g.check("ledger", fence_token(41)));
  EXPECT_EQ(script_.examined, 1) << "the table's shape is looked at once";
}

TEST_F(FenceSqlGate, AsksForTheNumberWhereTheStatementGivesNone) {
  auto g = gate(sql_dialect::postgres);
  script_.open = true;
  script_.say(0);
  script_.give({std::int64_t{57}});
  const auto refused = g.check("ledger", fence_token(41));
  EXPECT_EQ(refused.error().code(), errc::stale_token);
  EXPECT_THAT(refused.error().message(),
              AllOf(HasSubstr("'ledger'"), HasSubstr("41"), HasSubstr("57"), HasSubstr("scripted database")));
}

TEST_F(FenceSqlGate, TakesAGreaterNumberForARefusalWithoutASecondQuestion) {
  auto g = gate(sql_dialect::mariadb);
  script_.open = true;
  script_.give({std::int64_t{57}});
  EXPECT_EQ(g.check("ledger", fence_token(41)).error().code(), errc::stale_token);
}

TEST_F(FenceSqlGate, DoesNotLetPassBecauseTheSecondQuestionFindsNoneInTheWay) {
  auto g = gate(sql_dialect::postgres);
  script_.open = true;
  script_.say(0);
  script_.give({std::int64_t{41}});
  EXPECT_EQ(g.check("ledger", fence_token(41)).error().code(), errc::misconfigured);
}

TEST_F(FenceSqlGate, RefusesBadInputBeforeItAsksAnybody) {
  auto g = gate(sql_dialect::postgres);
  script_.open = true;
  EXPECT_EQ(g.check("ledger", fence_token(0)).error().code(), errc::invalid_argument);
  EXPECT_EQ(g.check("ledger", fence_token(token_limit)).error().code(), errc::invalid_argument);
  EXPECT_EQ(g.check("", fence_token(1)).error().code(), errc::invalid_argument);
  EXPECT_EQ(g.highest("a\nb").error().code(), errc::invalid_argument);
  script_.open = false;
  EXPECT_THAT(g.check("ledger", fence_token(1)).error().message(), HasSubstr("no transaction"));
  EXPECT_THAT(script_.asked, IsEmpty());
  EXPECT_EQ(script_.examined, 0);
}

TEST_F(FenceSqlGate, WithoutAConnectionOrATableSaysSo) {
  sql_gate none(nullptr);
  EXPECT_EQ(none.check("ledger", fence_token(1)).error().code(), errc::invalid_argument);
  EXPECT_EQ(none.transact("ledger", fence_token(1), nothing).error().code(), errc::invalid_argument);
  EXPECT_EQ(none.highest("ledger").error().code(), errc::invalid_argument);
  EXPECT_EQ(none.create().error().code(), errc::invalid_argument);
  EXPECT_EQ(none.mark({"stock", "id", std::int64_t{7}}, "owner", owner_id()).error().code(),
            errc::invalid_argument);
  sql_gate unnamed(std::make_unique<test::scripted_sql>(sql_dialect::postgres, script_), "");
  EXPECT_EQ(unnamed.create().error().code(), errc::invalid_argument);
}

TEST_F(FenceSqlGate, SaysHowTheTableShouldBeOnOneLine) {
  auto g = gate(sql_dialect::postgres);
  script_.open = true;
  script_.fail(errc::misconfigured);
  EXPECT_THAT(
      g.check("ledger", fence_token(1)).error().message(),
      AllOf(HasSubstr("scripted failure"), HasSubstr("cremone fence init"),
            HasSubstr("CREATE TABLE IF NOT EXISTS \"cremone_fence\" ( resource text"), Not(HasSubstr("\n"))));
  script_.shape = error(errc::misconfigured, "it is of clay");
  auto other = gate(sql_dialect::postgres);
  for (int i = 0; i < 2; ++i) {
    EXPECT_THAT(other.check("ledger", fence_token(1)).error().message(),
                AllOf(HasSubstr("of clay"), HasSubstr("CREATE TABLE")))
        << "each time, and not only the first";
  }
  script_.fail(errc::busy);
  script_.shape = {};
  EXPECT_THAT(other.check("ledger", fence_token(1)).error().message(), Not(HasSubstr("CREATE TABLE")));
}

TEST_F(FenceSqlGate, MakesNoTableInATransaction) {
  auto g = gate(sql_dialect::mariadb);
  script_.open = true;
  EXPECT_EQ(g.create().error().code(), errc::misconfigured);
  EXPECT_THAT(script_.asked, IsEmpty());
}

TEST_F(FenceSqlGate, TransactsInThisOrder) {
  auto g = gate(sql_dialect::mariadb);
  script_.say(0);
  script_.give({std::int64_t{41}});
  script_.give({std::int64_t{41}});
  script_.say(0);
  EXPECT_TRUE(g.transact("ledger", fence_token(41), [&]() -> result<void> {
    script_.asked.emplace_back("what the user does");
    return {};
  }));
  EXPECT_THAT(script_.asked, ElementsAre("START TRANSACTION", StartsWith("INSERT"), "what the user does",
                                         StartsWith("SELECT token"), "COMMIT"));
}

TEST_F(FenceSqlGate, KnowsItsTransactionByASavepointWhereThatCostsNothing) {
  auto g = gate(sql_dialect::postgres);
  script_.say(0);
  script_.give({std::int64_t{41}});
  script_.say(0);
  script_.say(0);
  script_.say(0);
  EXPECT_TRUE(g.transact("ledger", fence_token(41), nothing));
  EXPECT_THAT(script_.asked, ElementsAre("BEGIN", StartsWith("INSERT"), "SAVEPOINT cremone_fence",
                                         "RELEASE SAVEPOINT cremone_fence", "COMMIT"));
}

TEST_F(FenceSqlGate, RollsBackWhatIsRefusedOrFails) {
  auto g = gate(sql_dialect::mariadb);
  script_.say(0);
  script_.give({std::int64_t{57}});
  script_.say(0);
  EXPECT_EQ(g.transact("ledger", fence_token(41), nothing).error().code(), errc::stale_token);
  EXPECT_EQ(script_.asked.back(), "ROLLBACK");
  script_.say(0);
  script_.give({std::int64_t{57}});
  script_.say(0);
  EXPECT_EQ(g.transact("ledger", fence_token(57), [] { return result<void>(error(errc::lost, "no")); })
                .error()
                .code(),
            errc::lost);
  EXPECT_EQ(script_.asked.back(), "ROLLBACK");
  script_.say(0);
  script_.give({std::int64_t{57}});
  script_.give({std::int64_t{57}});
  script_.fail(errc::busy);
  script_.say(0);
  EXPECT_EQ(g.transact("ledger", fence_token(57), nothing).error().code(), errc::busy) << "of the COMMIT";
  EXPECT_EQ(script_.asked.back(), "ROLLBACK");
}

TEST_F(FenceSqlGate, PassesOnWhatIsThrownAfterTheRollback) {
  auto g = gate(sql_dialect::mariadb);
  script_.say(0);
  script_.give({std::int64_t{57}});
  script_.say(0);
  EXPECT_THROW(
      (void)g.transact("ledger", fence_token(57), []() -> result<void> { throw std::runtime_error("x"); }),
      std::runtime_error);
  EXPECT_EQ(script_.asked.back(), "ROLLBACK");
}

TEST_F(FenceSqlGate, DoesNotKnowWhatBecameOfACommitThatWasNotAnswered) {
  auto g = gate(sql_dialect::postgres);
  script_.say(0);
  script_.give({std::int64_t{41}});
  script_.say(0);
  script_.fail(errc::unreachable);
  EXPECT_EQ(g.transact("ledger", fence_token(41), nothing).error().code(), errc::outcome_unknown);
  script_.open = false;  // another connection, so to speak
  script_.fail(errc::unreachable);
  EXPECT_EQ(g.transact("ledger", fence_token(41), nothing).error().code(), errc::unreachable)
      << "of the BEGIN";
}

TEST_F(FenceSqlGate, CommitsNothingThatTheUserHasEnded) {
  auto g = gate(sql_dialect::postgres);
  script_.say(0);
  script_.give({std::int64_t{41}});
  script_.say(0);
  script_.say(0);
  EXPECT_EQ(g.transact("ledger", fence_token(41),
                       [&]() -> result<void> {
                         script_.open = false;
                         return {};
                       })
                .error()
                .code(),
            errc::misconfigured);
  EXPECT_EQ(script_.asked.back(), "ROLLBACK");
}

TEST_F(FenceSqlGate, TransactsNothingWithinATransactionOrWithoutAWrite) {
  auto g = gate(sql_dialect::mariadb);
  EXPECT_EQ(g.transact("ledger", fence_token(41), nullptr).error().code(), errc::invalid_argument);
  script_.open = true;
  EXPECT_THAT(g.transact("ledger", fence_token(41), nothing).error().message(), HasSubstr("check()"));
  EXPECT_THAT(script_.asked, IsEmpty()) << "MariaDB would commit what is open";
}

// ---- one row ----------------------------------------------------------------------------------------------

class FenceSqlRow : public FenceSqlGate {
 protected:
  const sql_row row_{.table = "stock", .key_column = "id", .key = std::int64_t{7}};
  const std::array<sql_column, 1> set_ = {sql_column{"n", std::int64_t{5}}};
  const owner_id ann_{owner_id::bytes{1, 2, 3}};
};

TEST_F(FenceSqlRow, ThatWasAsItShouldBeIsNoRefusalInMariaDb) {
  auto g = gate(sql_dialect::mariadb);
  script_.say(0);
  script_.give({std::int64_t{41}});
  script_.say(0);
  EXPECT_TRUE(g.update(row_, "token", fence_token(41), set_));
  EXPECT_EQ(script_.asked.front(), script_.asked.back()) << "once more, now that the row is locked";
  script_.say(0);
  script_.give({std::int64_t{1}});
  script_.say(0);
  EXPECT_TRUE(g.update_unchanged(row_, set_, set_));
  script_.say(0);
  script_.give({std::int64_t{1}});
  script_.say(1);
  EXPECT_TRUE(g.update_marked(row_, "owner", ann_, set_));
  script_.say(0);
  script_.give({std::int64_t{1}});
  script_.say(0);
  EXPECT_TRUE(g.mark(row_, "owner", ann_));
}

TEST_F(FenceSqlRow, ThatWasAsItShouldBeIsARefusalOfATokenThatMayWriteOnce) {
  auto g = gate(sql_dialect::mariadb);
  script_.say(0);
  script_.give({std::int64_t{41}});
  EXPECT_EQ(g.update(row_, "token", fence_token(41), set_, writes::once).error().code(), errc::stale_token);
}

TEST_F(FenceSqlRow, ThatChangesBetweenTwoStatementsIsBusyElsewhere) {
  auto g = gate(sql_dialect::postgres);
  script_.say(0);
  script_.give({std::int64_t{41}});
  EXPECT_EQ(g.update(row_, "token", fence_token(41), set_).error().code(), errc::busy);
  script_.say(0);
  script_.give({std::int64_t{3}});
  EXPECT_EQ(g.update_version(row_, "version", 3, set_).error().code(), errc::busy);
  script_.say(0);
  script_.give({std::int64_t{1}});
  EXPECT_EQ(g.update_unchanged(row_, set_, set_).error().code(), errc::busy);
  script_.say(0);
  script_.give({std::int64_t{1}});
  EXPECT_EQ(g.update_marked(row_, "owner", ann_, set_).error().code(), errc::busy);
}

TEST_F(FenceSqlRow, WithNoTokenOrVersionInItIsMisconfigured) {
  auto g = gate(sql_dialect::postgres);
  for (const sql_value& wrong : {sql_value(nullptr), sql_value("x"), sql_value(1.5)}) {
    script_.say(0);
    script_.give({wrong});
    EXPECT_EQ(g.update(row_, "token", fence_token(41), set_).error().code(), errc::misconfigured);
  }
  script_.say(0);
  script_.give({nullptr});
  EXPECT_THAT(g.update_version(row_, "version", 3, set_).error().message(),
              AllOf(HasSubstr("null"), HasSubstr("'version'"), HasSubstr("'stock'")));
}

TEST_F(FenceSqlRow, ThatIsSeveralIsSaidToBe) {
  auto g = gate(sql_dialect::postgres);
  script_.say(3);
  const auto done = g.update(row_, "token", fence_token(41), set_);
  EXPECT_EQ(done.error().code(), errc::misconfigured);
  EXPECT_THAT(done.error().message(), AllOf(HasSubstr("3 rows"), HasSubstr("no key")));
}

TEST_F(FenceSqlRow, PassesFailuresOfEitherStatementOn) {
  auto g = gate(sql_dialect::mariadb);
  script_.fail(errc::busy);
  EXPECT_EQ(g.update(row_, "token", fence_token(41), set_).error().code(), errc::busy);
  script_.say(0);
  script_.fail(errc::unreachable);
  EXPECT_EQ(g.update(row_, "token", fence_token(41), set_).error().code(), errc::unreachable);
  script_.say(0);
  script_.give({std::int64_t{41}});
  script_.fail(errc::busy);
  EXPECT_EQ(g.update(row_, "token", fence_token(41), set_).error().code(), errc::busy) << "of the repetition";
}

TEST_F(FenceSqlRow, RefusesWhatWouldCheckNothingBeforeItAsksAnybody) {
  auto g = gate(sql_dialect::postgres);
  const auto code = [](const result<void>& r) { return r.error().code(); };
  const sql_column token{"token", std::int64_t{1}};
  EXPECT_EQ(code(g.update(row_, "token", fence_token(0), set_)), errc::invalid_argument);
  EXPECT_EQ(code(g.update(row_, "", fence_token(1), set_)), errc::invalid_argument);
  EXPECT_EQ(code(g.update(row_, "token", fence_token(1), {&token, 1})), errc::invalid_argument);
  EXPECT_EQ(code(g.update_version(row_, "token", 1, {&token, 1})), errc::invalid_argument);
  EXPECT_EQ(code(g.update({"", "id", std::int64_t{7}}, "token", fence_token(1), set_)),
            errc::invalid_argument);
  EXPECT_EQ(code(g.update({"stock", std::string("i\0d", 3), std::int64_t{7}}, "token", fence_token(1), set_)),
            errc::invalid_argument);
  EXPECT_EQ(code(g.update({"stock", "id", nullptr}, "token", fence_token(1), set_)), errc::invalid_argument);
  EXPECT_EQ(code(g.update_unchanged(row_, {}, set_)), errc::invalid_argument);
  EXPECT_EQ(code(g.update_unchanged(row_, set_, {})), errc::invalid_argument);
  EXPECT_EQ(code(g.update_marked(row_, "owner", ann_, {})), errc::invalid_argument);
  EXPECT_THAT(script_.asked, IsEmpty());
}

}  // namespace

}  // namespace cremone::fence
