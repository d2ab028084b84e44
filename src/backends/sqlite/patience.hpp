// SPDX-License-Identifier: Apache-2.0
//
// Waiting for another process that writes to the database. It happens inside a call of SQLite's, in the middle of a
// statement, where no timer of the env can help: the one place of the stores that reads the system's clock and sleeps.
#pragma once

#include <chrono>

namespace cremone::sqlite {

/// Others hold the database for microseconds. One who holds it for this long is stopped or makes a backup, and the
/// renewals, and the end, of a whole client must not stand still behind it.
inline constexpr std::chrono::milliseconds longest_busy{1000};

/// What one connection has. Once it is lost, it stays lost for a while: of many calls that find the database locked
/// one waits, and the others hear of it at once.
/// Threads: one at a time.
class patience {
 public:
  /// Waits a little longer with each try, counted from 0. False, without waiting, when it is of no use any more.
  [[nodiscard]] bool wait(int tries) noexcept;

  /// For what can as well be done another time.
  void set_brief(bool brief) noexcept { brief_ = brief; }

 private:
  std::chrono::steady_clock::time_point began_{};
  std::chrono::steady_clock::time_point recovered_{};  // until then there is none
  bool brief_ = false;
};

}  // namespace cremone::sqlite
