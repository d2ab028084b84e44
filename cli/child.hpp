// SPDX-License-Identifier: Apache-2.0
//
// Starts a command as a process group of its own. Everything that allocates happens before fork: between fork and exec
// a process that had threads may call almost nothing. Knows nothing of locks.
#pragma once

#include <sys/types.h>

#include <string>
#include <utility>
#include <vector>

namespace cremone::cli {

class signal_inbox;

struct launch {
  std::vector<std::string> command{};  ///< at least the program; looked up in PATH unless it has a slash
  std::vector<std::pair<std::string, std::string>> environment{};  ///< set in addition to ours
  int tty = -1;       ///< the terminal whose foreground the command becomes; -1: it stays where it is
  int lifeline = -1;  ///< a descriptor for the command to inherit; -1: the command is killed when we die
};

/// How that went: a process, or why not and with what status to end.
struct launched {
  pid_t pid = -1;
  int status = 0;
  std::string complaint{};
};

/// Returns when the command is executing, or cannot be. Call it on the main thread: where the command dies with us, it
/// dies with the thread that started it.
[[nodiscard]] launched start(const launch& what, const signal_inbox& signals);

/// Where `program` could lie, in the order of PATH.
[[nodiscard]] std::vector<std::string> candidates(const std::string& program, const char* path);

}  // namespace cremone::cli
