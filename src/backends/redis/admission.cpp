// SPDX-License-Identifier: Apache-2.0
#include "backends/redis/admission.hpp"

#include "base/amounts.hpp"
#include "base/reading.hpp"

#include <array>

namespace cremone::redis {

std::optional<quarantine_mark> parse_quarantine(std::string_view marker) {
  std::array<std::string_view, 6> word;
  std::string_view rest = marker;
  for (auto& w : word) {
    w = cut(rest, ' ');
  }
  const auto since = whole_number<std::uint64_t>(word[3]);
  if (word[0] != "Q" || !since || *since >= fence_token::limit || !rest.empty() || word[5].empty()) {
    return std::nullopt;
  }
  return quarantine_mark{std::string(marker), wall_time(std::chrono::microseconds(*since)),
                         word[4] == "missing"};
}

std::optional<std::string> clocks_too_far_apart(wall_time theirs, wall_time ours) {
  const auto difference = std::chrono::abs(theirs - ours);
  if (difference <= quarantine_clock_bound) {
    return std::nullopt;
  }
  return "its clock shows " + shown_time(theirs) + ", this machine's " + shown_time(ours) + ": " +
         shown_length(difference) + " apart, which is more than " + shown_length(quarantine_clock_bound);
}

bool forgot_nothing(const server_facts& facts, wall_time theirs, wall_time before, wall_time after,
                    std::chrono::milliseconds max_ttl) {
  const bool clocks_agree = theirs > before - clocks_agree_within && theirs < after + clocks_agree_within;
  // A second more for each clock that may be off by as much, and one for whole seconds.
  const auto enough = max_ttl + 2 * clocks_agree_within + std::chrono::seconds(1);
  return clocks_agree && facts.uptime && *facts.uptime > enough && facts.forgetting_calls == 0U &&
         facts.evicted_keys == 0U && facts.always_master();
}

}  // namespace cremone::redis
