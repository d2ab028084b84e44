// SPDX-License-Identifier: Apache-2.0
//
// A program that runs another one under a lock, as `cremone run` does: should it be killed, the lock stays held until
// the other has ended. Prints who holds the lock while that runs.
#include <cremone/cremone.hpp>

#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <iostream>
#include <string>

namespace {

using namespace std::chrono_literals;

/// Starts `sleep 0.1` with one more descriptor than it would have. Its pid, or -1.
pid_t start_with(int lifeline) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, lifeline, lifeline);  // onto itself: it is inherited
  std::string words[] = {"sleep", "0.1"};
  char* argv[] = {words[0].data(), words[1].data(), nullptr};
  pid_t child = -1;
  if (posix_spawnp(&child, "sleep", &actions, nullptr, argv, environ) != 0) {
    child = -1;
  }
  posix_spawn_file_actions_destroy(&actions);
  return child;
}

int work(const std::string& url) {
  auto locks = cremone::open(url).value();
  auto lease =
      locks.acquire("report", {.wait = 10s, .max_hold = 1h, .label = "the child process example"}).value();

  const int lifeline = locks.lifeline().value();
  const pid_t child = start_with(lifeline);
  ::close(lifeline);  // from now on it is the child's alone
  if (child < 0) {
    std::cerr << "cannot start the child\n";
    return 1;
  }

  for (const auto& holder : locks.inspect("report").value().holders) {
    std::cout << "held at " << locks.store() << " by pid " << holder.owner.pid << " (" << holder.owner.label
              << "), " << to_string(holder.liveness) << ", token " << holder.token << '\n';
  }

  int status = 0;
  ::waitpid(child, &status, 0);
  return lease.release() ? status : 1;
}

}  // namespace

int main() {
  std::string directory = (std::filesystem::temp_directory_path() / "cremone-example-XXXXXX").string();
  if (::mkdtemp(directory.data()) == nullptr) {
    std::cerr << "no temporary directory\n";
    return 1;
  }
  const int status = work("sqlite://" + directory + "/locks.db");
  std::filesystem::remove_all(directory);
  return status;
}
