// SPDX-License-Identifier: Apache-2.0
//
// The gate on a real SQLite file: what passes, what is refused and says why, and what two connections do to each other.
#include "fence/sqlite_fixture.hpp"
#include "fence/writers.hpp"
#include "support/wait_for.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <thread>

namespace cremone::fence {

namespace {

using test::sqlite_user;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class SqliteGate : public test::sqlite_fence_test {
 protected:
  /// As transact() does it, but with the user's own transaction.
  static result<void> write(sqlite_user& user, sql_gate& gate, std::uint64_t token,
                            const std::string& entry) {
    user.must("BEGIN IMMEDIATE");
    auto passed = gate.check("ledger", fence_token(token));
    if (passed) {
      user.must("INSERT INTO ledger (entry) VALUES ('" + entry + "')");
      user.must("COMMIT");
    } else {
      user.must("ROLLBACK");
    }
    return passed;
  }
};

TEST_F(SqliteGate, CommitsNothingOfATransactionThatWasPutInThePlaceOfItsOwn) {
  for (const char* const between : {"COMMIT", "ROLLBACK"}) {
    const auto done = ann_gate_.transact("ledger", fence_token(60), [&]() -> result<void> {
      ann_.must(between);
      EXPECT_TRUE(bob_gate_.transact("ledger", fence_token(70), [&]() -> result<void> {
        bob_.must("INSERT INTO ledger (entry) VALUES ('bob')");
        return {};
      }));
      ann_.must("BEGIN IMMEDIATE");
      ann_.must("INSERT INTO ledger (entry) VALUES ('ann')");
      return {};
    });
    EXPECT_EQ(done.error().code(), errc::misconfigured) << done.error();
    EXPECT_EQ(entries(), "bob") << between;
    ann_.must("DELETE FROM ledger");
    ann_.must("DELETE FROM cremone_fence");
  }
}

TEST_F(SqliteGate, RefusesATemporaryTableThatHidesTheRealOne) {
  bob_.must(
      "CREATE TEMP TABLE cremone_fence (resource TEXT PRIMARY KEY, token INTEGER NOT NULL, writes INTEGER "
      "NOT NULL)");
  const auto done = bob_gate_.transact("ledger", fence_token(1), [] { return result<void>(); });
  EXPECT_EQ(done.error().code(), errc::misconfigured);
  EXPECT_THAT(done.error().message(), ::testing::HasSubstr("temporary"));
}

TEST_F(SqliteGate, LetsHigherAndEqualTokensPassAndRefusesLowerOnesWithBothNumbers) {
  EXPECT_EQ(*ann_gate_.highest("ledger"), fence_token(0));
  EXPECT_TRUE(write(ann_, ann_gate_, 41, "a"));
  EXPECT_TRUE(write(ann_, ann_gate_, 41, "b"));
  EXPECT_TRUE(write(bob_, bob_gate_, 57, "c"));
  const auto late = write(ann_, ann_gate_, 41, "d");
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code(), errc::stale_token);
  EXPECT_THAT(late.error().message(),
              AllOf(HasSubstr("41"), HasSubstr("57"), HasSubstr("'ledger'"), HasSubstr(path())));
  EXPECT_EQ(entries(), "a,b,c");
  EXPECT_EQ(mark(), "57/3") << "each pass changes the row, and a refusal does not";
  EXPECT_EQ(*ann_gate_.highest("ledger"), fence_token(57));
}

TEST_F(SqliteGate, KeepsResourcesApart) {
  EXPECT_TRUE(write(ann_, ann_gate_, 57, "a"));
  ann_.must("BEGIN IMMEDIATE");
  EXPECT_TRUE(ann_gate_.check("Ledger", fence_token(1)));
  EXPECT_TRUE(ann_gate_.check("ledger ", fence_token(1)));
  EXPECT_TRUE(ann_gate_.check("l'édger\"", fence_token(token_limit - 1)));
  ann_.must("COMMIT");
  EXPECT_EQ(*ann_gate_.highest("l'édger\""), fence_token(token_limit - 1));
  EXPECT_EQ(*ann_gate_.highest("ledger"), fence_token(57));
}

TEST_F(SqliteGate, ComparesTokensAsNumbers) {
  EXPECT_TRUE(write(ann_, ann_gate_, 9, "a"));
  EXPECT_TRUE(write(ann_, ann_gate_, 10, "b"));
  EXPECT_FALSE(write(ann_, ann_gate_, 9, "c"));
}

TEST_F(SqliteGate, NeedsATransaction) {
  const auto no = ann_gate_.check("ledger", fence_token(41));
  EXPECT_EQ(no.error().code(), errc::misconfigured);
  EXPECT_THAT(no.error().message(), AllOf(HasSubstr("BEGIN IMMEDIATE"), Not(HasSubstr("CREATE TABLE"))));
  EXPECT_EQ(mark(), "none");
}

TEST_F(SqliteGate, LeavesNoMarkWhenTheTransactionIsRolledBack) {
  ann_.must("BEGIN IMMEDIATE");
  EXPECT_TRUE(ann_gate_.check("ledger", fence_token(57)));
  ann_.must("ROLLBACK");
  EXPECT_EQ(mark(), "none");
  EXPECT_TRUE(write(bob_, bob_gate_, 41, "a"));
}

TEST_F(SqliteGate, WorksWithinASavepoint) {
  ann_.must("SAVEPOINT s");
  EXPECT_TRUE(ann_gate_.check("ledger", fence_token(41)));
  ann_.must("RELEASE s");
  EXPECT_EQ(mark(), "41/1");
}

TEST_F(SqliteGate, TransactsOrLeavesEverythingAsItWas) {
  const auto entry = [&](const char* text) {
    return [this, text]() -> result<void> {
      ann_.must(std::string("INSERT INTO ledger (entry) VALUES ('") + text + "')");
      return {};
    };
  };
  EXPECT_TRUE(ann_gate_.transact("ledger", fence_token(41), entry("a")));
  EXPECT_EQ(ann_gate_
                .transact("ledger", fence_token(57),
                          [&]() -> result<void> {
                            (void)entry("b")();
                            return error(errc::lost, "it is over");
                          })
                .error()
                .code(),
            errc::lost);
  EXPECT_THROW((void)ann_gate_.transact("ledger", fence_token(57),
                                        [&]() -> result<void> {
                                          (void)entry("c")();
                                          throw std::runtime_error("x");
                                        }),
               std::runtime_error);
  EXPECT_EQ(entries(), "a");
  EXPECT_EQ(mark(), "41/1");
  EXPECT_EQ(ann_gate_.transact("ledger", fence_token(40), entry("d")).error().code(), errc::stale_token);
  EXPECT_TRUE(ann_gate_.transact("ledger", fence_token(57), entry("e"))) << "nothing is left open";
  EXPECT_EQ(entries(), "a,e");
}

TEST_F(SqliteGate, DoesNotTouchATransactionThatWasOpen) {
  ann_.must("BEGIN IMMEDIATE");
  ann_.must("INSERT INTO ledger (entry) VALUES ('a')");
  EXPECT_EQ(ann_gate_.transact("ledger", fence_token(41), [] { return result<void>(); }).error().code(),
            errc::misconfigured);
  EXPECT_EQ(ann_gate_.create().error().code(), errc::misconfigured);
  ann_.must("COMMIT");
  EXPECT_EQ(entries(), "a");
}

TEST_F(SqliteGate, CommitsNothingWhenTheUserHasRolledBack) {
  const auto done = ann_gate_.transact("ledger", fence_token(41), [&]() -> result<void> {
    ann_.must("ROLLBACK");
    ann_.must("INSERT INTO ledger (entry) VALUES ('outside')");
    return {};
  });
  EXPECT_EQ(done.error().code(), errc::misconfigured);
}

TEST_F(SqliteGate, OverANullPointerSaysSo) {
  sql_gate none(sqlite(nullptr));
  EXPECT_EQ(none.check("ledger", fence_token(1)).error().code(), errc::invalid_argument);
  EXPECT_EQ(none.transact("ledger", fence_token(1), [] { return result<void>(); }).error().code(),
            errc::invalid_argument);
  EXPECT_EQ(none.highest("ledger").error().code(), errc::invalid_argument);
  EXPECT_EQ(none.create().error().code(), errc::invalid_argument);
}

TEST_F(SqliteGate, WithoutItsTableSaysHowToMakeIt) {
  ann_.must("DROP TABLE cremone_fence");
  sql_gate fresh = ann_.gate();
  for (const auto& no : {fresh.transact("ledger", fence_token(41), [] { return result<void>(); }),
                         ann_gate_.transact("ledger", fence_token(41), [] { return result<void>(); })}) {
    EXPECT_EQ(no.error().code(), errc::misconfigured);
    EXPECT_THAT(no.error().message(),
                AllOf(HasSubstr("no such table"), HasSubstr("cremone fence init"),
                      HasSubstr("CREATE TABLE IF NOT EXISTS `cremone_fence` ( resource TEXT PRIMARY KEY")));
  }
  EXPECT_THAT(fresh.highest("ledger").error().message(), HasSubstr("CREATE TABLE"));
  // The statement in the message is one.
  ann_.must(sql_gate::ddl(sql_dialect::sqlite));
  EXPECT_TRUE(fresh.transact("ledger", fence_token(41), [] { return result<void>(); }));
}

TEST_F(SqliteGate, WithATableOfAnotherShapeRefusesAndLeavesItAsItIs) {
  for (const char* const shape :
       {"(resource TEXT, token INTEGER NOT NULL, writes INTEGER NOT NULL)",           // no key
        "(resource TEXT PRIMARY KEY, token TEXT NOT NULL, writes INTEGER NOT NULL)",  // 9 is above 10
        "(resource TEXT PRIMARY KEY, token NOT NULL, writes INTEGER NOT NULL)",
        "(resource TEXT PRIMARY KEY COLLATE NOCASE, token INTEGER, writes INTEGER)",
        "(resource TEXT PRIMARY KEY, token INTEGER NOT NULL)",
        "(name TEXT PRIMARY KEY, token INTEGER NOT NULL, writes INTEGER NOT NULL)"}) {
    ann_.must("DROP TABLE cremone_fence");
    ann_.must(std::string("CREATE TABLE cremone_fence ") + shape);
    sql_gate fresh = ann_.gate();
    ann_.must("BEGIN IMMEDIATE");
    const auto no = fresh.check("ledger", fence_token(41));
    ann_.must("COMMIT");
    ASSERT_FALSE(no) << shape;
    EXPECT_EQ(no.error().code(), errc::misconfigured) << no.error().message();
    EXPECT_THAT(no.error().message(), HasSubstr("CREATE TABLE"));
    EXPECT_EQ(fresh.create().error().code(), errc::misconfigured) << shape;
    EXPECT_EQ(ann_.text("SELECT count(*) FROM cremone_fence"), "0");
  }
}

TEST_F(SqliteGate, SeesATableThatWasMadeRightByAnother) {
  bob_.must("DROP TABLE cremone_fence");
  bob_.must("CREATE TABLE cremone_fence (resource TEXT PRIMARY KEY, token TEXT, writes INTEGER)");
  EXPECT_EQ(ann_.text("SELECT count(*) FROM cremone_fence"), "0");  // ann's connection knows that shape now
  sql_gate fresh = ann_.gate();
  EXPECT_FALSE(fresh.transact("ledger", fence_token(41), [] { return result<void>(); }));
  bob_.must("DROP TABLE cremone_fence");
  EXPECT_TRUE(bob_gate_.create());
  const auto passed = fresh.transact("ledger", fence_token(41), [] { return result<void>(); });
  EXPECT_TRUE(passed) << passed.error().message();
}

TEST_F(SqliteGate, CanHaveATableOfAnyName) {
  sql_gate odd(sqlite(ann_.get()), "my `marks\"; DROP TABLE ledger; --");
  EXPECT_TRUE(odd.create());
  EXPECT_TRUE(odd.create()) << "where there is one already";
  EXPECT_TRUE(odd.transact("ledger", fence_token(41), [] { return result<void>(); }));
  EXPECT_EQ(odd.transact("ledger", fence_token(40), [] { return result<void>(); }).error().code(),
            errc::stale_token);
  EXPECT_EQ(mark(), "none") << "the other table";
  EXPECT_EQ(entries(), "");
}

TEST_F(SqliteGate, SaysWhatTheTriggerOfATableDidToIt) {
  ann_.must("CREATE TRIGGER t BEFORE INSERT ON cremone_fence BEGIN SELECT RAISE(IGNORE); END");
  EXPECT_THAT(ann_gate_.transact("ledger", fence_token(41), [] { return result<void>(); }).error().message(),
              HasSubstr("trigger"));
}

TEST_F(SqliteGate, OnADatabaseOpenedForReadingSaysSo) {
  sqlite_user reader(path(), SQLITE_OPEN_READONLY);
  sql_gate gate = reader.gate();
  const auto no = gate.transact("ledger", fence_token(41), [] { return result<void>(); });
  EXPECT_EQ(no.error().code(), errc::storage_error);
  EXPECT_THAT(no.error().message(), HasSubstr("readonly"));
  reader.must("BEGIN");
  EXPECT_EQ(gate.check("ledger", fence_token(41)).error().code(), errc::storage_error);
  reader.must("ROLLBACK");
  EXPECT_EQ(*gate.highest("ledger"), fence_token(0));
}

TEST_F(SqliteGate, ThatAnAuthorizerForbidsIsDenied) {
  sqlite3_set_authorizer(
      ann_.get(),
      [](void*, int action, const char*, const char*, const char*, const char*) {
        return action == SQLITE_INSERT ? SQLITE_DENY : SQLITE_OK;
      },
      nullptr);
  EXPECT_EQ(ann_gate_.transact("ledger", fence_token(41), [] { return result<void>(); }).error().code(),
            errc::access_denied);
}

// ---- two at a time ----------------------------------------------------------------------------------------

TEST_F(SqliteGate, MakesOthersBusyUntilItsTransactionEnds) {
  ann_.must("BEGIN IMMEDIATE");
  EXPECT_TRUE(ann_gate_.check("ledger", fence_token(41)));
  const auto busy = bob_gate_.transact("ledger", fence_token(57), [] { return result<void>(); });
  EXPECT_EQ(busy.error().code(), errc::busy);
  EXPECT_THAT(busy.error().message(), HasSubstr("begin again"));
  ann_.must("COMMIT");
  EXPECT_TRUE(bob_gate_.transact("ledger", fence_token(57), [] { return result<void>(); }));
}

TEST_F(SqliteGate, IsBusyForATransactionThatHasReadAnOlderState) {
  ann_.must("BEGIN");
  EXPECT_EQ(entries(), "");  // ann looks, and so decides on this state
  EXPECT_TRUE(write(bob_, bob_gate_, 41, "b"));
  const auto busy = ann_gate_.check("ledger", fence_token(41));
  EXPECT_EQ(busy.error().code(), errc::busy) << "the same token, and yet an older state";
  EXPECT_THAT(busy.error().message(), HasSubstr("BEGIN IMMEDIATE"));
  ann_.must("ROLLBACK");
  EXPECT_TRUE(write(ann_, ann_gate_, 41, "a"));
}

TEST_F(SqliteGate, WaitsForItsTurnInATransactionThatHasReadNothing) {
  std::atomic<bool> waits = false;
  sqlite3_busy_handler(
      ann_.get(),
      [](void* told, int) {
        *static_cast<std::atomic<bool>*>(told) = true;
        std::this_thread::yield();
        return 1;  // for as long as it takes
      },
      &waits);
  bob_.must("BEGIN IMMEDIATE");
  EXPECT_TRUE(bob_gate_.check("ledger", fence_token(57)));
  result<void> passed;
  std::thread waiting([&] {
    sql_gate fresh = ann_.gate();  // one that has to look at its table first
    ann_.must("BEGIN");
    passed = fresh.check("ledger", fence_token(41));
    ann_.must("ROLLBACK");
  });
  EXPECT_TRUE(test::wait_for([&] { return waits.load(); })) << "SQLite lets nobody wait who has read";
  bob_.must("COMMIT");
  waiting.join();
  EXPECT_EQ(passed.error().code(), errc::stale_token) << passed.error().message();
}

class sqlite_ledger final : public test::fenced_resource {
 public:
  explicit sqlite_ledger(std::string path) : path_(std::move(path)), own_(path_) {
    own_.must("PRAGMA journal_mode=WAL");
    own_.must("CREATE TABLE log (id INTEGER PRIMARY KEY, token INTEGER)");
    own_.must("CREATE TABLE state (token INTEGER)");
    own_.must("INSERT INTO state VALUES (0)");
    EXPECT_TRUE(gate_.create());
  }

  [[nodiscard]] std::unique_ptr<test::fenced_writer> connect() override {
    class writer final : public test::fenced_writer {
     public:
      explicit writer(const std::string& path) : user_(path), gate_(user_.gate()) {
        sqlite3_busy_timeout(user_.get(), 60'000);
        user_.must("PRAGMA synchronous=OFF");  // no power is cut here
      }
      [[nodiscard]] result<void> write(fence_token token) override {
        return gate_.transact("ledger", token, [&]() -> result<void> {
          const std::string number = std::to_string(token.value());
          user_.must("INSERT INTO log (token) VALUES (" + number + ")");
          user_.must("UPDATE state SET token = " + number);
          return {};
        });
      }

     private:
      sqlite_user user_;
      sql_gate gate_;
    };
    return std::make_unique<writer>(path_);
  }

  [[nodiscard]] std::vector<std::uint64_t> log() override {
    std::vector<std::uint64_t> all;
    const std::string count = own_.text("SELECT count(*) FROM log");
    for (std::uint64_t i = 1; i <= std::stoull(count); ++i) {
      all.push_back(std::stoull(own_.text("SELECT token FROM log WHERE id = " + std::to_string(i))));
    }
    return all;
  }
  [[nodiscard]] std::uint64_t state() override { return std::stoull(own_.text("SELECT token FROM state")); }
  [[nodiscard]] std::uint64_t highest() override { return gate_.highest("ledger")->value(); }

 private:
  std::string path_;
  sqlite_user own_;
  sql_gate gate_ = own_.gate();
};

TEST(SqliteGateWriters, OfSixteenKeepTheOrderOfTheTokens) {
  const test::temp_directory directory;
  sqlite_ledger ledger(directory.file("ledger.db"));
  test::contend(ledger);
}

}  // namespace

}  // namespace cremone::fence
