// SPDX-License-Identifier: Apache-2.0
#include "cli/shell.hpp"

#include "base/check.hpp"
#include "support/wait_for.hpp"

#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>

namespace cremone::test {

namespace {

void say(int reports, const std::string& what) {
  const std::string line = what + "\n";
  CREMONE_CHECK(::write(reports, line.data(), line.size()) == static_cast<ssize_t>(line.size()));
}

[[noreturn]] void be_the_job(std::vector<std::string> words) {
  ::setpgid(0, 0);
  ::tcsetpgrp(STDIN_FILENO, ::getpid());
  ::signal(SIGTTOU, SIG_DFL);
  std::vector<char*> argv;
  for (std::string& word : words) {
    argv.push_back(word.data());
  }
  argv.push_back(nullptr);
  ::execvp(argv[0], argv.data());
  ::_exit(111);
}

/// The shell's whole life. It leaves when its orders end, and the terminal's end takes the rest along.
[[noreturn]] void be_the_shell(const std::vector<std::string>& words, int reports, int orders) {
  ::signal(SIGTTOU, SIG_IGN);
  const pid_t job = ::fork();
  if (job == 0) {
    be_the_job(words);
  }
  ::setpgid(job, job);
  ::tcsetpgrp(STDIN_FILENO, job);
  for (;;) {
    int status = 0;
    CREMONE_CHECK(::waitpid(job, &status, WUNTRACED) == job);
    // Bash and others look too: who stops or ends without having taken the terminal back leaves a mess.
    const bool fine = ::tcgetpgrp(STDIN_FILENO) == job;
    ::tcsetpgrp(STDIN_FILENO, ::getpid());
    if (!WIFSTOPPED(status)) {
      say(reports, (WIFEXITED(status) ? "exited " + std::to_string(WEXITSTATUS(status))
                                      : "killed " + std::to_string(WTERMSIG(status))) +
                       (fine ? "" : " without the terminal"));
      break;
    }
    say(reports, "stopped " + std::to_string(WSTOPSIG(status)) + (fine ? "" : " without the terminal"));
    char order = 0;
    if (::read(orders, &order, 1) != 1) {
      break;
    }
    ::tcsetpgrp(STDIN_FILENO, job);
    ::kill(-job, SIGCONT);
  }
  char over = 0;
  static_cast<void>(!::read(orders, &over, 1));
  ::_exit(0);
}

}  // namespace

small_shell::small_shell(std::vector<std::string> job,
                         std::vector<std::pair<std::string, std::string>> environment) {
  std::array<int, 2> reports{};
  std::array<int, 2> orders{};
  CREMONE_CHECK(::pipe2(reports.data(), O_CLOEXEC) == 0 && ::pipe2(orders.data(), O_CLOEXEC) == 0);
  shell_ = ::forkpty(&keyboard_, nullptr, nullptr, nullptr);
  CREMONE_CHECK(shell_ >= 0);
  if (shell_ == 0) {
    ::close(reports[0]);
    ::close(orders[1]);
    for (const auto& [name, value] : environment) {
      ::setenv(name.c_str(), value.c_str(), 1);
    }
    be_the_shell(job, reports[1], orders[0]);
  }
  ::close(reports[1]);
  ::close(orders[0]);
  ::fcntl(keyboard_, F_SETFD, FD_CLOEXEC);
  reports_ = reports[0];
  orders_ = orders[1];
}

small_shell::~small_shell() {
  ::close(orders_);
  ::close(keyboard_);  // hangs the terminal up: SIGHUP to whoever is left
  ::close(reports_);
  ::kill(shell_, SIGKILL);
  ::waitpid(shell_, nullptr, 0);
}

void small_shell::type(const std::string& keys) const {
  CREMONE_CHECK(::write(keyboard_, keys.data(), keys.size()) == static_cast<ssize_t>(keys.size()));
}

const std::string& small_shell::screen() {
  std::array<char, 4096> part{};
  pollfd source{keyboard_, POLLIN, 0};
  while (::poll(&source, 1, 0) == 1 && (source.revents & POLLIN) != 0) {
    const ssize_t got = ::read(keyboard_, part.data(), part.size());
    if (got <= 0) {
      break;
    }
    screen_.append(part.data(), static_cast<std::size_t>(got));
  }
  return screen_;
}

bool small_shell::shows(const std::string& text) {
  return wait_for([&] { return screen().find(text) != std::string::npos; });
}

std::string small_shell::report() {
  std::string line;
  const bool told = wait_for([&] {
    static_cast<void>(screen());  // a full terminal would stop who writes to it
    pollfd source{reports_, POLLIN, 0};
    char c = 0;
    while (::poll(&source, 1, 0) == 1 && ::read(reports_, &c, 1) == 1) {
      if (c == '\n') {
        return true;
      }
      line += c;
    }
    return false;
  });
  return told ? line : "";
}

void small_shell::fg() const { CREMONE_CHECK(::write(orders_, "f", 1) == 1); }

}  // namespace cremone::test
