// SPDX-License-Identifier: Apache-2.0
//
// The layout `record` on a real server: that who was removed stays removed, that a script that fails has changed nothing,
// and that names leave no keys behind.
#include "live/redis_record_fixture.hpp"
#include "support/crowd.hpp"
#include "support/sanitized.hpp"

#include <atomic>
#include <map>
#include <optional>
#include <set>

namespace cremone::test {

namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

using RedisRecordHolders = RedisRecord;

TEST_F(RedisRecordHolders, ThatWereForcedOffOrEvictedCannotComeBackByRenewing) {
  auto here = seam();
  const lock_name name = "lock";
  for (const bool by_force : {true, false}) {
    const owner_id ann = fresh_owner();
    const grant yes = granted(here.try_acquire(short_wish("lock", ann)));
    const hold_version version = here.inspect(name)->holders.at(0).version;
    if (by_force) {
      EXPECT_EQ(opened(url()).force_release("lock").value(), 1U);
    } else {
      EXPECT_EQ(shown(here.evict(name, version)), "done");
    }
    EXPECT_EQ(shown(here.renew(renewing(name, ann, yes.token, 1))), "refused: lost");
    // Nor when the server has forgotten that it may give out locks, and takes renewals of those that it does not know.
    (void)server_.ask({"DEL", "t:boot"});
    EXPECT_EQ(shown(here.renew(renewing(name, ann, yes.token, 2))), "refused: lost");
    EXPECT_TRUE(here.inspect(name)->holders.empty());
    open_up();
    const grant next = granted(here.try_acquire(short_wish("lock", fresh_owner())));
    EXPECT_GT(next.token.value(), yes.token.value() + 1) << "the victim's token and one more are past";
    EXPECT_EQ(opened(url()).force_release("lock").value(), 1U);
  }
}

TEST_F(RedisRecordHolders, ThatGaveUpBeforeTheirGrantArrivedLeaveNothing) {
  auto here = seam();
  const owner_id ann = fresh_owner();
  EXPECT_EQ(shown(here.release("lock", ann)), "refused: not_held");  // overtakes
  EXPECT_EQ(shown(here.try_acquire(short_wish("lock", ann))), "refused: not_held");
  EXPECT_TRUE(here.inspect("lock")->holders.empty());
  EXPECT_EQ(shown(here.try_acquire(short_wish("lock", fresh_owner()))), "granted");
}

TEST_F(RedisRecordHolders, WhoAreGrantedTwiceNeverHaveAVersionAgain) {
  // The answer to an acquire was lost; its hold was seen, and removed. Much later the same request is made once more.
  auto here = seam();
  const lock_name name = "lock";
  const owner_id ann = fresh_owner();
  (void)granted(here.try_acquire(short_wish("lock", ann)));
  const hold_version first = here.inspect(name)->holders.at(0).version;
  ASSERT_EQ(shown(here.evict(name, first)), "done");
  constexpr int tombstones = 8;
  for (int i = 0; i < tombstones; ++i) {  // whose tombstones push out that of the first
    const owner_id other = fresh_owner();
    (void)granted(here.try_acquire(short_wish("lock", other)));
    ASSERT_EQ(shown(here.release(name, other)), "done");
  }
  (void)granted(here.try_acquire(short_wish("lock", ann)));
  EXPECT_NE(here.inspect(name)->holders.at(0).version, first) << "whoever saw it before takes it for silent";
  EXPECT_EQ(shown(here.evict(name, first)), "refused: not_held");
}

/// Somebody who waits, and does not take its turn.
class RedisRecordIdler : public RedisRecord {
 protected:
  void queue_up(blocking_backend& by, const owner_id& who) {
    acquire_request wish = short_wish("lock", who);
    wish.join = true;
    wish.wake = bell_;
    (void)by.try_acquire(wish);
    expect_to_listen(who);
  }
  const std::shared_ptr<hint_counter> bell_ = std::make_shared<hint_counter>();
};

TEST_F(RedisRecordIdler, IsPassedOverThoughOthersGiveUpAllTheTime) {
  auto idle = seam();
  auto here = seam();
  const owner_id holder = fresh_owner();
  (void)granted(here.try_acquire(short_wish("lock", holder)));
  queue_up(idle, fresh_owner());
  const owner_id next = fresh_owner();
  queue_up(here, next);
  ASSERT_EQ(shown(here.release("lock", holder)), "done");
  const auto served = [&] {
    const owner_id other = fresh_owner();
    queue_up(here, other);
    EXPECT_EQ(shown(here.release("lock", other)), "done");
    acquire_request wish = short_wish("lock", next);
    wish.join = true;
    wish.wake = bell_;
    return shown(here.try_acquire(wish)) == "granted";
  };
  EXPECT_TRUE(wait_for(served)) << "each who leaves gives the first another half second";
}

TEST_F(RedisRecordIdler, ThatIsGoneLeavesTheNextItsWholeClaimTime) {
  auto idle = seam();
  auto here = seam();
  const owner_id holder = fresh_owner();
  const owner_id third = fresh_owner();
  (void)granted(here.try_acquire(short_wish("lock", holder)));
  queue_up(idle, fresh_owner());
  queue_up(here, fresh_owner());
  queue_up(here, third);
  ASSERT_EQ(shown(here.release("lock", holder)), "done");
  idle.close();  // it had its turn, and is gone
  const auto seconds = [&] { return std::stod(server_.ask({"TIME"}).items.at(0).text); };
  const double began = seconds();
  ASSERT_TRUE(wait_for([&] {
    return seconds() > began + 1 && server_.ask({"PUBSUB", "CHANNELS", "t:wake:*"}).items.size() == 1;
  }));
  EXPECT_EQ(shown(here.release("lock", third)), "done");  // who leaves notices that the first is gone
  EXPECT_EQ(shown(here.try_acquire(short_wish("lock", fresh_owner()))), "refused: busy")
      << "whose turn it is now was told a moment ago";
}

TEST_F(RedisRecordHolders, KeepNoExpiryThatAClockCouldFire) {
  client locks = opened(url());
  const lease held = taken(locks, "lock", {.ttl = 2s});
  EXPECT_EQ(server_.ask({"PTTL", "t:lock:lock"}).shown(), "-1");
}

TEST_F(RedisRecordHolders, OfAnotherMaxTtlAreToldToTakeAnotherPrefix) {
  client other = opened(server_.url(0, "&layout=record&prefix=t&max_ttl=3s"));
  const auto no = other.acquire("lock", {.ttl = 1s, .wait = generous});
  ASSERT_FALSE(no);
  EXPECT_EQ(no.error().code(), errc::misconfigured);
  EXPECT_THAT(no.error().message(), HasSubstr("another prefix"));
  EXPECT_EQ(opened(url()).acquire("lock", {.ttl = 3s}).error().code(), errc::invalid_argument);
}

TEST_F(RedisRecordHolders, WhoReleaseTellTheFirstThatItIsItsTurnAndTheSecondThatItIsNext) {
  class listener final : public hint_sink {
   public:
    void hint() noexcept override { ++turns; }
    void next() noexcept override { ++nexts; }
    std::atomic<int> turns = 0;
    std::atomic<int> nexts = 0;
  };
  auto here = seam();
  const owner_id holder = fresh_owner();
  (void)granted(here.try_acquire(short_wish("lock", holder)));
  std::vector<std::shared_ptr<listener>> queue;
  for (int i = 0; i < 3; ++i) {
    acquire_request wish = short_wish("lock", fresh_owner());
    wish.join = true;
    wish.wake = queue.emplace_back(std::make_shared<listener>());
    (void)rejected(here.try_acquire(wish));
    expect_to_listen(wish.owner);
  }
  EXPECT_EQ(shown(here.release("lock", holder)), "done");
  EXPECT_TRUE(wait_for([&] { return queue[0]->turns > 0 && queue[1]->nexts > 0; }));
  EXPECT_EQ(queue[0]->nexts, 0);
  EXPECT_EQ(queue[1]->turns, 0);
  EXPECT_EQ(queue[2]->turns + queue[2]->nexts, 0) << "nobody else is woken";
}

/// One lock that is held and waited for, and a key that is not what it should be.
class RedisRecordFaults : public RedisRecord {
 protected:
  RedisRecordFaults() {
    held_ = granted(here_.try_acquire(short_wish("lock", holder_)));
    acquire_request wish = short_wish("lock", waiter_);
    wish.join = true;
    wish.wake = bell_;
    EXPECT_EQ(rejected(here_.try_acquire(wish)).place, 0U);
    expect_to_listen(waiter_);  // or it would change what the server holds in the midst of a test
  }

  /// Everything in the server, as it is stored.
  [[nodiscard]] std::map<std::string, std::string> contents() const {
    std::map<std::string, std::string> all;
    for (const std::string& key : server_.keys_in()) {
      all[key] = server_.ask({"DUMP", key}).text;
    }
    return all;
  }

  /// Every call that writes, for this lock and for another of which the server knows nothing.
  void try_everything() {
    acquire_request wish = short_wish("lock", fresh_owner());
    wish.join = true;
    wish.wake = bell_;
    answers_ = {shown(here_.try_acquire(wish)), shown(here_.try_acquire(short_wish("lock", fresh_owner())))};
    const lock_name name = "lock";
    answers_.insert(shown(here_.renew(renewing(name, holder_, held_.token, 0))));
    answers_.insert(shown(here_.evict(name, {holder_, 9})));
  }

  [[nodiscard]] std::string count_key() const {
    for (const std::string& key : server_.keys_in()) {
      if (key.starts_with("t:count:")) {
        return key;
      }
    }
    return {};
  }

  blocking_backend here_ = seam();
  const owner_id holder_ = fresh_owner();
  const owner_id waiter_ = fresh_owner();
  const std::shared_ptr<hint_counter> bell_ = std::make_shared<hint_counter>();
  grant held_;
  std::set<std::string> answers_;
};

TEST_F(RedisRecordFaults, OfAKeyOfTheWrongTypeLoseNothing) {
  const std::vector<std::string> keys = {"t:boot", count_key(), "t:lock:lock", "t:queue:lock", "t:wait:lock"};
  for (const std::string& key : keys) {
    SCOPED_TRACE(key);
    const std::string before = server_.ask({"DUMP", key}).text;
    (void)server_.ask({"DEL", key});
    ASSERT_EQ(server_.ask({"RPUSH", key, "something", "else"}).shown(), "2");
    const std::string foreign = server_.ask({"DUMP", key}).text;

    try_everything();
    EXPECT_EQ(shown(here_.try_acquire(short_wish("next to " + key, fresh_owner()))),
              key == "t:boot" ? "refused: misconfigured" : "granted");
    EXPECT_EQ(server_.ask({"DUMP", key}).text, foreign) << "what is not ours was written over";
    for (const std::string& answer : answers_) {
      EXPECT_THAT(answer, ::testing::AnyOf("refused: misconfigured", "refused: busy", "done",
                                           "unknown: misconfigured", "refused: not_held"));
    }

    (void)server_.ask({"DEL", key});
    ASSERT_EQ(server_.ask({"RESTORE", key, "0", before}).shown(), "OK");
    const auto seen = here_.inspect("lock");
    ASSERT_TRUE(seen) << seen.error();
    ASSERT_EQ(seen->holders.size(), 1U) << "the hold is lost";
    EXPECT_EQ(seen->holders[0].version.owner, holder_);
    ASSERT_GE(seen->waiters.size(), 1U) << "the place in the queue is lost";
    EXPECT_EQ(seen->waiters[0].owner, waiter_);
    EXPECT_EQ(seen->holders[0].token, held_.token);
  }
}

TEST_F(RedisRecordFaults, LeaveNoReleaseAndNoEvictionHalfDone) {
  const lock_name name = "lock";
  for (const std::string& key : {count_key(), std::string("t:queue:lock"), std::string("t:wait:lock")}) {
    SCOPED_TRACE(key);
    const auto all = contents();
    const hold_version version = here_.inspect(name)->holders.at(0).version;
    (void)server_.ask({"DEL", key});
    ASSERT_EQ(server_.ask({"RPUSH", key, "something", "else"}).shown(), "2");
    const bool left = shown(here_.release(name, waiter_)) == "done";
    const bool evicted = shown(here_.evict(name, version)) == "done";
    (void)server_.ask({"DEL", key});
    ASSERT_EQ(server_.ask({"RESTORE", key, "0", all.at(key)}).shown(), "OK");

    const auto seen = here_.inspect(name);
    ASSERT_TRUE(seen) << seen.error();
    EXPECT_EQ(seen->holders.empty(), evicted);
    EXPECT_EQ(evicted, key != count_key()) << "the counter must rise first; the queue is only told";
    EXPECT_EQ(left, key == count_key()) << "what is left of it would be in nobody's way";
    if (!left && key == "t:queue:lock") {
      EXPECT_EQ(server_.ask({"HEXISTS", "t:wait:lock", waiter_.hex()}).shown(), "1");
    }
    for (const auto& [each, dump] : all) {  // as it was, for the next
      (void)server_.ask({"DEL", each});
      ASSERT_EQ(server_.ask({"RESTORE", each, "0", dump}).shown(), "OK");
    }
  }
}

TEST_F(RedisRecordFaults, OfTheCounterLeaveWhoeverComesNextItsPlace) {
  ASSERT_EQ(shown(here_.release("lock", holder_)), "done");
  const std::string key = count_key();
  const std::string before = server_.ask({"DUMP", key}).text;
  acquire_request again = short_wish("lock", waiter_);
  again.join = true;
  again.wake = bell_;
  for (const std::vector<std::string>& spoil :
       {std::vector<std::string>{"RPUSH", key, "x"}, {"SET", key, "x"}}) {
    (void)server_.ask({"DEL", key});
    (void)server_.ask(spoil);
    EXPECT_EQ(shown(here_.try_acquire(again)), "refused: misconfigured");
    EXPECT_EQ(here_.inspect("lock")->waiters.size(), 1U);
  }
  (void)server_.ask({"DEL", key});
  ASSERT_EQ(server_.ask({"RESTORE", key, "0", before}).shown(), "OK");
  EXPECT_EQ(shown(here_.try_acquire(again)), "granted");
  EXPECT_TRUE(here_.inspect("lock")->waiters.empty());
}

TEST_F(RedisRecordFaults, OfAFullServerLoseNothingAndKeepWhatIsHeld) {
  const auto before = contents();
  ASSERT_EQ(server_.ask({"CONFIG", "SET", "maxmemory", "1"}).shown(), "OK");
  EXPECT_EQ(shown(here_.try_acquire(short_wish("fresh", fresh_owner()))), "refused: storage_error");
  acquire_request wish = short_wish("lock", fresh_owner());
  wish.join = true;
  EXPECT_EQ(shown(here_.try_acquire(wish)), "refused: storage_error");
  EXPECT_EQ(contents(), before) << "a refused request has changed something";

  const lock_name name = "lock";
  EXPECT_EQ(shown(here_.renew(renewing(name, holder_, held_.token, 1))), "done")
      << "a full server ends every job";
  EXPECT_EQ(shown(here_.release(name, holder_)), "done");
  ASSERT_EQ(server_.ask({"CONFIG", "SET", "maxmemory", "0"}).shown(), "OK");
  acquire_request again = short_wish("lock", waiter_);
  again.join = true;
  again.wake = bell_;
  EXPECT_EQ(shown(here_.try_acquire(again)), "granted");
}

TEST_F(RedisRecord, NamesThatAreUsedOnceLeaveNoKeys) {
  constexpr std::size_t threads = 16;
  constexpr int each = (sanitized ? 3'200 : 100'000) / static_cast<int>(threads);
  client locks = opened(url());
  crowd(threads, [&](std::size_t t) {
    for (int i = 0; i < each; ++i) {
      const auto got = locks.acquire("name-" + std::to_string(t) + "-" + std::to_string(i), {.ttl = 2s});
      ASSERT_TRUE(got) << got.error();
    }
  });
  // Free locks are remembered for twice the longest ttl.
  const auto only_fixed = [&] {
    const auto keys = server_.keys_in();
    return std::all_of(keys.begin(), keys.end(),
                       [](const std::string& key) { return key == "t:boot" || key.starts_with("t:count:"); });
  };
  EXPECT_TRUE(wait_for(only_fixed, 4s + generous));
  EXPECT_LE(server_.keys_in().size(), 1025U);
}

TEST_F(RedisRecord, HoldsOfTheDeadAreFoundThoughNobodyAsksForThem) {
  auto dead = seam();
  for (int i = 0; i < 3; ++i) {
    (void)granted(dead.try_acquire(short_wish("forgotten-" + std::to_string(i), fresh_owner())));
  }
  dead.close();  // without a word: nobody renews them any more
  // Short-lived clients that want something else: each looks through a part when it ends, and leaves what it has seen.
  const auto all_gone = [&] {
    client other = opened(url());
    EXPECT_TRUE(other.acquire("another", {.ttl = 1s}));
    const auto all = other.list();
    return all && all->empty();
  };
  EXPECT_TRUE(wait_for(all_gone, 2s + generous));
}

}  // namespace

}  // namespace cremone::test
