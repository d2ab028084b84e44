// SPDX-License-Identifier: Apache-2.0
//
// cremone and redis-py's Lock on the same key, from several processes: never two holders, no lost increment, and each
// waits for the other.
#include "live/redis_fixture.hpp"
#include "support/program.hpp"

#include <fstream>

namespace cremone::test {

namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class RedisInterop : public RedisServer {
 protected:
  [[nodiscard]] program python(std::vector<std::string> what) const {
    // Debian's, for which the package with redis-py is; not whatever comes first in the path.
    std::vector<std::string> argv = {"/usr/bin/python3", CREMONE_TEST_PY_WORKER,
                                     std::to_string(server_.port())};
    argv.insert(argv.end(), what.begin(), what.end());
    return program(argv);
  }

  [[nodiscard]] program cremone_worker(const std::vector<std::string>& what) const {
    std::vector<std::string> argv = {CREMONE_TEST_WORKER, server_.url()};
    argv.insert(argv.end(), what.begin(), what.end());
    return program(argv);
  }
};

TEST_F(RedisInterop, LosesNoIncrementAndHasNeverTwoInside) {
  const std::string file = server_.directory().file("counter");
  std::ofstream(file) << 0;
  constexpr int processes = 3;
  constexpr int times = 150;
  std::vector<program> all;
  for (int i = 0; i < processes; ++i) {
    all.push_back(python({"increment", "counter", file, std::to_string(times)}));
    all.push_back(cremone_worker({"share", "counter", file, std::to_string(times)}));
  }
  for (program& p : all) {
    EXPECT_THAT(p.hear(50s), StartsWith("blocked "));
    EXPECT_EQ(p.wait(), 0) << "python3-redis must be installed (./dev setup)";
  }
  int value = 0;
  std::ifstream(file) >> value;
  EXPECT_EQ(value, 2 * processes * times);
  expect_only_fixed_keys();
}

TEST_F(RedisInterop, WaitsForRedisPy) {
  program other = python({"talk", "lock"});
  ASSERT_EQ(other.hear(), "ready") << "python3-redis must be installed (./dev setup)";
  ASSERT_EQ(other.ask("try"), "held");
  program mine = cremone_worker({"talk"});
  ASSERT_EQ(mine.hear(), "ready");
  EXPECT_THAT(mine.ask("acquire lock 5000 0"), StartsWith("busy"));
  EXPECT_THAT(mine.ask("acquire lock 5000 200"), StartsWith("timed_out"));
  mine.say("acquire lock 5000 30000");
  EXPECT_EQ(other.ask("release"), "released");
  EXPECT_THAT(mine.hear(), StartsWith("granted "));
}

TEST_F(RedisInterop, IsWaitedForByRedisPy) {
  program other = python({"talk", "lock"});
  ASSERT_EQ(other.hear(), "ready") << "python3-redis must be installed (./dev setup)";
  program mine = cremone_worker({"talk"});
  ASSERT_EQ(mine.hear(), "ready");
  EXPECT_THAT(mine.ask("acquire lock 2000 5000"), StartsWith("granted "));
  EXPECT_EQ(other.ask("try"), "busy");
  other.say("wait");
  // For longer than the ttl: the lease is renewed, which redis-py must respect.
  const auto held_since = std::chrono::steady_clock::now();
  EXPECT_TRUE(wait_for([&] { return std::chrono::steady_clock::now() - held_since > 3000ms; }));
  const std::string still = mine.ask("held");
  EXPECT_EQ(mine.ask("release"),
            still == "yes" ? "released" : "lost");  // a machine that stalls may lose it, rightly
  EXPECT_EQ(other.hear(), "held");
  EXPECT_THAT(mine.ask("acquire lock 1000 0"), StartsWith("busy"));
  EXPECT_EQ(other.ask("release"), "released");
}

TEST_F(RedisInterop, DoesNotReleaseALockThatBecameRedisPys) {
  program mine = cremone_worker({"talk"});
  ASSERT_EQ(mine.hear(), "ready");
  EXPECT_THAT(mine.ask("acquire lock 500 5000"), StartsWith("granted "));
  mine.signal(SIGSTOP);
  program other = python({"talk", "lock"});
  ASSERT_EQ(other.hear(), "ready") << "python3-redis must be installed (./dev setup)";
  EXPECT_EQ(other.ask("wait"), "held") << "the time of the stopped holder is over";
  mine.say("release");
  mine.signal(SIGCONT);
  EXPECT_EQ(mine.hear(), "lost");
  EXPECT_EQ(server_.ask({"EXISTS", "lock"}).number, 1);
  EXPECT_EQ(other.ask("release"), "released") << "redis-py's own check says that the lock is still its own";
}

}  // namespace

}  // namespace cremone::test
