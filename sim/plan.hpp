// SPDX-License-Identifier: Apache-2.0
//
// What a seed draws before anything happens: how many take part, how fast the network is, which faults there are and how often
// each strikes. A value; what comes of it is decided elsewhere.
#pragma once

#include "sim/dice.hpp"
#include "sim/faults.hpp"
#include "sim/schedule.hpp"
#include "sim/world.hpp"

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace cremone::sim {

struct plan {
  std::uint64_t seed = 0;
  store_kind store = store_kind::record;
  int nodes = 1;
  bool strict = false;
  fault_set mix;

  int clients = 3;
  int workers = 1;          ///< of each client, that ask for locks side by side
  int names = 1;            ///< of locks
  bool one_bucket = false;  ///< both share a counter
  int acquisitions = 20;    ///< by each client
  std::chrono::milliseconds ttl{};
  std::chrono::milliseconds max_ttl{};
  moment longest_hold{};
  moment longest_think{};

  moment latency{};        ///< one way, the least
  moment jitter{};         ///< on top of it
  moment longest_delay{};  ///< by a fault
  moment longest_pause{};
  moment between_faults{};                   ///< of one kind, on average
  std::uint64_t preempt_one_in = 0;          ///< looks at the clock
  std::chrono::microseconds longest_step{};  ///< of a wall clock

  /// How long misfortune lasts at most. Then all is mended, and everybody must get a lock once more.
  moment trouble{};

  /// Single tries take over holds that look abandoned, as `cremone run --try` does.
  bool tries_take_over = false;
};

[[nodiscard]] plan draw_plan(std::uint64_t seed, const schedule_options& options);

/// How lock 0 is called, and lock 1. Where the two share a counter the second has a name of the same bucket, of 1,024: one of them then
/// gives numbers between the two rounds in which servers agree on one for the other.
[[nodiscard]] std::string_view lock_of(const plan& p, std::uint64_t number);

/// One line.
[[nodiscard]] std::string to_string(const plan& p);

}  // namespace cremone::sim
