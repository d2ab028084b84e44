// SPDX-License-Identifier: Apache-2.0
//
// Many at once: backends that share a store, and threads that share a backend.
#include "contract/suite.hpp"

#include "support/crowd.hpp"

#include <array>
#include <atomic>
#include <string>

namespace cremone::contract {

namespace {

using test::fresh_owner;
using test::shown;
using test::wanting;

class Sharing : public seam_test {
 protected:
  static constexpr std::size_t lock_count = 3;
  static constexpr int rounds = 100;

  /// One lock, seen by whoever holds it.
  struct guarded {
    std::atomic<bool> taken = false;
    std::atomic<std::uint64_t> last_token = 0;
    std::atomic<int> grants = 0;
  };

  /// One thread of many: tries locks in turn, and checks what it is granted against the others' traces.
  void contend(test::blocking_backend& by, std::size_t thread) {
    for (int round = 0; round < rounds; ++round) {
      const std::size_t which = (thread + static_cast<std::size_t>(round)) % lock_count;
      const lock_name name("lock-" + std::to_string(which));
      guarded& lock = locks_.at(which);
      const owner_id owner = fresh_owner();
      const acquire_answer a = by.try_acquire(wanting(name, owner));
      const auto* yes = std::get_if<grant>(&a);
      if (yes == nullptr) {
        EXPECT_EQ(shown(a), "refused: busy");
        EXPECT_EQ(shown(by.release(name, owner)), "refused: not_held");
        continue;
      }
      EXPECT_FALSE(lock.taken.exchange(true)) << name.str() << " has two holders";
      expect_later(like(), yes->token, fence_token(lock.last_token.exchange(yes->token.value())));
      EXPECT_EQ(shown(by.renew(test::renewing(name, owner, yes->token, 1))), "done");
      ++lock.grants;
      lock.taken = false;
      EXPECT_EQ(shown(by.release(name, owner)), "done");
    }
  }

  void expect_served() {
    for (const guarded& lock : locks_) {
      EXPECT_GT(lock.grants, 0);
    }
    expect_nothing_left();
  }

 private:
  std::array<guarded, lock_count> locks_;
};

INSTANTIATE_TEST_SUITE_P(Contract, Sharing, ::testing::ValuesIn(tested_stores()), store_name);

TEST_P(Sharing, TwoBackendsExcludeEachOther) {
  const owner_id ann = fresh_owner();
  take(lock_, ann);
  EXPECT_EQ(shown(there_.try_acquire(wanting(lock_, fresh_owner()))), "refused: busy");
  EXPECT_EQ(shown(here_.release(lock_, ann)), "done");
  EXPECT_EQ(shown(there_.try_acquire(wanting(lock_, fresh_owner()))), "granted");
  EXPECT_EQ(shown(here_.try_acquire(wanting(lock_, fresh_owner()))), "refused: busy");
}

TEST_P(Sharing, OneBackendMayBeUsedByEightThreads) {
  test::crowd(8, [&](std::size_t i) { contend(here_, i); });
  expect_served();
}

TEST_P(Sharing, TwoBackendsMayBeUsedByFourThreadsEach) {
  test::crowd(8, [&](std::size_t i) { contend(i % 2 == 0 ? here_ : there_, i); });
  expect_served();
}

}  // namespace

}  // namespace cremone::contract
