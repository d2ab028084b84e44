// SPDX-License-Identifier: Apache-2.0
//
// A shell with job control, as small as it can be, at a terminal of its own: for what the tool does at a terminal. One
// job at a time. The keyboard is the test's.
#pragma once

#include <sys/types.h>

#include <string>
#include <utility>
#include <vector>

namespace cremone::test {

/// Starts the job in the foreground, as an interactive shell does: in a process group of its own that has the terminal.
/// The shell reports on a pipe, never on the terminal.
class small_shell {
 public:
  small_shell(std::vector<std::string> job, std::vector<std::pair<std::string, std::string>> environment);
  small_shell(const small_shell&) = delete;
  small_shell& operator=(const small_shell&) = delete;
  ~small_shell();

  /// Types at the terminal: "\x03" is Ctrl-C, "\x1a" Ctrl-Z.
  void type(const std::string& keys) const;

  /// Everything that appeared at the terminal so far.
  [[nodiscard]] const std::string& screen();

  /// Waits until that text has appeared.
  [[nodiscard]] bool shows(const std::string& text);

  /// What became of the job next: "stopped 20", "exited 0", "killed 2"; empty when nothing did within the bound. When it
  /// is stopped or over, the shell has taken the terminal back.
  [[nodiscard]] std::string report();

  /// Continues the job, in the foreground.
  void fg() const;

 private:
  pid_t shell_ = -1;
  int keyboard_ = -1;
  int reports_ = -1;
  int orders_ = -1;
  std::string screen_;
};

}  // namespace cremone::test
