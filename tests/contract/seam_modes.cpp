// SPDX-License-Identifier: Apache-2.0
//
// Modes: a store either knows shared holds and slots, or refuses them as unsupported and does nothing. It never
// takes one mode for another.
#include "contract/suite.hpp"

namespace cremone::contract {

namespace {

using test::fresh_owner;
using test::shown;

class Modes : public seam_test {
 protected:
  [[nodiscard]] std::string ask(mode m, const owner_id& owner = fresh_owner(), bool join = false) {
    acquire_request request = test::wanting(lock_, owner);
    request.mode = m;
    request.join = join;
    return shown(here_.try_acquire(request));
  }

  void expect_unsupported(mode m) {
    EXPECT_EQ(ask(m), "refused: unsupported");
    EXPECT_EQ(ask(m, fresh_owner(), true), "refused: unsupported");
    expect_nothing_left();
    EXPECT_EQ(ask(mode::exclusive), "granted");
    EXPECT_EQ(ask(m), "refused: unsupported") << "also while the lock is held";
  }
};

INSTANTIATE_TEST_SUITE_P(Contract, Modes, ::testing::ValuesIn(tested_stores()), store_name);

TEST_P(Modes, ExclusiveIsAlone) {
  EXPECT_EQ(ask(mode::exclusive), "granted");
  EXPECT_EQ(ask(mode::exclusive), "refused: busy");
  EXPECT_EQ(holder_of(lock_).mode, mode::exclusive);
}

TEST_P(Modes, SharedHoldersAreTogetherOrUnsupported) {
  if (!like().shared) {
    return expect_unsupported(mode::shared);
  }
  const owner_id ann = fresh_owner();
  const owner_id bob = fresh_owner();
  EXPECT_EQ(ask(mode::shared, ann), "granted");
  EXPECT_EQ(ask(mode::shared, bob), "granted");
  EXPECT_EQ(ask(mode::exclusive), "refused: busy");
  ASSERT_EQ(inspect(lock_).holders.size(), 2U);
  EXPECT_EQ(inspect(lock_).holders.front().mode, mode::shared);
  EXPECT_EQ(shown(here_.release(lock_, ann)), "done");
  EXPECT_EQ(ask(mode::exclusive), "refused: busy");
  EXPECT_EQ(shown(here_.release(lock_, bob)), "done");
  EXPECT_EQ(ask(mode::exclusive), "granted");
  EXPECT_EQ(ask(mode::shared), "refused: busy");
}

TEST_P(Modes, SlotsAreRecordedAsSuchOrUnsupported) {
  if (!like().slots) {
    return expect_unsupported(mode::slot);
  }
  EXPECT_EQ(ask(mode::slot), "granted");
  EXPECT_EQ(holder_of(lock_).mode, mode::slot);
}

}  // namespace

}  // namespace cremone::contract
