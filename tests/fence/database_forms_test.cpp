// SPDX-License-Identifier: Apache-2.0
//
// The forms that write one row, on a real server of each kind: that the statements are good SQL there, and that the answers are read
// rightly. What each form promises is tested without a server too.
#include "fence/databases.hpp"

#include <gmock/gmock.h>

namespace cremone::test {

namespace {

using fence::sql_column;
using fence::sql_row;
using fence::sql_value;
using ::testing::AllOf;
using ::testing::HasSubstr;

class DatabaseRow : public OnADatabase {
 protected:
  [[nodiscard]] errc code_of(const result<void>& done) { return done ? errc{} : done.error().code(); }

  const sql_row account{"ledger", "id", std::int64_t{1}};
  const sql_row nobody{"ledger", "id", std::int64_t{2}};
  const std::vector<sql_column> five{{"balance", std::int64_t{5}}};
};

constexpr errc fine{};

INSTANTIATE_TEST_SUITE_P(On, DatabaseRow, ::testing::ValuesIn(tested_databases()),
                         [](const auto& tested) { return tested.param.name; });

TEST_P(DatabaseRow, WithATokenIsWrittenInOrderAsOftenAsOneLikes) {
  auto gate = first->gate();
  EXPECT_EQ(code_of(gate.update(account, "token", fence_token(41), five)), fine);
  EXPECT_EQ(code_of(gate.update(account, "token", fence_token(41), five)), fine)
      << "what already is as it should be is written too";
  const auto late = gate.update(account, "token", fence_token(40), five);
  EXPECT_EQ(late.error().code(), errc::stale_token);
  EXPECT_THAT(late.error().message(), AllOf(HasSubstr("41"), HasSubstr("40")));
  EXPECT_EQ(code_of(gate.update(nobody, "token", fence_token(41), five)), errc::not_held);
  EXPECT_EQ(balance(), "5");
}

TEST_P(DatabaseRow, WithATokenMayBeWrittenOnce) {
  auto gate = first->gate();
  constexpr auto once = fence::writes::once;
  EXPECT_EQ(code_of(gate.update(account, "token", fence_token(41), five, once)), fine);
  EXPECT_EQ(code_of(gate.update(account, "token", fence_token(41), five, once)), errc::stale_token);
  EXPECT_EQ(code_of(gate.update(account, "token", fence_token(42), five, once)), fine);
}

TEST_P(DatabaseRow, WithAMarkIsWrittenByWhoeverMarkedItLast) {
  auto gate = first->gate();
  const owner_id ann({1});
  const owner_id ben({2});
  EXPECT_EQ(code_of(gate.mark(account, "owner", ann)), fine);
  EXPECT_EQ(code_of(gate.mark(account, "owner", ann)), fine);
  EXPECT_EQ(code_of(gate.update_marked(account, "owner", ann, five)), fine);
  EXPECT_EQ(code_of(gate.update_marked(account, "owner", ann, five)), fine);
  EXPECT_EQ(code_of(gate.mark(account, "owner", ben)), fine);
  EXPECT_EQ(code_of(gate.update_marked(account, "owner", ann, five)), errc::stale_token);
  EXPECT_EQ(code_of(gate.mark(nobody, "owner", ann)), errc::not_held);
}

TEST_P(DatabaseRow, WithAVersionIsWrittenOncePerVersion) {
  auto gate = first->gate();
  EXPECT_EQ(code_of(gate.update_version(account, "version", 1, five)), fine);
  EXPECT_EQ(code_of(gate.update_version(account, "version", 1, five)), errc::stale_token);
  EXPECT_EQ(code_of(gate.update_version(account, "version", 2, five)), fine);
  EXPECT_EQ(first->value("SELECT version FROM ledger"), "3");
}

TEST_P(DatabaseRow, IsWrittenWhereItIsAsItWas) {
  auto gate = first->gate();
  const std::vector<sql_column> old{{"balance", std::int64_t{0}}, {"note", nullptr}};
  const std::vector<sql_column> fresh{{"balance", std::int64_t{5}}, {"note", "paid"}};
  EXPECT_EQ(code_of(gate.update_unchanged(account, old, fresh)), fine);
  EXPECT_EQ(code_of(gate.update_unchanged(account, old, fresh)), errc::stale_token);
  EXPECT_EQ(code_of(gate.update_unchanged(account, fresh, fresh)), fine);
  EXPECT_EQ(code_of(gate.update_unchanged(account, fresh, old)), fine);
  EXPECT_EQ(first->value("SELECT COUNT(*) FROM ledger WHERE note IS NULL"), "1");
}

TEST_P(DatabaseRow, TakesAndGivesBackValuesAsTheyAre) {
  first->run("CREATE TABLE kept (id INT PRIMARY KEY, n BIGINT, x DOUBLE PRECISION, t VARCHAR(200))");
  first->run("INSERT INTO kept VALUES (1, NULL, NULL, NULL)");
  auto gate = first->gate();
  const std::string text = "o'b \"q\" `t` \\ \\' ? $1 % _ \u00e9";
  const std::vector<sql_column> set{
      {"n", std::int64_t{-9223372036854775807 - 1}}, {"x", 0.1 + 0.2}, {"t", text}};
  const sql_row row{"kept", "id", std::int64_t{1}};
  const std::vector<sql_column> empty{{"n", nullptr}, {"x", nullptr}, {"t", nullptr}};
  const auto done = gate.update_unchanged(row, empty, set);
  ASSERT_TRUE(done) << done.error();
  const auto over = first->connection();
  const auto back = over->execute({"SELECT n, x, t, NULL FROM kept", {}});
  ASSERT_TRUE(back) << back.error();
  EXPECT_EQ(back->first.value(), (std::vector<sql_value>{set[0].value, set[1].value, set[2].value, nullptr}));
  const auto same = gate.update_unchanged(row, set, empty);
  EXPECT_TRUE(same) << same.error();
}

TEST_P(DatabaseRow, IsCountedAlsoWhereItAlreadyIsAsItShouldBe) {
  const auto over = first->connection();
  for (const char* const what :
       {"UPDATE ledger SET balance = 5 WHERE id = 1", "UPDATE ledger SET balance = 5"}) {
    const auto written = over->execute({what, {}});
    ASSERT_TRUE(written) << written.error();
    EXPECT_EQ(written->changed, 1);
  }
  EXPECT_EQ(over->execute({"UPDATE ledger SET balance = 5 WHERE id = 2", {}})->changed, 0);
}

TEST_P(DatabaseRow, ThatReadsOldInATransactionIsNotWritten) {
  const auto slow = server->connect();
  auto gate = slow->gate();
  slow->begin("REPEATABLE READ");
  (void)slow->value("SELECT balance FROM ledger");
  ASSERT_TRUE(first->gate().update(account, "token", fence_token(57), five));
  EXPECT_EQ(code_of(gate.update(account, "token", fence_token(58), five)), errc::busy);
  slow->run("ROLLBACK");
}

TEST_P(DatabaseRow, OfAMissingTableOrColumnIsMisconfigured) {
  auto gate = first->gate();
  EXPECT_EQ(code_of(gate.update({"nowhere", "id", std::int64_t{1}}, "token", fence_token(1), five)),
            errc::misconfigured);
  EXPECT_EQ(code_of(gate.update(account, "tokem", fence_token(1), five)), errc::misconfigured);
  const std::vector<sql_column> word{{"balance", "much"}};
  EXPECT_EQ(code_of(gate.update(account, "token", fence_token(1), word)), errc::invalid_argument);
  const std::vector<sql_column> long_note{{"note", std::string(201, 'x')}};
  EXPECT_EQ(code_of(gate.update(account, "token", fence_token(1), long_note)), errc::invalid_argument);
}

}  // namespace

}  // namespace cremone::test
