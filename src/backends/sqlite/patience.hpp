// SPDX-License-Identifier: Apache-2.0
//
// Waiting for another process that writes to the database. It happens inside a call of SQLite's, in the middle of a
// statement, where no timer of the env can help: the one place of the stores that reads the system's clock and sleeps.
#pragma once

#include <chrono>

namespace cremone::sqlite {

/// Others hold the database for microseconds. One who holds it for this long is stopped or makes a backup, and the
/// renewals of a whole client must not stand still behind it.
inline constexpr std::chrono::milliseconds longest_busy{2000};

/// Waits a little longer with each try, counted from 0. False, at once, when the first was longest_busy ago.
[[nodiscard]] bool wait_a_little(int tries) noexcept;

}  // namespace cremone::sqlite
