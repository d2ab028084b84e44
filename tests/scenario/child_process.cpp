// SPDX-License-Identifier: Apache-2.0
#include "scenario/child_process.hpp"

#include "base/check.hpp"

#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <exception>

namespace cremone::test {

namespace {

pid_t make_child(way_to_fork how) {
  if (how == way_to_fork::fork) {
    return ::fork();
  }
  return static_cast<pid_t>(::syscall(SYS_clone, SIGCHLD, nullptr, nullptr, nullptr, nullptr));
}

[[noreturn]] void be_the_child(const std::function<std::string()>& fn, int out) {
  ::signal(SIGALRM, SIG_DFL);
  ::alarm(hang_seconds);  // ends a child that hangs
  std::string said;
  try {
    said = fn();
  } catch (const std::exception& thrown) {
    said = std::string("threw ") + thrown.what();
  }
  CREMONE_CHECK(::write(out, said.data(), said.size()) == static_cast<ssize_t>(said.size()));
  ::_exit(0);
}

/// Until the child has closed its end, by exiting if nothing else.
std::string read_all(int from) {
  std::string all;
  std::array<char, 512> part{};
  for (;;) {
    const ssize_t got = ::read(from, part.data(), part.size());
    if (got > 0) {
      all.append(part.data(), static_cast<std::size_t>(got));
    } else if (got == 0 || errno != EINTR) {
      return all;
    }
  }
}

std::string how_it_ended(int status) {
  if (WIFSIGNALED(status)) {
    return WTERMSIG(status) == SIGALRM ? "the child hung"
                                       : "the child died of signal " + std::to_string(WTERMSIG(status));
  }
  return WEXITSTATUS(status) == 0 ? "" : "the child exited with " + std::to_string(WEXITSTATUS(status));
}

}  // namespace

std::string in_child(const std::function<std::string()>& fn, way_to_fork how) {
  std::array<int, 2> ends{};
  CREMONE_CHECK(::pipe(ends.data()) == 0);
  const pid_t child = make_child(how);
  CREMONE_CHECK(child >= 0);
  if (child == 0) {
    ::close(ends[0]);
    be_the_child(fn, ends[1]);
  }
  ::close(ends[1]);
  complaints all;
  const std::string said = read_all(ends[0]);
  ::close(ends[0]);
  int status = 0;
  CREMONE_CHECK(::waitpid(child, &status, 0) == child);
  all.expect(said.empty(), said);
  all.expect(how_it_ended(status).empty(), how_it_ended(status));
  return all.text();
}

}  // namespace cremone::test
