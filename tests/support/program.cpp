// SPDX-License-Identifier: Apache-2.0
#include "support/program.hpp"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

extern char** environ;

namespace cremone::test {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

program::program(const std::vector<std::string>& argv) {
  std::array<int, 2> in{};
  std::array<int, 2> out{};
  if (::pipe2(in.data(), O_CLOEXEC) != 0 || ::pipe2(out.data(), O_CLOEXEC) != 0) {
    ADD_FAILURE() << "pipe: " << std::strerror(errno);
    return;
  }
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, in[0], STDIN_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
  std::vector<char*> args;
  for (const std::string& a : argv) {
    args.push_back(const_cast<char*>(a.c_str()));
  }
  args.push_back(nullptr);
  const int failed = ::posix_spawnp(&pid_, args[0], &actions, nullptr, args.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  ::close(in[0]);
  ::close(out[1]);
  to_ = in[1];
  from_ = out[0];
  if (failed != 0) {
    pid_ = -1;
    ADD_FAILURE() << "cannot start " << argv.front() << ": " << std::strerror(failed);
  }
}

program::program(program&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      to_(std::exchange(other.to_, -1)),
      from_(std::exchange(other.from_, -1)),
      heard_(std::move(other.heard_)) {}

program::~program() {
  if (pid_ > 0) {
    ::kill(pid_, SIGKILL);
    (void)wait();
  }
  if (to_ >= 0) {
    ::close(to_);
    ::close(from_);
  }
}

void program::say(const std::string& line) const {
  const std::string whole = line + "\n";
  EXPECT_EQ(::write(to_, whole.data(), whole.size()), static_cast<ssize_t>(whole.size()))
      << std::strerror(errno);
}

std::string program::hear(milliseconds bound) {
  const auto until = steady_clock::now() + bound;
  while (true) {
    if (const auto end = heard_.find('\n'); end != std::string::npos) {
      std::string line = heard_.substr(0, end);
      heard_.erase(0, end + 1);
      return line;
    }
    const auto left = std::chrono::ceil<milliseconds>(until - steady_clock::now());
    pollfd ready{from_, POLLIN, 0};
    std::array<char, 4096> some{};
    if (left.count() <= 0 || ::poll(&ready, 1, static_cast<int>(left.count())) <= 0) {
      ADD_FAILURE() << "process " << pid_ << " said nothing within " << bound.count() << " ms";
      return {};
    }
    const ssize_t got = ::read(from_, some.data(), some.size());
    if (got <= 0) {
      ADD_FAILURE() << "process " << pid_ << " has closed its output";
      return {};
    }
    heard_.append(some.data(), static_cast<std::size_t>(got));
  }
}

void program::signal(int number) const {
  if (pid_ > 0) {
    EXPECT_EQ(::kill(pid_, number), 0) << std::strerror(errno);
  }
}

int program::wait() {
  if (pid_ <= 0) {
    return -1;
  }
  int status = 0;
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace cremone::test
