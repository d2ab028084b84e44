// SPDX-License-Identifier: Apache-2.0
//
// A SQLite database in a file of its own, and connections to it as a user would have them.
#pragma once

#include "support/temp_directory.hpp"

#include <cremone/fence_sqlite.hpp>

#include <gtest/gtest.h>

#include <sqlite3.h>

#include <cstdint>
#include <string>

namespace cremone::test {

/// A user's connection.
class sqlite_user {
 public:
  explicit sqlite_user(const std::string& path, int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE) {
    EXPECT_EQ(sqlite3_open_v2(path.c_str(), &database_, flags, nullptr), SQLITE_OK) << path;
  }
  sqlite_user(const sqlite_user&) = delete;
  sqlite_user& operator=(const sqlite_user&) = delete;
  ~sqlite_user() { EXPECT_EQ(sqlite3_close(database_), SQLITE_OK) << "a statement was left behind"; }

  [[nodiscard]] sqlite3* get() const noexcept { return database_; }
  [[nodiscard]] fence::sql_gate gate() const { return fence::sql_gate(fence::sqlite(database_)); }

  /// SQLite's code.
  int run(const std::string& sql) { return sqlite3_exec(database_, sql.c_str(), nullptr, nullptr, nullptr); }
  void must(const std::string& sql) {
    EXPECT_EQ(run(sql), SQLITE_OK) << sql << ": " << sqlite3_errmsg(database_);
  }

  /// The first value of the first row, as text; "null"; "none" when there is no row.
  [[nodiscard]] std::string text(const std::string& sql) {
    sqlite3_stmt* made = nullptr;
    EXPECT_EQ(sqlite3_prepare_v2(database_, sql.c_str(), -1, &made, nullptr), SQLITE_OK)
        << sqlite3_errmsg(database_);
    std::string found = "none";
    if (sqlite3_step(made) == SQLITE_ROW) {
      const auto* const at = reinterpret_cast<const char*>(sqlite3_column_text(made, 0));
      found = at == nullptr ? "null" : at;
    }
    sqlite3_finalize(made);
    return found;
  }

 private:
  sqlite3* database_ = nullptr;
};

/// With a gate's table, and a table `ledger` to write to.
class sqlite_fence_test : public ::testing::Test {
 protected:
  sqlite_fence_test() {
    ann_.must("PRAGMA journal_mode=WAL");
    ann_.must("CREATE TABLE ledger (id INTEGER PRIMARY KEY, entry TEXT)");
    EXPECT_TRUE(ann_gate_.create());
  }

  [[nodiscard]] std::string path() const { return directory_.file("data.db"); }
  [[nodiscard]] std::string entries() {
    return ann_.text("SELECT coalesce(group_concat(entry), '') FROM (SELECT entry FROM ledger ORDER BY id)");
  }
  [[nodiscard]] std::string mark() {
    return ann_.text("SELECT token || '/' || writes FROM cremone_fence WHERE resource = 'ledger'");
  }

  temp_directory directory_;
  sqlite_user ann_{path()};
  sqlite_user bob_{path()};
  fence::sql_gate ann_gate_ = ann_.gate();
  fence::sql_gate bob_gate_ = bob_.gate();
};

}  // namespace cremone::test
