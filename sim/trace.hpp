// SPDX-License-Identifier: Apache-2.0
//
// What happens, line by line, for a person who replays a schedule. Costs nothing when nobody looks.
#pragma once

#include "sim/schedule.hpp"
#include "sim/world.hpp"

#include <string>
#include <string_view>

namespace cremone::sim {

class trace {
 public:
  explicit trace(const trace_sink& to) : to_(to) {}

  [[nodiscard]] bool on() const noexcept { return static_cast<bool>(to_); }

  /// "   1.234567  p1        asks for 'a'"
  void say(moment at, std::string_view who, std::string_view what) const;

 private:
  const trace_sink& to_;
};

/// "1.234567", in seconds.
[[nodiscard]] std::string shown(moment m);

}  // namespace cremone::sim
