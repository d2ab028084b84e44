// SPDX-License-Identifier: Apache-2.0
//
// One schedule: what a seed makes of some clients, a store and their misfortunes, from the first acquisition to the verdict.
// The clients are the library's own engine, core and backend, and the store runs the library's own Lua; all that is simulated is
// what they stand on. The same seed and options give the same schedule, to the byte of its trace.
#pragma once

#include "sim/faults.hpp"

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cremone::sim {

class lua;

enum class store_kind : std::uint8_t {
  record,   ///< Redis, the layout `record`
  classic,  ///< Redis, the layout `classic`
  memory,   ///< the memory store behind a network
};
[[nodiscard]] std::string_view name_of(store_kind k) noexcept;

struct schedule_options {
  store_kind store = store_kind::record;
  /// Servers that vote. The memory store is always one.
  int nodes = 1;
  /// amnesia=strict: a person lets the servers begin. When a majority has forgotten nobody gets a lock until a person says so, and in a
  /// schedule nobody does that again.
  bool strict = false;
  /// From which each seed draws its own mix.
  fault_set faults = fault_set::bounded();
  /// All of these faults, not a draw from them.
  bool every_fault = false;
  /// Drawn by the seed where they are not given.
  std::optional<int> clients{};
  std::optional<int> acquisitions{};  ///< by each client
};

enum class violation_kind : std::uint8_t {
  exclusion,  ///< two leases of one lock were valid at one moment
  token,      ///< a fence token came twice, or lower than one given before
  fence,      ///< a fenced write that was accepted got lost, or came out of order
  order,      ///< a waiter was overtaken where nothing excuses it
  progress,   ///< all was well again, and somebody who asked got no lock
  structure,  ///< a node did what it must not: see the text
};
inline constexpr std::size_t violation_kind_count = 6;
[[nodiscard]] std::string_view name_of(violation_kind k) noexcept;

struct violation {
  violation_kind kind{};
  std::string what;               ///< who, which lock, which tokens
  std::chrono::nanoseconds at{};  ///< of virtual time
  std::string excuse;             ///< why it is no surprise, being beyond what is promised; empty: it is one
  [[nodiscard]] bool expected() const noexcept { return !excuse.empty(); }
};

struct schedule_result {
  std::uint64_t seed = 0;
  std::string mix;  ///< what the seed drew, one line: faults, sizes, timings
  fault_counts faults{};
  std::uint64_t acquisitions = 0;
  std::uint64_t grants = 0;          ///< that the guard of a record store saw, or votes where several vote
  std::uint64_t losses = 0;          ///< leases that were lost
  std::uint64_t evictions = 0;       ///< silent holders removed
  std::uint64_t quarantines = 0;     ///< lives of a node that began with doubt
  std::uint64_t writes = 0;          ///< to the fenced register, accepted
  std::uint64_t refused_writes = 0;  ///< ... refused as stale
  std::uint64_t lost_without_fence = 0;  ///< writes that the same register without a fence lost
  std::uint64_t steps = 0;
  std::chrono::nanoseconds length{};  ///< of virtual time
  /// Why some violations are no surprise; empty if none would be. "memory loss and a clock set back", "clock rates without bound".
  std::string beyond;
  std::array<std::uint64_t, violation_kind_count> unexpected{};  ///< how many, by kind
  std::array<std::uint64_t, violation_kind_count> expected{};
  std::vector<violation> violations;  ///< the first few of each kind

  [[nodiscard]] bool failed() const;  ///< by a violation that is not expected
};

/// Called with each line of the trace, without the end of the line.
using trace_sink = std::function<void(std::string_view)>;

/// Runs one. The Lua state is only used, never changed in a way that shows; one per thread.
[[nodiscard]] schedule_result run_schedule(lua& scripts, std::uint64_t seed, const schedule_options& options,
                                           const trace_sink& trace = nullptr);

}  // namespace cremone::sim
