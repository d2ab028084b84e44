// SPDX-License-Identifier: Apache-2.0
//
// What the tool's exit status means: one table, for the code that exits and for the people who ask. Where a number has
// a meaning in sysexits.h or in the shell, it keeps it.
#pragma once

#include <cremone/result.hpp>

#include <span>
#include <string>
#include <string_view>

namespace cremone::cli {

namespace status {
inline constexpr int done = 0;
inline constexpr int nothing_held = 1;   ///< `who`: the lock is free; `release`: there was nothing to remove
inline constexpr int something_bad = 1;  ///< `doctor`: locks there are not safe, or do not work
inline constexpr int in_quarantine =
    1;  ///< `quarantine`: a server gives out no locks for now, or does not say
inline constexpr int promise_broken = 1;  ///< `sim`: a schedule failed
inline constexpr int none_seen = 1;       ///< `fence show`: no token yet
inline constexpr int usage = 64;
inline constexpr int unreachable = 69;
inline constexpr int unsupported = 70;
inline constexpr int os_error = 71;
inline constexpr int io_error = 74;
inline constexpr int busy = 75;
inline constexpr int lost = 76;
inline constexpr int access_denied = 77;
inline constexpr int misconfigured = 78;
inline constexpr int cancelled = 79;
inline constexpr int not_held = 80;
inline constexpr int stale_token = 81;
inline constexpr int outcome_unknown = 82;
inline constexpr int quarantined = 83;
inline constexpr int protocol_error = 84;
inline constexpr int not_executable = 126;
inline constexpr int not_found = 127;
inline constexpr int signal_base = 128;  ///< and the number of the signal that ended the command
}  // namespace status

/// The status of a call that failed with this code. Every code has one.
[[nodiscard]] int exit_status(errc code) noexcept;

struct exit_status_row {
  int code;
  std::string_view meaning;
};

/// Every status that the tool itself gives, ascending.
[[nodiscard]] std::span<const exit_status_row> exit_status_table() noexcept;

/// The table as `cremone help exit-codes` prints it.
[[nodiscard]] std::string exit_status_help();

}  // namespace cremone::cli
