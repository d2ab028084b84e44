// SPDX-License-Identifier: Apache-2.0
#include "sim/trace.hpp"

#include <algorithm>
#include <cstddef>

namespace cremone::sim {

std::string shown(moment m) {
  const auto micros = std::chrono::duration_cast<std::chrono::microseconds>(m).count();
  const std::string fraction = std::to_string(micros % 1'000'000);
  return std::to_string(micros / 1'000'000) + "." + std::string(6 - fraction.size(), '0') + fraction;
}

void trace::say(moment at, std::string_view who, std::string_view what) const {
  if (!on()) {
    return;
  }
  constexpr std::size_t time_width = 11;
  constexpr std::size_t who_width = 10;
  const std::string time = shown(at);
  std::string line(time_width - std::min(time_width, time.size()), ' ');
  line += time;
  line += "  ";
  line += who;
  line.append(who_width - std::min(who_width, who.size()), ' ');
  line += what;
  to_(line);
}

}  // namespace cremone::sim
