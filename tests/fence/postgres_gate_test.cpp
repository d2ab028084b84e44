// SPDX-License-Identifier: Apache-2.0
//
// What only PostgreSQL has: its encodings, its tables that forget, its transactions that an error has ended.
#include "fence/postgres_database.hpp"

#include <cremone/fence_postgres.hpp>

#include <gmock/gmock.h>

#include <libpq-fe.h>

namespace cremone::test {

namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* good_columns =
    "resource text PRIMARY KEY, token bigint NOT NULL, writes bigint NOT NULL";

class PostgresGate : public ::testing::Test {
 protected:
  void SetUp() override { set_up(*first); }

  /// What the first check says against a table, which is in its way alone.
  [[nodiscard]] std::string said_of(const std::string& statement) {
    first->run("DROP TABLE IF EXISTS cremone_fence");
    first->run(statement);
    return said();
  }
  [[nodiscard]] std::string said() {
    auto gate = first->gate();
    first->begin();
    const auto checked = gate.check("ledger", fence_token(41));
    first->run("ROLLBACK");
    if (checked) {
      return "nothing";
    }
    EXPECT_EQ(checked.error().code(), errc::misconfigured) << checked.error();
    EXPECT_THAT(checked.error().message(), HasSubstr("CREATE TABLE"));
    return checked.error().message();
  }

  postgres_database server{false};
  std::unique_ptr<database_session> first = server.connect();
};

TEST_F(PostgresGate, RefusesATableThatWouldForget) {
  EXPECT_THAT(said_of(std::string("CREATE UNLOGGED TABLE cremone_fence (") + good_columns + ")"),
              HasSubstr("UNLOGGED"));
  EXPECT_THAT(said_of(std::string("CREATE TEMPORARY TABLE cremone_fence (") + good_columns + ")"),
              HasSubstr("temporary"));
}

TEST_F(PostgresGate, RefusesATableOfAnotherShape) {
  const auto table = [](const std::string& columns) {
    return "CREATE TABLE cremone_fence (" + columns + ")";
  };
  EXPECT_EQ(said_of(table(good_columns)), "nothing");
  EXPECT_EQ(said_of(table(std::string(good_columns) + ", note text")), "nothing");
  EXPECT_THAT(said_of(table("resource text, token bigint NOT NULL, writes bigint NOT NULL")),
              HasSubstr("resource text null"));
  EXPECT_THAT(said_of(table("resource text NOT NULL, token bigint NOT NULL, writes bigint NOT NULL")),
              HasSubstr("PRIMARY KEY (resource)"));
  EXPECT_THAT(
      said_of(table("resource text, token bigint, writes bigint NOT NULL, PRIMARY KEY (resource, token)")),
      HasSubstr("PRIMARY KEY (resource)"));
  EXPECT_THAT(said_of(table("resource text PRIMARY KEY, token text NOT NULL, writes bigint NOT NULL")),
              HasSubstr("token text"));
  EXPECT_THAT(
      said_of(table("resource text PRIMARY KEY, token double precision NOT NULL, writes bigint NOT NULL")),
      HasSubstr("token double precision"));
  EXPECT_THAT(said_of(table("resource text PRIMARY KEY, token bigint NOT NULL")), HasSubstr("writes bigint"));
  EXPECT_THAT(said_of(table("something int")), HasSubstr("none of them"));
}

TEST_F(PostgresGate, RefusesAViewAndRowsThatAPolicyHides) {
  first->run("ALTER TABLE cremone_fence RENAME TO marks");
  first->run("CREATE VIEW cremone_fence AS SELECT * FROM marks");
  EXPECT_THAT(said(), HasSubstr("no ordinary table"));
  first->run("DROP VIEW cremone_fence");
  first->run("ALTER TABLE marks RENAME TO cremone_fence");
  first->run("CREATE ROLE ann LOGIN");
  first->run("ALTER TABLE cremone_fence OWNER TO ann");
  first->run("ALTER TABLE cremone_fence ENABLE ROW LEVEL SECURITY");
  first->run("ALTER TABLE cremone_fence FORCE ROW LEVEL SECURITY");
  first = server.connect("ann");
  EXPECT_THAT(said(), HasSubstr("row-level security"));
}

TEST_F(PostgresGate, DoesNotTakeATableOfAnotherShapeForItsOwn) {
  first->run("DROP TABLE cremone_fence");
  first->run("CREATE TABLE cremone_fence (resource text PRIMARY KEY, token int NOT NULL)");
  EXPECT_EQ(first->gate().create().error().code(), errc::misconfigured);
}

TEST_F(PostgresGate, RefusesATransactionThatAnErrorHasEnded) {
  auto gate = first->gate();
  first->begin();
  EXPECT_NE(first->refusal_of("SELECT 1 / 0"), "");
  const auto checked = gate.check("ledger", fence_token(41));
  EXPECT_EQ(checked.error().code(), errc::misconfigured);
  EXPECT_THAT(checked.error().message(), HasSubstr("ROLLBACK"));
  first->run("ROLLBACK");
}

TEST_F(PostgresGate, RefusesASerializableTransactionThatReadBeforeAnotherWrote) {
  const auto slow = server.connect();
  auto gate = slow->gate();
  slow->begin("SERIALIZABLE");
  EXPECT_EQ(slow->value("SELECT balance FROM ledger"), "0");
  ASSERT_TRUE(first->gate().transact("ledger", fence_token(57), [&]() -> result<void> {
    first->run("UPDATE ledger SET balance = 57");
    return {};
  }));
  EXPECT_EQ(gate.check("ledger", fence_token(58)).error().code(), errc::busy);
}

TEST_F(PostgresGate, RefusesNamesThatAreNotUtf8) {
  auto gate = first->gate();
  first->begin();
  const auto checked = gate.check("caf\xe9", fence_token(41));
  EXPECT_EQ(checked.error().code(), errc::invalid_argument) << checked.error();
  first->run("ROLLBACK");
}

TEST_F(PostgresGate, RefusesAConnectionOnWhichANameWouldBeSpeltOtherwise) {
  first->run("SET client_encoding TO 'LATIN1'");
  auto gate = first->gate();
  first->begin();
  const auto checked = gate.check("\u00e9t\u00e9", fence_token(41));
  EXPECT_EQ(checked.error().code(), errc::misconfigured);
  EXPECT_THAT(checked.error().message(), AllOf(HasSubstr("LATIN1"), HasSubstr("SET client_encoding")));
  first->run("ROLLBACK");
}

TEST_F(PostgresGate, RefusesTextWithAZeroByte) {
  const std::vector<fence::sql_column> set{{"note", std::string("a\0b", 3)}};
  const auto written = first->gate().update({"ledger", "id", std::int64_t{1}}, "token", fence_token(1), set);
  EXPECT_EQ(written.error().code(), errc::invalid_argument);
  EXPECT_THAT(written.error().message(), HasSubstr("zero byte"));
}

TEST(PostgresConnection, ThatIsNoneIsRefused) {
  const auto over = fence::postgres(nullptr);
  EXPECT_EQ(over->in_transaction().error().code(), errc::invalid_argument);
  EXPECT_EQ(over->execute({"SELECT 1", {}}).error().code(), errc::invalid_argument);
  EXPECT_EQ(over->examine("cremone_fence").error().code(), errc::invalid_argument);
  EXPECT_NE(over->name(), "");
}

TEST(PostgresConnection, ThatWasNotMadeIsUnreachable) {
  const std::unique_ptr<PGconn, decltype(&PQfinish)> link(
      PQconnectdb("host=/nowhere user=ann password=secret dbname=shop"), &PQfinish);
  const auto over = fence::postgres(link.get());
  EXPECT_EQ(over->in_transaction().error().code(), errc::unreachable);
  EXPECT_EQ(over->execute({"SELECT 1", {}}).error().code(), errc::unreachable);
  EXPECT_THAT(over->name(),
              AllOf(HasSubstr("PostgreSQL database 'shop' on /nowhere"), Not(HasSubstr("secret"))));
}

}  // namespace

}  // namespace cremone::test
