// SPDX-License-Identifier: Apache-2.0
//
// The power goes at a point that a seed draws, and with it what SQLite had not synced, which is most of it: the last
// grants and releases may be forgotten. Tokens must not go back all the same, and the file must open again.
#include "power/machine.hpp"

#include "backends/sqlite/database.hpp"
#include "support/sanitized.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <string>

namespace cremone::test {
namespace {

using namespace std::chrono_literals;

std::string replay(std::uint64_t seed) { return "seed " + std::to_string(seed); }

/// Four ways to choose the moment: early, somewhere, after the log was carried over to the database, and while that
/// is done.
void work_until_the_power_goes(machine& m) {
  const auto way = m.draw(4);
  if (way == 0) {  // also while it is opened
    m.cut_at(1 + m.draw(60));
  }
  m.open();
  switch (way) {
    case 0: return m.work(60, 200ms);
    case 1: m.cut_at(1 + m.draw(800)); return m.work(400, 1s);
    case 2: m.cut_at(1 + m.draw(6000)); return m.work(2000, 40ms);
    default: m.cut_in_checkpoint(1 + m.draw(30)); return m.work(2000, 40ms);
  }
}

void boot_again(machine& m) {
  m.lose_power();
  if (m.draw(2) == 0) {
    m.set_clock_back(1h);
  }
}

/// 25 seeds each, so that no test takes long.
class PowerCut : public ::testing::TestWithParam<std::uint64_t> {};

INSTANTIATE_TEST_SUITE_P(Seeds, PowerCut, ::testing::Range<std::uint64_t>(0, test::sanitized ? 2 : 8));

TEST_P(PowerCut, LeavesASoundFileAndTokensThatGoOnAboveAllThatWereGiven) {
  for (std::uint64_t seed = GetParam() * 25; seed < (GetParam() + 1) * 25 && !HasFailure(); ++seed) {
    SCOPED_TRACE(replay(seed));
    machine m(seed);
    for (std::uint64_t cuts = 1 + m.draw(3); cuts > 0; --cuts) {
      work_until_the_power_goes(m);
      boot_again(m);
    }
    m.open();
    m.expect_all_is_well();
  }
}

/// Every single call of the creation, and of the first token.
TEST(PowerCutAtTheBeginning, LeavesAFileThatOpensAgain) {
  bool reached_the_end = false;
  for (std::uint64_t call = 1; !reached_the_end && !HasFailure(); ++call) {
    for (std::uint64_t seed = 0; seed < 8 && !HasFailure(); ++seed) {
      SCOPED_TRACE("call " + std::to_string(call) + ", " + replay(seed));
      machine m(seed);
      m.cut_at(call);
      m.open();
      m.work(4, 1ms);
      reached_the_end = m.has_power();
      m.lose_power();
      m.set_clock_back(1h);
      m.open();
      m.expect_all_is_well();
    }
  }
}

/// Whoever finds the mark raised may take it for synced: the one who raised it must not have been killed just before.
TEST(PowerCutAfterAKill, FindsNoMarkThatWasRaisedButNotSynced) {
  bool reached_the_end = false;
  for (std::uint64_t call = 1; !reached_the_end && !HasFailure(); ++call) {
    for (std::uint64_t seed = 0; seed < 8 && !HasFailure(); ++seed) {
      SCOPED_TRACE("call " + std::to_string(call) + ", " + replay(seed));
      machine m(seed);
      m.cut_at(call);
      m.open();
      m.work(4, 1ms);
      reached_the_end = m.has_power();
      m.kill_programs();
      m.open();
      m.work(20, 1ms);
      m.lose_power();
      m.set_clock_back(1h);
      m.open();
      m.expect_all_is_well();
    }
  }
}

/// The disk itself: without this the tests above would show nothing.
TEST(PowerCutOfABareDatabase, LosesWhatWasNotSyncedAndNothingElse) {
  int lost = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const temp_directory directory;
    const std::string path = directory.file("bare.db");
    std::ofstream(path).close();
    std::mt19937_64 random(seed);
    disk d;
    const power_vfs vfs(d);
    {
      sqlite::database db(path, vfs.name());
      db.execute(
          "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; CREATE TABLE t (x); INSERT INTO t VALUES (1)");
      db.execute("PRAGMA synchronous=NORMAL; INSERT INTO t VALUES (2)");
    }
    d.come_back(random);
    sqlite::database db(path, vfs.name());
    EXPECT_EQ(db.number("SELECT count(*) FROM t WHERE x = 1"), 1) << replay(seed);
    lost += db.number("SELECT count(*) FROM t WHERE x = 2") == 0 ? 1 : 0;
  }
  EXPECT_GT(lost, 0);
  EXPECT_LT(lost, 20);
}

}  // namespace
}  // namespace cremone::test
