// SPDX-License-Identifier: Apache-2.0
//
// A child that is killed after its n-th system call, for every n: chance has no part in which step of a program is cut off. By ptrace, so that the
// program under test has nothing in it for this.
#pragma once

#include <gtest/gtest.h>

#include <signal.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>

namespace cremone::test {

class stepped_child {
 public:
  /// Runs `act` in a fork of this process, stopped before its first step. Its exit code is what `act` returns.
  explicit stepped_child(const std::function<int()>& act) : pid_(::fork()) {
    if (pid_ == 0) {
      ::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
      ::raise(SIGSTOP);
      ::_exit(act());
    }
    int status = 0;
    EXPECT_EQ(::waitpid(pid_, &status, 0), pid_);
    EXPECT_TRUE(WIFSTOPPED(status)) << "ptrace is needed";
    EXPECT_EQ(::ptrace(PTRACE_SETOPTIONS, pid_, nullptr, PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL), 0);
  }
  stepped_child(const stepped_child&) = delete;
  stepped_child& operator=(const stepped_child&) = delete;
  ~stepped_child() {
    if (pid_ > 0) {
      kill();
    }
  }

  [[nodiscard]] pid_t pid() const noexcept { return pid_; }

  /// Up to the end of its next system call; false when it has exited instead.
  [[nodiscard]] bool step() { return to_next_stop() && to_next_stop(); }

  /// Up to the end of the next call with this number that succeeds.
  [[nodiscard]] bool step_over(long number) {
    while (step()) {
      user_regs_struct registers{};
      EXPECT_EQ(::ptrace(PTRACE_GETREGS, pid_, nullptr, &registers), 0);
      if (static_cast<long>(registers.orig_rax) == number && static_cast<long>(registers.rax) >= 0) {
        return true;
      }
    }
    return false;
  }

  /// From where it is, as by `kill -9`.
  void kill() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }

  /// Leaves it stopped as by SIGSTOP, and traces it no longer.
  void leave_stopped() {
    EXPECT_EQ(::ptrace(PTRACE_DETACH, pid_, nullptr, SIGSTOP), 0);
    int status = 0;
    EXPECT_EQ(::waitpid(pid_, &status, WUNTRACED), pid_);
    EXPECT_TRUE(WIFSTOPPED(status));
  }

  /// After leave_stopped(): lets it go on to its end.
  [[nodiscard]] int resume() {
    ::kill(pid_, SIGCONT);
    ::waitpid(pid_, &status_, 0);
    pid_ = -1;
    return exit_code();
  }

  [[nodiscard]] int exit_code() const noexcept { return WIFEXITED(status_) ? WEXITSTATUS(status_) : -1; }

 private:
  [[nodiscard]] bool to_next_stop() {
    EXPECT_EQ(::ptrace(PTRACE_SYSCALL, pid_, nullptr, nullptr), 0);
    EXPECT_EQ(::waitpid(pid_, &status_, 0), pid_);
    if (WIFSTOPPED(status_)) {
      return true;
    }
    pid_ = -1;
    return false;
  }

  pid_t pid_;
  int status_ = 0;
};

}  // namespace cremone::test
