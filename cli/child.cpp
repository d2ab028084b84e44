// SPDX-License-Identifier: Apache-2.0
#include "cli/child.hpp"

#include "base/descriptor.hpp"
#include "cli/exit_codes.hpp"
#include "cli/signals.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <system_error>

namespace cremone::cli {

namespace {

/// What the child needs, laid out before fork.
struct prepared {
  std::vector<std::string> paths;
  std::vector<std::string> environment;
  std::vector<char*> argv;
  std::vector<char*> shell_argv;  // /bin/sh PATH ARG…, for a script without a #! line, as execvp has it
  std::vector<char*> envp;
  pid_t parent = 0;
};

/// exec wants pointers to what it does not change.
char* loose(const std::string& text) noexcept {
  return const_cast<char*>(text.c_str());  // NOLINT(cppcoreguidelines-pro-type-const-cast)
}

std::vector<std::string> merged_environment(const std::vector<std::pair<std::string, std::string>>& added) {
  std::vector<std::string> all;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    bool replaced = false;
    for (const auto& [name, value] : added) {
      replaced = replaced || text.substr(0, text.find('=')) == name;
    }
    if (!replaced) {
      all.emplace_back(text);
    }
  }
  for (const auto& [name, value] : added) {
    std::string entry = name;
    entry += '=';
    entry += value;
    all.push_back(std::move(entry));
  }
  return all;
}

prepared prepare(const launch& what) {
  static const std::string shell = "/bin/sh";
  prepared p;
  p.paths = candidates(what.command.front(), std::getenv("PATH"));
  p.environment = merged_environment(what.environment);
  for (const std::string& entry : p.environment) {
    p.envp.push_back(loose(entry));
  }
  p.envp.push_back(nullptr);
  for (const std::string& word : what.command) {
    p.argv.push_back(loose(word));
  }
  p.argv.push_back(nullptr);
  p.shell_argv = {loose(shell), nullptr};
  p.shell_argv.insert(p.shell_argv.end(), p.argv.begin() + 1, p.argv.end());
  p.parent = ::getpid();
  return p;
}

/// In the child. Returns the errno that says most: a file that is there but cannot be run counts before one that is not.
int execute(prepared& p) noexcept {
  int worst = ENOENT;
  for (const std::string& path : p.paths) {
    ::execve(path.c_str(), p.argv.data(), p.envp.data());
    if (errno == ENOEXEC) {
      p.shell_argv[1] = loose(path);
      ::execve(p.shell_argv[0], p.shell_argv.data(), p.envp.data());
    }
    if (errno != ENOENT && errno != ENOTDIR) {
      worst = errno;
      if (worst != EACCES) {
        break;
      }
    }
  }
  return worst;
}

[[noreturn]] void be_the_child(const launch& what, prepared& p, const signal_inbox& signals,
                               int out) noexcept {
  ::setpgid(0, 0);
  if (what.tty >= 0) {
    ::tcsetpgrp(what.tty, ::getpid());  // SIGTTOU is still blocked
  }
  if (what.lifeline >= 0) {
    ::fcntl(what.lifeline, F_SETFD, 0);
  } else {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != p.parent) {
      ::_exit(status::signal_base + SIGKILL);  // the parent died before it could be noticed
    }
  }
  signals.restore_in_child();
  const int failed = execute(p);
  static_cast<void>(!::write(out, &failed, sizeof failed));
  ::_exit(status::not_found);
}

/// 0 when the pipe was closed by a successful exec.
int read_errno(int from) noexcept {
  int failed = 0;
  ssize_t got = 0;
  do {
    got = ::read(from, &failed, sizeof failed);
  } while (got < 0 && errno == EINTR);
  return got == static_cast<ssize_t>(sizeof failed) ? failed : 0;
}

bool exists(const prepared& p) noexcept {
  for (const std::string& path : p.paths) {
    if (::access(path.c_str(), F_OK) == 0) {
      return true;
    }
  }
  return false;
}

launched not_started(const std::string& program, const prepared& p, int failed) {
  const std::string name = "cannot run '" + program + "': ";
  if (failed == ENOENT && !exists(p)) {
    return {.status = status::not_found, .complaint = name + "command not found"};
  }
  if (failed == ENOENT) {
    return {.status = status::not_executable,
            .complaint = name + "the interpreter named in its first line is missing"};
  }
  return {.status = status::not_executable, .complaint = name + std::generic_category().message(failed)};
}

launched no_process(const char* call) {
  return {.status = status::os_error,
          .complaint =
              std::string("cannot start a process: ") + call + ": " + std::generic_category().message(errno)};
}

}  // namespace

std::vector<std::string> candidates(const std::string& program, const char* path) {
  if (program.find('/') != std::string::npos) {
    return {program};
  }
  if (program.empty()) {
    return {};
  }
  std::vector<std::string> found;
  std::string_view rest = path == nullptr ? "/bin:/usr/bin" : path;
  for (bool more = true; more;) {
    const std::size_t colon = rest.find(':');
    const std::string folder(rest.substr(0, colon));
    found.push_back((folder.empty() ? "." : folder) + "/" +
                    program);  // an empty entry is the working directory
    more = colon != std::string_view::npos;
    rest.remove_prefix(more ? colon + 1 : rest.size());
  }
  return found;
}

launched start(const launch& what, const signal_inbox& signals) {
  prepared p = prepare(what);
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    return no_process("pipe");
  }
  const descriptor in(ends[0]);
  descriptor out(ends[1]);
  const pid_t pid = ::fork();
  if (pid < 0) {
    return no_process("fork");
  }
  if (pid == 0) {
    be_the_child(what, p, signals, out.get());
  }
  ::setpgid(pid, pid);  // both do it, so that neither has to wait for the other
  out.reset();
  if (const int failed = read_errno(in.get()); failed != 0) {
    ::waitpid(pid, nullptr, 0);
    return not_started(what.command.front(), p, failed);
  }
  return {.pid = pid};
}

}  // namespace cremone::cli
