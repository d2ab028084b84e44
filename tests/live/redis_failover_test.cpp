// SPDX-License-Identifier: Apache-2.0
//
// A master with replicas and sentinels, real ones, and a client that knows the sentinels only: it goes where they say, and
// after each way in which a master can stop being one.
#include "live/redis_fixture.hpp"
#include "support/sentinels.hpp"

#include <algorithm>
#include <atomic>
#include <future>
#include <mutex>
#include <optional>
#include <ostream>

namespace cremone::test {

namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

/// For an election, and in the layouts that have it the quarantine of who was elected.
constexpr std::chrono::milliseconds after_failover = 4 * generous;

struct tested_layout {
  std::string name;
  std::string options;            // of the URL
  std::chrono::milliseconds ttl;  // longer than a failover takes
  bool quarantine;                // of a server that nobody has used before
};
std::ostream& operator<<(std::ostream& out, const tested_layout& l) { return out << l.name; }

class SentinelFailover : public ::testing::TestWithParam<tested_layout> {
 protected:
  SentinelFailover() {
    if (GetParam().quarantine) {  // nobody can hold a lock from earlier
      const auto ended = opened(direct_url(redis_.master())).end_quarantine();
      EXPECT_TRUE(ended) << ended.error().message();
    }
  }

  [[nodiscard]] std::string url() const {
    return "redis+sentinel://" + redis_.nodes() + "/" + sentinels::name + "?" + GetParam().options;
  }
  [[nodiscard]] static std::string direct_url(const redis_server& server) {
    return "redis://" + server.node() + "/?" + GetParam().options;
  }

  /// All that was written so far is on the replicas too.
  void let_replicas_catch_up() {
    redis_link link(redis_.master().port());
    (void)link.ask({"SET", "written-last", "1"});
    ASSERT_EQ(link.ask({"WAIT", "2", "10000"}).number, 2);
  }

  /// Somebody who knows only this server sees that the lock is held there.
  static void expect_held_at(const redis_server& server) {
    client neighbour = opened(direct_url(server));
    EXPECT_TRUE(wait_for([&] {
      const auto seen = neighbour.inspect("lock");
      return seen && !seen->holders.empty();
    }));
  }

  sentinels redis_;
};

TEST_P(SentinelFailover, FindsTheMaster) {
  client locks = opened(url());
  lease held = taken(locks, "lock", {.ttl = GetParam().ttl, .wait = after_failover});
  EXPECT_TRUE(held.held());
  expect_held_at(redis_.master());
  EXPECT_THAT(locks.store(), HasSubstr("redis+sentinel://" + redis_.nodes() + "/" + sentinels::name));
  const auto freed = held.release();
  EXPECT_TRUE(freed) << freed.error().message();
}

TEST_P(SentinelFailover, LetsAWaiterHaveTheLockOnThePromotedServer) {
  client ann = opened(url());
  client bob = opened(url());
  lease first = taken(ann, "lock", {.ttl = 1s, .wait = after_failover});
  std::atomic<bool> told = false;
  std::mutex mutex;
  std::string why;
  first.on_lost([&](const error& reason) {
    const std::lock_guard lock(mutex);
    why = reason.message();
    told = true;
  });
  auto waiting = std::async(std::launch::async,
                            [&] { return bob.acquire("lock", {.ttl = 1s, .wait = after_failover}); });
  EXPECT_EQ(waiting.wait_for(200ms), std::future_status::timeout);

  redis_.kill_master();  // the sentinels take longer than the ttl to notice
  EXPECT_TRUE(wait_for([&] { return told.load(); })) << "nobody was told that the lease is lost";
  EXPECT_FALSE(first.held());
  const auto second = waiting.get();
  ASSERT_TRUE(second) << second.error().message();
  expect_held_at(redis_.new_master());
  const std::lock_guard lock(mutex);
  EXPECT_THAT(why, HasSubstr(redis_.master().node()));
}

TEST_P(SentinelFailover, QuarantinesThePromotedServerInTheLayoutThatKnowsHow) {
  client locks = opened(url());
  (void)taken(locks, "lock", {.ttl = 1s, .wait = after_failover});
  let_replicas_catch_up();
  redis_.kill_master();
  (void)redis_.new_master();
  std::optional<bool> refused;  // for that reason, by what is heard first from a server that answers
  EXPECT_TRUE(wait_for(
      [&] {
        const auto got = locks.acquire("lock", {.ttl = 1s, .wait = no_wait});
        if (got || (got.error() != errc::unreachable && got.error() != errc::outcome_unknown)) {
          refused = !got && got.error() == errc::quarantined;
        }
        return refused.has_value();
      },
      after_failover));
  EXPECT_EQ(refused, GetParam().quarantine) << "it may lack what was granted last";
}

TEST_P(SentinelFailover, KeepsALeaseThatTheReplicaKnows) {
  client ann = opened(url());
  lease held = taken(ann, "lock", {.ttl = GetParam().ttl, .wait = after_failover});
  let_replicas_catch_up();
  redis_.kill_master();
  const redis_server& promoted = redis_.new_master();
  expect_held_at(promoted);
  EXPECT_TRUE(held.held());
  const auto freed = held.release();  // by the one that the promoted server knows it by
  EXPECT_TRUE(freed) << freed.error().message();
}

TEST_P(SentinelFailover, LeavesAMasterThatIsSilent) {
  client ann = opened(url());
  (void)taken(ann, "lock", {.ttl = GetParam().ttl, .wait = after_failover}).release();
  redis_.master().suspend();
  const redis_server& promoted = redis_.new_master();
  const auto got = ann.acquire("lock", {.ttl = 1s, .wait = after_failover});
  EXPECT_TRUE(got) << got.error().message();
  expect_held_at(promoted);
  redis_.master().resume();  // it believes itself to be the master, for a moment
  EXPECT_TRUE(wait_for(
      [&] {
        const resp role = redis_.master().ask({"ROLE"});
        return !role.items.empty() && role.items.front().text == "slave";
      },
      3 * generous));
  EXPECT_TRUE(got->held());
}

TEST_P(SentinelFailover, TellsWaitersOfReleasesOnThePromotedServerToo) {
  client ann = opened(url());
  client bob = opened(url());
  (void)taken(ann, "lock", {.ttl = GetParam().ttl, .wait = after_failover}).release();
  redis_.kill_master();
  const redis_server& promoted = redis_.new_master();
  lease first = taken(ann, "lock", {.ttl = GetParam().ttl, .wait = after_failover});
  auto waiting = std::async(std::launch::async, [&] {
    return bob.acquire("lock", {.ttl = GetParam().ttl, .wait = after_failover});
  });
  EXPECT_TRUE(wait_for([&] {
    const auto channels = promoted.ask({"PUBSUB", "CHANNELS", "*"}).texts();
    return std::any_of(channels.begin(), channels.end(),
                       [](const std::string& c) { return c.find("sentinel") == std::string::npos; });
  })) << "nobody listens there";
  EXPECT_TRUE(first.release());
  EXPECT_TRUE(waiting.get());
}

TEST_P(SentinelFailover, NeedsOneSentinelOnly) {
  redis_.one(0).suspend();
  redis_.one(1).kill();
  client locks = opened(url());
  EXPECT_TRUE(taken(locks, "lock", {.ttl = GetParam().ttl, .wait = after_failover}).held());
  redis_.one(0).resume();
}

TEST_P(SentinelFailover, WorksOnWithoutSentinelsAndFindsBackWhenTheyAreThereAgain) {
  client ann = opened(url());
  (void)taken(ann, "lock", {.ttl = GetParam().ttl, .wait = after_failover}).release();
  for (std::size_t i = 0; i < sentinels::count; ++i) {
    redis_.one(i).kill();
  }
  EXPECT_TRUE(taken(ann, "lock", {.ttl = GetParam().ttl, .wait = no_wait}).held())
      << "who is connected needs none";

  client bob = opened(url());
  for (std::size_t i = 0; i < sentinels::count; ++i) {
    const error why =
        refusal_of(bob, redis_.one(i).node(), {.ttl = GetParam().ttl, .wait = i == 0 ? no_wait : 500ms});
    EXPECT_EQ(why.code(), errc::unreachable);
    EXPECT_THAT(why.message(), HasSubstr(sentinels::name));
  }
  auto waiting = std::async(std::launch::async, [&] {
    return bob.acquire("lock", {.ttl = GetParam().ttl, .wait = after_failover});
  });
  EXPECT_EQ(waiting.wait_for(200ms), std::future_status::timeout);
  redis_.one(2).start_again();
  const auto got = waiting.get();
  EXPECT_TRUE(got) << got.error().message();
}

INSTANTIATE_TEST_SUITE_P(Layouts, SentinelFailover,
                         ::testing::Values(tested_layout{"classic", "layout=classic", 20s, false},
                                           tested_layout{"record", "layout=record&prefix=fast&max_ttl=6s", 6s,
                                                         true}),
                         [](const auto& tested) { return tested.param.name; });

}  // namespace

}  // namespace cremone::test
