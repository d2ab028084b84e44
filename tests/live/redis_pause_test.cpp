// SPDX-License-Identifier: Apache-2.0
//
// A server that stops for longer than a ttl: holders are told by their own clock, in time; and when it goes on, so do
// its clients.
#include "live/redis_fixture.hpp"

#include <algorithm>
#include <future>
#include <mutex>

namespace cremone::test {

namespace {

using namespace std::chrono_literals;

/// Who is told of a loss, and when.
class loss_log {
 public:
  void follow(lease& of) {
    of.on_lost([this](const error&) {
      const std::lock_guard lock(mutex_);
      told_.push_back(validity_clock::now());
    });
  }
  [[nodiscard]] std::size_t size() const {
    const std::lock_guard lock(mutex_);
    return told_.size();
  }
  [[nodiscard]] instant last() const {
    const std::lock_guard lock(mutex_);
    return *std::max_element(told_.begin(), told_.end());
  }

 private:
  mutable std::mutex mutex_;
  std::vector<instant> told_;
};

class RedisPause : public RedisServer {
 protected:
  /// Takes many locks, stops the server until all are lost, and lets it go on. How long after the last deadline the last
  /// holder was told.
  std::chrono::nanoseconds pause_once(int run) {
    std::vector<lease> held;
    loss_log losses;
    for (int i = 0; i < 50; ++i) {
      held.push_back(
          taken(locks_, "lock-" + std::to_string(run) + "-" + std::to_string(i), {.ttl = 500ms, .wait = 5s}));
      losses.follow(held.back());
    }
    server_.suspend();
    instant end = instant::min();
    EXPECT_TRUE(wait_for([&] {
      for (const lease& l : held) {
        end = std::max(end, l.deadline());  // replies that were on their way may still move it
      }
      return losses.size() == held.size();
    })) << losses.size()
        << " of " << held.size() << " were told";
    for (const lease& l : held) {
      EXPECT_FALSE(l.held());
      EXPECT_TRUE(l.get_stop_token().stop_requested());
    }
    server_.resume();
    return losses.last() - end;
  }

  client locks_ = opened(server_.url());
};

TEST_F(RedisPause, BeyondTheTtlIsToldToTheHoldersByTheirOwnClock) {
  // The bound is for a machine that is busy with something else: then once more.
  std::chrono::nanoseconds late{};
  for (int run = 0; run < 10; ++run) {
    late = pause_once(run);
    if (late < 50ms) {
      break;
    }
  }
  EXPECT_LT(late, 50ms) << "the holders were told too late, ten times";
}

TEST_F(RedisPause, NeverLeavesALeaseHeldPastItsDeadline) {
  lease held = taken(locks_, "lock", {.ttl = 500ms, .wait = 5s});
  server_.suspend();
  bool past = false;
  EXPECT_TRUE(wait_for([&] {
    const instant end = held.deadline();
    const instant now = validity_clock::now();
    past = past || (end != instant::min() && now >= end && held.held() && held.deadline() == end);
    return !held.held();
  }));
  EXPECT_FALSE(past);
  server_.resume();
}

TEST_F(RedisPause, IsOverWithoutANewClient) {
  client bob = opened(server_.url());
  lease first = taken(locks_, "lock", {.ttl = 500ms, .wait = 5s});
  server_.suspend();
  EXPECT_TRUE(wait_for([&] { return !first.held(); }));
  auto waiting = std::async(std::launch::async, [&] { return bob.acquire("lock", {.wait = 3 * generous}); });
  const auto no = locks_.acquire("other", {.ttl = 500ms, .wait = 700ms});
  ASSERT_FALSE(no);
  expect_names(no.error(), server_.node());
  server_.resume();
  auto second = waiting.get();
  ASSERT_TRUE(second) << second.error().message();
  EXPECT_GT(second->token(), first.token());
  EXPECT_FALSE(first.held()) << "lost is final";
  EXPECT_TRUE(second->release());
  lease third = taken(locks_, "lock", {.wait = generous});
  EXPECT_TRUE(third.held());
  EXPECT_TRUE(third.release());
  EXPECT_TRUE(wait_for([&] { return server_.keys_in() == std::vector<std::string>{fence_key}; }))
      << "what was asked while it was stopped has left something";
}

TEST_F(RedisPause, ShorterThanTheTtlIsNoticedByNobody) {
  for (int run = 0; run < 10; ++run) {  // until the machine does not stall as well
    lease held = taken(locks_, "lock", {.ttl = 3s, .wait = generous});
    const instant first = held.deadline();
    server_.suspend();
    // Until half of the ttl is over: a renewal, due after a third, was asked for meanwhile.
    EXPECT_TRUE(wait_for([&] { return validity_clock::now() > first - 1500ms; }));
    server_.resume();
    EXPECT_TRUE(wait_for([&] { return held.deadline() > first || !held.held(); }));
    if (held.held()) {
      return;
    }
  }
  ADD_FAILURE() << "ten times a lease of 3 s was lost in a pause of half of it";
}

}  // namespace

}  // namespace cremone::test
