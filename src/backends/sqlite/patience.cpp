// SPDX-License-Identifier: Apache-2.0
#include "backends/sqlite/patience.hpp"

#include <algorithm>
#include <thread>

namespace cremone::sqlite {

namespace {

constexpr int turns_without_sleep = 4;  // most writers are gone by then
constexpr std::chrono::microseconds step{20};
constexpr std::chrono::microseconds longest_step{1000};
constexpr std::chrono::milliseconds brief_bound{5};

}  // namespace

bool patience::wait(int tries) noexcept {
  const auto now = std::chrono::steady_clock::now();
  if (tries == 0) {
    began_ = now;
  }
  if (tries < turns_without_sleep) {
    std::this_thread::yield();
    return true;
  }
  if (now < recovered_ || now - began_ > (brief_ ? brief_bound : longest_busy)) {
    if (!brief_ && now >= recovered_) {
      recovered_ = now + longest_busy;
    }
    return false;
  }
  std::this_thread::sleep_for(std::min(step * (tries - turns_without_sleep + 1), longest_step));
  return true;
}

}  // namespace cremone::sqlite
