// SPDX-License-Identifier: Apache-2.0
//
// A database server as a process of a test: started as a user that it accepts, gone with the test however that ends, and killed with all
// its children where that is the point. Knows no database.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>
#include <vector>

namespace cremone::test {

/// For data that a power cut may take: in memory, where there is plenty; else where everything is. Ends in a slash.
[[nodiscard]] std::string place_for_data(bool durable);

/// Who a server runs as. Some refuse root, so root becomes the named user before the server begins; anybody else stays who they are.
class server_user {
 public:
  /// Throws when root runs the test and there is no such user.
  explicit server_user(const std::string& name);

  /// Gives the user a directory of root's.
  void own(const std::string& directory) const;

  // Between fork and exec. False, and errno says why.
  [[nodiscard]] bool become() const;

 private:
  bool change_ = false;
  uid_t user_ = 0;
  gid_t group_ = 0;
};

/// Its output is appended to `log`. Throws when there is no such program; `needed` names the package that has it.
class server_process {
 public:
  server_process() = default;
  server_process(std::vector<std::string> argv, const server_user& user, std::string log,
                 const std::string& needed);
  server_process(server_process&& other) noexcept;
  server_process& operator=(server_process&& other) noexcept;
  ~server_process();

  [[nodiscard]] pid_t pid() const noexcept { return pid_; }
  [[nodiscard]] bool has_ended();
  /// Waits. True when it has ended by itself and without a fault.
  [[nodiscard]] bool finish();
  /// What it has printed, for messages.
  [[nodiscard]] std::string log() const;

  /// Without a chance to say goodbye, and its children with it.
  void kill();
  /// With this signal; killed if that does not end it.
  void stop(int signal);

 private:
  pid_t pid_ = -1;
  int status_ = 0;
  std::string log_;
};

}  // namespace cremone::test
