// SPDX-License-Identifier: Apache-2.0
//
// Hints: the head of the queue is told that its turn may have come, where the store sends hints; where it does
// not, asking must do. Nothing here says that a hint comes only then: it may come for nothing.
#include "contract/suite.hpp"

#include "support/wait_for.hpp"

#include <atomic>

namespace cremone::contract {

namespace {

using test::fresh_owner;
using test::hint_counter;
using test::shown;
using test::wait_for;

/// Asks for the lock inside the hint, as the receiver may; and, as hints may come for nothing, inside the next one too,
/// until it has it. A hint that comes while an answer is on its way counts when that is there.
class asks_at_once final : public hint_sink {
 public:
  /// It asks with this request, and wants to be told itself.
  static std::shared_ptr<asks_at_once> with(backend& by, const acquire_request& request) {
    const auto made = std::make_shared<asks_at_once>(by, request);
    made->state_->request.wake = made;
    return made;
  }
  asks_at_once(backend& by, const acquire_request& request) : state_(std::make_shared<state>(by, request)) {}

  void hint() noexcept override {
    ++state_->hints;
    ask(state_);
  }

  [[nodiscard]] int asked() const noexcept { return state_->asked; }
  [[nodiscard]] int answered() const noexcept { return state_->answered; }
  [[nodiscard]] bool granted() const noexcept { return state_->granted; }

 private:
  struct state {
    state(backend& b, const acquire_request& r) : by(b), request(r) {}

    backend& by;
    acquire_request request;
    std::atomic<bool> asking = false;
    std::atomic<bool> granted = false;
    std::atomic<int> hints = 0;
    std::atomic<int> asked = 0;
    std::atomic<int> answered = 0;
  };

  static void ask(const std::shared_ptr<state>& s) {
    if (s->asking.exchange(true)) {
      return;
    }
    ++s->asked;
    s->by.try_acquire(s->request, [s, heard = s->hints.load()](const acquire_answer& a) {
      s->granted = std::holds_alternative<grant>(a);
      if (const auto* no = std::get_if<rejection>(&a); no != nullptr && no->spent) {
        s->request.owner = fresh_owner();
      }
      ++s->answered;
      s->asking = s->granted.load();
      if (s->hints != heard) {
        ask(s);
      }
    });
  }

  const std::shared_ptr<state> state_;
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
    EXPECT_EQ(shown(here_.try_acquire(queueing(lock_, head, bell))), "granted");
  }

  const owner_id holder_ = fresh_owner();
  const owner_id ann_ = fresh_owner();
  const owner_id bob_ = fresh_owner();
};

INSTANTIATE_TEST_SUITE_P(Contract, Hints, ::testing::ValuesIn(tested_stores()), store_name);

TEST_P(Hints, ReachTheHeadOfTheQueue) {
  const auto bell = std::make_shared<hint_counter>();
  take(lock_, holder_);
  enqueue(queueing(lock_, ann_, bell));
  enqueue(queueing(lock_, bob_));
  expect_head_is_told(ann_, bell);
}

TEST_P(Hints, GoWhereTheLatestRequestSays) {
  const auto bell = std::make_shared<hint_counter>();
  take(lock_, holder_);
  enqueue(queueing(lock_, ann_, nullptr));
  enqueue(queueing(lock_, ann_, bell));
  expect_head_is_told(ann_, bell);
}

TEST_P(Hints, MayBeFollowedAtOnce) {
  take(lock_, holder_);
  const auto eager = asks_at_once::with(here_.seam(), queueing(lock_, ann_));
  enqueue(queueing(lock_, ann_, eager));
  EXPECT_EQ(shown(there_.release(lock_, holder_)), "done");
  if (!like().hints) {
    EXPECT_EQ(eager->asked(), 0);
    eager->hint();
  }
  EXPECT_TRUE(wait_for([&] { return eager->granted(); })) << "asked inside " << eager->asked() << " hints";
}

TEST_P(Hints, ThatComeWhenTheBackendWasClosedDoNoHarm) {
  auto gone = store().open_backend();
  const auto eager = asks_at_once::with(gone.seam(), queueing(lock_, ann_));
  take(lock_, holder_);
  EXPECT_EQ(shown(gone.try_acquire(queueing(lock_, ann_, eager))), "refused: busy");
  enqueue(queueing(lock_, bob_));
  gone.close();
  EXPECT_EQ(shown(there_.release(lock_, holder_)), "done");
  EXPECT_TRUE(wait_for([&] { return shown(here_.try_acquire(queueing(lock_, bob_))) == "granted"; }));
  eager->hint();  // if none came, one comes now
  EXPECT_TRUE(wait_for([&] { return eager->answered() > 0 && eager->answered() == eager->asked(); }));
  EXPECT_FALSE(eager->granted()) << "a closed backend took a lock";
}

}  // namespace

}  // namespace cremone::contract
