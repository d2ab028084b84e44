// SPDX-License-Identifier: Apache-2.0
//
// Runs the built tool as its users do: a process with words, an environment, and files for what it says. Knows nothing
// of locks.
#pragma once

#include "support/temp_directory.hpp"
#include "support/wait_for.hpp"

#include <sys/types.h>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

namespace cremone::test {

/// Writes a file and returns its path; `mode` as for chmod.
std::string write_file(const std::string& path, const std::string& text, mode_t mode = 0644);

/// What is in a file; nothing if there is none.
[[nodiscard]] std::string contents(const std::string& path);

struct finished {
  int code = -1;   ///< the exit code, -1 if it died by a signal
  int signal = 0;  ///< that signal
  std::string out{};
  std::string err{};
};

/// What a process gets, besides its words.
struct surroundings {
  std::vector<std::pair<std::string, std::string>> environment{};
  std::string input{};         ///< what it reads from standard input
  std::string output{};        ///< the file for standard output, if not one of ours
  bool close_output = false;   ///< no standard output at all
  std::vector<int> ignored{};  ///< signals that it finds ignored
};

/// What the processes of this test were and how they ended, for whoever reads of a failure.
[[nodiscard]] std::string story();
/// Forgets what is told so far: a test begins.
void begin_story();

/// A process that runs. Killed when its owner goes, with its process group and those of its children.
class process {
 public:
  process(const std::vector<std::string>& words, const surroundings& around = {});
  process(const process&) = delete;
  process& operator=(const process&) = delete;
  ~process();

  [[nodiscard]] pid_t pid() const noexcept { return pid_; }
  void signal(int number) const;
  [[nodiscard]] std::string out() const { return contents(files_.file("out")); }
  [[nodiscard]] std::string err() const { return contents(files_.file("err")); }

  /// Until it ends, within the generous bound; what then still runs is a failure, with code -2. One that is to wait for something itself for
  /// so long needs another bound.
  [[nodiscard]] finished wait(std::chrono::milliseconds bound = 3 * generous);

 private:
  void tell(const std::string& end) const;

  temp_directory files_;
  std::string words_;
  std::string output_;
  pid_t pid_ = -1;
};

/// Whether a process with this number is there and not a zombie.
[[nodiscard]] bool alive(pid_t pid);

/// `word`s as one process, to its end.
[[nodiscard]] finished run(const std::vector<std::string>& words, const surroundings& around = {});

}  // namespace cremone::test
