// SPDX-License-Identifier: Apache-2.0
//
// Leases for the tests of the watchdog: how they are timed, how they are brought into a state, and how verdicts are
// printed. Decides nothing about what is right.
#pragma once

#include "core/validity.hpp"
#include "core/watchdog.hpp"
#include "unit/moments.hpp"

#include <ostream>

namespace cremone::core {

inline std::ostream& operator<<(std::ostream& out, watchdog::verdict v) {
  switch (v) {
    case watchdog::verdict::nothing: return out << "nothing";
    case watchdog::verdict::renew: return out << "renew";
    case watchdog::verdict::lost: return out << "lost";
  }
  return out << "?";
}

inline std::ostream& operator<<(std::ostream& out, life l) {
  switch (l) {
    case life::held: return out << "held";
    case life::released: return out << "released";
    case life::lost: return out << "lost";
  }
  return out << "?";
}

namespace testing {

using namespace cremone::testing;
using verdict = watchdog::verdict;

inline constexpr milliseconds ttl = 30s;
inline constexpr lease_timing usual{.ttl = ttl, .drift_ppm = usual_drift, .phase = {}};

/// The end of validity of a request that left at `sent`.
[[nodiscard]] inline instant end_of(instant sent) { return valid_until(sent, ttl, usual_drift); }

/// A lease whose grant was asked for at the origin.
[[nodiscard]] inline watchdog granted() { return {usual, at(0s)}; }

/// One whose first renewal is under way, sent when it was due.
[[nodiscard]] inline watchdog renewing() {
  watchdog dog = granted();
  (void)dog.tick(dog.wake_at());
  return dog;
}

}  // namespace testing
}  // namespace cremone::core
