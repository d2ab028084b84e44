// SPDX-License-Identifier: Apache-2.0
//
// A forked child in a mount namespace of its own, for file systems that are small, full or read-only. Needs root, as CI
// has.
#pragma once

#include <gtest/gtest.h>

#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>

namespace cremone::test {

/// Runs `fn(directory)` where a fresh tmpfs of this size is mounted on `directory`, in a child process. Fails the test
/// unless it returns an empty text, which else says what is wrong.
template <class F>
void on_small_disk(const std::string& directory, const std::string& size, F fn) {
  int answers[2];
  ASSERT_EQ(::pipe(answers), 0);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    std::string wrong;
    if (::unshare(CLONE_NEWNS) != 0 || ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        ::mount("tmpfs", directory.c_str(), "tmpfs", 0, ("size=" + size).c_str()) != 0) {
      wrong = std::string("this test needs root, to mount a small disk: ") + std::strerror(errno);
    } else {
      wrong = fn(directory);
    }
    (void)!::write(answers[1], wrong.data(), wrong.size());
    ::_exit(0);
  }
  ::close(answers[1]);
  std::string wrong;
  char some[4096];
  for (ssize_t got = 0; (got = ::read(answers[0], some, sizeof some)) > 0;) {
    wrong.append(some, static_cast<std::size_t>(got));
  }
  ::close(answers[0]);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status)) << "the child ended by signal " << WTERMSIG(status);
  EXPECT_EQ(wrong, "");
}

}  // namespace cremone::test
