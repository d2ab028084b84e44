// SPDX-License-Identifier: Apache-2.0
//
// Everything at once: tries, timed waits, cancellations, re-entry, evictions and clients that close under their
// users' hands. What is claimed: nothing hangs, the lock that nobody takes away excludes, and in the end the store
// is empty.
#include "base/backoff.hpp"
#include "scenario/seam.hpp"
#include "support/crowd.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <stop_token>
#include <thread>

namespace cremone::test {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t thread_count = 8;
constexpr int rounds = 400;

/// A thread's own dice, the same in every run.
class dice {
 public:
  explicit dice(std::uint64_t seed) : noise_(seed) {}
  [[nodiscard]] int below(int sides) {
    return static_cast<int>(noise_.between(0ns, std::chrono::nanoseconds(sides - 1)).count());
  }

 private:
  jitter noise_;
};

/// What all threads work on.
struct arena {
  client& locks;
  long counter = 0;  // protected by the lock "safe", which nobody evicts
  std::atomic<long> entered = 0;
  std::atomic<int> unexpected = 0;

  void enter(result<lease>& held) {
    if (held) {
      ++entered;
      ++counter;
      if (auto again = held->reenter(); !again || again->token() != held->token()) {
        ++unexpected;
      }
      ++counter;
    } else if (held.error() != errc::busy && held.error() != errc::timed_out &&
               held.error() != errc::cancelled) {
      ++unexpected;
    }
  }

  void round(dice& d) {
    switch (d.below(5)) {
      case 0: return use("safe", {.wait = no_wait});
      case 1: return use("safe", {.wait = std::chrono::milliseconds(1 + d.below(3))});
      case 2: return use("safe", {.wait = 5s});
      case 3: return cancelled(std::chrono::microseconds(d.below(500)));
      default: return evicted();
    }
  }

  void use(const lock_name& name, const acquire_options& options, std::stop_token stop = {}) {
    auto held = locks.acquire(name, options, std::move(stop));
    enter(held);
  }

  void cancelled(std::chrono::microseconds after) {
    std::stop_source stop;
    const std::jthread canceller([&] {
      std::this_thread::sleep_for(after);  // any moment will do
      stop.request_stop();
    });
    use("safe", {}, stop.get_token());
  }

  /// Takes "unsafe", and has it taken away.
  void evicted() {
    const auto held = locks.acquire("unsafe", {.ttl = 100ms, .wait = 2ms});
    evict_holder(locks, "unsafe");
  }
};

TEST(Stress, OfAllKindsOfUseLeavesNothingBehind) {
  client locks = open_store();
  client witness = open_store();
  arena all{locks};
  crowd(thread_count, [&](std::size_t t) {
    dice d(t);
    for (int i = 0; i < rounds; ++i) {
      all.round(d);
    }
  });
  EXPECT_EQ(all.unexpected, 0);
  EXPECT_GT(all.entered, 0);
  EXPECT_EQ(all.counter, 2 * all.entered);
  EXPECT_TRUE(witness.list().value().empty());
  locks.close();
  EXPECT_TRUE(witness.list().value().empty());
}

TEST(Stress, OfClientsClosingUnderTheirUsersLeavesNothingBehind) {
  client witness = open_store();
  std::atomic<int> unexpected = 0;
  for (int i = 0; i < 300; ++i) {
    client locks = open_store();
    crowd(thread_count, [&](std::size_t t) {
      if (t == 0) {
        return locks.close();
      }
      for (errc last{}; last != errc::cancelled;) {  // until the client is closed
        const auto held = locks.acquire("ledger", {.wait = 1s});
        last = held ? errc{} : held.error().code();
        if (!held && last != errc::cancelled) {
          ++unexpected;
        }
      }
    });
    const auto left = witness.list().value();
    ASSERT_TRUE(left.empty()) << "round " << i << ": " << left.front().holders.size() << " holders, "
                              << left.front().waiters.size() << " waiters";
  }
  EXPECT_EQ(unexpected, 0);
}

}  // namespace
}  // namespace cremone::test
