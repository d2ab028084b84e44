// SPDX-License-Identifier: Apache-2.0
//
// How long an answer may take before it counts as none.
#pragma once

#include <algorithm>
#include <chrono>

namespace cremone::redis {

/// For answers that no ttl bounds.
inline constexpr std::chrono::milliseconds longest_limit{1000};

/// Of an answer about a lock of this ttl: a third, so that the next attempt still fits in. At least 100 ms, the shortest
/// ttl, of which nothing is left then: machines stall for 50 ms, and a try that gives up so soon fails for nothing.
[[nodiscard]] constexpr std::chrono::milliseconds answer_limit(std::chrono::milliseconds ttl) noexcept {
  constexpr std::chrono::milliseconds shortest{100};
  return std::clamp(ttl / 3, shortest, longest_limit);
}

/// A server may follow another and come back, or have its databases swapped, under a connection that stays up. Whoever asks for a
/// lock asks at the same time whether that has happened, if it has not done so for this long.
inline constexpr std::chrono::milliseconds life_stays_known{1000};

}  // namespace cremone::redis
