// SPDX-License-Identifier: Apache-2.0
#include "backends/sqlite/patience.hpp"

#include <algorithm>
#include <thread>

namespace cremone::sqlite {

namespace {

constexpr int turns_without_sleep = 4;  // most writers are gone by then
constexpr std::chrono::microseconds step{20};
constexpr std::chrono::microseconds longest_step{1000};

}  // namespace

bool wait_a_little(int tries) noexcept {
  using std::chrono::steady_clock;
  thread_local steady_clock::time_point began;
  if (tries == 0) {
    began = steady_clock::now();
  }
  if (steady_clock::now() - began > longest_busy) {
    return false;
  }
  if (tries < turns_without_sleep) {
    std::this_thread::yield();
  } else {
    std::this_thread::sleep_for(std::min(step * (tries - turns_without_sleep + 1), longest_step));
  }
  return true;
}

}  // namespace cremone::sqlite
