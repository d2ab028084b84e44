// SPDX-License-Identifier: Apache-2.0
//
// Data and locks in one SQLite file: a real store, real leases, and a user's transactions beside them.
#include "fence/sqlite_fixture.hpp"
#include "support/wait_for.hpp"

#include <cremone/cremone.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdlib.h>

namespace cremone::fence {

namespace {

using namespace std::chrono_literals;
using test::sqlite_user;
using ::testing::AllOf;
using ::testing::HasSubstr;

class SqliteLock : public ::testing::Test {
 protected:
  SqliteLock() {
    ::setenv("CREMONE_STATE_DIR", directory_.path().c_str(), 1);  // what is noted is this test's own
    locks_ = open("sqlite://" + path()).value();
    user_.must("CREATE TABLE ledger (id INTEGER PRIMARY KEY, entry TEXT)");
  }
  ~SqliteLock() override { ::unsetenv("CREMONE_STATE_DIR"); }

  [[nodiscard]] std::string path() const { return directory_.file("all.db"); }

  /// In a transaction of its own, which is rolled back.
  [[nodiscard]] result<void> check(fence_token token, const lock_name& name = "nightly") {
    user_.must("BEGIN IMMEDIATE");
    auto still = check_lock(user_.get(), name, token);
    user_.must("ROLLBACK");
    return still;
  }

  test::temp_directory directory_;
  std::optional<client> locks_;
  sqlite_user user_{path()};
};

TEST_F(SqliteLock, LetsItsHolderWrite) {
  const auto held = locks_->acquire("nightly").value();
  user_.must("BEGIN IMMEDIATE");
  const auto still = check_lock(user_.get(), held.name(), held.token());
  ASSERT_TRUE(still) << still.error().message();
  user_.must("INSERT INTO ledger (entry) VALUES ('a')");
  user_.must("COMMIT");
  EXPECT_EQ(user_.text("SELECT entry FROM ledger"), "a");
  EXPECT_EQ(check(held.token(), "another").error().code(), errc::stale_token);
  EXPECT_EQ(check(fence_token(held.token().value() + 1)).error().code(), errc::stale_token);
}

TEST_F(SqliteLock, ThatWasReleasedIsHeldByNobody) {
  auto held = locks_->acquire("nightly").value();
  const fence_token token = held.token();
  ASSERT_TRUE(held.release());
  const auto no = check(token);
  EXPECT_EQ(no.error().code(), errc::stale_token);
  EXPECT_THAT(no.error().message(),
              AllOf(HasSubstr("released"), HasSubstr("'nightly'"), HasSubstr(std::to_string(token.value()))));
}

TEST_F(SqliteLock, ThatWasTakenOverIsAnothers) {
  // A turn to write that the user keeps holds the renewals up, and so the lease is lost by its own clock.
  auto first = locks_->acquire("nightly", {.ttl = 300ms}).value();
  user_.must("BEGIN IMMEDIATE");
  EXPECT_TRUE(test::wait_for([&] { return !first.held(); }));
  EXPECT_TRUE(check_lock(user_.get(), "nightly", first.token()))
      << "nobody else can have it, as long as this lasts";
  user_.must("ROLLBACK");
  const auto second = locks_->acquire("nightly", {.wait = test::generous}).value();
  ASSERT_GT(second.token(), first.token());
  const auto no = check(first.token());
  EXPECT_EQ(no.error().code(), errc::stale_token);
  EXPECT_THAT(no.error().message(), AllOf(HasSubstr(std::to_string(first.token().value())),
                                          HasSubstr(std::to_string(second.token().value()))));
  EXPECT_TRUE(check(second.token()));
}

TEST_F(SqliteLock, ThatWasTakenAwayByOrderIsHeldByNobody) {
  const auto held = locks_->acquire("nightly").value();
  EXPECT_EQ(*locks_->force_release("nightly"), 1U);
  EXPECT_EQ(check(held.token()).error().code(), errc::stale_token) << "although nobody has taken it since";
}

TEST_F(SqliteLock, CannotBeTakenAwayBeforeATransactionEndsThatWasBegunWithoutATurnToWrite) {
  const auto held = locks_->acquire("nightly").value();
  user_.must("BEGIN");
  EXPECT_TRUE(check_lock(user_.get(), "nightly", held.token()));
  sqlite_user other(path());
  EXPECT_EQ(other.run("UPDATE lock SET owner = NULL"), SQLITE_BUSY);
  user_.must("COMMIT");
  other.must("UPDATE lock SET owner = NULL");
}

TEST_F(SqliteLock, IsNotBelievedByATransactionThatHasReadAnOlderState) {
  const auto held = locks_->acquire("nightly").value();
  user_.must("BEGIN");
  EXPECT_EQ(user_.text("SELECT count(*) FROM ledger"), "0");
  EXPECT_EQ(*locks_->force_release("nightly"), 1U);
  EXPECT_EQ(user_.text("SELECT owner IS NULL FROM lock"), "0") << "what this transaction sees";
  const auto no = check_lock(user_.get(), "nightly", held.token());
  EXPECT_EQ(no.error().code(), errc::busy);
  EXPECT_THAT(no.error().message(), HasSubstr("begin again"));
  user_.must("ROLLBACK");
  EXPECT_EQ(check(held.token()).error().code(), errc::stale_token);
}

TEST_F(SqliteLock, NeedsATransactionATokenAndAName) {
  EXPECT_THAT(check_lock(user_.get(), "nightly", fence_token(1)).error().message(),
              HasSubstr("BEGIN IMMEDIATE"));
  EXPECT_EQ(check(fence_token(0)).error().code(), errc::invalid_argument);
  EXPECT_EQ(check(fence_token(1), "").error().code(), errc::invalid_argument);
  EXPECT_EQ(check_lock(nullptr, "nightly", fence_token(1)).error().code(), errc::invalid_argument);
}

TEST_F(SqliteLock, IsNotLookedForInAFileThatIsNoStore) {
  sqlite_user plain(directory_.file("plain.db"));
  for (const char* const table : {"other (x)", "lock (name TEXT PRIMARY KEY, token INTEGER, owner BLOB)"}) {
    plain.must(std::string("CREATE TABLE ") + table);
    plain.must("BEGIN IMMEDIATE");
    const auto no = check_lock(plain.get(), "nightly", fence_token(1));
    plain.must("ROLLBACK");
    EXPECT_EQ(no.error().code(), errc::misconfigured);
    EXPECT_THAT(no.error().message(), AllOf(HasSubstr("sqlite://"), HasSubstr("plain.db")));
  }
  user_.must("PRAGMA user_version=2");
  EXPECT_THAT(check(fence_token(1)).error().message(), HasSubstr("newer"));
}

}  // namespace

}  // namespace cremone::fence
