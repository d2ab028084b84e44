// SPDX-License-Identifier: Apache-2.0
//
// The queue of the layout `record` among real processes: a thousand who wait are served in the order of their tickets with few
// requests, and those who die or hang cost the others no more than their claim time.
#include "live/redis_record_fixture.hpp"
#include "support/program.hpp"
#include "support/sanitized.hpp"

#include <signal.h>

#include <algorithm>
#include <map>
#include <sstream>
#include <thread>

namespace cremone::test {

namespace {

using namespace std::chrono_literals;
using std::chrono::microseconds;
using std::chrono::milliseconds;

constexpr int processes = sanitized ? 8 : 20;
constexpr int threads_each = sanitized ? 10 : 50;
constexpr std::size_t crowd_size = processes * threads_each;
constexpr milliseconds claim_time{500};

struct served {
  std::string label;
  std::uint64_t token = 0;
  microseconds when{};
};

class RedisQueue : public RedisRecord {
 protected:
  [[nodiscard]] program start(int rounds) const {
    return program(
        {CREMONE_TEST_WORKER, url(), "crowd", "lock", std::to_string(threads_each), std::to_string(rounds)});
  }

  void start_all(int rounds) {
    for (int i = 0; i < processes; ++i) {
      workers_.push_back(start(rounds));
    }
  }

  [[nodiscard]] std::vector<std::string> waiting() {
    const auto seen = watcher_.inspect("lock");
    std::vector<std::string> labels;
    if (seen) {
      for (const waiter_record& w : seen->waiters) {
        labels.push_back(w.who.label);
      }
    }
    return labels;
  }

  void wait_until_all_wait(std::size_t how_many = crowd_size) {
    ASSERT_TRUE(wait_for([&] { return waiting().size() == how_many; }, 2 * generous)) << waiting().size();
  }

  /// What a worker says until it ends or is silent because it was killed.
  static void hear_out(program& from, std::vector<served>& into) {
    for (std::string line = from.hear(60s); line != "end"; line = from.hear(60s)) {
      std::istringstream words(line);
      served one;
      std::int64_t when = 0;
      words >> one.label >> one.token >> when;
      one.when = microseconds(when);
      ASSERT_TRUE(words) << line;
      into.push_back(one);
    }
  }

  [[nodiscard]] std::vector<served> hear_all(std::size_t from = 0) {
    std::vector<std::vector<served>> parts(workers_.size());
    std::vector<std::thread> readers;
    for (std::size_t i = from; i < workers_.size(); ++i) {
      readers.emplace_back([&, i] { hear_out(workers_[i], parts[i]); });
    }
    std::vector<served> all;
    for (std::thread& r : readers) {
      r.join();
    }
    for (const auto& part : parts) {
      all.insert(all.end(), part.begin(), part.end());
    }
    std::sort(all.begin(), all.end(), [](const served& a, const served& b) { return a.token < b.token; });
    return all;
  }

  [[nodiscard]] static microseconds longest_gap(const std::vector<served>& all) {
    microseconds gap{};
    for (std::size_t i = 1; i < all.size(); ++i) {
      gap = std::max(gap, all[i].when - all[i - 1].when);
    }
    return gap;
  }

  /// EVAL and EVALSHA since the server started.
  [[nodiscard]] std::uint64_t scripts_run() const {
    const std::string stats = server_.ask({"INFO", "commandstats"}).text;
    std::uint64_t all = 0;
    for (const std::string command : {"cmdstat_eval:calls=", "cmdstat_evalsha:calls="}) {
      if (const auto at = stats.find(command); at != std::string::npos) {
        all += std::stoull(stats.substr(at + command.size()));
      }
    }
    return all;
  }

  client watcher_ = opened(url());
  std::vector<program> workers_;
};

TEST_F(RedisQueue, ServesAThousandInTheOrderOfTheirTicketsWithFewRequests) {
  lease mine = taken(watcher_, "lock", {.ttl = 2s});
  const std::uint64_t before = scripts_run();
  start_all(1);
  std::uint64_t looks = 0;
  ASSERT_TRUE(wait_for(
      [&] {
        ++looks;
        return waiting().size() == crowd_size;
      },
      2 * generous));
  const std::vector<std::string> order = waiting();
  ASSERT_TRUE(mine.release());
  const std::vector<served> all = hear_all();
  const std::uint64_t requests =
      scripts_run() - before - looks - 2;  // not our own: the looks above, and our release
  std::vector<std::string> got;
  for (const served& s : all) {
    got.push_back(s.label);
  }
  EXPECT_EQ(got, order);
  EXPECT_LE(static_cast<double>(requests) / crowd_size, 4.0) << requests << " requests";
  RecordProperty("requests_per_acquisition", std::to_string(static_cast<double>(requests) / crowd_size));
}

TEST_F(RedisQueue, ServesAllEquallyOften) {
  start_all(0);
  const std::size_t enough = 12 * crowd_size;
  std::map<std::string, std::size_t> count;
  std::vector<std::vector<served>> parts(workers_.size());
  std::atomic<std::size_t> heard = 0;
  std::vector<std::thread> readers;
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    readers.emplace_back([&, i] {
      for (std::string line = workers_[i].hear(60s); line != "end" && !line.empty();
           line = workers_[i].hear(60s)) {
        std::istringstream words(line);
        served one;
        words >> one.label >> one.token;
        parts[i].push_back(one);
        ++heard;
      }
    });
  }
  EXPECT_TRUE(wait_for([&] { return heard >= enough; }, 6 * generous)) << heard;
  for (const program& w : workers_) {
    w.say("stop");
  }
  for (std::thread& r : readers) {
    r.join();
  }
  std::vector<served> all;
  for (const auto& part : parts) {
    all.insert(all.end(), part.begin(), part.end());
  }
  std::sort(all.begin(), all.end(), [](const served& a, const served& b) { return a.token < b.token; });
  // The beginning, when not all have come, and the end, when some have left, say nothing.
  for (std::size_t i = crowd_size; i < std::min(all.size(), crowd_size + 10 * crowd_size); ++i) {
    ++count[all[i].label];
  }
  std::size_t most = 0;
  std::size_t least = all.size();
  for (const auto& [label, n] : count) {
    most = std::max(most, n);
    least = std::min(least, n);
  }
  EXPECT_EQ(count.size(), crowd_size);
  EXPECT_LE(static_cast<double>(most), 1.1 * static_cast<double>(least)) << most << " against " << least;
}

TEST_F(RedisQueue, IsNotHeldUpWhenHalfOfTheProcessesAreKilled) {
  lease mine = taken(watcher_, "lock", {.ttl = 2s});
  start_all(1);
  wait_until_all_wait();
  const std::size_t half = processes / 2;
  for (std::size_t i = 0; i < half; ++i) {
    workers_[i].signal(SIGKILL);
    EXPECT_EQ(workers_[i].wait(), 128 + SIGKILL);
  }
  ASSERT_TRUE(mine.release());
  const std::vector<served> all = hear_all(half);
  EXPECT_EQ(all.size(), crowd_size / 2);
  EXPECT_LE(longest_gap(all), 4 * claim_time);  // far below that for each of the dead
}

TEST_F(RedisQueue, GoesOnAfterTheTtlWhenTheHolderIsKilledToo) {
  workers_.reserve(processes + 1);
  program holder({CREMONE_TEST_WORKER, url(), "talk"});
  ASSERT_EQ(holder.hear(), "ready");
  ASSERT_THAT(holder.ask("acquire lock 2000 0"), ::testing::StartsWith("granted"));
  start_all(1);
  wait_until_all_wait();
  const std::size_t half = processes / 2;
  for (std::size_t i = 0; i < half; ++i) {
    workers_[i].signal(SIGKILL);
    (void)workers_[i].wait();
  }
  holder.signal(SIGKILL);
  (void)holder.wait();
  const auto killed = std::chrono::floor<microseconds>(std::chrono::steady_clock::now().time_since_epoch());
  const std::vector<served> all = hear_all(half);
  ASSERT_EQ(all.size(), crowd_size / 2);
  EXPECT_LE(all.front().when - killed, 2002ms + 1s + 4 * claim_time);
  EXPECT_LE(longest_gap(all), 4 * claim_time);
}

TEST_F(RedisQueue, IsHeldUpByNoMoreThanTheClaimTimeOfEachWhoHangs) {
  constexpr std::size_t hung = 4;
  lease mine = taken(watcher_, "lock", {.ttl = 2s});
  for (std::size_t i = 0; i < hung; ++i) {  // one thread each, and the first in the queue
    workers_.push_back(program({CREMONE_TEST_WORKER, url(), "crowd", "lock", "1", "1"}));
    wait_until_all_wait(i + 1);
  }
  workers_.push_back(start(1));
  wait_until_all_wait(hung + threads_each);
  for (std::size_t i = 0; i < hung; ++i) {
    workers_[i].signal(SIGSTOP);
  }
  ASSERT_TRUE(mine.release());
  const auto released = std::chrono::floor<microseconds>(std::chrono::steady_clock::now().time_since_epoch());
  const std::vector<served> all = hear_all(hung);
  ASSERT_EQ(all.size(), static_cast<std::size_t>(threads_each));
  EXPECT_LE(all.front().when - released, 2 * claim_time * static_cast<int>(hung) + claim_time);
  EXPECT_LE(longest_gap(all), 2 * claim_time);
  for (std::size_t i = 0; i < hung; ++i) {
    workers_[i].signal(SIGCONT);
    std::vector<served> late;
    hear_out(workers_[i], late);
    EXPECT_EQ(late.size(), 1U) << "who hung and woke up is served all the same";
  }
}

}  // namespace

}  // namespace cremone::test
