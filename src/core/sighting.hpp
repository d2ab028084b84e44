// SPDX-License-Identifier: Apache-2.0
//
// What was seen of a holder, in a form that outlives the process: how it is written down, which lines are believed
// when they are read again, and how the notes of several processes become one. Each note is a fact (this version was
// there at that moment) that no later one makes false, so that a note lost or read twice does no harm: a takeover
// becomes later, never too early. Pure text and values; where they are kept is the engine's business.
#pragma once

#include "core/observation.hpp"

#include <cremone/record.hpp>
#include <cremone/types.hpp>

#include <chrono>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cremone::core {

/// Whose holder, on which clock. Moments of different clocks (another boot, another time namespace) say nothing about
/// each other.
struct vantage {
  std::string clock;  ///< names the clock
  std::string store;  ///< names the store: traits::identity

  friend bool operator==(const vantage&, const vantage&) = default;
};

struct sighting {
  vantage from;
  lock_name name{""};
  hold_version version{};
  instant first{};  ///< the clock when the first reply with this version had been read

  friend bool operator==(const sighting&, const sighting&) = default;
};

/// More than this are not kept: those noted longest ago go first. At some 150 bytes each, reading all takes less than a
/// millisecond.
inline constexpr std::size_t max_sightings = 1024;

/// Who comes by once a month still finds its note.
inline constexpr std::chrono::hours sighting_kept_for{24 * 32};

/// One line each.
[[nodiscard]] std::string encode(std::span<const sighting> all);

/// The lines that make sense; the others, and what follows the first max_sightings, are as if they were not there.
[[nodiscard]] std::vector<sighting> decode(std::string_view text);

/// Since when this version was seen by anyone from this vantage; nothing if it was not, or if that is not before `now`.
[[nodiscard]] std::optional<instant> first_sight(std::span<const sighting> all, const vantage& from,
                                                 const lock_name& name, const hold_version& version,
                                                 instant now);

/// A reply with fewer holders than this named all of them (rejection::max_reported_holders).
inline constexpr std::size_t complete_below = 16;

using seen_holds = std::span<const observations::seen_hold>;  ///< ordered by name and owner

/// Is there one among `ours` that `all` does not have, or has only from later on?
[[nodiscard]] bool adds_to(std::span<const sighting> all, const vantage& from, seen_holds ours);

/// What is to be kept, given what others have kept and what one client has seen. Drops what is known to be over: older
/// versions, holders of the same lock that are gone, notes that nobody came back for.
[[nodiscard]] std::vector<sighting> merge(std::vector<sighting> kept, const vantage& from, seen_holds ours,
                                          instant now);

}  // namespace cremone::core
