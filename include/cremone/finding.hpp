// SPDX-License-Identifier: Apache-2.0
//
// What an examination of a store brings to light, and whether a server is in quarantine: plain values for people and
// programs to read.
#pragma once

#include <cremone/record.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace cremone {

/// From best to worst.
enum class verdict : std::uint8_t {
  good,     ///< as it should be
  untold,   ///< could not be found out; the reason says what it would take
  warning,  ///< works, and may cost a lock under a fault that happens
  bad,      ///< locks here are not safe, or do not work at all
};

/// "good", "untold", "warning", "bad".
[[nodiscard]] std::string_view to_string(verdict v) noexcept;

/// One thing that was looked at.
struct finding {
  std::string node;     ///< the server or file, as in errors; no secrets in it
  std::string subject;  ///< what was looked at: "eviction", "persistence", …
  cremone::verdict verdict = verdict::good;
  std::string value;   ///< what was found: "volatile-ttl"
  std::string reason;  ///< why that is good or bad, and what to do
};

/// Whether a server gives out locks. One that has restarted, was emptied or was promoted may have forgotten who holds
/// what; it waits until every lease from before must be over.
struct quarantine_state {
  std::string node;
  bool reachable = true;  ///< false: it could not be asked, and `why` says why
  bool quarantined = false;
  std::string why;  ///< why it is, or was last
  /// How long still, counted from when this machine saw it first. Empty: not known, since nobody here has watched it.
  std::optional<std::chrono::milliseconds> left{};
  /// Names this quarantine, and how long it lasts in all.
  hold_version version{};
  std::chrono::milliseconds length{};
  /// It does not end by itself, however long it is watched. An operator ends it, or removes the
  /// cause that `why` gives.
  bool until_ordered = false;
};

}  // namespace cremone
