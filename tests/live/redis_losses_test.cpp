// SPDX-License-Identifier: Apache-2.0
//
// Lost replies: 500 random schedules (under sanitizers 100) in which a proxy drops, delays, holds or cuts messages between several clients and
// a real server. Never two holders, tokens that grow, and nothing left behind when a lock's time is over.
//
// CREMONE_TEST_SEED=n runs the one schedule of that number.
#include "live/redis_fixture.hpp"
#include "support/crowd.hpp"
#include "support/sanitized.hpp"
#include "support/tcp_proxy.hpp"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <mutex>
#include <random>

namespace cremone::test {

namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;
using fate = passage::fate;

constexpr milliseconds ttl = 250ms;
constexpr std::uint64_t schedules = sanitized ? 100 : 500;
constexpr std::size_t side_by_side = 20;  // each in a database of its own

/// What becomes of each message: one reply, another one in each schedule, meets the worst; the others have it mostly
/// good.
class misfortune {
 public:
  explicit misfortune(std::uint64_t seed)
      : random_(seed),
        victim_(seed % 40),
        worst_(draw_fate()),
        unlucky_(0.02 * static_cast<double>(seed % 5)) {}

  passage operator()(direction way, std::uint64_t number, const resp&) {
    if (way == direction::to_client && number == victim_) {
      return {.what = worst_, .delay = draw_delay()};
    }
    if (std::uniform_real_distribution<>(0, 1)(random_) >= unlucky_) {
      return {};
    }
    return {.what = draw_fate(), .delay = draw_delay()};
  }

 private:
  fate draw_fate() {
    switch (std::uniform_int_distribution<>(0, 12)(random_)) {
      case 0:
      case 1:
      case 2:
      case 3: return fate::swallow;
      case 4:
      case 5:
      case 6: return fate::cut;
      case 7: return fate::hold;
      default: return fate::pass;  // but late
    }
  }

  /// Up to more than a ttl, so that what was granted may be over when its reply comes.
  milliseconds draw_delay() {
    return milliseconds(std::uniform_int_distribution<>(0, 3)(random_) == 0
                            ? std::uniform_int_distribution<>(0, 400)(random_)
                            : std::uniform_int_distribution<>(0, 20)(random_));
  }

  std::mt19937_64 random_;
  const std::uint64_t victim_;
  const fate worst_;
  const double unlucky_;
};

/// Who is inside, by what their leases say.
class guarded_place {
 public:
  void enter(const lease& mine) {
    const std::lock_guard lock(mutex_);
    inside_.push_back(&mine);
    expect_alone(mine);
    if (mine.held()) {  // else a later holder may have been here before us, and rightly
      EXPECT_GT(mine.token(), last_) << "tokens went back";
      last_ = mine.token();
    }
  }

  void stay(const lease& mine) {
    const std::lock_guard lock(mutex_);
    expect_alone(mine);
  }

  /// Before the release: from then on others may come.
  void leave(const lease& mine) {
    const std::lock_guard lock(mutex_);
    inside_.erase(std::find(inside_.begin(), inside_.end(), &mine));
  }

 private:
  /// Held now, and another that was held before now is held still: then both were at once.
  void expect_alone(const lease& mine) {
    if (!mine.held()) {
      return;
    }
    for (const lease* other : inside_) {
      EXPECT_FALSE(other != &mine && other->held())
          << "two holders, tokens " << other->token() << " and " << mine.token();
    }
  }

  std::mutex mutex_;
  std::vector<const lease*> inside_;
  fence_token last_;
};

class RedisLosses : public RedisServer {
 protected:
  /// One client of three: takes the lock a few times and works a little. What fails is tried again; how often it works
  /// is counted.
  void use(const std::string& url, std::uint64_t seed, guarded_place& place) {
    std::mt19937_64 random(seed);
    client locks = opened(url);
    for (int round = 0; round < 3; ++round) {
      auto got = locks.acquire("lock", {.ttl = ttl, .wait = 400ms});
      if (!got) {
        continue;
      }
      ++grants_;
      place.enter(*got);
      const auto steps = std::uniform_int_distribution<>(1, 20)(random);
      for (int i = 0; i < steps && got->held(); ++i) {
        std::this_thread::sleep_for(2ms);  // work
        place.stay(*got);
      }
      place.leave(*got);
      if (std::uniform_int_distribution<>(0, 3)(random) > 0) {
        (void)got->release();
      }
    }
  }

  void run_schedule(std::uint64_t seed, int db) {
    SCOPED_TRACE("replay with CREMONE_TEST_SEED=" + std::to_string(seed));
    EXPECT_EQ(server_.ask({"FLUSHDB"}, db).shown(), "OK");
    {
      guarded_place place;
      tcp_proxy proxy(server_.port(), misfortune(seed));
      const std::string url = "redis://" + proxy.node() + "/" + std::to_string(db) + "?layout=classic";
      crowd(3, [&](std::size_t i) { use(url, seed * 3 + i, place); });
    }
    // Whoever is answered twice knows that the server has read what was sent before.
    (void)server_.ask({"PING"});
    (void)server_.ask({"PING"});
    EXPECT_TRUE(wait_for([&] { return only_the_fence_is_in(db); }, 2 * ttl)) << "something is left behind";
  }

  [[nodiscard]] bool only_the_fence_is_in(int db) const {
    const auto keys = server_.keys_in(db);
    return std::all_of(keys.begin(), keys.end(), [](const std::string& key) { return key == fence_key; });
  }

  std::atomic<std::uint64_t> grants_ = 0;
};

TEST_F(RedisLosses, OfRepliesNeverMakeTwoHoldersAndLeaveNothingBehind) {
  if (const char* one = std::getenv("CREMONE_TEST_SEED")) {
    return run_schedule(std::strtoull(one, nullptr, 10), 0);
  }
  std::atomic<std::uint64_t> next = 0;
  crowd(side_by_side, [&](std::size_t lane) {
    for (std::uint64_t seed = next++; seed < schedules && !HasFailure(); seed = next++) {
      run_schedule(seed, static_cast<int>(lane));
    }
  });
  RecordProperty("grants", std::to_string(grants_));
  EXPECT_GT(grants_, schedules) << "the schedules let nobody work";
}

}  // namespace

}  // namespace cremone::test
