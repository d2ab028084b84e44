// SPDX-License-Identifier: Apache-2.0
//
// The arithmetic of trust in clocks: how long a holder may believe in its lease, and how long an observer must
// watch a silent one. The two never overlap while clock rates differ by less than the drift. Pure.
#pragma once

#include <cremone/types.hpp>

#include <chrono>
#include <cstdint>

namespace cremone::core {

/// Below this a lease cannot be renewed in time: a third of it must hold a round trip and a scheduling hiccup.
inline constexpr std::chrono::milliseconds min_ttl{100};

/// On top of the drift, for the granularity of clocks and of the stores' milliseconds.
inline constexpr std::chrono::milliseconds fixed_margin{2};

[[nodiscard]] constexpr std::chrono::nanoseconds drift_of(std::chrono::nanoseconds span,
                                                          std::int64_t drift_ppm) noexcept {
  return span / 1'000'000 * drift_ppm + std::chrono::nanoseconds(1);  // rounded up, on the side of caution
}

/// The holder's side. `sent` is the clock just before the request left, so that delay only shortens the lease.
[[nodiscard]] constexpr instant valid_until(instant sent, std::chrono::milliseconds ttl,
                                            std::int64_t drift_ppm) noexcept {
  return sent + ttl - drift_of(ttl, drift_ppm) - fixed_margin;
}

/// The observer's side: a version seen unchanged for this long belongs to a holder that has stopped by now.
[[nodiscard]] constexpr std::chrono::nanoseconds silence_of(std::chrono::milliseconds ttl,
                                                            std::int64_t drift_ppm) noexcept {
  return ttl + drift_of(ttl, drift_ppm);
}

/// `at + span` that stops at the end of time, for waits that are longer than the clock.
[[nodiscard]] constexpr instant later(instant at, std::chrono::milliseconds span) noexcept {
  using std::chrono::duration_cast;
  const auto room = duration_cast<std::chrono::milliseconds>(instant::max() - at);
  return span >= room ? instant::max() : at + span;
}

}  // namespace cremone::core
