// SPDX-License-Identifier: Apache-2.0
//
// What only MariaDB has: keys and engines under which everything would pass, quotes that depend on a mode, and transactions that it
// gives up while its client's library goes on to show one.
#include "fence/mariadb_database.hpp"

#include <cremone/fence_mariadb.hpp>

#include <gmock/gmock.h>

#include <mysql.h>

namespace cremone::test {

namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* good_columns =
    "resource VARBINARY(512) NOT NULL PRIMARY KEY, token BIGINT NOT NULL, writes BIGINT NOT NULL";

class MariadbGate : public ::testing::Test {
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
  [[nodiscard]] result<void> pay(database_session& who, std::uint64_t token) {
    return who.gate().transact("ledger", fence_token(token), [&]() -> result<void> {
      who.run("UPDATE ledger SET balance = " + std::to_string(token));
      return {};
    });
  }

  mariadb_database server{false};
  std::unique_ptr<database_session> first = server.connect();
};

TEST_F(MariadbGate, RefusesATableUnderWhichEverythingWouldPass) {
  const auto table = [](const std::string& columns) {
    return "CREATE TABLE cremone_fence (" + columns + ")";
  };
  EXPECT_EQ(said_of(table(good_columns)), "nothing");
  EXPECT_EQ(said_of(table(std::string(good_columns) + ", note TEXT, KEY (token)")), "nothing");
  EXPECT_THAT(
      said_of(table("resource VARBINARY(512) NOT NULL, token BIGINT NOT NULL, writes BIGINT NOT NULL")),
      AllOf(HasSubstr("PRIMARY KEY (resource)"), HasSubstr("it has none")));
  EXPECT_THAT(
      said_of(table(
          "resource VARBINARY(512), token BIGINT, writes BIGINT NOT NULL, PRIMARY KEY (resource, token)")),
      HasSubstr("PRIMARY token whole"));
  EXPECT_THAT(said_of(table(std::string(good_columns) + ", UNIQUE (token)")),
              HasSubstr("no other unique key"));
  EXPECT_THAT(
      said_of(table("resource VARBINARY(512) NOT NULL, token BIGINT NOT NULL, writes BIGINT NOT NULL, "
                    "PRIMARY KEY (resource(3))")),
      HasSubstr("in part"));
  EXPECT_THAT(said_of(table(good_columns) + " ENGINE=MyISAM"), HasSubstr("MyISAM"));
  EXPECT_THAT(said_of(table(good_columns) + " ENGINE=MEMORY"), HasSubstr("MEMORY"));
}

TEST_F(MariadbGate, RefusesATableOfAnotherShape) {
  const auto table = [](const std::string& columns) {
    return "CREATE TABLE cremone_fence (" + columns + ")";
  };
  EXPECT_THAT(
      said_of(table("resource VARCHAR(512) PRIMARY KEY, token BIGINT NOT NULL, writes BIGINT NOT NULL")),
      HasSubstr("resource varchar"));
  EXPECT_THAT(
      said_of(table("resource VARBINARY(100) PRIMARY KEY, token BIGINT NOT NULL, writes BIGINT NOT NULL")),
      HasSubstr("VARBINARY(512)"));
  EXPECT_THAT(
      said_of(table("resource VARBINARY(512) PRIMARY KEY, token DOUBLE NOT NULL, writes BIGINT NOT NULL")),
      HasSubstr("token double"));
  EXPECT_THAT(said_of(table("something INT")), HasSubstr("has none"));
  EXPECT_EQ(first->gate().create().error().code(), errc::misconfigured) << "it does not take it for its own";
}

TEST_F(MariadbGate, RefusesAViewAndATableOfThisConnectionAlone) {
  first->run(std::string("CREATE TEMPORARY TABLE cremone_fence (") + good_columns + ")");
  EXPECT_THAT(said(), HasSubstr("temporary"));
  first->run("DROP TEMPORARY TABLE cremone_fence");
  first->run("RENAME TABLE cremone_fence TO marks");
  first->run("CREATE VIEW cremone_fence AS SELECT * FROM marks");
  EXPECT_THAT(said(), HasSubstr("view"));
}

/// A statement of the user's own for which the server gives up the transaction, and a user who does not look at what it says.
void lose_transaction(database_session& whose) {
  EXPECT_THAT(
      whose.refusal_of("SET STATEMENT innodb_snapshot_isolation = 1 FOR UPDATE ledger SET balance = 0"),
      HasSubstr("try restarting transaction"));
}

TEST_F(MariadbGate, NoticesThatTheServerHasGivenUpTheTransaction) {
  const auto slow = server.connect();
  slow->begin();
  (void)slow->value("SELECT balance FROM ledger");
  ASSERT_TRUE(pay(*first, 41));
  lose_transaction(*slow);
  const auto checked = slow->gate().check("ledger", fence_token(57));
  EXPECT_EQ(checked.error().code(), errc::misconfigured);
  EXPECT_THAT(checked.error().message(), HasSubstr("given up this transaction"));
  EXPECT_EQ(first->gate().highest("ledger")->value(), 41U);
}

TEST_F(MariadbGate, DoesNotCallItDoneWhenTheLastStatementWasGivenUp) {
  const auto slow = server.connect();
  const auto paid = slow->gate().transact("ledger", fence_token(57), [&]() -> result<void> {
    (void)slow->value("SELECT balance FROM ledger");
    first->run("UPDATE ledger SET balance = 1");
    lose_transaction(*slow);
    return {};
  });
  EXPECT_EQ(paid.error().code(), errc::misconfigured);
  EXPECT_EQ(first->gate().highest("ledger")->value(), 0U);
}

TEST_F(MariadbGate, NoticesThatTooWhenTheClientsLibraryHasForgottenIt) {
  const auto slow = server.connect();
  auto used = slow->gate();
  ASSERT_TRUE(used.transact("ledger", fence_token(1), [] { return result<void>(); }));
  auto fresh = slow->gate();
  std::uint64_t token = 41;
  for (fence::sql_gate* const gate : {&used, &fresh}) {
    slow->begin();
    (void)slow->value("SELECT balance FROM ledger");
    ASSERT_TRUE(pay(*first, token));
    lose_transaction(*slow);
    ping(*slow);
    EXPECT_TRUE(slow->connection()->in_transaction()) << "this is what the client's library shows";
    const auto checked = gate->check("ledger", fence_token(++token));
    EXPECT_EQ(checked.error().code(), errc::misconfigured) << "what comes next would be committed by itself";
    EXPECT_EQ(gate->check("ledger", fence_token(token)).error().code(), errc::misconfigured)
        << "now it shows none";
  }
}

TEST_F(MariadbGate, SaysWhatItDidWhenTheServerHadGivenUpTheTransaction) {
  const auto slow = server.connect();
  slow->begin();
  (void)slow->value("SELECT balance FROM ledger");
  ASSERT_TRUE(pay(*first, 41));
  lose_transaction(*slow);
  ping(*slow);
  const std::vector<fence::sql_column> set{{"balance", std::int64_t{5}}};
  const auto written = slow->gate().update({"ledger", "id", std::int64_t{1}}, "token", fence_token(57), set);
  EXPECT_EQ(written.error().code(), errc::misconfigured);
  EXPECT_THAT(written.error().message(), HasSubstr("committed by itself"));
  EXPECT_EQ(first->value("SELECT balance FROM ledger"), "5");
}

TEST_F(MariadbGate, ShowsNoTransactionAfterItWasToldToBeginAgain) {
  const auto slow = server.connect();
  auto gate = slow->gate();
  slow->begin();
  (void)slow->value("SELECT balance FROM ledger");
  ASSERT_TRUE(pay(*first, 41));
  EXPECT_EQ(gate.check("ledger", fence_token(57)).error().code(), errc::busy);
  const auto again = gate.check("ledger", fence_token(57));
  EXPECT_EQ(again.error().code(), errc::misconfigured);
  EXPECT_THAT(again.error().message(), HasSubstr("no transaction is open"));
  EXPECT_EQ(first->gate().highest("ledger")->value(), 41U);
}

TEST_F(MariadbGate, ReadsNothingWhenItLooksAtItsTable) {
  const auto slow = server.connect();
  slow->begin("REPEATABLE READ");
  ASSERT_TRUE(slow->connection()->examine("cremone_fence"));
  ASSERT_TRUE(pay(*first, 41));
  const auto checked = slow->gate().check("ledger", fence_token(57));
  EXPECT_TRUE(checked) << checked.error();
  EXPECT_EQ(slow->value("SELECT balance FROM ledger"), "41");
}

TEST_F(MariadbGate, LocksWhatASerializableTransactionHasRead) {
  const auto slow = server.connect();
  auto gate = slow->gate();
  slow->begin("SERIALIZABLE");
  EXPECT_EQ(slow->value("SELECT balance FROM ledger"), "0");
  first->run(server.waits_at_most_a_second());
  const auto quick = first->gate().transact("ledger", fence_token(57), [&]() -> result<void> {
    const auto over = first->connection();
    const auto written = over->execute({"UPDATE ledger SET balance = 57", {}});
    return written ? result<void>() : written.error();
  });
  EXPECT_EQ(quick.error().code(), errc::busy) << "so that nothing that was read has changed";
  const auto checked = gate.check("ledger", fence_token(58));
  EXPECT_TRUE(checked) << checked.error();
}

TEST_F(MariadbGate, WorksWhereNoStatementIsCommittedByItself) {
  first->run("SET autocommit = 0");
  const auto checked = first->gate().check("ledger", fence_token(41));
  EXPECT_TRUE(checked) << checked.error();
  EXPECT_EQ(server.connect()->gate().highest("ledger")->value(), 0U) << "not yet";
  first->run("COMMIT");
  EXPECT_EQ(server.connect()->gate().highest("ledger")->value(), 41U);
}

TEST_F(MariadbGate, QuotesNamesInEveryMode) {
  std::uint64_t token = 40;
  for (const char* const mode : {"", "NO_BACKSLASH_ESCAPES", "ANSI_QUOTES", "ORACLE", "TRADITIONAL"}) {
    first->run(std::string("SET sql_mode = '") + mode + "'");
    for (const char* const name : {"o'brien\\", "\\'", "\"?\"", "caf\xe9", "\u00e9t\u00e9"}) {
      const auto passed = first->gate().transact(name, fence_token(++token), [] { return result<void>(); });
      ASSERT_TRUE(passed) << mode << " " << name << ": " << passed.error();
      EXPECT_EQ(first->gate().highest(name)->value(), token) << mode << " " << name;
    }
  }
  EXPECT_EQ(first->value("SELECT COUNT(*) FROM cremone_fence"), "5");
}

TEST_F(MariadbGate, SpellsANameInOneWayOnEveryConnection) {
  for (const char* const names : {"utf8mb4", "latin1", "cp1251", "gbk", "binary"}) {
    first->run(std::string("SET NAMES ") + names);
    const auto passed =
        first->gate().transact("\u00e9t\u00e9", fence_token(41), [] { return result<void>(); });
    ASSERT_TRUE(passed) << names << ": " << passed.error();
  }
  EXPECT_EQ(first->column("SELECT HEX(resource) FROM cremone_fence"), std::vector<std::string>{"C3A974C3A9"});
  first->run("SET NAMES latin1");
  first->run("SET character_set_connection = 'utf8mb4'");
  EXPECT_THAT(said(), HasSubstr("SET NAMES utf8mb4"));
}

TEST(MariadbConnection, ThatIsNoneIsRefused) {
  const auto over = fence::mariadb(nullptr);
  EXPECT_EQ(over->in_transaction().error().code(), errc::invalid_argument);
  EXPECT_EQ(over->execute({"SELECT 1", {}}).error().code(), errc::invalid_argument);
  EXPECT_EQ(over->examine("cremone_fence").error().code(), errc::invalid_argument);
  EXPECT_NE(over->name(), "");
}

TEST(MariadbConnection, ThatWasNotMadeIsUnreachable) {
  const std::unique_ptr<MYSQL, decltype(&mysql_close)> link(mysql_init(nullptr), &mysql_close);
  EXPECT_EQ(mysql_real_connect(link.get(), nullptr, "ann", "secret", "shop", 0, "/nowhere", 0), nullptr);
  const auto over = fence::mariadb(link.get());
  EXPECT_FALSE(over->in_transaction());
  EXPECT_EQ(over->execute({"SELECT 1", {}}).error().code(), errc::unreachable);
  EXPECT_THAT(over->name(), AllOf(HasSubstr("MariaDB"), Not(HasSubstr("secret"))));
}

TEST(MariadbConnection, TakesAStatementWithAsManyValuesAsPlaces) {
  mariadb_server server;
  const std::unique_ptr<MYSQL, decltype(&mysql_close)> link(mysql_init(nullptr), &mysql_close);
  ASSERT_NE(mysql_real_connect(link.get(), "127.0.0.1", "root", "", "shop", server.port(), nullptr, 0),
            nullptr);
  const auto over = fence::mariadb(link.get());
  EXPECT_EQ(over->execute({"SELECT ?", {}}).error().code(), errc::invalid_argument);
  EXPECT_EQ(over->execute({"SELECT '?', `?`, \"?\"", {std::int64_t{1}}}).error().code(),
            errc::invalid_argument);
  EXPECT_EQ(over->execute({"SELECT ?", {1.0 / 0.0}}).error().code(), errc::invalid_argument);
  const auto zero = over->execute({"SELECT ?", {std::string("a\0b", 3)}});
  ASSERT_TRUE(zero) << zero.error();
  EXPECT_EQ(std::get<std::string>(zero->first->front()), std::string("a\0b", 3));
}

}  // namespace

}  // namespace cremone::test
