// SPDX-License-Identifier: Apache-2.0
//
// The layout `record` on a server whose clock is set while locks are held and waited for: nobody loses a lock or its place,
// nobody gets what is another's, and who is dead still goes.
#include "live/redis_record_fixture.hpp"

#include <algorithm>

namespace cremone::test {

namespace {

using namespace std::chrono_literals;

class RedisRecordClock : public RedisRecord {
 protected:
  RedisRecordClock() : RedisRecord({.clock = true}) {}

  [[nodiscard]] acquire_answer ask(blocking_backend& by, const owner_id& owner, bool join) const {
    acquire_request wish = short_wish("lock", owner);
    wish.join = join;
    wish.wake = join ? bell_ : nullptr;
    return by.try_acquire(wish);
  }
  [[nodiscard]] acquire_answer tried(const owner_id& owner) { return ask(here_, owner, false); }

  /// Waits there, and can be told.
  [[nodiscard]] owner_id waiting(blocking_backend& by) const {
    const owner_id owner = fresh_owner();
    (void)rejected(ask(by, owner, true));
    expect_to_listen(owner);
    return owner;
  }

  const std::shared_ptr<hint_counter> bell_ = std::make_shared<hint_counter>();
  blocking_backend here_ = seam();
  const owner_id holder_ = fresh_owner();
};

TEST_F(RedisRecordClock, ThatIsBeforeTheYear2001GivesOneLockToOne) {
  server_.set_clock(-24h * 365 * 27);  // seconds since 1970 have nine digits there
  const owner_id next = fresh_owner();
  const grant first = granted(tried(holder_));
  EXPECT_EQ(shown(tried(next)), "refused: busy");
  const owner_id queued = waiting(here_);
  ASSERT_EQ(shown(here_.release("lock", holder_)), "done");
  EXPECT_EQ(shown(tried(next)), "refused: busy") << "it is kept for the one who waits";
  const grant second = granted(ask(here_, queued, true));
  EXPECT_GT(second.token, first.token);
  EXPECT_EQ(shown(tried(next)), "refused: busy");
  const auto seen = here_.inspect("lock");
  ASSERT_TRUE(seen) << seen.error();
  ASSERT_EQ(seen->holders.size(), 1U);
  EXPECT_EQ(seen->holders[0].version.owner, queued);
}

TEST_F(RedisRecordClock, ThatIsSetBackLeavesEachOneItsPlace) {
  (void)granted(tried(holder_));
  const owner_id ann = waiting(here_);
  server_.set_clock(-1h);
  const owner_id bob = waiting(here_);
  ASSERT_EQ(shown(here_.release("lock", holder_)), "done");
  EXPECT_EQ(rejected(ask(here_, bob, true)).place, 1U);
  EXPECT_EQ(shown(tried(fresh_owner())), "refused: busy");
  EXPECT_EQ(shown(ask(here_, ann, true)), "granted");
}

TEST_F(RedisRecordClock, ThatIsSetBackKeepsNoFreeLockForOneWhoDoesNotCome) {
  (void)granted(tried(holder_));
  (void)waiting(here_);
  const owner_id bob = waiting(here_);
  ASSERT_EQ(shown(here_.release("lock", holder_)), "done");
  server_.set_clock(-1h);
  EXPECT_TRUE(wait_for([&] { return shown(ask(here_, bob, true)) == "granted"; }));
}

TEST_F(RedisRecordClock, ThatIsSetBackGivesGreaterTokensThoughTheServerForgets) {
  server_.set_clock(5s);
  const grant before = granted(tried(holder_));
  server_.set_clock(0s);
  (void)server_.ask({"FLUSHALL"});
  open_up();
  EXPECT_GT(granted(tried(fresh_owner())).token, before.token);
}

/// What `doctor` says about the quarantine.
finding quarantine_finding(const client& by) {
  const auto all = by.examine().value();
  const auto found =
      std::find_if(all.begin(), all.end(), [](const finding& f) { return f.subject == "quarantine"; });
  return found == all.end() ? finding{} : *found;
}

TEST_F(RedisRecordClock, ClockSetBackBeforeLossKeepsTokensRising) {
  const grant before = granted(tried(holder_));
  server_.set_clock(-30s);
  (void)server_.ask({"FLUSHALL"});
  client by = opened(url());
  const lease after = taken(by, "lock", {.ttl = 2s, .wait = 3s + generous});  // it waits out the quarantine
  EXPECT_GT(after.token(), before.token);
}

TEST_F(RedisRecordClock, ClockSetBackBetweenLossesKeepsTokensRising) {
  (void)server_.ask({"FLUSHALL"});
  open_up();
  const grant before = granted(tried(holder_));  // 10 s ahead of the clock
  server_.set_clock(-4s);
  (void)server_.ask({"FLUSHALL"});
  open_up();
  EXPECT_GT(granted(tried(fresh_owner())).token, before.token);
}

/// Found by simulation: a client that had observed the first hold as silent before the loss could
/// have evicted the second grant of the same request at once.
TEST_F(RedisRecordClock, RepeatedTokenOfTheSameOwnerHasAnotherVersion) {
  const auto ahead =
      std::chrono::floor<std::chrono::microseconds>(std::chrono::system_clock::now().time_since_epoch() + 1h);
  const auto lose_memory_at = [&](std::chrono::microseconds clock) {
    server_.freeze_clock(clock);
    (void)server_.ask({"FLUSHALL"});
    open_up();  // the floor is this clock plus 10 s, and tokens are counted from there
  };
  const auto version = [&] { return here_.inspect("lock")->holders.at(0).version; };
  lose_memory_at(ahead + 2us);
  const grant first = granted(tried(holder_));
  const hold_version seen = version();

  lose_memory_at(ahead);
  for (int i = 0; i < 2; ++i) {
    const owner_id other = fresh_owner();
    (void)granted(tried(other));
    ASSERT_EQ(shown(here_.release("lock", other)), "done");
  }
  ASSERT_EQ(granted(tried(holder_)).token, first.token);
  EXPECT_EQ(version().life, seen.life);
  EXPECT_NE(version().seq, seen.seq);
}

TEST_F(RedisRecordClock, ClockFarFromClientsKeepsQuarantineClosed) {
  const grant before = granted(tried(holder_));
  server_.set_clock(-1h);
  (void)server_.ask({"FLUSHALL"});
  client by = opened(url());
  const auto refused = by.acquire("lock", {.ttl = 2s, .wait = 4s});  // the quarantine lasts 3 s otherwise
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message(),
              ::testing::ContainsRegex("its clock shows 20.*Z, this machine's 20.*Z: "
                                       "36[0-9][0-9] s apart, which is more than 60 s"));
  EXPECT_THAT(refused.error().message(),
              ::testing::HasSubstr("until the clocks agree and every lease from before is over; "
                                   "once no lock from before is held, run `cremone quarantine --end`"));

  const auto state = by.quarantine().value();
  ASSERT_EQ(state.size(), 1U);
  EXPECT_TRUE(state[0].until_ordered);
  EXPECT_THAT(state[0].why, ::testing::HasSubstr(" s apart, which is more than 60 s"));
  const finding found = quarantine_finding(by);
  EXPECT_EQ(found.verdict, verdict::bad);
  EXPECT_EQ(found.value, "does not end by itself");
  EXPECT_THAT(found.reason, ::testing::HasSubstr(" s apart, which is more than 60 s"));

  EXPECT_EQ(rejected(tried(fresh_owner())).retry_after, 1s) << "only an operator ends it: no hurry";

  open_up();
  EXPECT_GT(granted(tried(fresh_owner())).token, before.token) << "the later clock is ours";
}

TEST_F(RedisRecordClock, CorrectedClockLetsQuarantineEnd) {
  server_.set_clock(1h);
  (void)server_.ask({"FLUSHALL"});
  client by = opened(url());
  const auto refused = by.acquire("lock", {.ttl = 2s, .wait = no_wait});
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message(), ::testing::HasSubstr(" s apart, which is more than 60 s"));
  server_.set_clock(0s);
  EXPECT_TRUE(taken(by, "lock", {.ttl = 2s, .wait = 3s + generous}).held());
}

TEST_F(RedisRecordClock, EndByOperatorTakesTheFloorFromTheLaterClock) {
  server_.set_clock(1h);
  const grant before = granted(tried(holder_));
  (void)server_.ask({"FLUSHALL"});
  open_up();
  EXPECT_GT(granted(tried(fresh_owner())).token, before.token);
}

TEST_F(RedisRecordClock, ThatJumpsPassesOverOneWhoWaitsAndNotTwo) {
  (void)granted(tried(holder_));
  const owner_id ann = waiting(here_);
  const owner_id bob = waiting(here_);
  ASSERT_EQ(shown(here_.release("lock", holder_)), "done");
  server_.set_clock(2300ms);  // or everybody was stopped for so long: enough for both to be late
  EXPECT_EQ(shown(tried(fresh_owner())), "refused: busy")
      << "a try has overtaken one who had no time to answer";
  EXPECT_EQ(shown(ask(here_, bob, true)), "granted");
  EXPECT_EQ(rejected(ask(here_, ann, true)).place, 0U) << "who was passed over comes next";
}

TEST_F(RedisRecordClock, BringsThoseToAnEndWhoWerePassedOverAndNeverCameBack) {
  (void)granted(tried(holder_));
  {
    blocking_backend dead = seam();
    (void)waiting(dead);
  }  // it goes without a word
  ASSERT_EQ(shown(here_.release("lock", holder_)), "done");
  const owner_id next = fresh_owner();
  ASSERT_TRUE(wait_for([&] { return shown(tried(next)) == "granted"; }));
  EXPECT_EQ(server_.ask({"ZCARD", "t:queue:lock"}).shown(), "1") << "it may still come back";
  server_.set_clock(31s);  // more than a waiter's lease
  const owner_id ann = waiting(here_);
  EXPECT_EQ(server_.ask({"ZRANGE", "t:queue:lock", "0", "-1"}).items.size(), 1U);
  EXPECT_EQ(server_.ask({"HKEYS", "t:wait:lock"}).items.at(0).text, ann.hex());
}

}  // namespace

}  // namespace cremone::test
