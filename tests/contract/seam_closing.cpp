// SPDX-License-Identifier: Apache-2.0
//
// close, and when answers come: every call is answered once, whatever happens to the backend meanwhile. (That no
// call is answered twice is watched by `pending` in every test.)
#include "contract/suite.hpp"

#include "support/crowd.hpp"
#include "support/pending.hpp"
#include "support/wait_for.hpp"

#include <atomic>
#include <string>
#include <vector>

namespace cremone::contract {

namespace {

using test::fresh_owner;
using test::pending;
using test::rejected;
using test::renewing;
using test::shown;
using test::wait_for;
using test::wanting;

/// One call of each kind, not waited for.
struct all_calls {
  explicit all_calls(lock_name name) : lock(std::move(name)) {}

  void make(backend& on) {
    on.try_acquire(request, acquired.reply());
    on.renew(batch, renewed.reply());
    on.release(end, released.reply());
    on.evict(lock, version, evicted.reply());
    on.force(lock, owner, forced.reply());
    on.inspect(lock, inspected.reply());
    on.list(listed.reply());
  }

  const lock_name lock;
  const owner_id owner = fresh_owner();
  const acquire_request request = wanting(lock, owner);
  const std::vector<renewal> batch = {renewing(lock, owner, fence_token(1)),
                                      renewing(lock, owner, fence_token(1))};
  const release_request end{lock, owner};
  const hold_version version{owner, 0};
  pending<acquire_answer> acquired{"try_acquire"};
  pending<std::vector<answer>> renewed{"renew"};
  pending<answer> released{"release"};
  pending<answer> evicted{"evict"};
  pending<answer> forced{"force"};
  pending<result<lock_record>> inspected{"inspect"};
  pending<result<std::vector<lock_record>>> listed{"list"};
};

class Answers : public seam_test {};
class Closing : public seam_test {
 protected:
  const owner_id ann_ = fresh_owner();
  const owner_id bob_ = fresh_owner();
};

INSTANTIATE_TEST_SUITE_P(Contract, Answers, ::testing::ValuesIn(tested_stores()), store_name);
INSTANTIATE_TEST_SUITE_P(Contract, Closing, ::testing::ValuesIn(tested_stores()), store_name);

TEST_P(Answers, ComeInsideTheCallWhereTheTraitsSaySoAndElseOnAnotherThread) {
  all_calls calls("lock");
  calls.make(here_.seam());
  const bool here = like().answers_inline;
  (void)calls.acquired.get({});
  (void)calls.renewed.get({});
  (void)calls.released.get({});
  (void)calls.evicted.get({});
  (void)calls.forced.get({});
  (void)calls.inspected.get({});
  (void)calls.listed.get({});
  EXPECT_EQ(calls.acquired.answered_here(), here);
  EXPECT_EQ(calls.renewed.answered_here(), here);
  EXPECT_EQ(calls.released.answered_here(), here);
  EXPECT_EQ(calls.evicted.answered_here(), here);
  EXPECT_EQ(calls.forced.answered_here(), here);
  EXPECT_EQ(calls.inspected.answered_here(), here);
  EXPECT_EQ(calls.listed.answered_here(), here);
}

TEST_P(Closing, RefusesLaterCallsAndChangesNothing) {
  const grant yes = take(lock_, ann_);
  const auto before = versions_of(lock_);
  auto gone = store().open_backend();
  gone.close();

  EXPECT_EQ(rejected(gone.try_acquire(wanting("other", bob_))).holders.size(), 0U);
  EXPECT_FALSE(rejected(gone.try_acquire(queueing(lock_, bob_))).place);
  const auto renewed = gone.renew({renewing(lock_, ann_, yes.token, 1), renewing(lock_, bob_, yes.token, 1)});
  ASSERT_EQ(renewed.size(), 2U);
  EXPECT_TRUE(std::holds_alternative<refused>(renewed[0])) << shown(renewed[0]);
  EXPECT_TRUE(std::holds_alternative<refused>(renewed[1])) << shown(renewed[1]);
  const answer released = gone.release(lock_, ann_);
  EXPECT_TRUE(std::holds_alternative<refused>(released)) << shown(released);
  const answer evicted = gone.evict(lock_, before.at(0));
  EXPECT_TRUE(std::holds_alternative<refused>(evicted)) << shown(evicted);
  const answer forced = gone.force(lock_, ann_);
  EXPECT_TRUE(std::holds_alternative<refused>(forced)) << shown(forced);
  EXPECT_TRUE(gone.inspect(lock_).has_error());
  EXPECT_TRUE(gone.list().has_error());

  EXPECT_EQ(versions_of(lock_), before);
  EXPECT_TRUE(inspect(lock_).waiters.empty());
  EXPECT_TRUE(inspect("other").holders.empty());
}

TEST_P(Closing, TellsNobodyThatALeaseIsLostOrFree) {
  const grant yes = take(lock_, ann_);
  here_.close();
  // A client that reads "lost" or "not_held" here would believe that the store has said so.
  EXPECT_NE(shown(here_.renew(renewing(lock_, ann_, yes.token, 1))), "refused: lost");
  EXPECT_NE(shown(here_.release(lock_, ann_)), "refused: not_held");
}

TEST_P(Closing, AnswersWhatIsOutstanding) {
  auto gone = store().open_backend();
  std::vector<std::unique_ptr<all_calls>> calls;
  for (int i = 0; i < 50; ++i) {
    calls.push_back(std::make_unique<all_calls>("lock-" + std::to_string(i % 5)));
    calls.back()->make(gone.seam());
  }
  gone.close();
  gone.close();  // harmless
  for (const auto& c : calls) {
    (void)c->acquired.get({});
    EXPECT_EQ(c->renewed.get({}).size(), c->batch.size());
    (void)c->released.get({});
    (void)c->evicted.get({});
    (void)c->forced.get({});
    (void)c->inspected.get({});
    (void)c->listed.get({});
  }
}

TEST_P(Closing, LeavesNobodyWaitingWhoCallsMeanwhile) {
  auto gone = store().open_backend();
  std::atomic<int> running = 0;
  std::atomic<bool> closed = false;
  test::crowd(5, [&](std::size_t i) {
    if (i == 0) {
      EXPECT_TRUE(wait_for([&] { return running == 4; }));
      gone.close();
      closed = true;
      return;
    }
    const lock_name mine("lock-" + std::to_string(i));
    bool counted = false;
    while (!closed || !counted) {
      const owner_id owner = fresh_owner();
      (void)gone.try_acquire(wanting(mine, owner));
      (void)gone.renew(renewing(mine, owner, fence_token(1)));
      (void)gone.release(mine, owner);
      running += counted ? 0 : 1;
      counted = true;
    }
    EXPECT_FALSE(std::holds_alternative<grant>(gone.try_acquire(wanting(mine, fresh_owner()))));
  });
}

}  // namespace

}  // namespace cremone::contract
