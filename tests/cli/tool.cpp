// SPDX-License-Identifier: Apache-2.0
#include "cli/tool.hpp"

#include "base/check.hpp"
#include "support/wait_for.hpp"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <mutex>
#include <sstream>

namespace cremone::test {

namespace {

void redirect(const std::string& path, int flags, int to) {
  const int fd = ::open(path.c_str(), flags, 0600);
  CREMONE_CHECK(fd >= 0 && ::dup2(fd, to) == to);
  ::close(fd);
}

[[noreturn]] void execute(std::vector<std::string> words, const surroundings& around,
                          const temp_directory& files, const std::string& output) {
  ::setpgid(0, 0);
  redirect(files.file("in"), O_RDONLY, STDIN_FILENO);
  redirect(output, O_WRONLY | O_CREAT | O_APPEND, STDOUT_FILENO);
  redirect(files.file("err"), O_WRONLY | O_CREAT | O_APPEND, STDERR_FILENO);
  if (around.close_output) {
    ::close(STDOUT_FILENO);
  }
  for (const auto& [name, value] : around.environment) {
    ::setenv(name.c_str(), value.c_str(), 1);
  }
  for (const int signal : around.ignored) {
    ::signal(signal, SIG_IGN);
  }
  std::vector<char*> argv;
  for (std::string& word : words) {
    argv.push_back(word.data());
  }
  argv.push_back(nullptr);
  ::execvp(argv[0], argv.data());
  ::_exit(111);
}

std::mutex telling;
std::string told;

}  // namespace

void begin_story() {
  const std::lock_guard lock(telling);
  told.clear();
}

std::string story() {
  const std::lock_guard lock(telling);
  return told;
}

std::string write_file(const std::string& path, const std::string& text, mode_t mode) {
  std::ofstream(path) << text;
  CREMONE_CHECK(::chmod(path.c_str(), mode) == 0);
  return path;
}

std::string contents(const std::string& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

process::process(const std::vector<std::string>& words, const surroundings& around)
    : output_(around.output.empty() ? files_.file("out") : around.output) {
  for (const std::string& word : words) {
    words_ += (words_.empty() ? "" : " ") + word;
  }
  write_file(files_.file("in"), around.input);
  pid_ = ::fork();
  CREMONE_CHECK(pid_ >= 0);
  if (pid_ == 0) {
    execute(words, around, files_, output_);
  }
  ::setpgid(pid_, pid_);
}

process::~process() {
  if (pid_ > 0) {
    tell("is ended by the test");
    // A command of `run` is a process group of its own, and may outlive its cremone.
    const std::string number = std::to_string(pid_);
    std::istringstream children(contents("/proc/" + number + "/task/" + number + "/children"));
    for (pid_t child = 0; children >> child;) {
      ::kill(-child, SIGKILL);
      ::kill(child, SIGKILL);
    }
    ::kill(-pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
}

void process::tell(const std::string& end) const {
  const std::lock_guard lock(telling);
  told += "$ " + words_ + "\n" + out() + err() + "# " + end + "\n";
}

void process::signal(int number) const { CREMONE_CHECK(pid_ > 0 && ::kill(pid_, number) == 0); }

finished process::wait(std::chrono::milliseconds bound) {
  int status = 0;
  const bool ended = wait_for([&] { return ::waitpid(pid_, &status, WNOHANG) == pid_; }, bound);
  finished end{-2, 0, out(), err()};
  if (!ended) {
    return end;
  }
  pid_ = -1;
  end.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  end.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  tell("ended with " +
       (end.signal == 0 ? "code " + std::to_string(end.code) : "signal " + std::to_string(end.signal)));
  return end;
}

bool alive(pid_t pid) {
  const std::string stat = contents("/proc/" + std::to_string(pid) + "/stat");
  const auto name_end = stat.rfind(')');
  return name_end != std::string::npos && name_end + 2 < stat.size() && stat[name_end + 2] != 'Z' &&
         stat[name_end + 2] != 'X';
}

finished run(const std::vector<std::string>& words, const surroundings& around) {
  return process(words, around).wait();
}

}  // namespace cremone::test
