// SPDX-License-Identifier: Apache-2.0
//
// A real MariaDB server for tests: on a free port of the loopback, in a directory of its own, gone with its owner or with the test
// process. User `root`, no password, an empty database `shop`.
#pragma once

#include "support/server_process.hpp"
#include "support/sockets.hpp"
#include "support/temp_directory.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace cremone::test {

struct mariadb_options {
  bool synced =
      true;  ///< whether a commit waits for the disk; what is killed and not cut off from power keeps its data anyway
};

/// A server that does not start throws, which fails the test.
class mariadb_server {
 public:
  explicit mariadb_server(mariadb_options options = {});
  mariadb_server(const mariadb_server&) = delete;
  mariadb_server& operator=(const mariadb_server&) = delete;
  ~mariadb_server() = default;

  [[nodiscard]] std::uint16_t port() const noexcept { return port_.number(); }
  [[nodiscard]] pid_t pid() const noexcept { return process_.pid(); }
  /// What it has printed, for messages.
  [[nodiscard]] std::string log() const { return process_.log(); }

  /// With SIGKILL.
  void kill() { process_.kill(); }
  /// On the same data and the same port; waits until it has recovered them.
  void start_again();

 private:
  [[nodiscard]] std::vector<std::string> arguments() const;
  void make_tables();

  temp_directory directory_;
  reserved_port port_;
  server_user user_{"nobody"};  // Debian's package of the server alone makes no user for it
  mariadb_options options_;
  server_process process_;
};

}  // namespace cremone::test
