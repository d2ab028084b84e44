// SPDX-License-Identifier: Apache-2.0
//
// Many schedules, on several threads, and what came of them. Each has its own world; nothing is shared but the counting.
#pragma once

#include "sim/schedule.hpp"

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace cremone::sim {

struct swarm_order {
  std::uint64_t first = 1;
  std::uint64_t last = 1000;  ///< included
  int jobs = 1;
  schedule_options what{};
  bool stop_at_first = false;  ///< ... unexpected violation
};

struct swarm_totals {
  std::uint64_t schedules = 0;
  fault_counts faults{};
  std::uint64_t acquisitions = 0;
  std::uint64_t losses = 0;
  std::uint64_t evictions = 0;
  std::uint64_t quarantines = 0;
  std::uint64_t writes = 0;
  std::uint64_t refused_writes = 0;
  std::uint64_t lost_without_fence = 0;
  std::uint64_t steps = 0;
  std::chrono::nanoseconds virtual_time{};
  /// By kind: violations, and the schedules that had any.
  std::array<std::uint64_t, violation_kind_count> unexpected{};
  std::array<std::uint64_t, violation_kind_count> expected{};
  std::uint64_t failed_schedules = 0;
  std::uint64_t schedules_beyond =
      0;  ///< in which more went wrong than is promised for, whether it showed or not
  std::uint64_t schedules_with_expected = 0;
  /// The first that failed, by seed: at most `most_shown`, in the order of the seeds.
  static constexpr std::size_t most_shown = 10;
  std::vector<schedule_result> failures;
  std::optional<schedule_result> first_expected;
  bool stopped = false;  ///< before the last seed
};

struct swarm_progress {
  std::uint64_t done = 0;
  std::uint64_t of = 0;
  std::uint64_t failed = 0;
};

/// Runs them all. `tell` is called several times a second on the caller's thread, and may end it all by saying false: what is under way is finished,
/// the rest is left.
[[nodiscard]] swarm_totals run_swarm(const swarm_order& order,
                                     const std::function<bool(const swarm_progress&)>& tell);

}  // namespace cremone::sim
