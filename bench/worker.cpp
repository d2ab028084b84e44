// SPDX-License-Identifier: Apache-2.0
//
// The near end: starts workers and speaks with them. What they do is in worker_main.cpp.
#include "bench/worker.hpp"

#include <benchmark/benchmark.h>

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <system_error>
#include <vector>

namespace cremone::bench {

namespace {

[[noreturn]] void fail(const char* what, int number) {
  throw std::system_error(number, std::generic_category(), what);
}

}  // namespace

worker::worker(const std::string& path) {
  std::array<int, 2> in{};
  std::array<int, 2> out{};
  if (::pipe2(in.data(), O_CLOEXEC) != 0 || ::pipe2(out.data(), O_CLOEXEC) != 0) {
    fail("pipe2", errno);
  }
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in[0], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
  std::string program = CREMONE_BENCH_WORKER;
  std::string argument = path;
  std::vector<char*> arguments{program.data(), argument.data(), nullptr};
  const int failed = ::posix_spawn(&process_, program.c_str(), &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  ::close(in[0]);
  ::close(out[1]);
  to_ = in[1];
  from_ = out[0];
  if (failed != 0) {
    fail("posix_spawn", failed);
  }
  time();
  (void)answer();  // it is up, and has opened the database
}

worker::~worker() {
  kill();
  ::close(to_);
  ::close(from_);
}

void worker::tell(char command) {
  if (::write(to_, &command, 1) != 1) {
    fail("write to a worker", errno);
  }
}

double worker::answer() {
  double value = 0;
  if (::read(from_, &value, sizeof value) != static_cast<ssize_t>(sizeof value)) {
    fail("a worker is gone", ECHILD);
  }
  return value;
}

void worker::kill() {
  if (process_ > 0) {
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
    process_ = -1;
  }
}

}  // namespace cremone::bench
