// SPDX-License-Identifier: Apache-2.0
//
// sqlite:// in a process that forks: the child's copies are inert, and a client of its own works beside the parent's,
// also when other threads were inside SQLite at that moment.
#include "support/temp_directory.hpp"

#include <cremone/cremone.hpp>

#include <gtest/gtest.h>

#include <signal.h>
#include <sqlite3.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <string>
#include <thread>

namespace cremone {

namespace {

using namespace std::chrono_literals;

class SqliteFork : public ::testing::Test {
 protected:
  [[nodiscard]] std::string url() const { return "sqlite://" + directory_.file("locks.db"); }

  test::temp_directory directory_;
  client here_ = open(url()).value();
};

TEST_F(SqliteFork, LetsTheChildOpenAClientOfItsOwn) {
  auto held = here_.acquire("parents").value();
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    int wrong = held.held() ? 1 : 0;  // the copy is inert
    auto mine = open(url());
    wrong += mine ? 0 : 2;
    if (mine) {
      for (int i = 0; i < 200; ++i) {
        auto lease = mine->acquire("shared", {.wait = 20s});
        wrong += lease ? 0 : 4;
      }
      wrong += mine->acquire("parents", {.wait = no_wait}).has_value() ? 8 : 0;
      mine->close();
    }
    ::_exit(wrong);
  }
  for (int i = 0; i < 200; ++i) {
    EXPECT_TRUE(here_.acquire("shared", {.wait = 20s}).has_value());
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_TRUE(held.held());
  EXPECT_TRUE(held.release());
}

TEST_F(SqliteFork, DoesNotLeaveTheChildBehindAnotherThreadOfTheProgramThatUsesSqlite) {
  std::atomic<bool> over = false;
  std::thread other([&] {
    sqlite3* db = nullptr;
    EXPECT_EQ(sqlite3_open(":memory:", &db), SQLITE_OK);
    while (!over) {
      EXPECT_EQ(sqlite3_exec(db, "CREATE TABLE t (x); INSERT INTO t VALUES (1); DROP TABLE t", nullptr,
                             nullptr, nullptr),
                SQLITE_OK);
    }
    sqlite3_close(db);
  });
  for (int i = 0; i < 20; ++i) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      ::alarm(30);  // hanging is the failure
      auto mine = open(url());
      ::_exit(mine && mine->acquire("lock", {.wait = 20s}).has_value() ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status)) << "round " << i << ": signal " << WTERMSIG(status);
    ASSERT_EQ(WEXITSTATUS(status), 0);
  }
  over = true;
  other.join();
}

}  // namespace

}  // namespace cremone
