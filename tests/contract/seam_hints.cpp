// SPDX-License-Identifier: Apache-2.0
//
// Hints: the head of the queue is told that its turn may have come, where the store sends hints; where it does
// not, asking must do. Nothing here says that a hint comes only then: it may come for nothing.
#include "contract/suite.hpp"

#include "support/pending.hpp"
#include "support/wait_for.hpp"

#include <atomic>

namespace cremone::contract {

namespace {

using test::fresh_owner;
using test::hint_counter;
using test::shown;
using test::wait_for;

/// Asks for the lock inside the hint, as the receiver may.
class asks_at_once final : public hint_sink {
 public:
  asks_at_once(backend& by, const acquire_request& request)
      : by_(by), request_(std::make_shared<const acquire_request>(request)) {}

  void hint() noexcept override {
    if (!asked_.exchange(true)) {
      by_.try_acquire(*request_, answer_.reply(request_));
    }
  }

  [[nodiscard]] bool asked() const noexcept { return asked_; }
  [[nodiscard]] acquire_answer answer() { return answer_.get(unknown{}); }

 private:
  backend& by_;
  const std::shared_ptr<const acquire_request> request_;
  std::atomic<bool> asked_ = false;
  test::pending<acquire_answer> answer_{"try_acquire inside a hint"};
};

class Hints : public seam_test {
 protected:
  /// Frees the lock through the other backend. The head hears of it or, without hints, finds it when it asks.
  void expect_head_is_told(const owner_id& head, const std::shared_ptr<hint_counter>& bell) {
    const int before = bell->count();
    EXPECT_EQ(shown(there_.release(lock_, holder_)), "done");
    if (like().hints) {
      EXPECT_TRUE(wait_for([&] { return bell->count() > before; })) << "no hint came";
    } else {
      EXPECT_EQ(bell->count(), before) << "the traits say that there are no hints";
    }
    EXPECT_EQ(shown(here_.try_acquire(test::queueing(lock_, head, bell))), "granted");
  }

  const owner_id holder_ = fresh_owner();
  const owner_id ann_ = fresh_owner();
  const owner_id bob_ = fresh_owner();
};

INSTANTIATE_TEST_SUITE_P(Contract, Hints, ::testing::ValuesIn(tested_stores()), store_name);

TEST_P(Hints, ReachTheHeadOfTheQueue) {
  const auto bell = std::make_shared<hint_counter>();
  take(lock_, holder_);
  enqueue(test::queueing(lock_, ann_, bell));
  enqueue(queueing(lock_, bob_));
  expect_head_is_told(ann_, bell);
}

TEST_P(Hints, GoWhereTheLatestRequestSays) {
  const auto bell = std::make_shared<hint_counter>();
  take(lock_, holder_);
  enqueue(test::queueing(lock_, ann_, nullptr));
  enqueue(test::queueing(lock_, ann_, bell));
  expect_head_is_told(ann_, bell);
}

TEST_P(Hints, MayBeFollowedAtOnce) {
  take(lock_, holder_);
  const auto eager = std::make_shared<asks_at_once>(here_.seam(), queueing(lock_, ann_));
  enqueue(test::queueing(lock_, ann_, eager));
  EXPECT_EQ(shown(there_.release(lock_, holder_)), "done");
  if (!like().hints) {
    EXPECT_FALSE(eager->asked());
    eager->hint();
  }
  ASSERT_TRUE(wait_for([&] { return eager->asked(); })) << "no hint came";
  EXPECT_EQ(shown(eager->answer()), "granted");
}

TEST_P(Hints, ThatComeWhenTheBackendWasClosedDoNoHarm) {
  auto gone = store().open_backend();
  const auto eager = std::make_shared<asks_at_once>(gone.seam(), queueing(lock_, ann_));
  take(lock_, holder_);
  EXPECT_EQ(shown(gone.try_acquire(test::queueing(lock_, ann_, eager))), "refused: busy");
  enqueue(queueing(lock_, bob_));
  gone.close();
  EXPECT_EQ(shown(there_.release(lock_, holder_)), "done");
  EXPECT_TRUE(wait_for([&] { return shown(here_.try_acquire(queueing(lock_, bob_))) == "granted"; }));
  eager->hint();  // if none came, one comes now
  EXPECT_FALSE(std::holds_alternative<grant>(eager->answer())) << "a closed backend took a lock";
}

}  // namespace

}  // namespace cremone::contract
