// SPDX-License-Identifier: Apache-2.0
//
// Where what was seen of silent holders outlives its process: the file `seen` (engine/seen_file), or what a simulator
// keeps for its machines. A help and never a need. What the notes mean is core's (sighting.hpp).
#pragma once

#include "core/sighting.hpp"

#include <cremone/types.hpp>

#include <span>
#include <string>

namespace cremone::detail {

/// Threads: one at a time.
class seen_notes {
 public:
  seen_notes() = default;
  seen_notes(const seen_notes&) = delete;
  seen_notes& operator=(const seen_notes&) = delete;
  virtual ~seen_notes() = default;

  /// Names the clock that moments of this process are of.
  [[nodiscard]] virtual const std::string& clock() = 0;

  /// What they say now.
  [[nodiscard]] virtual std::span<const core::sighting> look() = 0;

  /// What they said when last looked at.
  [[nodiscard]] virtual std::span<const core::sighting> known() const noexcept = 0;

  /// Adds what `ours` says that others have not noted meanwhile. False if that could not be done at once; nothing has
  /// changed then.
  [[nodiscard]] virtual bool add(const core::vantage& from, core::seen_holds ours, instant now) = 0;
};

}  // namespace cremone::detail
