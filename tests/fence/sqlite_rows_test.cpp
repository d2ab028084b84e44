// SPDX-License-Identifier: Apache-2.0
//
// The forms that write one row, on a real SQLite file.
#include "fence/sqlite_fixture.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

namespace cremone::fence {

namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class SqliteRow : public test::sqlite_fence_test {
 protected:
  SqliteRow() {
    ann_.must(
        "CREATE TABLE stock (id INTEGER PRIMARY KEY, n INTEGER, note TEXT, token INTEGER NOT NULL DEFAULT 0,"
        " owner TEXT, version INTEGER NOT NULL DEFAULT 1)");
    ann_.must("INSERT INTO stock (id, n) VALUES (7, 10), (8, 20)");
  }

  [[nodiscard]] std::string stock(const std::string& what = "n") {
    return ann_.text("SELECT " + what + " FROM stock WHERE id = 7");
  }
  static std::array<sql_column, 1> n(std::int64_t value) { return {sql_column{"n", value}}; }

  const sql_row row_{.table = "stock", .key_column = "id", .key = std::int64_t{7}};
  const sql_row none_{.table = "stock", .key_column = "id", .key = std::int64_t{9}};
  const owner_id ann_id_{owner_id::bytes{1}};
  const owner_id bob_id_{owner_id::bytes{2}};
};

TEST_F(SqliteRow, IsWrittenWithItsTokenManyTimesOrOnce) {
  EXPECT_TRUE(ann_gate_.update(row_, "token", fence_token(41), n(1)));
  EXPECT_TRUE(ann_gate_.update(row_, "token", fence_token(41), n(2)));
  EXPECT_EQ(stock("n || '/' || token"), "2/41");
  const auto again = ann_gate_.update(row_, "token", fence_token(41), n(3), writes::once);
  EXPECT_EQ(again.error().code(), errc::stale_token);
  EXPECT_THAT(again.error().message(), HasSubstr("once"));
  EXPECT_TRUE(bob_gate_.update(row_, "token", fence_token(57), n(4), writes::once));
  const auto late = ann_gate_.update(row_, "token", fence_token(41), n(5));
  EXPECT_EQ(late.error().code(), errc::stale_token);
  EXPECT_THAT(late.error().message(), AllOf(HasSubstr("41"), HasSubstr("57"), HasSubstr("id = 7"),
                                            HasSubstr("'stock'"), HasSubstr(path())));
  EXPECT_EQ(stock("n || '/' || token"), "4/57");
  EXPECT_EQ(ann_.text("SELECT n || '/' || token FROM stock WHERE id = 8"), "20/0");
}

TEST_F(SqliteRow, IsPartOfTheUsersTransaction) {
  ann_.must("BEGIN");
  EXPECT_TRUE(ann_gate_.update(row_, "token", fence_token(41), n(1)));
  ann_.must("ROLLBACK");
  EXPECT_EQ(stock("n || '/' || token"), "10/0");
}

TEST_F(SqliteRow, ThatIsNotThereIsSaidNotToBe) {
  for (const auto& no :
       {ann_gate_.update(none_, "token", fence_token(41), n(1)), ann_gate_.mark(none_, "owner", ann_id_),
        ann_gate_.update_marked(none_, "owner", ann_id_, n(1)),
        ann_gate_.update_version(none_, "version", 1, n(1)),
        ann_gate_.update_unchanged(none_, n(10), n(1))}) {
    EXPECT_EQ(no.error().code(), errc::not_held);
    EXPECT_THAT(no.error().message(), AllOf(HasSubstr("id = 9"), HasSubstr("'stock'")));
  }
}

TEST_F(SqliteRow, OfATableOrColumnThatIsNotThereIsMisconfigured) {
  const auto code = [](const result<void>& r) { return r.error().code(); };
  EXPECT_EQ(code(ann_gate_.update({"stocks", "id", std::int64_t{7}}, "token", fence_token(1), n(1))),
            errc::misconfigured);
  // SQLite would take these for texts if they stood in double quotes.
  EXPECT_EQ(code(ann_gate_.update({"stock", "key", "key"}, "token", fence_token(1), n(1))),
            errc::misconfigured);
  EXPECT_EQ(code(ann_gate_.update(row_, "tok", fence_token(1), n(1))), errc::misconfigured);
  const std::array typo = {sql_column{"nn", "nn"}};
  EXPECT_EQ(code(ann_gate_.update_unchanged(row_, typo, n(1))), errc::misconfigured);
  EXPECT_EQ(code(ann_gate_.update_marked(row_, ann_id_.hex(), ann_id_, n(1))), errc::misconfigured);
  EXPECT_EQ(ann_.text("SELECT sum(n) FROM stock"), "30");
}

TEST_F(SqliteRow, WithAKeyThatSeveralHaveIsMisconfigured) {
  ann_.must("UPDATE stock SET note = 'x'");
  ann_.must("BEGIN");
  EXPECT_EQ(ann_gate_.update({"stock", "note", "x"}, "token", fence_token(1), n(1)).error().code(),
            errc::misconfigured);
  ann_.must("ROLLBACK");
}

TEST_F(SqliteRow, WhoseTokenIsNullOrTextIsMisconfiguredAndNotWritten) {
  ann_.must("CREATE TABLE loose (id INTEGER PRIMARY KEY, n INTEGER, token INTEGER, word TEXT)");
  ann_.must("INSERT INTO loose VALUES (7, 10, NULL, '9')");
  const sql_row row{"loose", "id", std::int64_t{7}};
  const auto null = ann_gate_.update(row, "token", fence_token(41), n(1));
  EXPECT_EQ(null.error().code(), errc::misconfigured);
  EXPECT_THAT(null.error().message(), AllOf(HasSubstr("null"), HasSubstr("'token'")));
  const auto text = ann_gate_.update(row, "word", fence_token(10), n(1));
  EXPECT_EQ(text.error().code(), errc::misconfigured) << "as a text, 10 is below 9";
  EXPECT_THAT(text.error().message(), HasSubstr("'9'"));
  ann_.must("UPDATE loose SET word = '10'");
  EXPECT_FALSE(ann_gate_.update(row, "word", fence_token(9), n(1)))
      << "and here it would let a late one pass";
  EXPECT_EQ(ann_.text("SELECT n FROM loose"), "10");
}

TEST_F(SqliteRow, ThatATableForbidsIsTheCallersMistake) {
  ann_.must("CREATE TABLE strict (id INTEGER PRIMARY KEY, n INTEGER CHECK (n < 5), token INTEGER) STRICT");
  ann_.must("INSERT INTO strict VALUES (7, 1, 0)");
  EXPECT_EQ(ann_gate_.update({"strict", "id", std::int64_t{7}}, "token", fence_token(1), n(9)).error().code(),
            errc::invalid_argument);
}

TEST_F(SqliteRow, IsWrittenByWhoMarkedItLast) {
  EXPECT_EQ(ann_gate_.update_marked(row_, "owner", ann_id_, n(1)).error().code(), errc::stale_token)
      << "nobody has";
  EXPECT_TRUE(ann_gate_.mark(row_, "owner", ann_id_));
  EXPECT_TRUE(ann_gate_.mark(row_, "owner", ann_id_)) << "again";
  EXPECT_EQ(stock("owner"), ann_id_.hex());
  EXPECT_TRUE(ann_gate_.update_marked(row_, "owner", ann_id_, n(1)));
  EXPECT_TRUE(bob_gate_.mark(row_, "owner", bob_id_));
  EXPECT_EQ(ann_gate_.update_marked(row_, "owner", ann_id_, n(2)).error().code(), errc::stale_token);
  EXPECT_TRUE(bob_gate_.update_marked(row_, "owner", bob_id_, n(3)));
  EXPECT_EQ(stock(), "3");
}

TEST_F(SqliteRow, IsWrittenByWhoKnowsItsVersion) {
  EXPECT_TRUE(ann_gate_.update_version(row_, "version", 1, n(1)));
  EXPECT_EQ(stock("version"), "2");
  const auto late = bob_gate_.update_version(row_, "version", 1, n(2));
  EXPECT_EQ(late.error().code(), errc::stale_token);
  EXPECT_THAT(late.error().message(), AllOf(HasSubstr("version 2"), HasSubstr("not 1")));
  EXPECT_TRUE(bob_gate_.update_version(row_, "version", 2, {})) << "only the version";
  EXPECT_EQ(stock("n || '/' || version"), "1/3");
}

TEST_F(SqliteRow, IsWrittenByWhoKnowsWhatStoodInIt) {
  const std::array old = {sql_column{"n", std::int64_t{10}}, sql_column{"note", nullptr}};
  const std::array fresh = {sql_column{"n", 1.5}, sql_column{"note", "one and a half"}};
  EXPECT_TRUE(ann_gate_.update_unchanged(row_, old, fresh)) << "null is equal to null";
  EXPECT_EQ(stock("n || note"), "1.5one and a half");
  EXPECT_THAT(bob_gate_.update_unchanged(row_, old, n(2)).error().message(),
              AllOf(HasSubstr("column 'n'"), HasSubstr("no longer 10")));
  const std::array half = {sql_column{"n", 1.5}, sql_column{"note", nullptr}};
  const auto no = bob_gate_.update_unchanged(row_, half, n(2));
  EXPECT_EQ(no.error().code(), errc::stale_token);
  EXPECT_THAT(no.error().message(), AllOf(HasSubstr("column 'note'"), HasSubstr("no longer null")));
  EXPECT_TRUE(bob_gate_.update_unchanged(row_, fresh, fresh)) << "with what it has";
}

TEST_F(SqliteRow, IsBusyForATransactionThatHasReadAnOlderState) {
  ann_.must("BEGIN");
  EXPECT_EQ(stock(), "10");
  EXPECT_TRUE(bob_gate_.update(row_, "token", fence_token(57), n(1)));
  EXPECT_EQ(ann_gate_.update(row_, "token", fence_token(41), n(2)).error().code(), errc::busy)
      << "it does not see the 57";
  ann_.must("ROLLBACK");
  EXPECT_EQ(ann_gate_.update(row_, "token", fence_token(41), n(2)).error().code(), errc::stale_token);
}

}  // namespace

}  // namespace cremone::fence
