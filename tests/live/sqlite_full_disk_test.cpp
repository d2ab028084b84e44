// SPDX-License-Identifier: Apache-2.0
//
// sqlite:// on a disk without a free block: holders keep renewing, a new lock is refused with the
// reason, and freed space is used again.
#include "backends/sqlite/backend.hpp"
#include "engine/asio_env.hpp"
#include "support/blocking_backend.hpp"
#include "support/full_disk.hpp"
#include "support/seam_words.hpp"
#include "support/temp_directory.hpp"

#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>
#include <csignal>

#include <filesystem>
#include <memory>
#include <string>
#include <variant>
#include <vector>

namespace cremone {
namespace {

using namespace std::chrono_literals;

constexpr int many_renewals = 1000;  // a log that only grew would need 4 MB

/// Holds locks and renews them.
class holder {
 public:
  explicit holder(const std::string& path) {
    const auto outside = std::make_shared<detail::asio_env>();
    sqlite::store_settings settings;
    settings.path = path;
    locks_ =
        std::make_unique<test::blocking_backend>(outside, sqlite::open_backend(outside, settings).value());
  }

  /// Empty, or why the lock was refused.
  std::string acquire(const std::string& name) {
    const auto got = locks_->try_acquire(test::wanting(name, owner_));
    if (const auto* no = std::get_if<rejection>(&got)) {
      return no->why.message();
    }
    names_.emplace_back(name);
    return std::holds_alternative<grant>(got) ? "" : "unknown";
  }

  std::string acquire_many(const std::string& prefix, int count) {
    std::string wrong;
    for (int i = 0; i < count && wrong.empty(); ++i) {
      wrong = acquire(prefix + std::to_string(i));
    }
    return wrong;
  }

  /// All locks, in one transaction. Empty, or why a renewal failed.
  std::string renew(int times) {
    for (int i = 0; i < times; ++i) {
      ++seq_;
      std::vector<renewal> items;
      for (const lock_name& name : names_) {
        items.push_back({.name = &name, .owner = owner_, .seq = seq_, .ttl = 10s});
      }
      for (const answer& a : locks_->renew(items)) {
        if (const auto* no = std::get_if<refused>(&a)) {
          return "renewal " + std::to_string(i) + ": " + no->why.message();
        }
        if (!std::holds_alternative<done>(a)) {
          return "renewal " + std::to_string(i) + " has an unknown outcome";
        }
      }
    }
    return "";
  }

 private:
  std::unique_ptr<test::blocking_backend> locks_;
  owner_id owner_ = test::fresh_owner();
  std::vector<lock_name> names_;
  std::uint64_t seq_ = 0;
};

/// Runs a query on a file, over a connection of its own. Returns the first value.
std::string ask(const std::string& path, const char* sql) {
  sqlite3* db = nullptr;
  sqlite3_stmt* statement = nullptr;
  std::string found;
  if (sqlite3_open(path.c_str(), &db) == SQLITE_OK &&
      sqlite3_prepare_v2(db, sql, -1, &statement, nullptr) == SQLITE_OK &&
      sqlite3_step(statement) == SQLITE_ROW) {
    found = reinterpret_cast<const char*>(sqlite3_column_text(statement, 0));
  } else {
    found = sqlite3_errmsg(db);
  }
  sqlite3_finalize(statement);
  sqlite3_db_config(db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
  sqlite3_close(db);
  return found;
}

class SqliteFullDisk : public ::testing::Test {
 protected:
  test::full_disk disk_;
  const test::temp_directory directory_;
  const std::string path_ = directory_.file("locks.db");
};

TEST_F(SqliteFullDisk, FirstLockOfNewFileIsRenewed) {
  holder one(path_);
  ASSERT_EQ(one.acquire("lock"), "");
  disk_.set_full(true);
  EXPECT_EQ(one.renew(many_renewals), "");
}

TEST_F(SqliteFullDisk, ManyLocksAreRenewedInOneCommit) {
  holder one(path_);
  ASSERT_EQ(one.acquire_many("lock-", 500), "");
  disk_.set_full(true);
  EXPECT_EQ(one.renew(100), "");
  EXPECT_EQ(ask(path_, "PRAGMA integrity_check"), "ok");
}

TEST_F(SqliteFullDisk, FullDiskRefusesNewLocksAndKeepsHeldOnes) {
  holder one(path_);
  ASSERT_EQ(one.acquire("lock"), "");
  ASSERT_EQ(one.renew(200), "");  // the log is long: only the file lacks blocks for new pages
  disk_.set_full(true);
  EXPECT_THAT(one.acquire_many("more-", 10'000),
              ::testing::AllOf(::testing::StartsWith("storage_error"), ::testing::HasSubstr("disk is full")));
  EXPECT_EQ(one.renew(many_renewals), "");
  disk_.set_full(false);
  EXPECT_EQ(one.acquire_many("later-", 300), "");
  EXPECT_EQ(one.renew(10), "");
}

TEST_F(SqliteFullDisk, ClientWithoutReserveGetsNoLock) {
  holder one(path_);
  disk_.set_full(true);
  EXPECT_THAT(one.acquire("lock"), ::testing::HasSubstr("disk is full"));
}

TEST_F(SqliteFullDisk, RenewalsContinueAfterAnotherProgramCutTheLog) {
  holder one(path_);
  ASSERT_EQ(one.acquire_many("lock-", 100), "");
  ASSERT_EQ(ask(path_, "PRAGMA wal_checkpoint(TRUNCATE)"), "0");
  ASSERT_EQ(std::filesystem::file_size(path_ + "-wal"), 0U);
  ASSERT_EQ(one.renew(1), "");
  disk_.set_full(true);
  EXPECT_EQ(one.renew(100), "");
}

TEST_F(SqliteFullDisk, LogIsRecoveredAfterCrash) {
  holder one(path_);
  ASSERT_EQ(one.acquire_many("lock-", 100), "");
  disk_.set_full(true);
  ASSERT_EQ(one.renew(20), "");
  disk_.set_full(false);
  // What a crash of the machine leaves: no shared memory, so SQLite reads the log from its start.
  const std::string copy = directory_.file("copy.db");
  std::filesystem::copy(path_ + "-wal", copy + "-wal");
  std::filesystem::copy(path_, copy);
  EXPECT_EQ(ask(copy, "SELECT count(owner) || ' ' || min(seq - token) FROM lock"), "100 20");
  EXPECT_EQ(ask(copy, "PRAGMA integrity_check"), "ok");
}

TEST_F(SqliteFullDisk, EightProcessesGrowTheFileAndRenewTogether) {
  int held[2];
  int go[2];
  ASSERT_TRUE(::pipe(held) == 0 && ::pipe(go) == 0);
  std::vector<pid_t> children;
  for (char id = 'a'; id < 'i'; ++id) {
    children.push_back(::fork());
    if (children.back() == 0) {
      holder one(path_);
      std::string wrong = one.acquire_many(std::string(1, id), 100);
      (void)!::write(held[1], "h", 1);
      char sign = 0;
      (void)!::read(go[0], &sign, 1);
      wrong += one.renew(100);
      (void)!::write(STDERR_FILENO, wrong.data(), wrong.size());
      ::_exit(wrong.empty() ? 0 : 1);
    }
  }
  char sign = 0;
  for (std::size_t i = 0; i < children.size(); ++i) {
    (void)!::read(held[0], &sign, 1);
  }
  disk_.set_full(true);
  (void)!::write(go[1], "goforit!", children.size());
  for (const pid_t child : children) {
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0) << "a holder lost its locks";
  }
  disk_.set_full(false);  // the first process that opens the file makes new shared memory
  EXPECT_EQ(ask(path_, "PRAGMA integrity_check"), "ok");
}

}  // namespace
}  // namespace cremone
