// SPDX-License-Identifier: Apache-2.0
//
// What the simulator found, in words and tables for people. Reads no clock: how long it all took is handed in.
#pragma once

#include "cli/output.hpp"
#include "sim/swarm.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace cremone::cli {

/// A swarm that is over.
struct swarm_report {
  sim::swarm_order order{};
  sim::swarm_totals totals{};
  std::chrono::nanoseconds took{};  ///< of real time
  int cores = 1;                    ///< of this machine
  std::string interrupted_by{};     ///< the signal, if one ended it
};

/// At least 1: more jobs than cores get no more of them.
[[nodiscard]] int cores_used(const swarm_report& report) noexcept;

/// Schedules per second; 0 where there was no time to tell.
[[nodiscard]] double rate_of(std::uint64_t schedules, std::chrono::nanoseconds took) noexcept;

/// "1200 of 10000 schedules, 12 %, 300/s, 29s left, 2 failed", no wider than `columns`.
[[nodiscard]] std::string progress_line(const sim::swarm_progress& so_far, std::chrono::nanoseconds took,
                                        std::size_t columns, const palette& colours);

/// "10000 schedules take about 5m here; ...": the estimate after the first schedules.
[[nodiscard]] std::string duration_line(const sim::swarm_progress& so_far, std::chrono::nanoseconds took);

/// What `sim swarm` prints: figures, faults, writes, violations, and the failures with the commands that replay them.
[[nodiscard]] std::string swarm_text(const swarm_report& report, const palette& colours);

/// A line of the trace as it is, in the colour of what it tells.
[[nodiscard]] std::string trace_line(std::string_view line, const palette& colours);

/// What `sim replay` prints below the trace. The same for the same schedule, to the byte.
[[nodiscard]] std::string replay_text(const sim::schedule_result& result, const sim::schedule_options& what,
                                      const palette& colours);

}  // namespace cremone::cli
