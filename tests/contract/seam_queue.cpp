// SPDX-License-Identifier: Apache-2.0
//
// The queue, where a store keeps one: places, order, that nobody overtakes, and that those who left or vanished
// delay nobody for long. A store without a queue must still exclude, and each test says what it does instead.
#include "contract/suite.hpp"

#include "support/wait_for.hpp"

#include <chrono>
#include <string>
#include <vector>

namespace cremone::contract {

namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;
using test::fresh_owner;
using test::hint_counter;
using test::rejected;
using test::shown;
using test::wait_for;
using test::wanting;
using strings = std::vector<std::string>;

class Queue : public seam_test {
 protected:
  /// Asks once more for a place that is held already, or for the lock if it is this owner's turn.
  std::string ask(const lock_name& name, const owner_id& owner) {
    return shown(here_.try_acquire(queueing(name, owner)));
  }

  /// What `scenario` saw on a lock of its own, in a run that was over before any head's claim time could be. When
  /// the machine stalls for longer, the next in the queue may rightly take the lock: such a run says nothing.
  template <class F>
  strings within_claim_time(F scenario) {
    for (int run = 0; run < 20; ++run) {
      const auto began = steady_clock::now();
      strings seen = scenario(lock_name("lock-" + std::to_string(run)));
      if (steady_clock::now() - began < like().claim_time || HasFailure()) {
        return seen;
      }
    }
    ADD_FAILURE() << "20 times in a row a few calls took longer than the claim time";
    return {};
  }

  /// Frees the lock, behind which one waits that will never ask again, and lets `next` ask until it has the lock:
  /// after about the claim time, and well before a store forgets a waiter that is silent.
  void expect_delayed_by_claim_time_only(const owner_id& holder, const owner_id& next) {
    EXPECT_EQ(shown(there_.release(lock_, holder)), "done");
    EXPECT_TRUE(wait_for([&] { return shown(there_.try_acquire(queueing(lock_, next))) == "granted"; },
                         like().claim_time + milliseconds(5000)))
        << "the one behind a waiter that vanished still waits";
  }

  const owner_id holder_ = fresh_owner();
  const owner_id ann_ = fresh_owner();
  const owner_id bob_ = fresh_owner();
  const owner_id eve_ = fresh_owner();
};

INSTANTIATE_TEST_SUITE_P(Contract, Queue, ::testing::ValuesIn(tested_stores()), store_name);

TEST_P(Queue, TellsEachItsPlaceWhicheverBackendItAsks) {
  take(lock_, holder_);
  for (int round = 0; round < 3; ++round) {  // asking again keeps the place
    std::size_t place = 0;
    for (const owner_id& waiter : {ann_, bob_, eve_}) {
      auto& backend = waiter == bob_ ? there_ : here_;
      const rejection no = rejected(backend.try_acquire(queueing(lock_, waiter)));
      EXPECT_EQ(no.why.code(), errc::busy);
      expect_names_holder(no, lock_);
      EXPECT_EQ(no.place, like().fifo ? std::optional(place) : std::nullopt);
      ++place;
    }
    EXPECT_EQ(inspect(lock_).waiters.size(), like().fifo ? 3U : 0U);
  }
}

TEST_P(Queue, IsServedInTheOrderOfArrival) {
  const strings seen = within_claim_time([&](const lock_name& lock) {
    owner_id holder = fresh_owner();
    take(lock, holder);
    strings answers;
    const std::vector<owner_id> queue = {fresh_owner(), fresh_owner(), fresh_owner()};
    for (const owner_id& waiter : queue) {
      enqueue(queueing(lock, waiter));
    }
    for (std::size_t turn = 0; turn < queue.size(); ++turn) {
      EXPECT_EQ(shown(there_.release(lock, holder)), "done");
      for (std::size_t i = queue.size(); i-- > turn;) {  // the last first: all try to overtake
        answers.push_back(ask(lock, queue[i]));
        if (answers.back() == "granted") {
          holder = latest(queue[i]);
        }
      }
    }
    return answers;
  });
  if (like().fifo) {
    const std::string no = "refused: busy";
    EXPECT_EQ(seen, (strings{no, no, "granted", no, "granted", "granted"}));
  } else {
    // Whoever comes first is served; the others are excluded. The last one is the holder when asked again.
    EXPECT_EQ(seen.at(0), "granted");
    EXPECT_EQ(seen.at(1), "refused: busy");
    EXPECT_EQ(seen.at(2), "refused: busy");
  }
}

TEST_P(Queue, IsNotOvertakenByATryNorByOneWhoJoinsLater) {
  const strings seen = within_claim_time([&](const lock_name& lock) {
    const owner_id holder = fresh_owner();
    const owner_id head = fresh_owner();
    take(lock, holder);
    enqueue(queueing(lock, head));
    EXPECT_EQ(shown(there_.release(lock, holder)), "done");
    strings answers = {shown(there_.try_acquire(wanting(lock, fresh_owner())))};
    answers.push_back(ask(lock, fresh_owner()));
    answers.push_back(ask(lock, head));
    return answers;
  });
  const std::string no = "refused: busy";
  EXPECT_EQ(seen, like().fifo ? (strings{no, no, "granted"}) : (strings{"granted", no, no}));
}

TEST_P(Queue, LetsTheNextInWhenTheHeadLeaves) {
  const strings seen = within_claim_time([&](const lock_name& lock) {
    const owner_id holder = fresh_owner();
    const owner_id head = fresh_owner();
    const owner_id next = fresh_owner();
    const auto told = std::make_shared<hint_counter>();
    const auto bell = std::make_shared<hint_counter>();
    take(lock, holder);
    enqueue(queueing(lock, head, told));
    enqueue(queueing(lock, next, bell));
    const int before = told->count();
    strings answers = {shown(here_.release(lock, holder))};
    if (like().hints) {  // by each server that votes
      EXPECT_TRUE(wait_for([&] { return told->count() >= before + static_cast<int>(like().voters); }));
    }
    leave(here_, lock, head);  // the lock is free and was kept for it
    if (like().hints) {
      EXPECT_TRUE(wait_for([&] { return bell->count() > 0; })) << "the next was not told";
    }
    answers.push_back(ask(lock, next));
    return answers;
  });
  EXPECT_EQ(seen, (strings{"done", "granted"}));
}

TEST_P(Queue, IsLeftByTheOneWhoIsServed) {
  take(lock_, holder_);
  enqueue(queueing(lock_, ann_));
  enqueue(queueing(lock_, bob_));
  EXPECT_EQ(shown(here_.release(lock_, holder_)), "done");
  EXPECT_EQ(ask(lock_, ann_), "granted");
  const auto waiters = inspect(lock_).waiters;
  ASSERT_EQ(waiters.size(), like().fifo ? 1U : 0U);
  if (like().fifo) {
    EXPECT_EQ(waiters.front().owner, bob_);
  }
}

TEST_P(Queue, IsNotHeldUpByAWaiterWhoseSinkIsGone) {
  auto bell = std::make_shared<hint_counter>();
  take(lock_, holder_);
  enqueue(queueing(lock_, ann_, bell));
  enqueue(queueing(lock_, bob_));
  bell.reset();
  expect_delayed_by_claim_time_only(holder_, bob_);
}

TEST_P(Queue, IsNotHeldUpByAWaiterThatNeverAsksAgain) {
  const auto bell = std::make_shared<hint_counter>();  // hears of it and does nothing
  take(lock_, holder_);
  enqueue(queueing(lock_, ann_, bell));
  enqueue(queueing(lock_, bob_));
  expect_delayed_by_claim_time_only(holder_, bob_);
}

TEST_P(Queue, IsNotHeldUpByAWaiterWhoseBackendWasClosed) {
  const auto bell = std::make_shared<hint_counter>();
  auto gone = store().open_backend();
  take(lock_, holder_);
  (void)rejected(gone.try_acquire(queueing(lock_, ann_, bell)));
  enqueue(queueing(lock_, bob_));
  gone.close();
  expect_delayed_by_claim_time_only(holder_, bob_);
}

}  // namespace

}  // namespace cremone::contract
