// SPDX-License-Identifier: Apache-2.0
//
// The gate on a real server of each kind: what it lets pass, what it refuses, and what it says to a transaction or a table that will
// not do. What only one kind has is in that kind's own file.
#include "fence/databases.hpp"
#include "support/wait_for.hpp"

#include <gmock/gmock.h>

#include <atomic>
#include <thread>

namespace cremone::test {

namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class DatabaseGate : public OnADatabase {};

INSTANTIATE_TEST_SUITE_P(On, DatabaseGate, ::testing::ValuesIn(tested_databases()),
                         [](const auto& tested) { return tested.param.name; });

TEST_P(DatabaseGate, LetsTokensPassInTheirOrderAndAnEqualOneAgain) {
  EXPECT_EQ(highest(), 0U);
  for (const std::uint64_t token : {41U, 41U, 57U}) {
    const auto paid = pay(*first, token);
    ASSERT_TRUE(paid) << paid.error();
  }
  EXPECT_EQ(highest(), 57U);
  EXPECT_EQ(balance(), "57");
  EXPECT_EQ(highest("another"), 0U);
}

TEST_P(DatabaseGate, RefusesALowerTokenWithBothNumbersAndWritesNothing) {
  ASSERT_TRUE(pay(*first, 57));
  const auto late = pay(*server->connect(), 41);
  EXPECT_EQ(late.error().code(), errc::stale_token);
  EXPECT_THAT(late.error().message(), AllOf(HasSubstr("'ledger'"), HasSubstr("'shop'"), HasSubstr("41"),
                                            HasSubstr("57"), HasSubstr("127.0.0.1")));
  EXPECT_EQ(highest(), 57U);
  EXPECT_EQ(balance(), "57");
}

TEST_P(DatabaseGate, CommitsNothingOfATransactionThatWasPutInThePlaceOfItsOwn) {
  const auto other = server->connect();
  for (const std::string between : {"COMMIT AND CHAIN", "ROLLBACK AND CHAIN"}) {
    const auto done = first->gate().transact("ledger", fence_token(60), [&]() -> result<void> {
      first->run(between);
      EXPECT_TRUE(pay(*other, 70)) << "nobody holds it up any more";
      first->run("UPDATE ledger SET balance = 60 WHERE id = 1");
      return {};
    });
    EXPECT_EQ(done.error().code(), errc::misconfigured) << between << ": " << done.error();
    EXPECT_THAT(done.error().message(), HasSubstr("has ended the transaction"));
    EXPECT_EQ(balance(), "70") << between;
    EXPECT_EQ(highest(), 70U);
    first->run("DELETE FROM cremone_fence");  // the other beginning: as if there had been no 70
  }
}

TEST_P(DatabaseGate, KeepsTheGreatestTokenThereIs) {
  constexpr std::uint64_t greatest = fence::token_limit - 1;
  const auto paid = pay(*first, greatest);
  ASSERT_TRUE(paid) << paid.error();
  EXPECT_EQ(highest(), greatest);
  EXPECT_EQ(pay(*first, greatest - 1).error().code(), errc::stale_token);
}

TEST_P(DatabaseGate, TakesANameAsItIs) {
  std::uint64_t token = 40;
  const std::vector<std::string> names = {
      "o'brien",       "say \"so\"", "`tick`", "50%", "under_score",
      "back\\",        "back\\'",    "?",      "$1",  "'; DROP TABLE ledger; --",
      "\u00e9t\u00e9", "A",          "a",      "a ",  std::string(512, 'x')};
  for (const std::string& name : names) {
    const auto passed = first->gate().transact(name, fence_token(++token), [] { return result<void>(); });
    ASSERT_TRUE(passed) << name << ": " << passed.error();
  }
  token = 40;
  for (const std::string& name : names) {
    EXPECT_EQ(highest(name), ++token) << name;
  }
}

TEST_P(DatabaseGate, TakesATablesNameAsItIs) {
  auto gate = first->gate("it's `odd` \"?\" 100%");
  const auto made = gate.create();
  ASSERT_TRUE(made) << made.error();
  const auto passed = gate.transact("ledger", fence_token(41), [] { return result<void>(); });
  ASSERT_TRUE(passed) << passed.error();
  EXPECT_EQ(gate.highest("ledger")->value(), 41U);
  EXPECT_EQ(highest(), 0U) << "the other table";
}

TEST_P(DatabaseGate, LeavesNoMarkWhenTheTransactionIsRolledBack) {
  ASSERT_TRUE(pay(*first, 41));
  auto gate = first->gate();
  first->begin();
  ASSERT_TRUE(gate.check("ledger", fence_token(57)));
  first->run("ROLLBACK");
  EXPECT_EQ(highest(), 41U);
  const auto undone =
      gate.transact("ledger", fence_token(57), [] { return error(errc::cancelled, "thought better of it"); });
  EXPECT_EQ(undone.error().code(), errc::cancelled);
  EXPECT_EQ(highest(), 41U);
  EXPECT_TRUE(pay(*first, 41));
}

TEST_P(DatabaseGate, LetsTheSecondWriterWaitUntilTheFirstHasCommitted) {
  auto gate = first->gate();
  first->begin();
  ASSERT_TRUE(gate.check("ledger", fence_token(57)));
  first->run("UPDATE ledger SET balance = 57 WHERE id = 1");
  std::atomic<bool> over = false;
  result<void> earlier;
  std::thread second([&] {
    const auto mine = server->connect();
    earlier = pay(*mine, 41);
    over = true;
  });
  const auto watcher = server->connect();
  EXPECT_TRUE(wait_for([&] { return over || watcher->value(server->how_many_wait()) == "1"; }));
  EXPECT_FALSE(over) << "it did not wait";
  first->run("COMMIT");
  second.join();
  EXPECT_EQ(earlier.error().code(), errc::stale_token) << "it has not seen what it waited for";
  EXPECT_EQ(balance(), "57");
}

TEST_P(DatabaseGate, TellsWhoHasWaitedForTooLongToBeginAgain) {
  auto gate = first->gate();
  first->begin();
  ASSERT_TRUE(gate.check("ledger", fence_token(57)));
  const auto second = server->connect();
  second->run(server->waits_at_most_a_second());
  const auto waited = pay(*second, 58);
  EXPECT_EQ(waited.error().code(), errc::busy) << waited.error();
  EXPECT_THAT(waited.error().message(), HasSubstr("begin again"));
  first->run("COMMIT");
  EXPECT_TRUE(pay(*second, 58));
}

TEST_P(DatabaseGate, RefusesATransactionThatReadBeforeAnotherWrote) {
  ASSERT_TRUE(pay(*first, 41));
  for (const char* const resource : {"ledger", "never seen"}) {
    const auto slow = server->connect();
    auto gate = slow->gate();
    slow->begin("REPEATABLE READ");
    const std::string seen = slow->value("SELECT balance FROM ledger WHERE id = 1");
    const auto quick = first->gate().transact(resource, fence_token(57), [&]() -> result<void> {
      first->run("UPDATE ledger SET balance = balance + 1 WHERE id = 1");
      return {};
    });
    ASSERT_TRUE(quick) << quick.error();
    const auto checked = gate.check(resource, fence_token(58));
    EXPECT_EQ(checked.error().code(), errc::busy)
        << "it would write what it makes of " << seen << ", which is gone";
    EXPECT_THAT(checked.error().message(), HasSubstr("with the check first"));
    slow->run("ROLLBACK");

    slow->begin("REPEATABLE READ");
    const auto again = gate.check(resource, fence_token(58));
    EXPECT_TRUE(again) << again.error();
    EXPECT_EQ(slow->value("SELECT balance FROM ledger WHERE id = 1"), balance());
    slow->run("COMMIT");
  }
}

TEST_P(DatabaseGate, SeesTheStateOfTheWriterBeforeWhenItHasWaitedForIt) {
  for (const char* const level : {"READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"}) {
    auto gate = first->gate();
    ASSERT_TRUE(pay(*first, 56));
    first->begin();
    ASSERT_TRUE(gate.check("ledger", fence_token(57)));
    first->run("UPDATE ledger SET balance = 1000 WHERE id = 1");
    result<void> checked;
    std::string seen;
    std::thread second([&] {
      const auto mine = server->connect();
      auto own = mine->gate();
      do {  // PostgreSQL's snapshot is as old as its first statement, even where that has waited
        mine->begin(level);
        checked = own.check("ledger", fence_token(57));
        seen = checked ? mine->value("SELECT balance FROM ledger WHERE id = 1") : seen;
        mine->run("ROLLBACK");
      } while (!checked && checked.error().code() == errc::busy);
    });
    const auto watcher = server->connect();
    EXPECT_TRUE(wait_for([&] { return watcher->value(server->how_many_wait()) == "1"; }));
    first->run("COMMIT");
    second.join();
    EXPECT_TRUE(checked) << level << ": " << checked.error();
    EXPECT_EQ(seen, "1000") << level;
    first->run("DELETE FROM cremone_fence");
  }
}

TEST_P(DatabaseGate, WantsATransaction) {
  const auto checked = first->gate().check("ledger", fence_token(41));
  EXPECT_EQ(checked.error().code(), errc::misconfigured);
  EXPECT_THAT(checked.error().message(), HasSubstr("no transaction is open"));
  EXPECT_EQ(highest(), 0U);
}

TEST_P(DatabaseGate, WantsATransactionThatMayWrite) {
  auto gate = first->gate();
  first->run(server->read_only_begin());
  const auto checked = gate.check("ledger", fence_token(41));
  EXPECT_EQ(checked.error().code(), errc::misconfigured);
  EXPECT_THAT(checked.error().message(), HasSubstr("READ WRITE"));
  first->run("ROLLBACK");
}

TEST_P(DatabaseGate, SaysHowToMakeATableThatIsMissing) {
  auto gate = first->gate("elsewhere");
  first->begin();
  const auto checked = gate.check("ledger", fence_token(41));
  EXPECT_EQ(checked.error().code(), errc::misconfigured);
  EXPECT_THAT(checked.error().message(), AllOf(HasSubstr("elsewhere"), HasSubstr("CREATE TABLE")));
  first->run("ROLLBACK");
  EXPECT_TRUE(gate.create());
  EXPECT_TRUE(gate.create()) << "it is there";
  first->begin();
  EXPECT_TRUE(gate.check("ledger", fence_token(41)));
  first->run("ROLLBACK");
}

TEST_P(DatabaseGate, SaysWhoMayNotWrite) {
  for (const std::string& statement : server->user_who_may_read()) {
    first->run(statement);
  }
  const auto denied = pay(*server->connect("ann"), 41);
  EXPECT_EQ(denied.error().code(), errc::access_denied) << denied.error();
  EXPECT_THAT(denied.error().message(), HasSubstr("cremone_fence"));
}

TEST_P(DatabaseGate, SaysThatTheConnectionIsGone) {
  const auto doomed = server->connect();
  auto gate = doomed->gate();
  doomed->begin();
  ASSERT_TRUE(gate.check("ledger", fence_token(41)));
  first->run(server->end_of(doomed->id()));
  const auto checked = gate.check("ledger", fence_token(41));
  EXPECT_EQ(checked.error().code(), errc::unreachable) << checked.error();
  EXPECT_EQ(gate.highest("ledger").error().code(), errc::unreachable);
  EXPECT_TRUE(wait_for([&] { return pay(*first, 40).has_value(); })) << "its mark went with it";
}

// Where something is asked before the commit, it is known that it was not sent.
TEST_P(DatabaseGate, DoesNotKnowWhatBecameOfACommitThatWasNotAnswered) {
  const auto doomed = server->connect();
  const auto paid = doomed->gate().transact("ledger", fence_token(41), [&]() -> result<void> {
    first->run(server->end_of(doomed->id()));
    return {};
  });
  EXPECT_EQ(paid.error().code(), GetParam().name == "mariadb" ? errc::unreachable : errc::outcome_unknown)
      << paid.error();
  EXPECT_EQ(balance(), "0");
}

}  // namespace

}  // namespace cremone::test
