// SPDX-License-Identifier: Apache-2.0
//
// The known ways in which a Redis server gives one lock to two, or keeps it from all, each told twice on real servers: in
// the layout `classic`, which other programs know and which must trust the server's clock and memory, and in the layout
// `record`, which trusts neither. What is shown for `classic` is documented, not wished for: should one of those tests
// fail, its documentation is wrong.
#include "live/redis_fixture.hpp"
#include "support/program.hpp"
#include "support/sentinels.hpp"

#include <signal.h>
#include <stdlib.h>

#include <future>
#include <ostream>

namespace cremone::test {

namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;
using ::testing::AnyOf;

enum class layout { classic, record };

std::string word(layout l) { return l == layout::classic ? "classic" : "record"; }
std::ostream& operator<<(std::ostream& out, layout l) { return out << word(l); }  // for GoogleTest

using waiting = std::future<result<lease>>;

bool is_over(const waiting& w) { return w.wait_for(0s) == std::future_status::ready; }

/// Of a server that has forgotten; and until it has given out a lock for the first time, of every server.
bool is_quarantined(const client& of) {
  const auto servers = of.quarantine();
  return !servers || servers->empty() || servers->front().quarantined;
}

/// What the stories of both layouts share.
class story {
 public:
  story(layout l, milliseconds max_ttl) : layout_(l), max_ttl_(max_ttl) {
    // Ports come again, and no test shall remember what another saw of a server.
    ::setenv("CREMONE_STATE_DIR", directory_.path().c_str(), 1);
  }
  story(const story&) = delete;
  story& operator=(const story&) = delete;
  ~story() { ::unsetenv("CREMONE_STATE_DIR"); }

  [[nodiscard]] std::string url(const redis_server& server) const {
    const std::string common = "redis://" + server.node() + "/?layout=" + word(layout_);
    return layout_ == layout::classic
               ? common
               : common + "&prefix=story&max_ttl=" + std::to_string(max_ttl_.count()) + "ms";
  }

  /// A client of a server that nobody has used before: nobody can hold a lock from earlier.
  [[nodiscard]] client first_client(const redis_server& server) const {
    client made = opened(url(server));
    if (layout_ == layout::record) {
      const auto ended = made.end_quarantine();
      EXPECT_TRUE(ended) << ended.error().message();
    }
    return made;
  }

  /// In the classic layout so long that no renewal comes between a fault and what it leads to.
  [[nodiscard]] milliseconds ttl() const { return layout_ == layout::classic ? 30s : max_ttl_; }

  [[nodiscard]] lease hold(client& by) const { return taken(by, "lock", {.ttl = ttl(), .wait = generous}); }
  [[nodiscard]] waiting wait_for_lock(client& by) const {
    return std::async(std::launch::async,
                      [this, &by] { return by.acquire("lock", {.ttl = ttl(), .wait = 3 * generous}); });
  }

  /// Something has happened to the server while `first` was held there; what does a client get that asks now?
  void goes_on(lease& first, const redis_server& server) const {
    if (layout_ == layout::classic) {
      has_two_holders(first, server);
    } else {
      has_one_holder(first, server);
    }
  }

 private:
  void has_two_holders(const lease& first, const redis_server& server) const {
    client bob = opened(url(server));
    const auto second = bob.acquire("lock", {.ttl = ttl(), .wait = generous});
    ASSERT_TRUE(second) << second.error().message();
    EXPECT_TRUE(second->held());
    EXPECT_TRUE(first.held());
    EXPECT_TRUE(second->held()) << "both were, when the first was asked";
  }

  void has_one_holder(lease& first, const redis_server& server) const {
    const fence_token token = first.token();
    client bob = opened(url(server));
    const auto tried = bob.acquire("lock", {.ttl = ttl(), .wait = no_wait});
    ASSERT_FALSE(tried) << "two holders";
    EXPECT_THAT(tried.error().code(), AnyOf(errc::busy, errc::quarantined)) << tried.error();
    waiting second = wait_for_lock(bob);
    expect_alone_for_a_while(first, second, bob);
    if (first.held()) {
      EXPECT_FALSE(is_over(second));
      EXPECT_TRUE(first.release());
    }
    const auto got = second.get();
    ASSERT_TRUE(got) << got.error().message();
    EXPECT_TRUE(got->held());
    EXPECT_GT(got->token(), token);
  }

  /// As long as the first is held, and at most until a lock that nobody held or renewed would have been the second's: when
  /// the quarantine is over, that takes the ttl and at most a second more.
  void expect_alone_for_a_while(const lease& first, const waiting& second, const client& bob) const {
    EXPECT_TRUE(wait_for([&] { return is_over(second) || !first.held() || !is_quarantined(bob); }));
    (void)wait_for([&] { return is_over(second) || !first.held(); }, ttl() + 1500ms);
    EXPECT_FALSE(is_over(second) && first.held()) << "two holders";
  }

  temp_directory directory_;
  layout layout_;
  milliseconds max_ttl_;
};

class RedisStories : public ::testing::TestWithParam<layout> {};

TEST_P(RedisStories, AServerClockThatJumpsAheadMakesTwoHoldersOnlyInTheClassicLayout) {
  const story that(GetParam(), 2s);
  const redis_server server({.clock = true});
  client alice = that.first_client(server);
  lease first = that.hold(alice);
  server.set_clock(60s);
  that.goes_on(first, server);
}

TEST_P(RedisStories, AnEmptyRestartMakesTwoHoldersOnlyInTheClassicLayout) {
  const story that(GetParam(), 2s);
  redis_server server;
  client alice = that.first_client(server);
  lease first = that.hold(alice);
  server.restart_empty();
  that.goes_on(first, server);
}

TEST_P(RedisStories, APowerCutThatLosesTheGrantMakesTwoHoldersOnlyInTheClassicLayout) {
  const story that(GetParam(), 2s);
  redis_server server({.aof = true});
  client alice = that.first_client(server);
  const std::uintmax_t before = server.aof_size();
  lease first = that.hold(alice);
  EXPECT_GT(server.aof_size(), before);
  server.restart_with_aof_cut_to(before);
  that.goes_on(first, server);
}

TEST_P(RedisStories, AFlushMakesTwoHoldersOnlyInTheClassicLayout) {
  const story that(GetParam(), 2s);
  const redis_server server;
  client alice = that.first_client(server);
  lease first = that.hold(alice);
  EXPECT_EQ(server.ask({"FLUSHALL"}).shown(), "OK");
  that.goes_on(first, server);
}

TEST_P(RedisStories, AFailoverBeforeReplicationMakesTwoHoldersOnlyInTheClassicLayout) {
  const story that(GetParam(), 4s);  // longer than a failover takes, so that the first is still held after it
  sentinels watched;
  client alice = that.first_client(watched.master());
  watched.cut_replication();
  lease first = that.hold(alice);
  watched.kill_master();
  that.goes_on(first, watched.new_master());
}

/// Another process that holds the lock, and is killed.
void hold_and_die(const std::string& url, milliseconds ttl) {
  program worker({CREMONE_TEST_WORKER, url, "talk"});
  EXPECT_EQ(worker.hear(), "ready");
  EXPECT_THAT(worker.ask("acquire lock " + std::to_string(ttl.count()) + " 10000"),
              ::testing::StartsWith("granted"));
  worker.signal(SIGKILL);
  EXPECT_EQ(worker.wait(), 128 + SIGKILL);
}

TEST_P(RedisStories, AServerClockThatIsSetBackKeepsADeadHoldersLockOnlyInTheClassicLayout) {
  constexpr milliseconds ttl = 2s;
  const story that(GetParam(), ttl);
  const redis_server server({.clock = true});
  client bob = that.first_client(server);
  hold_and_die(that.url(server), ttl);
  server.set_clock(-120s);
  const auto began = validity_clock::now();
  const auto got = bob.acquire("lock", {.ttl = ttl, .wait = 3 * ttl});
  if (GetParam() == layout::classic) {
    ASSERT_FALSE(got) << "it should have been kept for two minutes";
    EXPECT_EQ(got.error(), errc::timed_out) << got.error();
    EXPECT_GT(server.ask({"PTTL", "lock"}).number, (100s + ttl) / 1ms);
  } else {
    ASSERT_TRUE(got) << got.error().message();
    EXPECT_GE(validity_clock::now() - began, ttl) << "the dead one was not watched for its ttl";
  }
}

INSTANTIATE_TEST_SUITE_P(Of, RedisStories, ::testing::Values(layout::classic, layout::record),
                         [](const auto& told) { return word(told.param); });

/// Takes the lock, and restarts the server right after a renewal. Again, when the machine was too slow: the restart must
/// leave time for one more renewal.
lease held_through_a_restart(const story& that, client& by, redis_server& server) {
  for (int attempt = 0; attempt < 10 && !::testing::Test::HasFailure(); ++attempt) {
    lease held = that.hold(by);
    const instant granted = held.deadline();
    EXPECT_TRUE(wait_for([&] { return held.deadline() > granted; })) << "it is not renewed";
    server.restart_empty();
    if (held.remaining() > that.ttl() / 2) {
      return held;
    }
  }
  ADD_FAILURE() << "no restart was short enough";
  return {};
}

TEST(RedisRestart, ShorterThanTheValidityOfARunningJobIsSurvivedByIt) {
  const story that(layout::record, 2s);
  redis_server server;
  client alice = that.first_client(server);
  client bob = opened(that.url(server));
  lease first = held_through_a_restart(that, alice, server);
  const fence_token token = first.token();
  waiting second = that.wait_for_lock(bob);
  EXPECT_TRUE(wait_for([&] { return is_quarantined(bob); }));
  EXPECT_TRUE(wait_for([&] { return !is_quarantined(bob); }));
  EXPECT_FALSE(wait_for([&] { return is_over(second) || !first.held(); }, that.ttl()));
  EXPECT_EQ(first.token(), token);
  EXPECT_TRUE(first.release()) << "it was held all the time";
  const auto got = second.get();
  ASSERT_TRUE(got) << got.error().message();
  EXPECT_GT(got->token(), token);
}

}  // namespace

}  // namespace cremone::test
