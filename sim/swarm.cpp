// SPDX-License-Identifier: Apache-2.0
#include "sim/swarm.hpp"

#include "sim/redis/lua.hpp"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <system_error>
#include <thread>

namespace cremone::sim {

namespace {

void add(swarm_totals& to, const schedule_result& r) {
  ++to.schedules;
  for (std::size_t i = 0; i < fault_count; ++i) {
    to.faults[i] += r.faults[i];
  }
  to.acquisitions += r.acquisitions;
  to.losses += r.losses;
  to.evictions += r.evictions;
  to.quarantines += r.quarantines;
  to.writes += r.writes;
  to.refused_writes += r.refused_writes;
  to.lost_without_fence += r.lost_without_fence;
  to.steps += r.steps;
  to.virtual_time += r.length;
  bool expected = false;
  for (std::size_t i = 0; i < violation_kind_count; ++i) {
    to.unexpected[i] += r.unexpected[i];
    to.expected[i] += r.expected[i];
    expected = expected || r.expected[i] > 0;
  }
  to.schedules_beyond += r.beyond.empty() ? 0U : 1U;
  to.schedules_with_expected += expected ? 1U : 0U;
  if (expected && (!to.first_expected || r.seed < to.first_expected->seed)) {
    to.first_expected = r;
  }
  if (r.failed()) {
    ++to.failed_schedules;
    const auto at = std::find_if(to.failures.begin(), to.failures.end(),
                                 [&](const schedule_result& other) { return other.seed > r.seed; });
    to.failures.insert(at, r);
    if (to.failures.size() > swarm_totals::most_shown) {
      to.failures.pop_back();
    }
  }
}

/// What the threads share.
class swarm {
 public:
  explicit swarm(const swarm_order& order) : order_(order), next_(order.first), last_(order.last) {}

  void work() {
    lua scripts;
    while (true) {
      const std::uint64_t seed = next_.fetch_add(1);
      if (seed > last_ || seed < order_.first) {
        break;
      }
      const schedule_result r = run_schedule(scripts, seed, order_.what);
      const std::lock_guard lock(mutex_);
      add(totals_, r);
      if (r.failed() && order_.stop_at_first) {
        last_ = std::min<std::uint64_t>(
            last_, seed);  // those below are finished: the first is the first by its number
        totals_.stopped = totals_.stopped || seed < order_.last;
      }
    }
    const std::lock_guard lock(mutex_);
    ++ended_;
    changed_.notify_all();
  }

  swarm_totals watch(int jobs, const std::function<bool(const swarm_progress&)>& tell) {
    constexpr std::chrono::milliseconds pause{200};
    std::unique_lock lock(mutex_);
    while (!changed_.wait_for(lock, pause, [&] { return ended_ == jobs; })) {
      const swarm_progress now{totals_.schedules, order_.last - order_.first + 1, totals_.failed_schedules};
      lock.unlock();
      const bool on = !tell || tell(now);
      lock.lock();
      if (!on) {
        last_ = 0;
        totals_.stopped = true;
      }
    }
    return totals_;
  }

 private:
  const swarm_order order_;
  std::atomic<std::uint64_t> next_;
  std::atomic<std::uint64_t> last_;
  std::mutex mutex_;
  std::condition_variable changed_;
  int ended_ = 0;
  swarm_totals totals_;
};

}  // namespace

swarm_totals run_swarm(const swarm_order& order, const std::function<bool(const swarm_progress&)>& tell) {
  swarm all(order);
  std::vector<std::thread> threads;
  threads.reserve(static_cast<std::size_t>(order.jobs));
  try {
    for (int i = 0; i < order.jobs; ++i) {
      threads.emplace_back([&all] { all.work(); });
    }
  } catch (const std::system_error&) {
    if (threads.empty()) {
      throw;
    }  // the system has no more: fewer do it too
  }
  swarm_totals totals = all.watch(static_cast<int>(threads.size()), tell);
  for (std::thread& t : threads) {
    t.join();
  }
  return totals;
}

}  // namespace cremone::sim
