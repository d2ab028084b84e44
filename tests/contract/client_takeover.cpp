// SPDX-License-Identifier: Apache-2.0
//
// Through the public client: a holder that vanished is replaced, not too early; one that lives never is. The dead
// holder is a bare backend that takes a lock and says nothing more.
#include "contract/suite.hpp"

#include "support/wait_for.hpp"

#include <chrono>
#include <future>

namespace cremone::contract {

namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;
using test::fresh_owner;
using test::generous;
using test::granted;
using test::renewing;
using test::shown;
using test::wait_for;

class Takeover : public client_test {
 protected:
  static constexpr milliseconds ttl = 400ms;

  /// Takes the lock as a process would that dies right after.
  grant take_and_die() {
    acquire_request request = test::wanting(lock_, dead_);
    request.ttl = ttl;
    acquire_answer got = seam_.try_acquire(request);
    for (int run = 0; run < 10 && std::holds_alternative<unknown>(got); ++run) {  // a machine that stalls
      got = seam_.try_acquire(request);
    }
    return granted(got);
  }

  /// The lock is another's now, and the dead holder is known to be out.
  void expect_replaced(const grant& before, const lease& after) {
    EXPECT_TRUE(after.held());
    expect_later(after.token(), before.token);
    EXPECT_EQ(shown(seam_.renew(renewing(lock_, dead_, before.token, 1))), "refused: lost");
    EXPECT_EQ(shown(seam_.release(lock_, dead_)), "refused: not_held");
    EXPECT_TRUE(after.held());
    EXPECT_EQ(inspect(lock_).holders.size(), 1U);
  }

  const owner_id dead_ = fresh_owner();
};

INSTANTIATE_TEST_SUITE_P(Contract, Takeover, ::testing::ValuesIn(tested_stores()), store_name);

TEST_P(Takeover, FromADeadHolderComesNotBeforeItsTtlIsOver) {
  const instant taken = validity_clock::now();
  const grant before = take_and_die();
  // Where a silent hold is evicted by those who watch it, they must have seen it themselves for that long.
  const instant from = seam_.like().observed_takeover ? validity_clock::now() : taken;
  const lease after = take(bob_, lock_, {.wait = ttl + generous});
  EXPECT_GE(validity_clock::now() - from, ttl) << "it was taken over too early";
  expect_replaced(before, after);
}

TEST_P(Takeover, FromADeadHolderAlsoComesToOneWhoOnlyTries) {
  const instant taken = validity_clock::now();
  const grant before = take_and_die();
  const instant from = seam_.like().observed_takeover ? validity_clock::now() : taken;
  lease after;
  EXPECT_TRUE(wait_for([&] {
    auto got = bob_.acquire(lock_, {.wait = no_wait});
    if (got) {
      after = std::move(*got);
    } else {
      EXPECT_EQ(got.error().code(), errc::busy);
    }
    return after.held();
  }));
  EXPECT_GE(validity_clock::now() - from, ttl) << "it was taken over too early";
  expect_replaced(before, after);
}

TEST_P(Takeover, StartsOverWheneverTheHolderIsHeardOf) {
  const grant before = take_and_die();
  auto waiting = std::async(std::launch::async, [&] { return bob_.acquire(lock_, {.wait = generous}); });
  expect_waiting(lock_, 1);
  instant heard = validity_clock::now();
  const instant enough = heard + ttl + ttl / 2;  // long enough for one who does not look at versions
  EXPECT_TRUE(wait_for([&] {
    const instant sent = validity_clock::now();
    if (shown(seam_.renew({&lock_, dead_, 1, before.token, ttl})) != "done") {
      return true;  // taken over; below is judged whether too early
    }
    heard = sent;
    return heard >= enough;
  }));
  const auto after = waiting.get();
  ASSERT_TRUE(after) << after.error().message();
  EXPECT_GE(validity_clock::now() - heard, ttl) << "it was taken over too early";
  expect_replaced(before, *after);
}

TEST_P(Takeover, NeverComesToAHolderThatRenews) {
  // A machine that stalls for most of a ttl makes the holder lose its lease, and rightly. Then the run says no
  // more than that there were not two holders, and another one must do.
  for (int run = 0; run < 10; ++run) {
    const lease held = take(ann_, lock_, {.ttl = 600ms, .wait = generous});
    const hold_version before = inspect(lock_).holders.at(0).version;
    const auto no = bob_.acquire(lock_, {.wait = 1500ms});  // more than twice the ttl
    if (no) {
      EXPECT_FALSE(held.held()) << "two holders";
      continue;
    }
    EXPECT_EQ(no.error().code(), errc::timed_out);
    const auto holders = inspect(lock_).holders;
    if (held.held()) {
      ASSERT_EQ(holders.size(), 1U);
      EXPECT_EQ(holders.front().version.owner, before.owner);
      // Where no version moves on, that it is still there says so.
      EXPECT_EQ(holders.front().version != before, seam_.like().records) << "it was never renewed";
      return;
    }
  }
  ADD_FAILURE() << "ten times a lease did not last for thrice its ttl";
}

TEST_P(Takeover, LetsOnlyOneOfManyIn) {
  const grant before = take_and_die();
  auto first = std::async(std::launch::async, [&] { return ann_.acquire(lock_, {.wait = generous}); });
  auto second = std::async(std::launch::async, [&] { return bob_.acquire(lock_, {.wait = generous}); });
  EXPECT_TRUE(wait_for([&] {
    return first.wait_for(0s) == std::future_status::ready ||
           second.wait_for(0s) == std::future_status::ready;
  }));
  const lock_record seen = inspect(lock_);
  ASSERT_EQ(seen.holders.size(), 1U);
  EXPECT_NE(seen.holders.front().version.owner, dead_);
  const bool first_won = first.wait_for(0s) == std::future_status::ready;
  auto& winner = first_won ? first : second;
  auto& other = first_won ? second : first;
  auto won = winner.get();
  ASSERT_TRUE(won) << won.error().message();
  expect_later(won->token(), before.token);
  EXPECT_EQ(other.wait_for(0s), std::future_status::timeout);
  const fence_token second_last = won->token();
  EXPECT_TRUE(won->release());
  const auto next = other.get();
  ASSERT_TRUE(next) << next.error().message();
  expect_later(next->token(), second_last);
}

}  // namespace

}  // namespace cremone::contract
