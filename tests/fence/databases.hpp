// SPDX-License-Identifier: Apache-2.0
//
// A database server under test, and connections to it: the same words for each kind, so that what is asked of all of them is written
// once. Who makes one says which: postgres_database.cpp, mariadb_database.cpp.
#pragma once

#include <cremone/fence_sql.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

namespace cremone::test {

/// One connection, as a user of the database has it.
class database_session {
 public:
  database_session() = default;
  database_session(const database_session&) = delete;
  database_session& operator=(const database_session&) = delete;
  virtual ~database_session() = default;

  /// What the server says against it; empty if nothing.
  [[nodiscard]] virtual std::string refusal_of(const std::string& statement) = 0;
  /// The first column of all rows; a refusal fails the test.
  [[nodiscard]] virtual std::vector<std::string> column(const std::string& query) = 0;
  /// Another one over this connection each time.
  [[nodiscard]] virtual std::unique_ptr<fence::sql_connection> connection() = 0;

  /// Begins a transaction; at the server's own level of isolation unless another is named.
  virtual void begin(const std::string& level = "") = 0;
  /// For all transactions from now on.
  virtual void isolate(const std::string& level) = 0;
  /// Who this is to the server.
  [[nodiscard]] virtual std::string id() = 0;

  /// Must do.
  void run(const std::string& statement) { EXPECT_EQ(refusal_of(statement), "") << statement; }
  /// The first value; empty if there is none.
  [[nodiscard]] std::string value(const std::string& query) {
    const auto all = column(query);
    return all.empty() ? "" : all.front();
  }
  [[nodiscard]] fence::sql_gate gate(std::string table = std::string(fence::default_table)) {
    return fence::sql_gate(connection(), std::move(table));
  }
};

/// A server with an empty database.
class database {
 public:
  database() = default;
  database(const database&) = delete;
  database& operator=(const database&) = delete;
  virtual ~database() = default;

  [[nodiscard]] virtual std::unique_ptr<database_session> connect(const std::string& user = "") = 0;
  /// As kill -9 does.
  virtual void kill() = 0;
  /// On the same data.
  virtual void start_again() = 0;

  // How the server is asked for what each has its own words for.
  [[nodiscard]] virtual std::string how_many_wait() const = 0;  ///< for a lock of another transaction
  [[nodiscard]] virtual std::string end_of(const std::string& session) const = 0;
  [[nodiscard]] virtual std::string waits_at_most_a_second() const = 0;
  [[nodiscard]] virtual std::string read_only_begin() const = 0;
  [[nodiscard]] virtual std::vector<std::string> user_who_may_read() const = 0;  ///< makes the user `ann`
};

struct database_kind {
  std::string name;
  std::unique_ptr<database> (*start)(bool synced);  ///< whether a commit waits for the disk
};

inline void PrintTo(const database_kind& kind, std::ostream* out) { *out << kind.name; }

/// Those that this program has been linked with.
[[nodiscard]] std::vector<database_kind> tested_databases();

/// One account with id 1, empty, and the gate's table.
inline void set_up(database_session& session) {
  session.run(
      "CREATE TABLE ledger (id INT PRIMARY KEY, balance BIGINT, token BIGINT NOT NULL, version BIGINT NOT "
      "NULL, "
      "owner VARCHAR(40), note VARCHAR(200))");
  session.run("INSERT INTO ledger VALUES (1, 0, 0, 1, NULL, NULL)");
  const auto made = session.gate().create();
  ASSERT_TRUE(made) << made.error();
}

/// A server with these two tables, and a connection that is always there.
class OnADatabase : public ::testing::TestWithParam<database_kind> {
 protected:
  void SetUp() override {
    server = GetParam().start(synced());
    first = server->connect();
    set_up(*first);
  }

  /// Whether commits wait for the disk, which takes its time.
  [[nodiscard]] virtual bool synced() const { return false; }

  [[nodiscard]] std::string balance() { return first->value("SELECT balance FROM ledger WHERE id = 1"); }
  [[nodiscard]] std::uint64_t highest(const std::string& resource = "ledger") {
    const auto seen = first->gate().highest(resource);
    EXPECT_TRUE(seen) << seen.error();
    return seen ? seen->value() : 0;
  }
  /// Writes that balance with that token, as a user would.
  [[nodiscard]] result<void> pay(database_session& who, std::uint64_t token) {
    return who.gate().transact("ledger", fence_token(token), [&]() -> result<void> {
      who.run("UPDATE ledger SET balance = " + std::to_string(token) + " WHERE id = 1");
      return {};
    });
  }

  std::unique_ptr<database> server;
  std::unique_ptr<database_session> first;
};

}  // namespace cremone::test
