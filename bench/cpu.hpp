// SPDX-License-Identifier: Apache-2.0
//
// What this process has cost so far: for benchmarks that ask for more than the time on the wall.
#pragma once

#include <time.h>

namespace cremone::bench {

/// Of all its threads, in the kernel and outside.
[[nodiscard]] inline double cpu_seconds() {
  timespec used{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) / 1e9;
}

}  // namespace cremone::bench
