// SPDX-License-Identifier: Apache-2.0
//
// sqlite:// among real processes: that they exclude each other and are served in order, and what happens when one is
// killed, stopped, forked or simply ends.
#include "support/program.hpp"
#include "support/sanitized.hpp"
#include "support/temp_directory.hpp"
#include "support/wait_for.hpp"

#include <cremone/cremone.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <signal.h>
#include <sqlite3.h>

#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

namespace cremone {

namespace {

using namespace std::chrono_literals;
using test::program;
using test::wait_for;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class SqliteProcesses : public ::testing::Test {
 protected:
  SqliteProcesses() {
    ::setenv("CREMONE_STATE_DIR", directory_.path().c_str(), 1);
  }  // what they note is their own
  ~SqliteProcesses() override { ::unsetenv("CREMONE_STATE_DIR"); }

  [[nodiscard]] std::string url() const { return "sqlite://" + directory_.file("locks.db"); }

  [[nodiscard]] program start(const std::vector<std::string>& what,
                              std::vector<std::string> argv = {}) const {
    argv.emplace_back(CREMONE_TEST_WORKER);
    argv.push_back(url());
    argv.insert(argv.end(), what.begin(), what.end());
    return program(argv);
  }

  /// One that does what it is told.
  [[nodiscard]] program talker() const {
    program made = start({"talk"});
    EXPECT_EQ(made.hear(), "ready");
    return made;
  }

  [[nodiscard]] std::size_t waiters(const std::string& name) const {
    const auto seen = here_.inspect(name);
    EXPECT_TRUE(seen) << seen.error().message();
    return seen ? seen->waiters.size() : 0;
  }

  test::temp_directory directory_;
  client here_ = open(url()).value();
};

std::uint64_t token_in(const std::string& answer) {
  EXPECT_THAT(answer, StartsWith("granted "));
  return std::stoull("0" + answer.substr(answer.find(' ') + 1));
}

TEST_F(SqliteProcesses, LoseNoIncrementAndTheirTokensGrowInItsOrder) {
  const std::string file = directory_.file("counter");
  std::vector<program> all;
  constexpr std::uint64_t each = test::sanitized ? 250 : 2000;
  for (int i = 0; i < 8; ++i) {
    all.push_back(start({"increment", "counter", file, std::to_string(each)}));
  }
  for (program& p : all) {
    EXPECT_EQ(p.wait(), 0);
  }
  std::uint64_t value = 0;
  std::ifstream(file) >> value;
  EXPECT_EQ(value, 8 * each);

  std::ifstream notes(file + ".tokens");
  std::uint64_t number = 0;
  std::uint64_t token = 0;
  std::uint64_t last_number = 0;
  std::uint64_t last_token = 0;
  while (notes >> number >> token) {
    ASSERT_EQ(number, last_number + 1);
    ASSERT_GT(token, last_token) << "at increment " << number;
    last_number = number;
    last_token = token;
  }
  EXPECT_EQ(last_number, 8 * each);
}

TEST_F(SqliteProcesses, TakeALockFromOneThatWasKilledLongBeforeItsTtl) {
  program holder = talker();
  const std::uint64_t first = token_in(holder.ask("acquire lock 60000 0"));
  program waiter = talker();
  waiter.say("acquire lock 60000 30000");
  ASSERT_TRUE(wait_for([&] { return waiters("lock") == 1; }));
  holder.signal(SIGKILL);
  EXPECT_EQ(holder.wait(), 128 + SIGKILL);
  EXPECT_GT(token_in(waiter.hear(5s)), first);
}

TEST_F(SqliteProcesses, TryingOnceIsEnoughToTakeALockFromTheDead) {
  program holder = talker();
  const std::uint64_t first = token_in(holder.ask("acquire lock 60000 0"));
  holder.signal(SIGKILL);
  EXPECT_EQ(holder.wait(), 128 + SIGKILL);
  EXPECT_GT(token_in(talker().ask("acquire lock 60000 0")), first);
}

TEST_F(SqliteProcesses, InAnotherPidNamespaceDoNotTakeALiveHolderForDead) {
  program holder = talker();
  (void)token_in(holder.ask("acquire lock 60000 0"));
  program elsewhere = start({"talk"}, {"unshare", "--pid", "--fork", "--kill-child", "--"});
  ASSERT_EQ(elsewhere.hear(), "ready") << "unshare --pid needs root";
  EXPECT_THAT(elsewhere.ask("acquire lock 60000 0"), StartsWith("busy"));
  holder.signal(SIGKILL);
  EXPECT_EQ(holder.wait(), 128 + SIGKILL);
  (void)token_in(elsewhere.ask("acquire lock 60000 0"));
}

TEST_F(SqliteProcesses, StoppedBeyondItsTtlLosesTheLockAndKnowsItAtTheFirstCall) {
  program holder = talker();
  const std::uint64_t first = token_in(holder.ask("acquire lock 500 0"));
  program waiter = talker();
  holder.signal(SIGSTOP);
  const std::uint64_t second = token_in(waiter.ask("acquire lock 60000 30000"));
  EXPECT_GT(second, first);
  holder.say("held");
  holder.say("reenter");
  holder.signal(SIGCONT);
  EXPECT_EQ(holder.hear(), "no");
  EXPECT_EQ(holder.hear(), "lost");
  EXPECT_TRUE(wait_for([&] { return holder.ask("stopped") == "yes"; }));
  EXPECT_TRUE(wait_for([&] { return holder.ask("loss") != "loss "; }));
  // By its own clock, before it asked the store, which would have said that somebody else holds it.
  EXPECT_THAT(holder.ask("loss"), HasSubstr("ran out"));
  EXPECT_EQ(here_.inspect("lock")->holders.at(0).token.value(), second);
}

TEST_F(SqliteProcesses, ThatTryOnceAndEndTakeALockFromOneThatIsStopped) {
  program holder = talker();
  const std::uint64_t first = token_in(holder.ask("acquire lock 500 0"));
  holder.signal(SIGSTOP);
  std::string answer;
  EXPECT_TRUE(wait_for([&] {
    answer = talker().ask("acquire lock 500 0");  // a new process each time, none of which lives for the ttl
    return answer.starts_with("granted");
  })) << answer;
  EXPECT_GT(token_in(answer), first);
}

TEST_F(SqliteProcesses, AreServedInTheOrderOfTheirArrival) {
  auto held = here_.acquire("lock").value();
  std::vector<program> waiting;
  for (std::size_t i = 0; i < 10; ++i) {
    waiting.push_back(talker());
    waiting.back().say("acquire lock 30000 60000");
    ASSERT_TRUE(wait_for([&] { return waiters("lock") == i + 1; }));
  }
  std::uint64_t last = held.token().value();
  ASSERT_TRUE(held.release());
  for (program& p : waiting) {
    const std::uint64_t token = token_in(p.hear());
    EXPECT_GT(token, last);
    last = token;
    EXPECT_EQ(p.ask("release"), "released");
  }
}

TEST_F(SqliteProcesses, BehindAKilledWaiterAreServedAtOnce) {
  auto held = here_.acquire("lock").value();
  program first = talker();
  first.say("acquire lock 30000 60000");
  ASSERT_TRUE(wait_for([&] { return waiters("lock") == 1; }));
  program second = talker();
  second.say("acquire lock 30000 60000");
  ASSERT_TRUE(wait_for([&] { return waiters("lock") == 2; }));
  first.signal(SIGKILL);
  EXPECT_EQ(first.wait(), 128 + SIGKILL);
  ASSERT_TRUE(held.release());
  (void)token_in(second.hear());
}

TEST_F(SqliteProcesses, ThatEndLeaveNothingBehind) {
  for (int i = 0; i < (test::sanitized ? 100 : 1000); i += 4) {
    std::vector<program> batch;
    for (int k = 0; k < 4; ++k) {
      batch.push_back(start({"once", k % 2 == 0 ? "same" : "lock-" + std::to_string(i + k)}));
    }
    for (program& p : batch) {
      ASSERT_EQ(p.wait(), 0);
    }
  }
  const auto all = here_.list();
  ASSERT_TRUE(all) << all.error().message();
  EXPECT_EQ(all->size(), 0U);
}

TEST_F(SqliteProcesses, MakeTheSameNewFileTogether) {
  for (int round = 0; round < 10; ++round) {
    const std::string fresh = "sqlite://" + directory_.file("new-" + std::to_string(round) + ".db");
    std::vector<program> all;
    for (int i = 0; i < 8; ++i) {
      all.emplace_back(std::vector<std::string>{CREMONE_TEST_WORKER, fresh, "once", "lock"});
    }
    for (program& p : all) {
      EXPECT_EQ(p.wait(), 0);
    }
  }
}

/// SQLite's own checkpoint never gets to the end of a log that others write to without a pause.
TEST_F(SqliteProcesses, ThatWriteWithoutAPauseDoNotMakeTheJournalGrow) {
  std::vector<program> all;
  for (int i = 0; i < 4; ++i) {
    all.push_back(start({"cycle", "lock-" + std::to_string(i), "16000"}));
  }
  std::uintmax_t largest = 0;  // while they write: it is cut short when it is quiet again
  std::jthread watcher([&](const std::stop_token& over) {
    while (!over.stop_requested()) {
      largest = std::max(largest, std::filesystem::file_size(directory_.file("locks.db-wal")));
      std::this_thread::sleep_for(1ms);  // a sample
    }
  });
  for (program& p : all) {
    EXPECT_EQ(p.wait(), 0);
  }
  watcher.request_stop();
  watcher.join();
  // Some tens of MB, and up to 150 on a machine that lets a reader wait in the middle; with SQLite's own checkpoints 500 and rising.
  EXPECT_LT(largest, 256U << 20U);
}

TEST_F(SqliteProcesses, KilledAtAnyPointLeaveNoStuckLockAndNoBrokenFile) {
  std::mt19937 random(20261116);
  std::uint64_t last = 0;
  for (int round = 0; round < 100; ++round) {
    program victim = start({"churn", "lock"});
    program other = start({"churn", "lock"});
    ASSERT_EQ(victim.hear(), "ready");
    ASSERT_EQ(other.hear(), "ready");
    std::this_thread::sleep_for(
        std::chrono::microseconds(random() % 20'000));  // any moment is as good as another
    victim.signal(SIGKILL);
    EXPECT_EQ(victim.wait(), 128 + SIGKILL);
    other.signal(SIGKILL);
    EXPECT_EQ(other.wait(), 128 + SIGKILL);
    const auto lease = here_.acquire("lock", {.wait = 10s});
    ASSERT_TRUE(lease) << "round " << round << ": " << lease.error().message();
    ASSERT_GT(lease->token().value(), last);
    last = lease->token().value();
  }
  sqlite3* db = nullptr;
  ASSERT_EQ(sqlite3_open(directory_.file("locks.db").c_str(), &db), SQLITE_OK);
  std::string verdict;
  EXPECT_EQ(sqlite3_exec(
                db, "PRAGMA integrity_check",
                [](void* to, int, char** columns, char**) {
                  *static_cast<std::string*>(to) += columns[0];
                  return 0;
                },
                &verdict, nullptr),
            SQLITE_OK);
  EXPECT_EQ(verdict, "ok");
  EXPECT_EQ(sqlite3_close(db), SQLITE_OK);
}

}  // namespace

}  // namespace cremone
