// SPDX-License-Identifier: Apache-2.0
//
// Another process, started by a test and talked to in lines. It is gone with the test, however that ends.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>
#include <vector>

namespace cremone::test {

/// A failure of its own (the program does not start, does not answer) fails the test.
class program {
 public:
  explicit program(const std::vector<std::string>& argv);
  program(program&& other) noexcept;
  program& operator=(program&&) = delete;
  program(const program&) = delete;
  program& operator=(const program&) = delete;
  ~program();

  [[nodiscard]] pid_t pid() const noexcept { return pid_; }

  void say(const std::string& line) const;
  /// The next line of its output; empty, and a failure, when none comes.
  [[nodiscard]] std::string hear(std::chrono::milliseconds bound = std::chrono::seconds(30));
  [[nodiscard]] std::string ask(const std::string& line) {
    say(line);
    return hear();
  }

  void signal(int number) const;
  /// Waits until it has ended. Its exit code; 128 + n when a signal ended it.
  int wait();

 private:
  pid_t pid_ = -1;
  int to_ = -1;
  int from_ = -1;
  std::string heard_;
};

}  // namespace cremone::test
