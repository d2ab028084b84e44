// SPDX-License-Identifier: Apache-2.0
//
// The known ways in which Redlock gives one lock to two, each told twice on five real servers, A to E: in the layout `classic`,
// the published algorithm, and in the layout `record`, which closes them. Each prints who held when, with which token, and
// the verdict. What is shown for `classic` is documented, not wished for: should one of those tests fail, its documentation is wrong.
#include "live/redlock_fixture.hpp"
#include "support/program.hpp"

#include <signal.h>

#include <algorithm>
#include <future>
#include <iomanip>
#include <iostream>
#include <sstream>

namespace cremone::test {

namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr std::size_t A = 0, B = 1, C = 2, D = 3, E = 4;
constexpr milliseconds max_ttl = 2s;

using waiting = std::future<result<lease>>;

bool is_over(const waiting& w) { return w.wait_for(0s) == std::future_status::ready; }

/// A place that is written to under the lock. With a fence it refuses a token lower than one it has seen.
class place {
 public:
  explicit place(bool fenced) : fenced_(fenced) {}
  bool write(fence_token token, const std::string& value) {
    if (fenced_ && token < highest_) {
      return false;
    }
    highest_ = std::max(highest_, token);
    value_ = value;
    return true;
  }
  [[nodiscard]] const std::string& value() const noexcept { return value_; }

 private:
  const bool fenced_;
  fence_token highest_;
  std::string value_;
};

/// Servers, and what happens on them, told in lines.
class story : public redlock_world {
 public:
  story(layout l, const std::string& title, const redis_options& each = {}, const std::string& more = "")
      : redlock_world(l, max_ttl, each) {
    std::cout << title << ", layout=" << l << more << "\n";
    open_up(more);
  }

  template <class... Ts>
  void tell(const Ts&... parts) const {
    const std::chrono::duration<double> since = validity_clock::now() - began_;
    std::ostringstream line;
    line << std::fixed << std::setprecision(3) << std::setw(8) << since.count() << " s  ";
    (line << ... << parts);
    std::cout << line.str() << std::endl;
  }

  /// In the classic layout so long that no renewal comes between a fault and what it leads to.
  [[nodiscard]] milliseconds ttl() const { return kind() == layout::classic ? 30s : max_ttl; }

  [[nodiscard]] lease hold(client& by, const std::string& who, milliseconds ttl) const {
    lease got = taken(by, "lock", {.ttl = ttl, .wait = 3 * generous});
    tell(who, " holds the lock, votes of ", outcome().voters, token_of(got));
    return got;
  }
  [[nodiscard]] waiting wait_for_lock(client& by, milliseconds ttl) const {
    return std::async(std::launch::async,
                      [&by, ttl] { return by.acquire("lock", {.ttl = ttl, .wait = 6 * generous}); });
  }

  /// `first` is held, and something has happened; what does another client get that asks now? `heal` ends what keeps the
  /// two apart.
  template <class F>
  void goes_on(lease& first, client& bob, F heal) const {
    if (kind() == layout::classic) {
      has_two_holders(first, bob);
    } else {
      has_one_holder(first, bob, heal);
    }
  }

  struct election {
    std::string holder;  ///< as it stands on the servers; empty: nobody has a majority
    std::string voters;  ///< "ABE"; some may still have the vote of the one before
  };
  [[nodiscard]] election outcome() const {
    const std::vector<std::string> all = ballots();
    election e;
    for (const std::string& one : all) {
      e.holder = !one.empty() && std::count(all.begin(), all.end(), one) >= 3 ? one : e.holder;
    }
    for (std::size_t i = 0; i < all.size(); ++i) {
      e.voters += !e.holder.empty() && all[i] == e.holder ? letter(i) : "";
    }
    return e;
  }

  /// Nobody has a vote, in a while.
  void expect_no_ghosts() const {
    EXPECT_TRUE(wait_for([&] { return votes().empty(); }, 3 * generous)) << votes();
    tell("no server has a vote for anybody");
  }

  [[nodiscard]] static std::string token_of(const lease& l) {
    return l.token() == fence_token() ? ", no token" : ", token " + std::to_string(l.token().value());
  }

 private:
  void has_two_holders(const lease& first, client& bob) const {
    const auto second = bob.acquire("lock", {.ttl = ttl(), .wait = generous});
    ASSERT_TRUE(second) << second.error().message();
    EXPECT_TRUE(second->held());
    EXPECT_TRUE(first.held());
    EXPECT_TRUE(second->held()) << "both were, when the first was asked";
    tell("client 2 holds the lock, and so does client 1", token_of(*second));
    EXPECT_EQ(second->token(), fence_token()) << "the published algorithm has none";
    tell("verdict: two holders");
  }

  template <class F>
  void has_one_holder(lease& first, client& bob, F heal) const {
    const fence_token token = first.token();
    EXPECT_GT(token, fence_token());
    const auto tried = bob.acquire("lock", {.ttl = ttl(), .wait = no_wait});
    ASSERT_FALSE(tried) << "two holders";
    // Without A and B it may know no more than that too few have answered.
    EXPECT_THAT(tried.error().code(), AnyOf(errc::busy, errc::quarantined, errc::unreachable))
        << tried.error();
    tell("client 2 tries: ", tried.error());
    waiting second = wait_for_lock(bob, ttl());
    // For longer than a quarantine and a hold that nobody renews last, and at most as long as the first is held.
    (void)wait_for([&] { return is_over(second) || !first.held(); }, max_ttl + 1s + max_ttl + 1500ms);
    EXPECT_FALSE(is_over(second) && first.held()) << "two holders";
    heal();
    if (first.held()) {
      EXPECT_FALSE(is_over(second));
      tell("client 1 releases it");
      EXPECT_TRUE(first.release());
    } else {
      tell("client 1 has lost it, by its own clock");
    }
    const auto got = second.get();
    ASSERT_TRUE(got) << got.error().message();
    EXPECT_TRUE(got->held());
    EXPECT_FALSE(first.held());
    EXPECT_GT(got->token(), token);
    tell("client 2 holds the lock", token_of(*got));
    tell("verdict: one holder at a time, tokens grow");
  }

  const instant began_ = validity_clock::now();
};

class RedlockStories : public ::testing::TestWithParam<layout> {};

/// Client 1 holds A, B and C and cannot reach the others; something happens to C; client 2 reaches C, D and E.
template <class F>
void split(story& that, F what_happens_to_c) {
  redlock_road one(that.servers());
  one.cut({D, E});
  redlock_road two(that.servers());
  two.cut({A, B});
  client alice = opened(one.url(that.options()));
  client bob = opened(two.url(that.options()));
  lease first = that.hold(alice, "client 1", that.ttl());
  ASSERT_EQ(that.votes(), "ABC");
  what_happens_to_c(that.servers()[C]);
  that.goes_on(first, bob, [&] {
    one.mend();
    two.mend();
  });
}

TEST_P(RedlockStories, AClockThatJumpsOnOneServerMakesTwoHoldersOnlyInTheClassicLayout) {
  story that(GetParam(), "A clock jumps on C", {.clock = true});
  split(that, [&](redis_server& c) {
    c.set_clock(60s);
    that.tell("C's clock jumps ahead by a minute");
  });
}

TEST_P(RedlockStories, AnEmptyRestartOfOneServerMakesTwoHoldersOnlyInTheClassicLayout) {
  story that(GetParam(), "C restarts empty");
  split(that, [&](redis_server& c) {
    c.restart_empty();
    that.tell("C has restarted and knows nothing");
  });
}

/// Who tries is told why it does not get the lock, when the servers can be reached again.
bool says_quarantined(const story& that, const client& by) {
  const auto tried = by.acquire("lock", {.ttl = max_ttl, .wait = no_wait});
  EXPECT_FALSE(tried) << "it was granted";
  if (tried || tried.error() != errc::quarantined) {
    return false;
  }
  that.tell("who tries is told: ", tried.error());
  return true;
}

TEST_P(RedlockStories, ACrashOfMostServersMakesTwoHoldersOnlyInTheClassicLayout) {
  story that(GetParam(), "A, B and C restart empty at once");
  client alice = opened(that.url());
  client bob = opened(that.url());
  lease first = that.hold(alice, "client 1", that.ttl());
  const instant before = validity_clock::now();
  that.servers().restart_empty({A, B, C});
  that.tell("A, B and C have restarted and know nothing");
  if (GetParam() == layout::record) {
    EXPECT_TRUE(wait_for([&] { return says_quarantined(that, bob); }));
  }
  that.goes_on(first, bob, [] {});
  if (GetParam() == layout::record) {
    EXPECT_GE(validity_clock::now() - before, max_ttl + 1s) << "the quarantine was too short";
  }
}

TEST(RedlockStory, AfterACrashOfMostServersAPersonDecidesWhereThatIsAskedFor) {
  story that(layout::record, "A, B and C restart empty at once", {}, "&amnesia=strict");
  const std::string url = that.url("&amnesia=strict");
  client alice = opened(url);
  client bob = opened(url);
  lease first = that.hold(alice, "client 1", that.ttl());
  const fence_token token = first.token();
  that.servers().restart_empty({A, B, C});
  that.tell("A, B and C have restarted and know nothing");
  waiting second = that.wait_for_lock(bob, that.ttl());
  EXPECT_TRUE(wait_for([&] { return !first.held(); }));
  that.tell("client 1 has lost it, by its own clock");
  // With amnesia=time it would have been client 2's by then.
  EXPECT_FALSE(wait_for([&] { return is_over(second); }, 2 * (max_ttl + 1s)));
  EXPECT_TRUE(wait_for([&] { return says_quarantined(that, alice); }));
  ASSERT_FALSE(is_over(second));
  const auto ended = alice.end_quarantine();
  ASSERT_TRUE(ended) << ended.error();
  that.tell("a person says that nobody holds a lock from before");
  const auto got = second.get();
  ASSERT_TRUE(got) << got.error().message();
  EXPECT_GT(got->token(), token);
  that.tell("client 2 holds the lock", story::token_of(*got));
  that.tell("verdict: one holder at a time, tokens grow");
}

/// Client 1, a process of its own that is stopped between having asked whether it holds the lock and acting on it.
class sleeper {
 public:
  explicit sleeper(const story& in) : story_(in), worker_({CREMONE_TEST_WORKER, in.url(), "talk"}) {
    EXPECT_EQ(worker_.hear(), "ready");
  }

  void hold_and_sleep() {
    const std::string got = worker_.ask("acquire lock " + std::to_string(max_ttl.count()) + " 30000");
    ASSERT_THAT(got, StartsWith("granted "));
    ASSERT_EQ(worker_.ask("held"), "yes");
    worker_.signal(SIGSTOP);
    story_.tell("client 1 holds the lock (", got, "), has asked whether it does, and is stopped");
    worker_.say("write");  // the next that it does
  }

  /// The token of its write.
  [[nodiscard]] fence_token wake_up_and_write() {
    worker_.signal(SIGCONT);
    std::istringstream answer(worker_.hear());
    std::string word;
    std::uint64_t token = 0;
    answer >> word >> token;
    EXPECT_EQ(word, "write");
    EXPECT_EQ(worker_.ask("held"), "no");
    return fence_token(token);
  }

 private:
  const story& story_;
  program worker_;
};

TEST_P(RedlockStories, AHolderThatWasStoppedWritesTooLateWhereNoTokenIsChecked) {
  const story that(GetParam(), "Client 1 is stopped between majority and use");
  sleeper first(that);
  ASSERT_NO_FATAL_FAILURE(first.hold_and_sleep());
  client bob = opened(that.url());
  const lease second = that.hold(bob, "client 2", max_ttl);
  place fenced(true);
  place open(false);
  EXPECT_TRUE(fenced.write(second.token(), "client 2"));
  EXPECT_TRUE(open.write(second.token(), "client 2"));
  that.tell("client 2 writes");
  const fence_token late = first.wake_up_and_write();
  const bool taken_with_fence = fenced.write(late, "client 1");
  EXPECT_TRUE(open.write(late, "client 1")) << "nothing can keep it from that place";
  that.tell("client 1 goes on and writes, token ", late, ": ", taken_with_fence ? "taken" : "refused",
            " where tokens are checked, taken where not");
  EXPECT_EQ(open.value(), "client 1");
  if (GetParam() == layout::record) {
    EXPECT_FALSE(taken_with_fence);
    EXPECT_EQ(fenced.value(), "client 2");
    that.tell("verdict: one user at a time, by the fence");
  } else {
    EXPECT_EQ(late, fence_token());
    EXPECT_TRUE(taken_with_fence) << "there is no token to check";
    that.tell("verdict: the late write landed");
  }
}

TEST_P(RedlockStories, AWriteThatIsDelayedLandsTooLateWhereNoTokenIsChecked) {
  const story that(GetParam(), "The write of client 1 is delayed");
  client alice = opened(that.url());
  client bob = opened(that.url());
  lease first = that.hold(alice, "client 1", max_ttl);
  const fence_token under_way = first.token();
  that.tell("client 1 sends a write, which is delayed, and releases the lock");
  EXPECT_TRUE(first.release());
  const lease second = that.hold(bob, "client 2", max_ttl);
  place resource(true);
  EXPECT_TRUE(resource.write(second.token(), "client 2"));
  that.tell("client 2 writes");
  const bool landed = resource.write(under_way, "client 1");
  EXPECT_EQ(landed, GetParam() == layout::classic);
  that.tell("verdict: the write of client 1 arrives and is ", landed ? "taken" : "refused");
}

TEST_P(RedlockStories, AnAcquireWhoseMessagesAreDelayedBeyondTheTtlHoldsNothing) {
  for (const direction way : {direction::to_server, direction::to_client}) {
    const std::string what = way == direction::to_server ? "requests" : "replies";
    const story that(GetParam(), "The " + what + " of client 1 at A, B and C are delayed");
    redlock_road road(that.servers());
    client alice = opened(road.url(that.options()));
    client bob = opened(that.url());
    (void)taken(alice, "other", {.ttl = max_ttl, .wait = generous});  // all connections are up
    EXPECT_TRUE(wait_for([&] { return that.votes("other").empty(); }));
    road.delay(way, {A, B, C});
    const auto first = alice.acquire("lock", {.ttl = max_ttl, .wait = max_ttl + 500ms});
    ASSERT_FALSE(first) << "it holds what no majority gave it in time";
    that.tell("client 1 asks and gives up: ", first.error());
    EXPECT_GE(road.delayed(), 1U) << "nothing was delayed";
    const lease second = that.hold(bob, "client 2", max_ttl);
    const instant deadline = second.deadline();
    road.let_go();
    EXPECT_TRUE(wait_for([&] { return road.delayed() == 0; }));
    that.tell("what was delayed arrives");
    EXPECT_TRUE(wait_for([&] { return second.deadline() > deadline || !second.held(); }));
    EXPECT_TRUE(second.held()) << "client 2 has lost it";
    that.tell("verdict: one holder, client 2, which has renewed since");
  }
}

/// What client 1 has sent at the end of its hold arrives when client 2 holds the lock.
template <class F>
void arrives_late(const story& that, const std::string& what, F let_it_be_sent) {
  redlock_road road(that.servers());
  client alice = opened(road.url(that.options()));
  client bob = opened(that.url());
  // The servers know all scripts: what they do not know has no effect, and the sender would have to send it again.
  EXPECT_TRUE(taken(bob, "other", {.ttl = max_ttl, .wait = generous}).release());
  lease first = that.hold(alice, "client 1", max_ttl);
  const instant granted = first.deadline();
  EXPECT_TRUE(wait_for([&] { return first.deadline() > granted; })) << "it is not renewed";
  const fence_token token = first.token();
  road.delay(direction::to_server);
  let_it_be_sent(first);
  EXPECT_TRUE(wait_for([&] { return road.delayed() >= that.servers().size(); })) << road.delayed();
  that.tell("the ", what, " of client 1 is sent, and delayed");
  const lease second = that.hold(bob, "client 2", max_ttl);
  EXPECT_FALSE(first.held());
  const story::election before = that.outcome();
  ASSERT_NE(before.holder, "");
  const instant deadline = second.deadline();
  road.let_go();
  EXPECT_TRUE(wait_for([&] { return road.delayed() == 0; }));
  for (int i = 0; i < 2;
       ++i) {  // who is answered twice knows that the servers have read what was sent before
    (void)that.ballots();
  }
  that.tell("it arrives");
  const story::election after = that.outcome();
  EXPECT_EQ(after.holder, before.holder);
  for (const char voter : before.voters) {
    EXPECT_THAT(after.voters, HasSubstr(std::string(1, voter))) << "it has changed its mind";
  }
  EXPECT_TRUE(wait_for([&] { return second.deadline() > deadline || !second.held(); }));
  EXPECT_TRUE(second.held()) << "client 2 has lost it";
  EXPECT_FALSE(first.held()) << "lost is final";
  const auto seen = bob.inspect("lock");
  ASSERT_TRUE(seen) << seen.error();
  ASSERT_EQ(seen->holders.size(), 1U);
  if (that.kind() == layout::record) {
    EXPECT_EQ(seen->holders[0].token, second.token());
    EXPECT_GT(second.token(), token);
  }
  that.tell("verdict: one holder, client 2, which has renewed since");
}

TEST_P(RedlockStories, AReleaseThatIsDelayedDoesNotHitTheSuccessor) {
  const story that(GetParam(), "The release of client 1 is delayed");
  arrives_late(that, "release", [](lease& first) { first = lease(); });
  that.expect_no_ghosts();
}

TEST_P(RedlockStories, ARenewalThatIsDelayedNeitherRevivesTheHoldNorHitsTheSuccessor) {
  const story that(GetParam(), "The renewal of client 1 is delayed");
  arrives_late(that, "renewal", [](lease& first) { EXPECT_TRUE(wait_for([&] { return !first.held(); })); });
  that.expect_no_ghosts();
}

INSTANTIATE_TEST_SUITE_P(Of, RedlockStories, ::testing::Values(layout::classic, layout::record),
                         [](const auto& told) { return word(told.param); });

}  // namespace

}  // namespace cremone::test
