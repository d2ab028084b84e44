// SPDX-License-Identifier: Apache-2.0
//
// Every way in which a real server can forget, or be taken for one that has not: each ends in quarantine, and a quarantine ends
// when it may and no sooner.
#include "live/redis_record_fixture.hpp"

#include <algorithm>
#include <mutex>
#include <optional>
#include <vector>

namespace cremone::test {

namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

class RedisQuarantine : public RedisRecord {
 protected:
  /// What one who tries once hears.
  [[nodiscard]] error tried(client& by) const {
    const auto got = by.acquire("lock", {.ttl = 2s, .wait = no_wait});
    return got ? error(errc::lost, "it was granted") : got.error();
  }

  /// A client that tells what it is told.
  [[nodiscard]] client listening() {
    open_options options;
    options.on_event = [this](const store_event& e) {
      const std::lock_guard lock(mutex_);
      events_.push_back(e);
    };
    return cremone::open(url(), std::move(options)).value();
  }
  [[nodiscard]] bool heard(event_kind what) {
    const std::lock_guard lock(mutex_);
    return std::any_of(events_.begin(), events_.end(), [&](const store_event& e) { return e.what == what; });
  }

 private:
  std::mutex mutex_;
  std::vector<store_event> events_;

 protected:
  client ann_ = listening();  // behind what it tells
  client bob_ = opened(url());
};

TEST_F(RedisQuarantine, IsToldToOneWhoTriesWithTheReasonAndTheTime) {
  (void)taken(ann_, "lock", {.ttl = 2s});
  (void)server_.ask({"FLUSHALL"});
  const error why = tried(ann_);
  EXPECT_EQ(why.code(), errc::quarantined);
  EXPECT_THAT(why.message(), HasSubstr("may have forgotten"));
  EXPECT_THAT(why.message(), HasSubstr(" s from now"));
  EXPECT_THAT(why.message(), HasSubstr(server_.node()));
  EXPECT_TRUE(wait_for([&] { return heard(event_kind::quarantined); }));
}

TEST_F(RedisQuarantine, IsEndedByOneWhoWaitsWhenItsTimeIsOver) {
  (void)server_.ask({"FLUSHALL"});
  EXPECT_EQ(tried(bob_).code(), errc::quarantined);
  const auto began = std::chrono::steady_clock::now();
  const lease got = taken(ann_, "lock", {.ttl = 2s, .wait = 3s + generous});
  EXPECT_TRUE(got.held());
  EXPECT_GE(std::chrono::steady_clock::now() - began, 2900ms) << "max_ttl and a second";
  EXPECT_TRUE(wait_for([&] { return heard(event_kind::admitted); }));
}

TEST_F(RedisQuarantine, IsWatchedByProcessesThatComeAndGo) {
  (void)server_.ask({"FLUSHALL"});
  const auto got_it = [&] {
    client fresh = opened(url());
    return tried(fresh).code() == errc::lost;  // granted
  };
  EXPECT_FALSE(got_it());
  EXPECT_TRUE(wait_for(got_it, 3s + generous));
}

TEST_F(RedisQuarantine, CanBeSeenAndEndedByAPerson) {
  (void)server_.ask({"FLUSHALL"});
  EXPECT_EQ(tried(bob_).code(), errc::quarantined);
  auto state = bob_.quarantine();
  ASSERT_TRUE(state) << state.error();
  ASSERT_EQ(state->size(), 1U);
  EXPECT_TRUE(state->front().quarantined);
  ASSERT_TRUE(state->front().left);
  EXPECT_LE(*state->front().left, 3003ms);
  EXPECT_GT(*state->front().left, 0ms);
  EXPECT_TRUE(ann_.end_quarantine());
  EXPECT_FALSE(bob_.quarantine()->front().quarantined);
  EXPECT_EQ(tried(bob_).code(), errc::lost);  // granted
}

TEST_F(RedisQuarantine, BeginsWhenTheDatabaseIsSwappedForAnotherThatWasOpenToo) {
  const std::string other = server_.url(1, "&layout=record&prefix=t&max_ttl=2s");
  EXPECT_TRUE(opened(other).end_quarantine());
  const lease held = taken(ann_, "lock", {.ttl = 2s});
  (void)server_.ask({"SWAPDB", "0", "1"});
  EXPECT_EQ(tried(bob_).code(), errc::quarantined);
}

TEST_F(RedisQuarantine, BeginsWhenTheServerHasFollowedAnotherAndComesBack) {
  const redis_server other;
  (void)taken(ann_, "lock", {.ttl = 2s});
  const std::string marker = server_.ask({"GET", "t:boot"}).text;
  ASSERT_TRUE(marker.starts_with("A ")) << marker;
  (void)server_.ask({"REPLICAOF", "127.0.0.1", std::to_string(other.port())});
  EXPECT_NE(tried(bob_).code(), errc::lost);
  (void)server_.ask({"REPLICAOF", "NO", "ONE"});
  ASSERT_EQ(server_.ask({"SET", "t:boot", marker}).shown(), "OK");  // as if the other had known it
  client fresh = opened(url());
  EXPECT_EQ(tried(fresh).code(), errc::quarantined);
}

TEST_F(RedisQuarantine, BeginsForThoseWhoseConnectionStaysUpToo) {
  // The server follows another and comes back, or has its databases swapped there and back, with everything as it was before:
  // what was done meanwhile is gone, and neither a marker nor a connection tells.
  const redis_server other;
  const std::vector<std::vector<std::vector<std::string>>> stories = {
      {{"REPLICAOF", "127.0.0.1", std::to_string(other.port())}, {"REPLICAOF", "NO", "ONE"}},
      {{"SWAPDB", "0", "1"}, {"SWAPDB", "0", "1"}}};
  for (const auto& story : stories) {
    SCOPED_TRACE(story[0][0]);
    open_up();
    ASSERT_TRUE(wait_for([&] { return tried(bob_).code() == errc::lost; })) << "it is not open";
    ASSERT_TRUE(bob_.inspect("lock"));  // a script that is sent for the first time would notice
    const std::string marker = server_.ask({"GET", "t:boot"}).text;
    for (const auto& command : story) {
      (void)server_.ask(command);
    }
    ASSERT_EQ(server_.ask({"SET", "t:boot", marker}).shown(), "OK");
    EXPECT_TRUE(wait_for([&] { return tried(bob_).code() == errc::quarantined; }));
  }
}

TEST_F(RedisQuarantine, BringsNoVersionBackWhenTheServerForgetsTwice) {
  auto here = seam();
  const lock_name name = "lock";
  const owner_id holder = fresh_owner();
  const grant yes = granted(here.try_acquire(short_wish("lock", holder)));
  std::uint64_t renewals = 0;
  std::vector<hold_version> seen;
  const auto renew = [&] {
    EXPECT_EQ(shown(here.renew(renewing(name, holder, yes.token, ++renewals))), "done");
    seen.push_back(here.inspect(name)->holders.at(0).version);
  };
  (void)server_.ask({"FLUSHALL"});
  renew();  // it is there again
  const std::string saved = server_.ask({"DUMP", "t:lock:lock"}).text;
  open_up();
  renew();
  renew();
  (void)server_.ask({"FLUSHALL"});  // and comes back as it was saved
  ASSERT_EQ(server_.ask({"RESTORE", "t:lock:lock", "0", saved}).shown(), "OK");
  renew();
  renew();
  std::sort(seen.begin(), seen.end(), [](const auto& a, const auto& b) { return a.seq < b.seq; });
  EXPECT_EQ(std::adjacent_find(seen.begin(), seen.end()), seen.end());
}

// Found by simulation: a server that lost its last writes counts from there, and gives numbers that somebody has seen before.
TEST_F(RedisQuarantine, MakesAnotherVersionOfTheSameNumber) {
  const lock_name name = "lock";
  (void)granted(seam().try_acquire(short_wish("lock", fresh_owner())));
  const auto version = [&] { return seam().inspect(name)->holders.at(0).version; };
  const hold_version before = version();
  const auto no = seam().try_acquire(short_wish("lock", fresh_owner()));
  ASSERT_TRUE(std::holds_alternative<rejection>(no));
  EXPECT_EQ(std::get<rejection>(no).holders.at(0).version, before)
      << "who waits and who sweeps see two versions of one";
  for (int i = 0; i < 2; ++i) {  // there and back: the same data, in another life
    ASSERT_EQ(server_.ask({"SWAPDB", "0", "1"}).shown(), "OK");
  }
  const hold_version after = version();
  EXPECT_EQ(after.owner, before.owner);
  EXPECT_EQ(after.seq, before.seq);
  EXPECT_NE(after.life, before.life);
  EXPECT_NE(after.life, 0U);
}

TEST_F(RedisQuarantine, LastsAsLongAsTheLeasesOfTheLifeBefore) {
  // The server has restarted with its data, in which everybody had a max_ttl of 2 s.
  std::string marker = server_.ask({"GET", "t:boot"}).text;
  ASSERT_TRUE(marker.starts_with("A ")) << marker;
  std::reverse(marker.begin() + 2, marker.begin() + 42);  // another run id
  ASSERT_EQ(server_.ask({"SET", "t:boot", marker}).shown(), "OK");
  // Whoever comes first with a shorter one must not end it.
  client hasty = opened(server_.url(0, "&layout=record&prefix=t&max_ttl=100ms"));
  const auto no = hasty.acquire("lock", {.ttl = 100ms, .wait = 1500ms});
  ASSERT_FALSE(no);
  EXPECT_EQ(no.error().code(), errc::misconfigured) << no.error();
  EXPECT_EQ(hasty.end_quarantine().error().code(), errc::misconfigured);
  EXPECT_EQ(tried(ann_).code(), errc::quarantined);
}

TEST_F(RedisQuarantine, IsNotNeededForAServerThatIsNewToUsAndHasForgottenNothing) {
  // Up for longer than max_ttl and what clocks may be off; never flushed; nobody has seen this prefix on it.
  int prefixes = 0;
  const auto is_given_at_once = [&] {
    const auto began = std::chrono::steady_clock::now();
    client fresh =
        opened(server_.url(0, "&layout=record&prefix=new" + std::to_string(++prefixes) + "&max_ttl=100ms"));
    const auto got = fresh.acquire("lock", {.ttl = 100ms, .wait = generous});
    EXPECT_TRUE(got) << got.error();
    return std::chrono::steady_clock::now() - began < 1100ms;  // that is how long it would be watched
  };
  ASSERT_TRUE(wait_for([&] {
    const std::string info = server_.ask({"INFO", "server"}).text;
    return std::stoi(info.substr(info.find("uptime_in_seconds:") + 18)) > 6;
  }));
  EXPECT_TRUE(wait_for(is_given_at_once)) << "it was watched";  // again where the machine is slow
}

TEST_F(RedisQuarantine, LeavesWhatIsNotOursAtTheMarkersPlaceAlone) {
  ASSERT_EQ(server_.ask({"SET", "other:boot", "somebody's own"}).shown(), "OK");
  client locks = opened(server_.url(0, "&layout=record&prefix=other&max_ttl=2s"));
  const auto no = locks.acquire("lock", {.ttl = 1s, .wait = generous});
  ASSERT_FALSE(no);
  EXPECT_EQ(no.error().code(), errc::misconfigured) << no.error();
  EXPECT_THAT(no.error().message(), HasSubstr("other:boot"));
  EXPECT_EQ(server_.ask({"GET", "other:boot"}).text, "somebody's own");
}

TEST_F(RedisRecord, ARecordThatSomebodyHasSpoiltHidesNoOther) {
  client locks = opened(url());
  const lease held = taken(locks, "fine", {.ttl = 2s});
  ASSERT_EQ(
      server_
          .ask({"SET", "t:lock:spoilt", "1 0 0000000000000001 0000000000000001 0000000000000001  \nrubbish"})
          .shown(),
      "OK");
  const auto all = locks.list();
  ASSERT_TRUE(all) << all.error();
  ASSERT_EQ(all->size(), 1U);
  EXPECT_EQ(all->front().name, lock_name("fine"));
  const auto one = locks.inspect("spoilt");
  ASSERT_FALSE(one);
  EXPECT_THAT(one.error().message(), HasSubstr("t:lock:spoilt"));
}

TEST_F(RedisRecord, TokensDoNotFallWhenTwoHoldsOfABucketReturnTogether) {
  auto here = seam();
  // Two names of one bucket.
  std::vector<lock_name> names;
  for (int i = 0; names.size() < 2; ++i) {
    const std::string name = "n" + std::to_string(i);
    if (redis::bucket_of(name) == 7) {
      names.emplace_back(name);
    }
  }
  std::vector<owner_id> owners = {fresh_owner(), fresh_owner()};
  const grant low = granted(here.try_acquire(short_wish(names[0].str(), owners[0])));
  const grant high = granted(here.try_acquire(short_wish(names[1].str(), owners[1])));
  ASSERT_GT(high.token, low.token);
  (void)server_.ask({"FLUSHALL"});
  const auto answers =
      here.renew({renewing(names[1], owners[1], high.token, 1), renewing(names[0], owners[0], low.token, 1)});
  EXPECT_EQ(shown(answers[0]), "done");
  EXPECT_EQ(shown(answers[1]), "done");
  EXPECT_EQ(std::stoull(server_.ask({"GET", "t:count:7"}).text), high.token.value());
}

TEST_F(RedisRecord, OfTwoThatClaimOneForgottenLockTheLaterOneHasIt) {
  auto here = seam();
  const lock_name name = "lock";
  const std::vector<owner_id> owners = {fresh_owner(), fresh_owner()};
  const grant early = granted(here.try_acquire(short_wish("lock", owners[0])));
  EXPECT_EQ(shown(here.release(name, owners[0])), "done");
  const grant late = granted(here.try_acquire(short_wish("lock", owners[1])));
  for (const bool late_first : {false, true}) {
    (void)server_.ask({"FLUSHALL"});
    const renewal a = renewing(name, owners[0], early.token, 3);
    const renewal b = renewing(name, owners[1], late.token, 5);
    const auto answers = late_first ? here.renew({b, a}) : here.renew({a, b});
    EXPECT_EQ(shown(answers[late_first ? 0 : 1]), "done");
    EXPECT_EQ(shown(answers[late_first ? 1 : 0]), late_first ? "refused: lost" : "done");
    const auto seen = here.inspect(name);
    ASSERT_TRUE(seen) << seen.error();
    ASSERT_EQ(seen->holders.size(), 1U);
    EXPECT_EQ(seen->holders[0].version.owner, owners[1]);
    EXPECT_EQ(seen->holders[0].token, late.token);
    EXPECT_GT(seen->holders[0].version.seq, 1'000'000U) << "higher than any that was forgotten";
  }
}

TEST_F(RedisRecord, StepsOfTheServersClockAreTold) {
  const redis_server set({.clock = true});
  std::mutex mutex;
  std::vector<store_event> events;
  open_options options;
  options.on_event = [&](const store_event& e) {
    const std::lock_guard lock(mutex);
    events.push_back(e);
  };
  client locks = cremone::open(set.url(0, "&layout=record&prefix=t&max_ttl=2s"), std::move(options)).value();
  EXPECT_TRUE(locks.end_quarantine());
  (void)taken(locks, "lock", {.ttl = 2s});
  set.set_clock(60s);
  (void)taken(locks, "lock", {.ttl = 2s, .wait = generous});
  EXPECT_TRUE(wait_for([&] {
    const std::lock_guard lock(mutex);
    return std::any_of(events.begin(), events.end(), [](const store_event& e) {
      return e.what == event_kind::clock_step &&
             (e.message.find("forward by about 60.0") != std::string::npos ||
              e.message.find("forward by about 59.9") != std::string::npos);
    });
  }));
}

}  // namespace

}  // namespace cremone::test
