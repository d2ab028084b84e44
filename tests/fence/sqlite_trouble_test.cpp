// SPDX-License-Identifier: Apache-2.0
//
// The gate on a SQLite file in trouble: a process killed before its COMMIT, a disk that is full, a file system that became read-only.
#include "fence/sqlite_fixture.hpp"
#include "support/namespaces.hpp"

#include <gtest/gtest.h>

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace cremone::fence {

namespace {

using test::sqlite_user;

class SqliteTrouble : public ::testing::Test {
 protected:
  [[nodiscard]] std::string path() const { return directory_.file("data.db"); }

  static void make_tables(const std::string& path) {
    sqlite_user user(path);
    user.must("CREATE TABLE ledger (id INTEGER PRIMARY KEY, entry TEXT)");
    sql_gate gate = user.gate();
    EXPECT_TRUE(gate.create());
    EXPECT_TRUE(gate.transact("ledger", fence_token(41), [&]() -> result<void> {
      user.must("INSERT INTO ledger (entry) VALUES ('old')");
      return {};
    }));
  }
  static std::string state(const std::string& path) {
    sqlite_user user(path);
    return user.text("SELECT (SELECT token FROM cremone_fence) || (SELECT group_concat(entry) FROM ledger)");
  }

  test::temp_directory directory_;
};

TEST_F(SqliteTrouble, KilledBetweenTheWriteAndTheCommitLeavesTokenAndDataAsTheyWere) {
  for (const char* const mode : {"WAL", "DELETE"}) {
    const std::string file = directory_.file(std::string("killed-") + mode + ".db");
    make_tables(file);
    int told[2];
    ASSERT_EQ(::pipe(told), 0);
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      sqlite_user user(file);
      user.must(std::string("PRAGMA journal_mode=") + mode);
      user.must("PRAGMA cache_size=1");  // so that it writes to the file before the end
      sql_gate gate = user.gate();
      (void)gate.transact("ledger", fence_token(57), [&]() -> result<void> {
        for (int i = 0; i < 100; ++i) {
          user.must("INSERT INTO ledger (entry) VALUES ('new' || hex(randomblob(2000)))");
        }
        (void)!::write(told[1], "x", 1);
        for (;;) {
          ::pause();
        }
      });
      ::_exit(1);
    }
    ::close(told[1]);
    char x = 0;
    ASSERT_EQ(::read(told[0], &x, 1), 1) << "it ended before it had written";
    ::close(told[0]);
    ASSERT_EQ(::kill(child, SIGKILL), 0);
    ASSERT_EQ(::waitpid(child, nullptr, 0), child);
    EXPECT_EQ(state(file), "41old") << mode;
    sqlite_user user(file);
    sql_gate gate = user.gate();
    EXPECT_TRUE(gate.transact("ledger", fence_token(41), [] { return result<void>(); })) << "and it goes on";
  }
}

TEST_F(SqliteTrouble, OnAFullDiskSaysSoAndChangesNeitherTokenNorData) {
  test::on_small_disk(directory_.file(""), "512k", [&](const std::string& on) -> std::string {
    const std::string file = on + "data.db";
    make_tables(file);
    {
      std::ofstream filler(on + "filler");
      while (filler << std::string(4096, 'x') << std::flush) {
      }
    }
    {
      sqlite_user user(file);
      sql_gate gate = user.gate();
      const auto full = gate.transact("ledger", fence_token(57), [&]() -> result<void> {
        user.run("INSERT INTO ledger (entry) VALUES ('new')");
        return {};
      });
      if (full || full.error().code() != errc::storage_error ||
          full.error().message().find("full") == std::string::npos) {
        return full ? "it was written" : full.error().message();
      }
    }
    std::filesystem::remove(on + "filler");
    if (state(file) != "41old") {
      return "it has become " + state(file);
    }
    sqlite_user user(file);
    sql_gate gate = user.gate();
    const auto again = gate.transact("ledger", fence_token(57), [] { return result<void>(); });
    return again ? "" : again.error().message();
  });
}

TEST_F(SqliteTrouble, OnAReadOnlyFileSystemSaysSo) {
  test::on_small_disk(directory_.file(""), "1m", [&](const std::string& on) -> std::string {
    make_tables(on + "data.db");
    if (::mount("none", on.c_str(), nullptr, MS_REMOUNT | MS_RDONLY, nullptr) != 0) {
      return std::string("remount: ") + std::strerror(errno);
    }
    sqlite_user user(on + "data.db");
    sql_gate gate = user.gate();
    const auto no = gate.transact("ledger", fence_token(57), [] { return result<void>(); });
    if (no || no.error().code() != errc::storage_error ||
        no.error().message().find("data.db") == std::string::npos) {
      return no ? "it was written" : no.error().message();
    }
    return gate.highest("ledger")->value() == 41 ? "" : "the token was lost";
  });
}

TEST_F(SqliteTrouble, WithAFileThatIsNoDatabaseSaysSo) {
  std::ofstream(path()) << std::string(5000, 'x');
  sqlite_user user(path());
  sql_gate gate = user.gate();
  const auto no = gate.transact("ledger", fence_token(57), [] { return result<void>(); });
  EXPECT_EQ(no.error().code(), errc::storage_error);
  EXPECT_NE(no.error().message().find("no database"), std::string::npos) << no.error().message();
}

}  // namespace

}  // namespace cremone::fence
