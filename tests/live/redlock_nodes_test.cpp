// SPDX-License-Identifier: Apache-2.0
//
// Servers that vote and are no good: dead, hung, coming and going, of the wrong kind, the same one twice. With a majority that is well
// nobody waits for the rest; without one, everybody is told why and by whom. And many who want one lock at once: somebody
// always gets it, and no vote is left behind.
#include "live/redlock_fixture.hpp"
#include "support/crowd.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <fstream>
#include <future>
#include <iostream>
#include <mutex>
#include <set>

namespace cremone::test {

namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr milliseconds ttl = 2s;

/// Takes it and gives it back; how long that took, or a failure.
milliseconds round_trip(client& by, const std::string& name = "lock") {
  const auto began = std::chrono::steady_clock::now();
  lease got = taken(by, name, {.ttl = ttl, .wait = generous});
  EXPECT_TRUE(got.held());
  EXPECT_TRUE(got.release());
  return std::chrono::duration_cast<milliseconds>(std::chrono::steady_clock::now() - began);
}

class RedlockNodes : public ::testing::TestWithParam<layout> {
 protected:
  RedlockNodes() { world_.open_up(); }

  [[nodiscard]] redlock_servers& servers() { return world_.servers(); }
  [[nodiscard]] client fresh() const { return opened(world_.url()); }

  void expect_to_work(client& by) {
    for (int i = 0; i < 5; ++i) {
      (void)round_trip(by);
    }
  }

  [[nodiscard]] std::string by_other_name(std::size_t server) const {
    return "localhost:" + std::to_string(world_.servers()[server].port());
  }

  /// What an error says besides the URL, in which all servers are.
  [[nodiscard]] static std::string reasons(const client& by, const error& why) {
    std::string text = why.message();
    if (const auto at = text.find(by.store()); at != std::string::npos) {
      text.erase(at, by.store().size());
    }
    return text;
  }

  /// These are blamed, and no others.
  void expect_to_blame(const client& by, const error& why, const std::vector<std::size_t>& whom) const {
    EXPECT_THAT(why.message(), Not(HasSubstr(secret)));
    const std::string text = reasons(by, why);
    for (std::size_t i = 0; i < world_.servers().size(); ++i) {
      const bool bad = std::find(whom.begin(), whom.end(), i) != whom.end();
      EXPECT_EQ(text.find(world_.servers()[i].node()) != std::string::npos, bad)
          << letter(i) << ", " << world_.servers()[i].node() << ": " << text;
    }
  }

  /// Nothing goes, and the answer comes in time and says because of whom.
  void expect_refusal(client& by, const std::vector<std::size_t>& because_of) {
    for (const milliseconds wait : {no_wait, milliseconds(1500)}) {
      SCOPED_TRACE(wait.count());
      const error why = refusal_of(by, servers()[because_of[0]].node(), {.ttl = ttl, .wait = wait});
      expect_to_blame(by, why, because_of);
      EXPECT_THAT(why.code(), AnyOf(errc::unreachable, errc::outcome_unknown, errc::timed_out)) << why;
    }
  }

  redlock_world world_{GetParam(), ttl};
};

TEST_P(RedlockNodes, TwoOfFiveMayBeDead) {
  client before = fresh();
  expect_to_work(before);
  lease held = taken(before, "held", {.ttl = ttl, .wait = generous});
  servers()[1].kill();
  servers()[4].kill();
  expect_to_work(before);
  client after = fresh();
  expect_to_work(after);
  const instant deadline = held.deadline();
  EXPECT_TRUE(wait_for([&] { return held.deadline() > deadline || !held.held(); }));
  EXPECT_TRUE(held.held()) << "it is not renewed";
}

TEST_P(RedlockNodes, NobodyWaitsForOneThatHangs) {
  for (const bool since_before : {true, false}) {
    SCOPED_TRACE(since_before);
    // Of many, so that a busy machine does not decide; and less than anybody would wait for an answer. Each by a client that has
    // not learnt of it yet.
    milliseconds quickest = generous;
    for (int i = 0; i < 10; ++i) {
      client locks = since_before ? fresh() : client();
      if (since_before) {
        (void)round_trip(locks);
      }
      servers()[0].suspend();
      if (!since_before) {
        locks = fresh();
      }
      quickest = std::min(quickest, round_trip(locks));
      servers()[0].resume();
    }
    EXPECT_LT(quickest, 50ms);  // the patience with those who are late, at this ttl
  }
}

TEST_P(RedlockNodes, AMajorityThatIsDeadIsNamed) {
  client before = fresh();
  expect_to_work(before);
  for (const std::size_t i : {0U, 2U, 3U}) {
    servers()[i].kill();
  }
  expect_refusal(before, {0, 2, 3});
  client after = fresh();
  expect_refusal(after, {0, 2, 3});
}

TEST_P(RedlockNodes, AMajorityThatHangsIsNamed) {
  client before = fresh();
  expect_to_work(before);
  for (const std::size_t i : {0U, 2U, 3U}) {
    servers()[i].suspend();
  }
  expect_refusal(before, {0, 2, 3});
  client after = fresh();
  expect_refusal(after, {0, 2, 3});
  for (const std::size_t i : {0U, 2U, 3U}) {
    servers()[i].resume();
  }
  EXPECT_TRUE(wait_for([&] { return before.acquire("lock", {.ttl = ttl, .wait = 1s}).has_value(); }));
  EXPECT_TRUE(wait_for([&] { return world_.votes().empty(); }))
      << "what was asked meanwhile has left something";
}

TEST_P(RedlockNodes, OneThatComesBackVotesAgain) {
  client before = fresh();
  expect_to_work(before);
  servers()[4].kill();
  client after = fresh();  // it has never seen that one
  expect_to_work(before);
  expect_to_work(after);
  servers()[4].restart_empty();
  for (client* by : {&before, &after}) {
    // In the layout `record` when its quarantine is over, which somebody must have watched.
    EXPECT_TRUE(wait_for(
        [&] {
          const lease held = taken(*by, "lock", {.ttl = ttl, .wait = generous});
          return wait_for([&] { return world_.votes() == "ABCDE"; }, 200ms);
        },
        3 * generous))
        << world_.votes();
  }
}

TEST_P(RedlockNodes, OneThatComesAndGoesHurtsNobody) {
  client locks = fresh();
  std::atomic<bool> stop = false;
  std::atomic<int> rounds = 0;
  auto work = std::async(std::launch::async, [&] {
    lease held = taken(locks, "held", {.ttl = ttl, .wait = generous});
    for (; !stop; ++rounds) {
      (void)round_trip(locks);
      EXPECT_TRUE(held.held());
    }
  });
  for (int i = 0; i < 15; ++i) {
    const int before = rounds;
    servers()[2].kill();
    EXPECT_TRUE(wait_for([&] { return rounds > before + 3; }));
    servers()[2].restart_empty();
    const int between = rounds;
    EXPECT_TRUE(wait_for([&] { return rounds > between + 3; }));
  }
  stop = true;
  work.get();
}

TEST_P(RedlockNodes, AReleaseReachesAllOfThemThoughTheClientClosesAtOnce) {
  for (int i = 0; i < 30; ++i) {
    for (std::size_t server = 0; server < servers().size(); ++server) {
      (void)servers()[server].ask({"SCRIPT", "FLUSH"});  // so that it takes some of them a little longer
    }
    const std::string name = "lock-" + std::to_string(i);
    {
      client locks = fresh();
      lease held = taken(locks, name, {.ttl = ttl, .wait = generous});
      if (i % 2 == 0) {
        EXPECT_TRUE(held.release());
      }
    }
    EXPECT_TRUE(wait_for([&] { return world_.votes(name).empty(); }, ttl / 2))
        << name << " " << world_.votes(name) << ": it stays there until its time is over";
  }
}

TEST_P(RedlockNodes, OneOfTheWrongKindIsLeftOutAndThreeAreNamed) {
  const redis_server other;
  const std::array<std::vector<std::string>, 3> spoil = {
      std::vector<std::string>{"REPLICAOF", "127.0.0.1", std::to_string(other.port())},
      {"CONFIG", "SET", "maxmemory-policy", "allkeys-lru", "maxmemory", "100mb"},
      {"CONFIG", "SET", "maxmemory-policy", "allkeys-random", "maxmemory", "100mb"}};
  for (std::size_t i = 0; i < spoil.size(); ++i) {
    SCOPED_TRACE(spoil[i][3 % spoil[i].size()]);
    EXPECT_EQ(servers()[i].ask(spoil[i]).shown(), "OK");
    client locks = fresh();
    if (i < 2) {
      expect_to_work(locks);
      continue;
    }
    const auto no = locks.acquire("lock", {.ttl = ttl, .wait = 2s});
    ASSERT_FALSE(no) << "two servers of five are enough for it";
    expect_to_blame(locks, no.error(), {0, 1, 2});
    EXPECT_EQ(no.error().code(), errc::misconfigured) << no.error();
    EXPECT_THAT(no.error().message(), AllOf(HasSubstr("replica"), HasSubstr("allkeys-lru")));
  }
}

TEST_P(RedlockNodes, PasswordsAreNeverShown) {
  for (std::size_t i = 0; i < servers().size(); ++i) {
    EXPECT_EQ(servers()[i].ask({"CONFIG", "SET", "requirepass", secret}).shown(), "OK");
  }
  std::string nodes = servers().url(world_.options());
  nodes.erase(0, std::string("redlock://").size());
  client right = opened("redlock://:" + secret + "@" + nodes);
  EXPECT_THAT(right.store(), Not(HasSubstr(secret)));
  if (GetParam() == layout::record) {  // they know it already
    expect_to_work(right);
  }
  client wrong = opened("redlock://:wrong-" + secret + "@" + nodes);
  EXPECT_THAT(wrong.store(), Not(HasSubstr(secret)));
  const auto no = wrong.acquire("lock", {.ttl = ttl, .wait = 2s});
  ASSERT_FALSE(no);
  EXPECT_EQ(no.error().code(), errc::access_denied) << no.error();
  EXPECT_THAT(reasons(wrong, no.error()), HasSubstr(servers()[0].node()));
  EXPECT_THAT(no.error().message(), Not(HasSubstr(secret)));
}

TEST_P(RedlockNodes, EachMayHaveAPasswordOfItsOwnInAFile) {
  const temp_directory there;
  {
    std::ofstream list(there.file("servers"));
    list << "# who votes\n";
    for (std::size_t i = 0; i < servers().size(); ++i) {
      const std::string password = secret + std::to_string(i);
      EXPECT_EQ(servers()[i].ask({"CONFIG", "SET", "requirepass", password}).shown(), "OK");
      list << "redis://:" << password << "@" << servers()[i].node() << "\n";
    }
  }
  client locks = opened("redlock://" + there.file("servers") + "?" + world_.options());
  EXPECT_THAT(locks.store(), Not(HasSubstr(secret)));
  expect_to_work(locks);
}

TEST_P(RedlockNodes, TwoNamesForOneServerAreRefusedAsSoonAsThatIsKnown) {
  std::vector<std::string> names = servers().nodes();
  names[1] = by_other_name(0);
  client locks = opened(redlock_url(names, world_.options()));
  error why;
  EXPECT_TRUE(wait_for([&] {
    auto got = locks.acquire("lock", {.ttl = ttl, .wait = no_wait});
    if (got) {  // the second name was not looked up yet
      EXPECT_GE(world_.votes().size(), 3U) << "one server has two votes: " << world_.votes();
      return false;
    }
    why = got.error();
    return why == errc::misconfigured;
  })) << why;
  EXPECT_THAT(reasons(locks, why), AllOf(HasSubstr(names[0]), HasSubstr(names[1])));
  const auto waited = locks.acquire("lock", {.ttl = ttl, .wait = generous});
  ASSERT_FALSE(waited);
  EXPECT_EQ(waited.error().code(), errc::misconfigured) << waited.error();
  EXPECT_TRUE(wait_for([&] { return world_.votes().empty(); })) << world_.votes();
}

TEST_P(RedlockNodes, OneServerNeverVotesTwice) {
  servers()[2].kill();
  const std::string url = redlock_url(
      {servers()[0].node(), servers()[1].node(), by_other_name(0), by_other_name(1), servers()[2].node()},
      world_.options());
  for (int i = 0; i < 10; ++i) {  // each connects anew, in another order
    client locks = opened(url);
    const auto no = locks.acquire("lock", {.ttl = ttl, .wait = generous});
    ASSERT_FALSE(no) << "two servers have four votes";
    EXPECT_EQ(no.error().code(), errc::misconfigured) << no.error();
  }
}

// A name leads elsewhere while a lease is held: one server's yes to a renewal is no majority.
TEST_P(RedlockNodes, OneServerNeverRenewsTwice) {
  redlock_road road(servers());
  client alice = opened(road.url(world_.options()));
  client bob = fresh();
  const lease first = taken(alice, "lock", {.ttl = ttl, .wait = generous});
  for (const std::size_t other : {1U, 2U}) {
    road.lead(other, servers()[0]);
  }
  road.cut({3, 4});
  EXPECT_TRUE(wait_for([&] { return !first.held(); })) << "one server has three votes";
  const lease second = taken(bob, "lock", {.ttl = ttl, .wait = 3 * generous});
  EXPECT_TRUE(second.held());
  EXPECT_FALSE(first.held());
}

INSTANTIATE_TEST_SUITE_P(Of, RedlockNodes, ::testing::Values(layout::classic, layout::record),
                         [](const auto& kind) { return word(kind.param); });

class RedlockRing : public ::testing::Test {
 protected:
  static std::string options(const std::string& ring) {
    return "layout=record&prefix=ring&max_ttl=2s" + (ring.empty() ? "" : "&ring=" + ring);
  }

  void open_up(const std::string& url) const {
    client by = opened(url);
    EXPECT_TRUE(by.end_quarantine());
    EXPECT_TRUE(wait_for([&] { return world_.quarantined(by).empty(); })) << world_.quarantined(by);
  }

  [[nodiscard]] error why_not(const std::string& url) const {
    client by = opened(url);
    const auto got = by.acquire("lock", {.ttl = ttl, .wait = 5s});
    return got ? error(errc::lost, "it was granted") : got.error();
  }

  /// The first three servers, and three of which two are the same.
  [[nodiscard]] std::string some(const std::string& ring) const {
    return redlock_url({world_.servers()[0].node(), world_.servers()[1].node(), world_.servers()[2].node()},
                       options(ring));
  }
  [[nodiscard]] std::string others(const std::string& ring) const {
    return redlock_url({world_.servers()[1].node(), world_.servers()[2].node(), world_.servers()[3].node()},
                       options(ring));
  }
  [[nodiscard]] std::string some_by_other_names(const std::string& ring) const {
    const auto by_name = [&](std::size_t i) {
      return "localhost:" + std::to_string(world_.servers()[i].port());
    };
    return redlock_url({by_name(2), by_name(0), by_name(1)}, options(ring));
  }

  redlock_world world_{layout::record, ttl};
};

TEST_F(RedlockRing, OfOtherServersIsRefusedOnOnePrefix) {
  open_up(some(""));
  EXPECT_EQ(why_not(some("")).code(), errc::lost);  // granted
  const error no = why_not(others(""));
  EXPECT_EQ(no.code(), errc::misconfigured) << no;
  const error as_well = why_not(some_by_other_names(""));
  EXPECT_EQ(as_well.code(), errc::misconfigured) << as_well;
  EXPECT_EQ(why_not(some("")).code(), errc::lost) << "those who were first go on";
}

TEST_F(RedlockRing, ThatHasANameMayBeSpeltInManyWays) {
  open_up(some("five"));
  client locks = opened(some("five"));
  const lease held = taken(locks, "lock", {.ttl = ttl, .wait = generous});
  client by_name = opened(some_by_other_names("five"));
  const auto busy = by_name.acquire("lock", {.ttl = ttl, .wait = no_wait});
  ASSERT_FALSE(busy);
  EXPECT_EQ(busy.error().code(), errc::busy) << busy.error();
  EXPECT_TRUE(held.held());
}

TEST_F(RedlockRing, IsOpenedAsAWholeByOrderOfAPerson) {
  for (int i = 0; i < 30;
       ++i) {  // it closes at once, as a command does: whatever was not sent by then never is
    const std::string prefix = "p" + std::to_string(i);
    EXPECT_TRUE(opened(world_.servers().url("prefix=" + prefix + "&max_ttl=2s")).end_quarantine());
    for (std::size_t server = 0; server < world_.servers().size(); ++server) {
      EXPECT_THAT(world_.servers()[server].ask({"GET", prefix + ":boot"}).text, StartsWith("A "))
          << letter(server) << " was left out";
    }
  }
}

/// Many clients, each with connections of its own, that want one lock without a pause.
class RedlockStorm : public ::testing::TestWithParam<layout> {
 protected:
  static constexpr std::size_t size = 16;
  static constexpr milliseconds short_ttl = 1s;

  redlock_world world_{GetParam(), short_ttl};
};

TEST_P(RedlockStorm, OnOneLockAlwaysGoesOnAndLeavesNoVoteBehind) {
  world_.open_up();
  std::array<std::atomic<int>, size> got{};
  const auto all_have = [&] {
    return std::all_of(got.begin(), got.end(), [](const std::atomic<int>& n) { return n > 0; });
  };
  std::mutex mutex;
  std::set<const lease*> inside;
  std::atomic<int> refusals = 0;
  const instant began = validity_clock::now();
  std::vector<client> clients(size);
  for (client& c : clients) {
    c = opened(world_.url());
  }
  crowd(size, [&](std::size_t i) {
    while (validity_clock::now() - began < 5s ||
           (!all_have() && validity_clock::now() - began < 3 * generous)) {
      auto mine = clients[i].acquire("lock", {.ttl = short_ttl, .wait = 3 * generous});
      if (!mine) {
        ++refusals;
        continue;
      }
      {
        const std::lock_guard lock(mutex);
        for (const lease* other : inside) {
          EXPECT_FALSE(mine->held() && other->held() && mine->held()) << "two holders";
        }
        inside.insert(&*mine);
      }
      ++got[i];
      {
        const std::lock_guard lock(mutex);
        inside.erase(&*mine);
      }
      EXPECT_TRUE(mine->release());
    }
  });
  EXPECT_EQ(refusals, 0);
  std::string shares;
  int sum = 0;
  for (const auto& n : got) {
    EXPECT_GT(n, 0) << "somebody never got it";
    shares += " " + std::to_string(n);
    sum += n;
  }
  std::cout << word(GetParam()) << ": " << sum << " acquisitions:" << shares << std::endl;
  const instant over = validity_clock::now();
  EXPECT_TRUE(wait_for([&] { return world_.votes().empty(); }, 3 * generous)) << world_.votes();
  // The last look, which found nothing, may have taken a while itself.
  EXPECT_LT(validity_clock::now() - over, short_ttl + 1s) << "ghost votes";
}

INSTANTIATE_TEST_SUITE_P(Of, RedlockStorm, ::testing::Values(layout::classic, layout::record),
                         [](const auto& kind) { return word(kind.param); });

}  // namespace

}  // namespace cremone::test
