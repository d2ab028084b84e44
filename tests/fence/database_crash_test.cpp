// SPDX-License-Identifier: Apache-2.0
//
// What a real server of each kind makes of many writers at once, and what is left when it is killed: token and data move together or not
// at all.
#include "fence/databases.hpp"
#include "fence/writers.hpp"
#include "support/wait_for.hpp"

#include <gmock/gmock.h>

#include <atomic>
#include <thread>

namespace cremone::test {

namespace {

class DatabaseCrash : public OnADatabase {
 protected:
  [[nodiscard]] bool synced() const override { return true; }
};

INSTANTIATE_TEST_SUITE_P(On, DatabaseCrash, ::testing::ValuesIn(tested_databases()),
                         [](const auto& tested) { return tested.param.name; });

TEST_P(DatabaseCrash, BetweenTheWriteAndTheCommitLeavesNeitherTokenNorData) {
  ASSERT_TRUE(pay(*first, 41));
  auto gate = first->gate();
  first->begin();
  ASSERT_TRUE(gate.check("ledger", fence_token(57)));
  first->run("UPDATE ledger SET balance = 57 WHERE id = 1");
  server->kill();
  EXPECT_NE(first->refusal_of("COMMIT"), "");
  server->start_again();
  first = server->connect();
  EXPECT_EQ(highest(), 41U);
  EXPECT_EQ(balance(), "41");
  EXPECT_TRUE(pay(*first, 41)) << "the holder before may go on";
}

TEST_P(DatabaseCrash, AfterTheCommitLeavesBoth) {
  ASSERT_TRUE(pay(*first, 57));
  server->kill();
  server->start_again();
  first = server->connect();
  EXPECT_EQ(highest(), 57U);
  EXPECT_EQ(balance(), "57");
  EXPECT_EQ(pay(*first, 41).error().code(), errc::stale_token) << "it must not forget";
}

TEST_P(DatabaseCrash, AtAnyMomentLeavesTokenAndDataOfOneWrite) {
  std::uint64_t next = 1;
  for (int round = 0; round < 4; ++round) {
    std::atomic<std::uint64_t> answered = next - 1;
    const std::uint64_t enough = next + 7 * static_cast<std::uint64_t>(round);
    std::thread writer([&, token = next]() mutable {
      const auto mine = server->connect();
      auto gate = mine->gate();
      while (gate.transact("ledger", fence_token(token), [&]() -> result<void> {
        const auto own = mine->connection();
        const auto written = own->execute({"UPDATE ledger SET balance = " + std::to_string(token), {}});
        return written ? result<void>() : written.error();
      })) {
        answered = token++;
      }
    });
    EXPECT_TRUE(wait_for([&] { return answered >= enough; }, 3 * generous));  // each waits for the disk
    server->kill();
    writer.join();
    server->start_again();
    first = server->connect();
    EXPECT_EQ(std::to_string(highest()), balance());
    EXPECT_GE(highest(), answered) << "what was committed is gone";
    EXPECT_LE(highest(), answered + 1);
    next = highest() + 1;
  }
}

/// The state is an account's balance, the log a table whose rows are numbered while the gate is held.
class ledger_resource final : public fenced_resource {
 public:
  ledger_resource(const database_kind& kind, std::string level)
      : server_(kind.start(false)), own_(server_->connect()), level_(std::move(level)) {
    set_up(*own_);
    own_->run("CREATE TABLE log (id SERIAL, token BIGINT NOT NULL)");
  }

  [[nodiscard]] std::unique_ptr<fenced_writer> connect() override {
    return std::make_unique<writer>(server_->connect(), level_);
  }
  [[nodiscard]] std::vector<std::uint64_t> log() override {
    std::vector<std::uint64_t> all;
    for (const std::string& token : own_->column("SELECT token FROM log ORDER BY id")) {
      all.push_back(std::stoull(token));
    }
    return all;
  }
  [[nodiscard]] std::uint64_t state() override {
    return std::stoull(own_->value("SELECT balance FROM ledger"));
  }
  [[nodiscard]] std::uint64_t highest() override { return own_->gate().highest("ledger")->value(); }

 private:
  class writer final : public fenced_writer {
   public:
    writer(std::unique_ptr<database_session> session, const std::string& level)
        : session_(std::move(session)), over_(session_->connection()), gate_(session_->gate()) {
      session_->isolate(level);
    }

    [[nodiscard]] result<void> write(fence_token token) override {
      return gate_.transact("ledger", token, [&]() -> result<void> {
        const auto before = over_->execute({"SELECT balance FROM ledger WHERE id = 1", {}});
        if (!before) {
          return before.error();
        }
        if (std::get<std::int64_t>(before->first->front()) > static_cast<std::int64_t>(token.value())) {
          return error(errc::protocol_error, "behind the gate stands what a later token wrote");
        }
        const std::string number = std::to_string(token.value());
        const auto written = over_->execute({"UPDATE ledger SET balance = " + number + " WHERE id = 1", {}});
        if (!written) {
          return written.error();
        }
        const auto logged = over_->execute({"INSERT INTO log (token) VALUES (" + number + ")", {}});
        return logged ? result<void>() : logged.error();
      });
    }

   private:
    std::unique_ptr<database_session> session_;
    std::unique_ptr<fence::sql_connection> over_;
    fence::sql_gate gate_;
  };

  std::unique_ptr<database> server_;
  std::unique_ptr<database_session> own_;
  std::string level_;
};

class DatabaseWriters : public ::testing::TestWithParam<database_kind> {};

INSTANTIATE_TEST_SUITE_P(On, DatabaseWriters, ::testing::ValuesIn(tested_databases()),
                         [](const auto& tested) { return tested.param.name; });

TEST_P(DatabaseWriters, AreKeptInOrderUnderReadCommitted) {
  ledger_resource resource(GetParam(), "READ COMMITTED");
  contend(resource);
}

TEST_P(DatabaseWriters, AreKeptInOrderUnderRepeatableRead) {
  ledger_resource resource(GetParam(), "REPEATABLE READ");
  contend(resource);
}

TEST_P(DatabaseWriters, AreKeptInOrderUnderSerializable) {
  ledger_resource resource(GetParam(), "SERIALIZABLE");
  contend(resource);
}

}  // namespace

}  // namespace cremone::test
