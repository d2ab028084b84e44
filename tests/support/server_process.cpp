// SPDX-License-Identifier: Apache-2.0
#include "support/server_process.hpp"

#include "support/wait_for.hpp"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <system_error>
#include <utility>

namespace cremone::test {

namespace {

constexpr int cannot_execute = 111;
constexpr int cannot_become = 112;

/// Only what may be done between fork and exec in a process of many threads.
[[noreturn]] void start(char* const* argv, const server_user& user, int log, pid_t parent) {
  if (!user.become()) {
    ::_exit(cannot_become);
  }
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // after the change of user, which takes it away
  if (::getppid() != parent) {
    ::_exit(cannot_become);
  }
  ::setpgid(0, 0);  // an interrupt at the terminal is for the test, which ends the server
  ::dup2(log, STDOUT_FILENO);
  ::dup2(log, STDERR_FILENO);
  ::execvp(argv[0], argv);
  ::_exit(cannot_execute);
}

/// Of a process that stands still. Servers of several processes let each have a session of its own, so that no group has them all.
std::vector<pid_t> children_of(pid_t parent) {
  const std::string id = std::to_string(parent);
  std::ifstream in("/proc/" + id + "/task/" + id + "/children");
  return {std::istream_iterator<pid_t>(in), {}};
}

/// Gone, or dead and not yet buried by whoever has inherited it.
bool is_over(pid_t process) {
  std::ifstream in("/proc/" + std::to_string(process) + "/stat");
  const std::string text(std::istreambuf_iterator<char>(in), {});
  const auto name = text.rfind(") ");  // the state is behind the name, which may be anything
  return name == std::string::npos || text[name + 2] == 'Z' || text[name + 2] == 'X';
}

}  // namespace

std::string place_for_data(bool durable) {
  constexpr std::uintmax_t plenty =
      2'000'000'000;  // a server takes less than a tenth of it, and there are a few at a time
  std::error_code none;
  const auto memory = std::filesystem::space("/dev/shm", none);
  return !durable && !none && memory.available > plenty && ::access("/dev/shm", W_OK) == 0
             ? "/dev/shm/"
             : ::testing::TempDir();
}

server_user::server_user(const std::string& name) : change_(::geteuid() == 0) {
  if (!change_) {
    return;
  }
  const passwd* const found = ::getpwnam(name.c_str());
  if (found == nullptr) {
    throw std::runtime_error("there is no user '" + name +
                             "' on this machine to run the server as: install its package (./dev setup)");
  }
  user_ = found->pw_uid;
  group_ = found->pw_gid;
}

void server_user::own(const std::string& directory) const {
  if (change_ && ::chown(directory.c_str(), user_, group_) != 0) {
    throw std::system_error(errno, std::generic_category(), "chown " + directory);
  }
}

bool server_user::become() const {
  return !change_ || (::setgroups(0, nullptr) == 0 && ::setgid(group_) == 0 && ::setuid(user_) == 0);
}

server_process::server_process(std::vector<std::string> argv, const server_user& user, std::string log,
                               const std::string& needed)
    : log_(std::move(log)) {
  if (argv.front().find('/') != std::string::npos && ::access(argv.front().c_str(), X_OK) != 0) {
    throw std::runtime_error("there is no " + argv.front() + " on this machine: install " + needed +
                             " (./dev setup)");
  }
  std::vector<char*> words;
  for (std::string& word : argv) {
    words.push_back(word.data());
  }
  words.push_back(nullptr);
  const int out = ::open(log_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  const pid_t parent = ::getpid();
  pid_ = ::fork();
  if (pid_ == 0) {
    start(words.data(), user, out, parent);
  }
  const int failed = errno;
  ::close(out);
  if (pid_ < 0) {
    throw std::system_error(failed, std::generic_category(), "fork");
  }
}

server_process::server_process(server_process&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)), status_(other.status_), log_(std::move(other.log_)) {}

server_process& server_process::operator=(server_process&& other) noexcept {
  if (this != &other) {
    kill();
    pid_ = std::exchange(other.pid_, -1);
    status_ = other.status_;
    log_ = std::move(other.log_);
  }
  return *this;
}

server_process::~server_process() { kill(); }

bool server_process::has_ended() {
  if (pid_ > 0 && ::waitpid(pid_, &status_, WNOHANG) == pid_) {
    pid_ = -1;
  }
  return pid_ < 0;
}

bool server_process::finish() {
  if (pid_ > 0) {
    while (::waitpid(pid_, &status_, 0) < 0 && errno == EINTR) {
    }
    pid_ = -1;
  }
  return WIFEXITED(status_) && WEXITSTATUS(status_) == 0;
}

std::string server_process::log() const {
  if (WIFEXITED(status_) && WEXITSTATUS(status_) == cannot_execute) {
    return "its program cannot be run";
  }
  if (WIFEXITED(status_) && WEXITSTATUS(status_) == cannot_become) {
    return "its user cannot be taken on";
  }
  std::ifstream in(log_);
  return {std::istreambuf_iterator<char>(in), {}};
}

void server_process::kill() {
  if (pid_ <= 0) {
    return;
  }
  ::kill(pid_, SIGSTOP);  // so that no child is born meanwhile
  (void)wait_for([&] {
    siginfo_t seen{};
    return ::waitid(P_PID, static_cast<id_t>(pid_), &seen, WSTOPPED | WEXITED | WNOHANG | WNOWAIT) == 0 &&
           seen.si_pid == pid_;
  });
  const std::vector<pid_t> children = children_of(pid_);
  ::kill(pid_, SIGKILL);
  for (const pid_t child : children) {
    ::kill(child, SIGKILL);
  }
  (void)finish();
  // A child that waits for the disk dies when that has answered; until then a new server would not take over from it.
  EXPECT_TRUE(wait_for([&] { return std::all_of(children.begin(), children.end(), is_over); }, 3 * generous));
}

void server_process::stop(int signal) {
  if (pid_ > 0) {
    ::kill(pid_, signal);
    if (!wait_for([&] { return has_ended(); })) {
      kill();
    }
  }
}

}  // namespace cremone::test
