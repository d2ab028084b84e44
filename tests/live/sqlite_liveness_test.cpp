// SPDX-License-Identifier: Apache-2.0
//
// What the kernel tells about the clients of a database, through the seam: the living, the dead, and commands that
// outlive the process that took a lock for them. Descriptors stand for processes here: what counts is who has them.
#include "backends/sqlite/backend.hpp"
#include "engine/asio_env.hpp"
#include "support/blocking_backend.hpp"
#include "support/pending.hpp"
#include "support/seam_words.hpp"
#include "support/temp_directory.hpp"
#include "support/wait_for.hpp"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <string>

namespace cremone {

namespace {

using test::blocking_backend;
using test::fresh_owner;
using test::granted;
using test::rejected;
using test::shown;
using test::wanting;

class SqliteLiveness : public ::testing::Test {
 protected:
  [[nodiscard]] std::unique_ptr<blocking_backend> connect() const {
    const auto outside = std::make_shared<detail::asio_env>();
    return std::make_unique<blocking_backend>(outside, sqlite::open_backend(outside, settings_).value());
  }

  [[nodiscard]] hold_record holder() const { return here_->inspect(lock_)->holders.at(0); }

  [[nodiscard]] static sqlite::store_settings settings_at(const std::string& path) {
    sqlite::store_settings s;
    s.path = path;
    return s;
  }

  const test::temp_directory directory_;
  sqlite::store_settings settings_ = settings_at(directory_.file("locks.db"));
  const lock_name lock_ = "lock";
  const owner_id owner_ = fresh_owner();
  std::unique_ptr<blocking_backend> here_ = connect();
  std::unique_ptr<blocking_backend> there_ = connect();
};

TEST_F(SqliteLiveness, SparesALivingHolderUntilItHasBeenSilentForLong) {
  (void)granted(there_->try_acquire(wanting(lock_, owner_)));
  EXPECT_EQ(holder().liveness, liveness::alive);
  EXPECT_EQ(rejected(here_->try_acquire(wanting(lock_, fresh_owner()))).holders.at(0).liveness,
            liveness::alive);
  EXPECT_EQ(shown(here_->evict(lock_, holder().version)), "done") << "that is for the observer to decide";
}

TEST_F(SqliteLiveness, FreesTheLockOfADeadHolderAtOnceWithAHigherToken) {
  const grant first = granted(there_->try_acquire(wanting(lock_, owner_)));
  there_.reset();
  EXPECT_TRUE(here_->inspect(lock_)->holders.empty()) << "the dead hold nothing";
  EXPECT_GT(granted(here_->try_acquire(wanting(lock_, fresh_owner()))).token, first.token);
  EXPECT_EQ(shown(here_->renew(test::renewing(lock_, owner_, first.token))), "refused: lost")
      << "dead is final";
  EXPECT_EQ(shown(here_->try_acquire(wanting(lock_, owner_))), "refused: not_held");
}

TEST_F(SqliteLiveness, KeepsTheLockForACommandThatOutlivesItsProcess) {
  (void)granted(there_->try_acquire(wanting(lock_, owner_)));
  const int command = there_->seam().lifeline().value();
  EXPECT_EQ(holder().liveness, liveness::alive);
  there_.reset();
  EXPECT_EQ(holder().liveness, liveness::command_only);
  EXPECT_EQ(shown(here_->try_acquire(wanting(lock_, fresh_owner()))), "refused: busy");
  EXPECT_EQ(shown(here_->evict(lock_, holder().version)), "refused: busy")
      << "silence says nothing about a command";
  ::close(command);
  EXPECT_TRUE(here_->inspect(lock_)->holders.empty());
  EXPECT_EQ(shown(here_->try_acquire(wanting(lock_, fresh_owner()))), "granted");
}

TEST_F(SqliteLiveness, TakesTheLockFromACommandByForceOnly) {
  (void)granted(there_->try_acquire(wanting(lock_, owner_)));
  const int command = there_->seam().lifeline().value();
  there_.reset();
  EXPECT_EQ(shown(here_->force(lock_, owner_)), "done");
  EXPECT_EQ(shown(here_->try_acquire(wanting(lock_, fresh_owner()))), "granted");
  ::close(command);
}

TEST_F(SqliteLiveness, GivesOutLifelinesWithWhichOneCanDoNothingElse) {
  const int line = here_->seam().lifeline().value();
  EXPECT_NE(::fcntl(line, F_GETFD) & FD_CLOEXEC, 0) << "it is not inherited by accident";
  EXPECT_EQ(::fcntl(line, F_GETFL) & O_ACCMODE, O_RDONLY);
  EXPECT_NE(::ftruncate(line, 0), 0) << "that would end every process that uses the file";
  const int second = here_->seam().lifeline().value();
  ::close(line);
  ::close(second);
}

TEST_F(SqliteLiveness, ForgetsTheDeadForWhomNobodyAsks) {
  sqlite::store_settings settings = settings_;
  const auto locks = sqlite::store::open(settings);
  (void)granted(there_->try_acquire(wanting(lock_, owner_)));
  there_.reset();
  sqlite::store_time time{validity_clock::now(), wall_time(std::chrono::hours(500'000))};
  locks->sweep(time);
  time.now += std::chrono::minutes(2);
  locks->sweep(time);
  EXPECT_EQ(locks->inspect(lock_, time).last, fence_token{}) << "nothing is left of it";
}

TEST_F(SqliteLiveness, OfAnotherBootIsLeftToObservation) {
  (void)granted(there_->try_acquire(wanting(lock_, owner_)));
  there_.reset();
  settings_.boot[0] ^= 1U;
  here_ = connect();
  EXPECT_EQ(holder().liveness, liveness::untold);
  EXPECT_EQ(shown(here_->try_acquire(wanting(lock_, fresh_owner()))), "refused: busy");
  EXPECT_EQ(shown(here_->evict(lock_, holder().version)), "done");
}

TEST_F(SqliteLiveness, OfAnotherLiveFileIsLeftToObservation) {
  (void)granted(there_->try_acquire(wanting(lock_, owner_)));
  std::filesystem::rename(directory_.file("locks.db.live"), directory_.file("old.live"));
  here_ = connect();
  EXPECT_EQ(holder().liveness, liveness::untold) << "the byte may well be held in the other file";
  EXPECT_EQ(shown(here_->try_acquire(wanting(lock_, fresh_owner()))), "refused: busy");
}

TEST_F(SqliteLiveness, WakesTheHeadOfTheQueueWhenTheHolderDies) {
  (void)granted(there_->try_acquire(wanting(lock_, owner_)));
  const auto bell = std::make_shared<test::hint_counter>();
  EXPECT_EQ(shown(here_->try_acquire(test::queueing(lock_, fresh_owner(), bell))), "refused: busy");
  const int before = bell->count();
  there_.reset();
  EXPECT_TRUE(test::wait_for([&] { return bell->count() > before; }));
}

TEST_F(SqliteLiveness, TokensGoOnAboveTheMarkInANewBoot) {
  const grant first = granted(there_->try_acquire(wanting(lock_, owner_)));
  EXPECT_EQ(shown(there_->release(lock_, owner_)), "done");
  here_.reset();  // nobody outlives a reboot
  there_.reset();
  settings_.boot[0] ^= 1U;
  const auto rebooted = connect();
  const grant next = granted(rebooted->try_acquire(wanting(lock_, fresh_owner())));
  EXPECT_GE(next.token.value(), first.token.value() + 9'000'000) << "what was given last may be forgotten";
}

TEST_F(SqliteLiveness, AnotherBootIdBesideALivingClientIsAContainerAndNoReboot) {
  const grant first = granted(there_->try_acquire(wanting(lock_, owner_)));
  const owner_id waiting = fresh_owner();
  const auto bell = std::make_shared<test::hint_counter>();
  EXPECT_EQ(shown(here_->try_acquire(test::queueing(lock_, waiting, bell))), "refused: busy");
  settings_.boot[0] ^= 1U;
  const auto container = connect();
  EXPECT_EQ(container->inspect(lock_)->waiters.size(), 1U) << "the queue is not wiped";
  EXPECT_LT(granted(container->try_acquire(wanting("other", fresh_owner()))).token.value(),
            first.token.value() + 9'000'000)
      << "tokens do not run ahead of the clock";
}

}  // namespace

}  // namespace cremone
