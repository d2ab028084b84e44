// SPDX-License-Identifier: Apache-2.0
//
// The store of sqlite:// is told the time by its callers, who read the clock before it is their turn to write. What
// others wrote meanwhile is then later than the time at hand, and still of this boot.
#include "backends/sqlite/store.hpp"
#include "support/seam_words.hpp"
#include "support/temp_directory.hpp"

#include <gtest/gtest.h>

#include <chrono>

namespace cremone::test {
namespace {

using namespace std::chrono_literals;

class SqliteTurn : public ::testing::Test {
 protected:
  static sqlite::store_time at(std::chrono::milliseconds since_boot) {
    return {instant(1h + since_boot), wall_time(std::chrono::hours(24 * 365 * 56) + since_boot)};
  }

  acquire_answer ask(const owner_id& who, std::chrono::milliseconds now) {
    bool freed = false;
    return store_->try_acquire(queueing(lock_, who, nullptr), at(now), freed);
  }

  void release(const owner_id& who, std::chrono::milliseconds now) {
    bool freed = false;
    EXPECT_EQ(shown(store_->release({lock_, who}, at(now), freed)), "done");
  }

  const temp_directory directory_;
  const lock_name lock_{"turn"};
  const std::shared_ptr<sqlite::store> store_ = [this] {
    sqlite::store_settings settings;
    settings.path = directory_.file("locks.db");
    return sqlite::store::open(settings);
  }();
  const owner_id holder_ = fresh_owner();
  const owner_id first_ = fresh_owner();
  const owner_id second_ = fresh_owner();
};

TEST_F(SqliteTurn, AWaiterThatCameMeanwhileKeepsItsPlace) {
  (void)granted(ask(holder_, 0ms));
  EXPECT_EQ(rejected(ask(first_, 100ms)).place, 0U);
  EXPECT_EQ(rejected(ask(second_, 90ms)).place, 1U);
  EXPECT_EQ(store_->inspect(lock_, at(80ms)).waiters.size(), 2U);
}

TEST_F(SqliteTurn, ALockThatWasFreedMeanwhileIsKeptForTheHead) {
  (void)granted(ask(holder_, 0ms));
  EXPECT_EQ(rejected(ask(first_, 10ms)).place, 0U);
  EXPECT_EQ(rejected(ask(second_, 20ms)).place, 1U);
  release(holder_, 100ms);
  EXPECT_EQ(shown(ask(second_, 90ms)), "refused: busy");
  (void)granted(ask(first_, 110ms));
}

TEST_F(SqliteTurn, ALockThatWasFreedMeanwhileIsNotForgotten) {
  const grant yes = granted(ask(holder_, 0ms));
  release(holder_, 100ms);
  store_->sweep(at(90ms));
  EXPECT_EQ(store_->inspect(lock_, at(110ms)).last, yes.token);
  EXPECT_EQ(shown(ask(holder_, 120ms)), "refused: not_held");
}

}  // namespace
}  // namespace cremone::test
