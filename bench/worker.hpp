// SPDX-License-Identifier: Apache-2.0
//
// Another process that takes locks when it is told to: the near end of a pipe to bench/worker_main.cpp. Times are of the
// monotonic clock, which all processes of a machine share, in seconds.
#pragma once

#include <sys/types.h>
#include <chrono>
#include <string>

namespace cremone::bench {

[[nodiscard]] inline double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

class worker {
 public:
  /// Starts the process; `path` is the database.
  explicit worker(const std::string& path);
  worker(const worker&) = delete;
  worker& operator=(const worker&) = delete;
  ~worker();  ///< kills it

  // Each command is answered by one number, which answer() waits for.

  void acquire() { tell('a'); }           ///< → when it held the lock
  void release() { tell('r'); }           ///< → when it called release
  void time() { tell('t'); }              ///< → when it read this command
  void contend() { tell('c'); }           ///< acquires and releases for a while; → how often
  void contend_for_file() { tell('f'); }  ///< the same with flock() on a bare file
  [[nodiscard]] double answer();

  void kill();  ///< SIGKILL, and waits until it is gone

 private:
  void tell(char command);

  pid_t process_ = -1;
  int to_ = -1;
  int from_ = -1;
};

/// How long a worker contends.
inline constexpr std::chrono::seconds contention{3};

}  // namespace cremone::bench
