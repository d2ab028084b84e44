// SPDX-License-Identifier: Apache-2.0
//
// When may a server that has no marker give out locks at once? Only when it shows that it cannot have forgotten any that
// could still be held: it has been up, and a master, and was never emptied, for longer than any lease lasts. Pure.
#pragma once

#include "backends/redis/info.hpp"

#include <cremone/types.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace cremone::redis {

/// What stands at the marker's key while a server is in quarantine: 'Q <life> <settings> <since> <why> <floor>'.
struct quarantine_mark {
  std::string text;      ///< the whole of it
  wall_time since{};     ///< on the server's clock
  bool missing = false;  ///< there was no marker at all; else one of another life
};
[[nodiscard]] std::optional<quarantine_mark> parse_quarantine(std::string_view marker);

/// How far the server's clock may be from ours for its uptime to be believed: that is counted by its wall clock.
inline constexpr std::chrono::seconds clocks_agree_within{2};

/// `theirs`: the server's time at some moment between `before` and `after` of ours.
[[nodiscard]] bool forgot_nothing(const server_facts& facts, wall_time theirs, wall_time before,
                                  wall_time after, std::chrono::milliseconds max_ttl);

/// How far the server's clock and ours may be apart for a quarantine to end by itself. After a loss
/// of memory the later clock is the floor of all tokens, so one wrong clock could raise the floor
/// for ever. A minute is more than NTP leaves, and less than a mistake in the time zone.
inline constexpr std::chrono::seconds quarantine_clock_bound{60};

/// If the clocks differ by more than the bound: both times and their difference.
[[nodiscard]] std::optional<std::string> clocks_too_far_apart(wall_time theirs, wall_time ours);

/// How long a quarantine lasts, and a second more for what is still on its way.
[[nodiscard]] constexpr std::chrono::milliseconds quarantine_length(
    std::chrono::milliseconds max_ttl) noexcept {
  return max_ttl + std::chrono::seconds(1);
}

}  // namespace cremone::redis
